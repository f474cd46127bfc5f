//! `genba ablate` in a terminal: a row for each component, sentences, remarks.

use genba_model::{Ablation, VerdictName};
use genba_units::format;

use super::remark;
use crate::terminal::screen::{DIM, GOOD, HEAD, HOT, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{ablation as wording, metrics, verdicts};
use crate::{Screen, safe_text};

/// Maximum number of rows.
const MAX_ROWS: usize = 60;

/// Renders an ablation: costs of the baseline and of each component, sentences, remarks.
#[must_use]
pub fn ablation(ablation: &Ablation, screen: Screen) -> String {
    let report = &ablation.report;
    let mut out = String::new();
    let command = report
        .variants
        .first()
        .map_or("", |one| one.command.as_str());
    let case = report.case.as_deref().map(|case| format!("case {case}  "));
    let head = format!("{}{command}", case.unwrap_or_default());
    out.push_str(&format!("{}\n\n", safe_text::fit(&head, screen.columns())));
    let metrics = wording::metrics(ablation);
    out.push_str(&format!(
        "{}\n",
        screen.paint(
            HEAD,
            &safe_text::fit(&wording::basis(ablation), screen.columns())
        )
    ));
    // Column heads are static; the names of metrics are a row of their own.
    let mut columns = vec![Column::flexible("", 10)];
    columns.extend(metrics.iter().map(|_| Column::right("")));
    columns.push(Column::right(""));
    columns.push(Column::flexible("", 12));
    let mut table = Table::new(columns);
    let mut heads = vec![Cell::new("", DIM)];
    heads.extend(
        metrics
            .iter()
            .map(|metric| Cell::new(metrics::label(metric), DIM)),
    );
    heads.push(Cell::new("share", DIM));
    heads.push(Cell::new("without it", DIM));
    table.row(heads);
    let deciding = &report.metric;
    let mut row = |name: String, costs: &[genba_model::AblationCost], last: Cell, strong: bool| {
        let style = if strong { STRONG } else { PLAIN };
        let mut cells = vec![Cell::new(name, style)];
        for (index, metric) in metrics.iter().enumerate() {
            let style = if index == 0 { STRONG } else { PLAIN };
            cells.push(Cell::new(wording::cost(costs, metric), style));
        }
        cells.push(Cell::new(wording::share(costs, deciding), DIM));
        cells.push(last);
        table.row(cells);
    };
    row(
        "baseline".to_owned(),
        &ablation.baseline,
        Cell::new("", DIM),
        true,
    );
    for part in ablation.components.iter().take(MAX_ROWS) {
        let comparison = wording::comparison(ablation, &part.variant);
        let last = comparison.map_or_else(
            || Cell::new("", DIM),
            |one| {
                let style = match one.verdict {
                    VerdictName::Faster => GOOD,
                    VerdictName::Slower => HOT,
                    VerdictName::Same => PLAIN,
                    VerdictName::Undecided => DIM,
                };
                Cell::new(verdicts::short(report, one), style)
            },
        );
        row(format!("− {}", part.name), &part.costs, last, false);
    }
    let name = match ablation.all_off {
        Some(_) => "all off",
        None => "remaining",
    };
    if !ablation.residual.is_empty() {
        row(
            name.to_owned(),
            &ablation.residual,
            Cell::new("", DIM),
            false,
        );
    }
    out.push_str(&table.render(screen));
    out.push('\n');
    for sentence in wording::sentences(ablation) {
        for line in super::wrap(&safe_text::sanitise(&sentence), screen.columns()) {
            out.push_str(&format!("{line}\n"));
        }
    }
    out.push_str(&format!(
        "\n{}, {}\n",
        format::plural(u64::from(report.blocks), "block"),
        format::duration(report.elapsed_seconds)
    ));
    for note in verdicts::remarks(report) {
        remark(&mut out, &note, screen);
    }
    out
}
