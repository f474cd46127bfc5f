//! Names of metrics and amounts of them, as the terminal, the page and Markdown show them.

use genba_model::Estimate;
use genba_units::format;

/// Order in which metrics are shown; metrics reported by the target come after them, by name.
const METRIC_ORDER: [&str; 9] = [
    "wall",
    "user",
    "system",
    "cpu",
    "max_rss",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
];

/// Returns the position of a metric among all.
pub(crate) fn order(metric: &str) -> usize {
    METRIC_ORDER
        .iter()
        .position(|&m| m == metric)
        .unwrap_or(METRIC_ORDER.len())
}

/// Returns the short label of a metric: `sys`, `max RSS`.
pub(crate) fn label(metric: &str) -> String {
    match metric {
        "system" => "sys".to_owned(),
        "max_rss" => "max RSS".to_owned(),
        "cpu" => "CPU".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Returns the name of a metric within a sentence: `wall time`.
pub(crate) fn phrase(metric: &str) -> String {
    match metric {
        "wall" | "user" | "system" => format!("{metric} time"),
        "cpu" => "CPU time".to_owned(),
        other => label(other),
    }
}

/// Ratio of the largest to the smallest value of an axis from which one unit does not suit all.
const MAX_RATIO_OF_ONE_UNIT: f64 = 20.0;

/// Returns the labels of an axis with these marks: in one unit, and neighbours distinguished.
pub(crate) fn axis_labels(marks: &[f64], unit: &str) -> Vec<String> {
    let largest = marks
        .iter()
        .fold(0.0_f64, |most, mark| most.max(mark.abs()));
    if (marks.iter()).any(|mark| *mark > 0.0 && largest / mark > MAX_RATIO_OF_ONE_UNIT) {
        // Half of the interval is five of the third digit, which is then the last one.
        let three_digits = |mark: &f64| {
            let half = 5.0 * 10_f64.powf(mark.abs().log10().floor() - 2.0);
            Estimate {
                value: *mark,
                low: mark - half,
                high: mark + half,
            }
        };
        return (marks.iter())
            .map(|mark| amount(&three_digits(mark), unit))
            .collect();
    }
    let (divisor, name) = match unit {
        "seconds" => {
            let (scale, name) = format::time_unit(largest);
            (1.0 / scale, name)
        }
        "bytes" => format::bytes_unit(largest),
        "count" | "" => format::count_unit(largest),
        own => (1.0, own),
    };
    (format::axis_numbers(marks, divisor).into_iter())
        .map(|number| {
            format!("{number} {}", name.trim_start())
                .trim_end()
                .to_owned()
        })
        .collect()
}

/// Returns a value of a metric with its unit, and as many digits as its interval supports.
pub(crate) fn amount(e: &Estimate, unit: &str) -> String {
    match unit {
        "seconds" => format::time(e),
        "bytes" => format::bytes(e.value),
        "count" | "" => format::counted(e),
        own => format!("{} {own}", format::plain(e, 4)),
    }
}
