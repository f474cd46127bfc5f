//! `genba campaign` in a terminal: a verdict for each kind of host, and where hosts disagree.

use genba_model::{Campaign, CampaignDryRun, VerdictName};
use genba_units::format;

use super::remark;
use crate::terminal::screen::{DIM, GOOD, HOT, PLAIN, STRONG, WARN};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{campaign as wording, metrics, verdicts};
use crate::{Screen, safe_text};

/// Maximum number of rows of the table.
const MAX_ROWS: usize = 200;
/// Maximum number of disagreements, and of notes.
const MAX_LINES: usize = 12;
/// Maximum number of blocks of a dry run that are listed.
const MAX_BLOCKS: usize = 40;

/// Renders a campaign.
#[must_use]
pub fn campaign(all: &Campaign, screen: Screen) -> String {
    let mut out = String::new();
    let width = screen.columns();
    let head = format!("{}: {}", all.name, wording::blocks(all));
    out.push_str(&screen.paint(STRONG, &safe_text::fit(&head, width)));
    out.push('\n');
    table(&mut out, all, screen);
    for one in all.disagreements.iter().take(MAX_LINES) {
        let text = safe_text::sanitise(&wording::disagreement(all, one));
        let lines = super::wrap(&text, width.saturating_sub(16));
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { "hosts disagree" } else { "" };
            out.push_str(&screen.paint(WARN, &format!("{label:<14}")));
            out.push_str(&format!("  {line}\n"));
        }
    }
    let mut notes: Vec<String> = (all.disagreements.len() > MAX_LINES)
        .then(|| {
            format!(
                "hosts disagree about {} more",
                all.disagreements.len() - MAX_LINES
            )
        })
        .into_iter()
        .collect();
    notes.extend(all.builds.iter().filter_map(wording::failed_build));
    notes.extend(wording::of_results(all));
    notes.extend(all.notes.iter().cloned());
    notes.extend(wording::resume(all));
    for note in notes.iter().take(MAX_LINES) {
        remark(&mut out, note, screen);
    }
    if notes.len() > MAX_LINES {
        out.push_str(&format!("  … {} more\n", notes.len() - MAX_LINES));
    }
    out
}

fn table(out: &mut String, all: &Campaign, screen: Screen) {
    let groups = all.results.iter().any(|result| !result.group.is_empty());
    let mut columns = vec![
        Column::flexible("host", 8),
        Column::flexible("variant", 10),
        Column::right("median"),
        Column::right("±"),
        Column::left("compared with the baseline"),
        Column::left("interval"),
        Column::right("pairs"),
    ];
    if groups {
        columns.insert(0, Column::flexible("group", 8));
    }
    let mut table = Table::new(columns);
    let mut rows = 0_usize;
    for result in &all.results {
        let deciding = wording::deciding(result);
        for variant in &result.report.variants {
            rows += 1;
            if rows > MAX_ROWS {
                continue;
            }
            let median = variant.metrics.get(&all.metric).map(|metric| metric.median);
            let unit = variant
                .metrics
                .get(&all.metric)
                .map_or("", |metric| &metric.unit);
            let found = deciding.iter().find(|one| one.variant == variant.name);
            let (effect, style) = match (found, &variant.excluded) {
                (_, Some(_)) => ("failed".to_owned(), HOT),
                (Some(one), None) => (
                    wording::effect(result, one),
                    match one.verdict {
                        VerdictName::Faster => GOOD,
                        VerdictName::Slower => HOT,
                        VerdictName::Same => PLAIN,
                        VerdictName::Undecided => DIM,
                    },
                ),
                (None, None) => ("baseline".to_owned(), DIM),
            };
            let mut row: Vec<Cell> = vec![
                result.host.clone().into(),
                variant.name.clone().into(),
                median
                    .map(|median| metrics::amount(&median, unit))
                    .unwrap_or_default()
                    .into(),
                Cell::new(
                    median
                        .map(|median| format::plus_minus(&median))
                        .unwrap_or_default(),
                    DIM,
                ),
                Cell::new(effect, style),
                Cell::new(
                    // An undecided effect is its interval.
                    found
                        .filter(|one| one.verdict != VerdictName::Undecided)
                        .map(|one| verdicts::interval(one))
                        .unwrap_or_default(),
                    DIM,
                ),
                found
                    .map(|one| one.pairs.to_string())
                    .unwrap_or_default()
                    .into(),
            ];
            if groups {
                row.insert(0, result.group.clone().into());
            }
            table.row(row);
        }
    }
    out.push_str(&table.render(screen));
    if rows > MAX_ROWS {
        out.push_str(&format!("  … {} more rows\n", rows - MAX_ROWS));
    }
}

/// Renders what a campaign would do.
#[must_use]
pub fn campaign_dry_run(plan: &CampaignDryRun, screen: Screen) -> String {
    let mut out = String::new();
    let scheduler = match plan.scheduler.as_str() {
        "slurm" => "by Slurm, a job for each block",
        _ => "here, one block after another",
    };
    let head = format!("{}: {scheduler}; {}", plan.name, wording::cost(plan));
    for line in super::wrap(&safe_text::sanitise(&head), screen.columns()) {
        out.push_str(&format!("{line}\n"));
    }
    let groups = plan.blocks.iter().any(|block| !block.group.is_empty());
    let mut columns = vec![
        Column::left("block"),
        Column::flexible("host", 8),
        Column::right("repeat"),
        Column::flexible("variants, each run as often as the plan says", 20),
        Column::left(""),
    ];
    if groups {
        columns.insert(2, Column::flexible("group", 8));
    }
    let mut table = Table::new(columns);
    for block in plan.blocks.iter().take(MAX_BLOCKS) {
        let mut row: Vec<Cell> = vec![
            Cell::new(block.key.get(..8).unwrap_or(&block.key), DIM),
            block.host.clone().into(),
            block.repeat.to_string().into(),
            format!("{} × ({})", plan.runs, block.variants.join(", ")).into(),
            Cell::new(if block.done { "stored" } else { "" }, DIM),
        ];
        if groups {
            row.insert(2, block.group.clone().into());
        }
        table.row(row);
    }
    out.push_str(&table.render(screen));
    if plan.blocks.len() > MAX_BLOCKS {
        out.push_str(&format!("  … {} more\n", plan.blocks.len() - MAX_BLOCKS));
    }
    out
}
