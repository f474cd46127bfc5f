//! `genba prove`: prediction and proof, one below the other.

use genba_model::Proof;

use super::findings::fact;
use crate::terminal::screen::STRONG;
use crate::wording::{findings, proofs};
use crate::{Screen, safe_text};

/// Renders the proof of a finding.
#[must_use]
pub fn proof(of: &Proof, screen: Screen) -> String {
    let cause = safe_text::fit(&of.cause, 40);
    let place = safe_text::sanitise(&findings::place(&of.site));
    let mut out = format!(
        "{:>2} {}  {place}\n",
        of.finding,
        screen.paint(STRONG, &cause)
    );
    let estimate = format!("whole program {}", findings::speedup(&of.predicted_speedup));
    fact(&mut out, "estimate", &estimate, screen);
    match &of.proven {
        Some(proven) => {
            fact(
                &mut out,
                proofs::label(proven),
                &proofs::sentence(proven),
                screen,
            );
            for line in proofs::method(proven) {
                let (kind, text) = line.split_once(": ").unwrap_or(("", &line));
                fact(&mut out, kind, text, screen);
            }
        }
        None => fact(&mut out, "", &proofs::no_claim(of), screen),
    }
    for note in &of.notes {
        super::remark(&mut out, note, screen);
    }
    out
}
