//! Merges the comparisons of a suite into one document. Pure.

use genba_model::{ComparisonReport, Hazard};

/// Merges the reports of several plans; names become `TITLE: NAME`. Only variants of one plan are
/// compared, so a merged report has no ranks. `None` without a report.
#[must_use]
pub fn merge(reports: Vec<(String, ComparisonReport)>) -> Option<ComparisonReport> {
    let single = reports.len() == 1;
    let mut all = reports.into_iter();
    let (title, mut merged) = all.next()?;
    if single {
        return Some(merged);
    }
    prefix(&title, &mut merged);
    merged.ranks.clear();
    for (title, mut report) in all {
        prefix(&title, &mut report);
        merged.variants.append(&mut report.variants);
        merged.comparisons.append(&mut report.comparisons);
        merged.iterations.append(&mut report.iterations);
        merged.notes.append(&mut report.notes);
        for hazard in report.hazards {
            if !merged.hazards.iter().any(|known| same(known, &hazard)) {
                merged.hazards.push(hazard);
            }
        }
        merged.blocks = merged.blocks.saturating_add(report.blocks);
        merged.elapsed_seconds += report.elapsed_seconds;
        merged.budget_seconds = match (merged.budget_seconds, report.budget_seconds) {
            (Some(one), Some(other)) => Some(one + other),
            _ => None,
        };
    }
    Some(merged)
}

/// Whether two hazards are the same. Figures in the hazards of the host differ between plans; those
/// of the runs name variants.
fn same(known: &Hazard, other: &Hazard) -> bool {
    let of_runs = [
        "waiting",
        "page-cache",
        "first-run",
        "prepare",
        "disturbed",
        "shell",
        "ticks",
        "placement",
    ];
    known.id == other.id && (!of_runs.contains(&known.id.as_str()) || known.text == other.text)
}

fn prefix(title: &str, report: &mut ComparisonReport) {
    let name = |name: &mut String| *name = format!("{title}: {name}");
    for variant in &mut report.variants {
        name(&mut variant.name);
    }
    for comparison in &mut report.comparisons {
        name(&mut comparison.baseline);
        name(&mut comparison.variant);
    }
    for cost in &mut report.iterations {
        name(&mut cost.variant);
        cost.subtracted.iter_mut().for_each(name);
    }
    for note in &mut report.notes {
        *note = format!("{title}: {note}");
    }
}
