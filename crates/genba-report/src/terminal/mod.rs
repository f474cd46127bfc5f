//! Text for terminals. Every function returns whole lines, the last one ended as well.

mod ablation;
mod annotation;
mod bisection;
mod calibration;
mod call_graph;
mod cases;
mod comparison;
mod counts;
mod explanation;
mod findings;
mod host_table;
mod investigation;
mod message;
pub(crate) mod profile_diff;
mod report;
mod script;
mod stat;
mod sweep;
mod trial;

pub use ablation::ablation;
pub use annotation::{AnnotateOptions, annotation};
pub use bisection::bisection;
pub use calibration::calibration;
pub use cases::cases;
pub use comparison::{Progress, comparison, progress_line};
pub use counts::{CountSort, CountsOptions, counts};
pub use explanation::explanation;
pub use host_table::host_table;
pub use investigation::{Next, investigation};
pub use message::{error, note, warning};
pub use profile_diff::profile_diff;
pub use report::{By, ReportOptions, report};
pub use script::{ScriptOptions, script};
pub use stat::stat;
pub use sweep::sweep;
pub use trial::trial;

use crate::screen::{DIM, WARN};
use crate::{Screen, counting, text};

/// `! text`, wrapped to the screen, for what the reader must know.
fn remark(out: &mut String, sentence: &str, screen: Screen) {
    let width = screen.columns().saturating_sub(2);
    // A note may have a second line that says what mends it.
    let lines = sentence
        .lines()
        .take(MOST_NOTE_LINES)
        .flat_map(|line| wrap(&text::sanitise(line.trim()), width));
    for (index, line) in lines.enumerate() {
        let mark = if index == 0 { "!" } else { " " };
        out.push_str(&screen.paint(WARN, mark));
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
    }
}

/// Where counts beside times come from, a dim line; then what spoils them.
fn counted(out: &mut String, counted: Option<&genba_model::Counted>, screen: Screen) {
    let Some(counted) = counted else {
        return;
    };
    for line in wrap(
        &text::sanitise(&counting::source(counted)),
        screen.columns(),
    ) {
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
    for warning in counting::warnings(counted) {
        remark(out, &warning, screen);
    }
}

/// What the engine that counted cannot do, dim: it is always the same.
fn gaps(out: &mut String, engine: &str, gaps: &[String], screen: Screen) {
    if gaps.is_empty() {
        return;
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    let list: Vec<&str> = gaps.iter().take(MOST_GAPS).map(|gap| gap.trim()).collect();
    let sentence = format!("{engine}: {}", list.join("; "));
    for line in wrap(
        &text::sanitise(&sentence),
        screen.columns().saturating_sub(2),
    ) {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
    }
}

/// Gaps of an engine at most.
const MOST_GAPS: usize = 12;

/// Lines of one note at most.
const MOST_NOTE_LINES: usize = 4;

/// Breaks at spaces; words longer than a line are cut in the middle.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let word = text::fit(word, width.max(1));
        let wide = text::display_width(&word);
        if used > 0 && used + 1 + wide > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&word);
            used += wide;
        }
    }
    lines
}

#[cfg(test)]
mod comparison_tests;
#[cfg(test)]
mod counts_tests;
#[cfg(test)]
mod curves_tests;
#[cfg(test)]
mod findings_tests;
#[cfg(test)]
mod tests;
