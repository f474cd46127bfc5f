//! Why: findings, each as a colleague would tell it.

use genba_model::{EvidenceSource, Explanation, Finding};

use crate::screen::{DIM, STRONG};
use crate::{Screen, facts, number, text};

/// The findings, most profitable first.
#[must_use]
pub fn explanation(all: &Explanation, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = String::new();
    for (index, finding) in all.findings.iter().enumerate() {
        one(&mut out, index + 1, finding, screen);
    }
    let least = number::share(all.least_gain);
    let last = if all.findings.is_empty() {
        format!("  Nothing found that a fix would gain more than {least} from.\n")
    } else {
        format!("  Nothing else here is worth more than {least}.\n")
    };
    out.push_str(&screen.paint(DIM, &last));
    for note in &all.notes {
        super::remark(&mut out, note, screen);
    }
    let _ = width;
    out
}

fn one(out: &mut String, number: usize, finding: &Finding, screen: Screen) {
    let site = &finding.site;
    let place = facts::source(site.file.as_deref(), site.line);
    let gain = &finding.predicted_speedup;
    out.push_str(&format!(
        "{number:>2} {}  {} in {}   whole program {:.2}× faster ({:.2}–{:.2})\n",
        screen.paint(STRONG, &text::sanitise(&finding.cause)),
        text::sanitise(&place),
        text::sanitise(&site.function),
        gain.value,
        gain.low,
        gain.high,
    ));
    let mut fact = |kind: &str, words: &str| {
        let lines = super::wrap(&text::sanitise(words), screen.columns().saturating_sub(14));
        for (index, line) in lines.iter().enumerate() {
            let kind = if index == 0 { kind } else { "" };
            out.push_str(&format!(
                "   {} {line}\n",
                screen.paint(DIM, &format!("{kind:<9}"))
            ));
        }
    };
    for evidence in &finding.evidence {
        let kind = match evidence.source {
            EvidenceSource::Measured => "measured",
            EvidenceSource::Counted => "counted",
            EvidenceSource::Simulated => "simulated",
            EvidenceSource::Model => "model",
        };
        fact(kind, &evidence.text);
    }
    fact("fix", &finding.fix);
    fact("confirm", &finding.confirm);
}
