//! The series that a user selects, read and analysed.

use clap::Args as ClapArgs;
use genba_history::{
    History, NamedRevision, PointFilter, SeriesFilter, analyse, compare_revisions,
};
use genba_model::HistoryReport;

use crate::compare::StoreArg;
use crate::exit_code::Failure;

/// Which series of which store.
#[derive(Debug, ClapArgs)]
pub struct SelectArgs {
    #[command(flatten)]
    pub store: StoreArg,

    /// Benchmark: its name, or a part of it.
    #[arg(
        short,
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub benchmark: String,

    /// Variant.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub variant: String,

    /// Metric [default: wall, or all where there is none].
    #[arg(short, long, value_name = "NAME")]
    pub metric: Option<String>,

    /// Branch [default: all].
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub branch: String,

    /// Beginning of the host's id [default: all, each as a series of its own].
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub host: String,

    /// Project [default: all].
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub project: String,
}

/// Reads and analyses the series that are selected.
pub fn report(
    args: &SelectArgs,
    revisions: Option<&[NamedRevision; 2]>,
) -> Result<HistoryReport, Failure> {
    let location = &args.store.location()?;
    let mut history = History::open_existing(location)?;
    let mut filter = SeriesFilter {
        project: args.project.clone(),
        benchmark: args.benchmark.clone(),
        variant: args.variant.clone(),
        metric: args.metric.clone().unwrap_or_else(|| "wall".to_owned()),
        host: args.host.clone(),
        branch: args.branch.clone(),
    };
    let mut selected = history.series(&filter)?;
    if selected.is_empty() && args.metric.is_none() {
        filter.metric = String::new();
        selected = history.series(&filter)?;
    }
    if selected.is_empty() {
        return Err(Failure::usage(format!(
            "no series in {} is selected; list them with: genba history show",
            location.display()
        )));
    }
    let points = PointFilter {
        branch: args.branch.clone(),
    };
    let mut report = HistoryReport {
        genba: env!("CARGO_PKG_VERSION").to_owned(),
        store: location.display(),
        points: Vec::new(),
        series: Vec::new(),
        comparisons: Vec::new(),
        hosts: Vec::new(),
        notes: Vec::new(),
    };
    for one in &selected {
        let analysed = analyse(one, &history.points(one.id, &points)?, &args.branch);
        let index = report.series.len() as u32;
        if let Some([before, after]) = revisions {
            let compared = compare_revisions(&analysed.series, before, after);
            let Some(compared) = compared else {
                continue;
            };
            report.comparisons.push(genba_model::HistoryComparison {
                series: index,
                ..compared
            });
        }
        let changes = analysed.changes.into_iter();
        report
            .points
            .extend(changes.map(|change| genba_model::HistoryChange {
                series: index,
                ..change
            }));
        report.series.push(analysed.series);
        report.notes.extend(analysed.notes);
        if !report.hosts.iter().any(|host| host.id == one.host) {
            report.hosts.push(history.host(&one.host)?);
        }
    }
    if report.series.is_empty()
        && let Some([before, after]) = revisions
    {
        return Err(Failure::usage(format!(
            "no series has measurements of both {:?} and {:?}; genba history show lists what there is",
            before.name, after.name
        )));
    }
    report.points.sort_by_key(|one| !one.worse);
    Ok(report)
}
