//! The verdicts of a gate as JUnit XML: a test case for each variant and metric.

use std::fmt::Write as _;

use genba_model::{ComparisonReport, VerdictName};

use crate::escape_html::escape;
use crate::wording::{metrics, verdicts};

/// Renders the comparisons in the deciding metric as JUnit XML. A variant that is slower by
/// `threshold` or more fails; one that is undecided is skipped.
#[must_use]
pub fn junit_xml(report: &ComparisonReport, threshold: f64) -> String {
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
        all.len() + excluded.len(),
        excluded.len(),
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
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// A text of XML, which unlike HTML has no control characters at all.
fn text(text: &str) -> String {
    escape(&crate::sanitise(text))
}
