//! `genba explain --calibration`: predicted and measured speedups.

use genba_model::{Calibration, Trial};
use genba_units::format;

use crate::Screen;
use crate::terminal::screen::{DIM, GOOD, STRONG, WARN};
use crate::terminal::table::{Cell, Column, Table};

/// Renders a row for each tested prediction, and how many predictions held.
#[must_use]
pub fn calibration(all: &Calibration, screen: Screen) -> String {
    if all.trials.is_empty() {
        return "no prediction has been tested yet; test one with: genba bench --proves CASE:NUMBER ./before ./after\n"
            .to_owned();
    }
    let mut table = Table::new(vec![
        Column::left("case"),
        Column::left("cause"),
        Column::flexible("function", 12),
        Column::right("predicted"),
        Column::left(""),
        Column::right("measured"),
        Column::left(""),
        Column::left("fixed in"),
        Column::left(""),
    ]);
    let range = |low: f64, high: f64| format!("{low:.2}–{high:.2}");
    for trial in &all.trials {
        let Trial {
            predicted,
            measured,
            ..
        } = trial;
        table.row(vec![
            Cell::new(format!("{}:{}", trial.case, trial.finding), STRONG),
            trial.cause.as_str().into(),
            Cell::new(trial.function.as_str(), DIM),
            format!("{:.2}×", predicted.value).into(),
            Cell::new(range(predicted.low, predicted.high), DIM),
            format!("{:.2}×", measured.value).into(),
            Cell::new(range(measured.low, measured.high), DIM),
            match (trial.in_flight, trial.upper_bound) {
                (_, true) => "in flight, at most",
                (true, false) => "in flight",
                (false, false) => "source",
            }
            .into(),
            if trial.holds() {
                Cell::new("holds", GOOD)
            } else {
                Cell::new("does not hold", WARN)
            },
        ]);
    }
    let mut out = table.render(screen);
    out.push_str(&format!(
        "\n{} of {} held\n",
        all.held,
        format::plural(all.trials.len() as u64, "prediction")
    ));
    if let Some((coverage, width)) = all.coverage.zip(all.width) {
        out.push_str(&format!(
            "coverage: {:.0} % of the intervals hold the measured speedup itself; width: upper ÷ lower end {width:.2} (median)\n",
            coverage * 100.0
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicted_and_measured_speedups_share_a_row() {
        let all = crate::test_fixtures::calibration();
        let screen = Screen {
            width: 120,
            colour: false,
        };
        let text = calibration(&all, screen);
        assert!(
            text.contains("1.34×") && text.contains("1.27–1.47"),
            "{text}"
        );
        assert!(text.contains("does not hold") && text.contains("1 of 2 predictions held"));
        assert!(!text.contains('\x1b'), "names are escaped");
        assert!(super::calibration(&Calibration::default(), screen).contains("--proves"));
    }
}
