//! Why: findings, most profitable first.

use genba_model::Explanation;

use super::findings::{Detail, finding};
use crate::screen::DIM;
use crate::{Screen, findings};

/// The findings, most profitable first.
#[must_use]
pub fn explanation(all: &Explanation, screen: Screen) -> String {
    let mut out = String::new();
    for (index, one) in all.findings.iter().enumerate() {
        finding(&mut out, index + 1, one, Detail::Full, screen);
        out.push('\n');
    }
    let rest = findings::rest(&all.findings, all.least_gain);
    for line in super::wrap(&rest, screen.columns().saturating_sub(2)) {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
    }
    for note in &all.notes {
        super::remark(&mut out, note, screen);
    }
    out
}
