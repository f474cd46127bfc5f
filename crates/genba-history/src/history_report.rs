//! The report of some series: their change points, or two revisions compared in each.

use genba_model::{HistoryChange, HistoryComparison, HistoryReport, SeriesSummary};

use crate::analysis::{NamedRevision, analyse, compare_revisions};
use crate::{History, PointFilter, Result};

/// Reads and analyses these series of a branch, all of them if it is empty. With `revisions`, only series
/// that have measurements of both are in the report. `progress` is called with the number of each series,
/// from 0. Changes for the worse come first.
///
/// # Errors
/// The store cannot be read.
pub fn history_report(
    history: &mut History,
    selected: &[SeriesSummary],
    branch: &str,
    revisions: Option<&[NamedRevision; 2]>,
    progress: &mut dyn FnMut(usize),
) -> Result<HistoryReport> {
    let points = PointFilter {
        branch: branch.to_owned(),
    };
    let mut report = HistoryReport {
        genba: env!("CARGO_PKG_VERSION").to_owned(),
        store: history.display().to_owned(),
        points: Vec::new(),
        series: Vec::new(),
        comparisons: Vec::new(),
        hosts: Vec::new(),
        notes: Vec::new(),
    };
    for (number, one) in selected.iter().enumerate() {
        progress(number);
        let analysed = analyse(one, &history.points(one.id, &points)?, branch);
        let series = report.series.len() as u32;
        if let Some([before, after]) = revisions {
            let compared = compare_revisions(&analysed.series, before, after);
            let Some(compared) = compared else {
                continue;
            };
            report
                .comparisons
                .push(HistoryComparison { series, ..compared });
        }
        let changes = analysed.changes.into_iter();
        let changes = changes.map(|change| HistoryChange { series, ..change });
        report.points.extend(changes);
        report.series.push(analysed.series);
        report.notes.extend(analysed.notes);
        if !report.hosts.iter().any(|host| host.id == one.host) {
            report.hosts.push(history.host(&one.host)?);
        }
    }
    report.points.sort_by_key(|one| !one.worse);
    Ok(report)
}
