//! The verdicts of a gate as JUnit XML: a test case for each variant and metric.

use std::fmt::Write as _;

use genba_model::VerdictName;

use super::GateResult;
use crate::escape_html::escape;
use crate::wording::{metrics, verdicts};

/// Renders the comparisons in the deciding metric as JUnit XML. A variant that is slower by the
/// threshold or more fails; one that is undecided is skipped; an interruption is an error.
#[must_use]
pub fn junit_xml(result: &GateResult<'_>) -> String {
    let (report, threshold) = (result.report, result.threshold);
    let interrupted = usize::from(result.interrupted);
    let all = verdicts::deciding(report);
    let failed = all.iter().filter(|one| one.is_worse_by(threshold)).count();
    let excluded: Vec<_> = report
        .variants
        .iter()
        .filter(|one| one.excluded.is_some())
        .collect();
    let undecided = (all.iter())
        .filter(|one| one.verdict == VerdictName::Undecided)
        .count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"genba gate\" \
         tests=\"{}\" failures=\"{failed}\" errors=\"{}\" skipped=\"{undecided}\" time=\"{:.3}\">\n",
        all.len() + excluded.len() + interrupted,
        excluded.len() + interrupted,
        report.elapsed_seconds
    );
    for one in &all {
        let text = text(&verdicts::sentence(report, one));
        let _ = write!(
            out,
            "<testcase classname=\"{}\" name=\"{}\">",
            self::text(&metrics::phrase(&one.metric)),
            self::text(&one.variant)
        );
        let _ = match one.verdict {
            _ if one.is_worse_by(threshold) => {
                write!(out, "<failure message=\"{text}\">{text}</failure>")
            }
            VerdictName::Undecided => write!(out, "<skipped message=\"{text}\"/>"),
            _ => write!(out, "<system-out>{text}</system-out>"),
        };
        out.push_str("</testcase>\n");
    }
    for one in excluded {
        let reason = text(one.excluded.as_deref().unwrap_or_default());
        let _ = writeln!(
            out,
            "<testcase name=\"{}\"><error message=\"{reason}\"/></testcase>",
            text(&one.name)
        );
    }
    if result.interrupted {
        out.push_str(
            "<testcase name=\"genba gate\"><error message=\"interrupted before all was decided\"/></testcase>\n",
        );
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// Renders why a gate could not measure, as an error.
#[must_use]
pub fn junit_failure(message: &str) -> String {
    let message = message.trim_end();
    let first = text(message.lines().next().unwrap_or_default());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"genba gate\" tests=\"1\" \
         failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0\">\n<testcase name=\"genba gate\"><error \
         message=\"{first}\">{}</error></testcase>\n</testsuite>\n</testsuites>\n",
        text(message)
    )
}

/// A text of XML, which unlike HTML has no control characters at all.
fn text(text: &str) -> String {
    escape(&crate::sanitise(text))
}
