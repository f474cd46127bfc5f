//! Sentences of a proof: what was changed in the running program, and what it gained; and of a prediction that a
//! comparison checked.

use genba_model::{CodeChange, Estimate, Proof, ProofKind, Proven, Trial};
use genba_units::format;

use super::findings::ratio;

/// Cost of translation from which on a proof says less of the native program.
const MAX_TRANSLATED_COST: f64 = 1.1;

/// Returns what was changed.
fn change(change: CodeChange) -> &'static str {
    match change {
        CodeChange::OneDivision => {
            "the second division takes its result from the first, while operands are the same"
        }
        CodeChange::PowerOfTwoDivisor => {
            "the division is a shift and a mask, while the divisor is the same power of two"
        }
        CodeChange::CompareAndSubtract => {
            "the division is a comparison and a subtraction, where the quotient is 0 or 1"
        }
        CodeChange::Reciprocal => {
            "the division is a multiplication by the reciprocal, while the divisor is the same"
        }
        CodeChange::PlainOperations => "locked instructions are plain, while there is one thread",
        CodeChange::StoreSkipped => "the stores are skipped",
        CodeChange::Prefetch => "what the loads will need is prefetched",
        CodeChange::LoadsHit => {
            "the loads take their values from a log that was recorded just before: none waits"
        }
        CodeChange::BranchesPredicted => {
            "the branches go by a pattern that is always predicted, each way as often as before"
        }
        CodeChange::WorkLeftOut => {
            "the work is left out, its results taken from a log that was recorded just before"
        }
        CodeChange::NarrowDivision => {
            "the division is one of 32 bits, where both operands are below 2³²"
        }
        CodeChange::ChecksLeftOut => {
            "the branches that go one way are left out, with what only they compare"
        }
    }
}

/// Returns what a comparison says of a finding's prediction; without a trial, it was not decided.
#[must_use]
pub fn checked_prediction(trial: Option<&Trial>) -> String {
    let Some(trial) = trial else {
        return "no comparison was decided, so the finding was not checked".to_owned();
    };
    let holds = match trial.holds() {
        true => "holds",
        false => "does not hold",
    };
    format!(
        "finding {} of case {} ({}): predicted {}, measured {}×; the prediction {holds}",
        trial.finding,
        trial.case,
        trial.cause,
        interval(&trial.predicted),
        ratio(trial.measured.value),
    )
}

fn interval(speedup: &Estimate) -> String {
    format!(
        "{}× ({}–{})",
        ratio(speedup.value),
        ratio(speedup.low),
        ratio(speedup.high)
    )
}

/// Returns the name of what was measured: a bound is not a gain that a fix was seen to have.
pub(crate) fn label(proven: &Proven) -> &'static str {
    match proven.kind {
        ProofKind::Equivalent => "proven",
        ProofKind::UpperBound => "bound",
    }
}

/// Returns what was measured: `proven in the running program, at least: 1.37× (1.35–1.39) of the site, 1.31× …`. It is
/// a lower bound where the compiler can do more with the fix in the source.
/// A change without a gain is named, since another form of the fix may have one.
pub(crate) fn sentence(proven: &Proven) -> String {
    let gains = proven.program_speedup.low > 1.0;
    let mut text = match proven.kind {
        ProofKind::Equivalent if gains && more_by_source(proven).is_some() => {
            "in the running program, at least: ".to_owned()
        }
        ProofKind::Equivalent if gains => "in the running program: ".to_owned(),
        ProofKind::Equivalent => "no gain in the running program by this change: ".to_owned(),
        ProofKind::UpperBound if proven.limits_fixes() => {
            "at most, if it took no time: ".to_owned()
        }
        ProofKind::UpperBound if proven.change == CodeChange::ChecksLeftOut => {
            "at least, without these tests alone: ".to_owned()
        }
        ProofKind::UpperBound => "at least, if it took no time: ".to_owned(),
    };
    if let Some(site) = &proven.site_speedup {
        text.push_str(&format!("{} of the site, ", interval(site)));
    }
    text.push_str(&format!(
        "{} of the program, {}",
        interval(&proven.program_speedup),
        format::plural(proven.pairs, "pair")
    ));
    match proven.output_identical {
        _ if proven.kind == ProofKind::UpperBound => {}
        Some(true) => text.push_str(", output identical"),
        Some(false) => text.push_str(", output differs"),
        None => text.push_str(", output not compared"),
    }
    if !gains {
        text.push_str(&format!(" ({})", change(proven.change)));
    }
    text
}

/// Returns how it was measured, a sentence each.
pub(crate) fn method(proven: &Proven) -> Vec<String> {
    let mut said = vec![format!("change: {}", change(proven.change))];
    let own = (proven.self_check.value - 1.0).abs();
    let allowed = match proven.kind {
        ProofKind::Equivalent => "below 1 % is none",
        ProofKind::UpperBound => "up to 5 % is allowed, and part of the interval",
    };
    said.push(format!(
        "check: two copies of the unchanged code differ by {:.1} % ({allowed})",
        own * 100.0
    ));
    if proven.kind == ProofKind::UpperBound {
        said.push(
            "how: in copies of the process that were discarded; a fix that does something else altogether may \
             gain more"
                .to_owned(),
        );
    }
    if proven.log_is_costly() {
        let share = proven.log_share.unwrap_or_default() * 100.0;
        said.push(format!(
            "log: reading it took up to {share:.0} % of the time that remained, so this is not an upper bound"
        ));
    }
    if let Some(why) = more_by_source(proven) {
        said.push(format!("more: the fix in the source may gain more: {why}"));
    }
    if let Some(cost) = &proven.translated_cost {
        let weaker = match cost.value > MAX_TRANSLATED_COST {
            true => "; above 1.1, so the speedup says less of the native program",
            false => "",
        };
        said.push(format!(
            "cost: translated code takes {} of the native program's time{weaker}",
            interval(cost)
        ));
    }
    said
}

/// Returns why the fix in the source may gain more than the change of some instructions.
fn more_by_source(proven: &Proven) -> Option<&'static str> {
    Some(match proven.change {
        CodeChange::ChecksLeftOut => {
            "in the source a loop for the usual outcome is spared what leads to the tests, may keep values in registers, \
             and may be vectorised"
        }
        _ if proven.kind != ProofKind::Equivalent => return None,
        CodeChange::PlainOperations => {
            "in the source the compiler may keep the value in a register, and leave out its loads and stores"
        }
        CodeChange::PowerOfTwoDivisor
        | CodeChange::CompareAndSubtract
        | CodeChange::Reciprocal
        | CodeChange::NarrowDivision => {
            "each execution tests here whether the divisor is still the same; in the source that is known, and the \
             loop may be vectorised"
        }
        CodeChange::OneDivision => {
            "each execution compares operands here; in the source no comparison is left"
        }
        CodeChange::StoreSkipped => "in the source what computes the value goes with the store",
        _ => return None,
    })
}

/// Returns the sentence of a finding about which nothing can be claimed.
pub(crate) fn no_claim(proof: &Proof) -> String {
    format!(
        "not proven: {}",
        proof.reason.as_deref().unwrap_or("no reason was noted")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proven() -> Proven {
        let estimate = |value: f64| Estimate {
            value,
            low: value - 0.02,
            high: value + 0.02,
        };
        Proven {
            kind: ProofKind::Equivalent,
            change: CodeChange::OneDivision,
            site_speedup: Some(estimate(1.37)),
            program_speedup: estimate(1.31),
            pairs: 214,
            output_identical: Some(true),
            self_check: estimate(1.001),
            log_share: None,
            translated_cost: Some(estimate(1.2)),
        }
    }

    #[test]
    fn a_checked_prediction_says_whether_it_holds() {
        let estimate = |value: f64| Estimate {
            value,
            low: value - 0.1,
            high: value + 0.1,
        };
        let mut trial = Trial {
            case: "7f3a".to_owned(),
            finding: 2,
            cause: "quadratic".to_owned(),
            function: String::new(),
            line: None,
            predicted: estimate(1.5),
            measured: estimate(1.55),
            metric: "wall".to_owned(),
            verdict: genba_model::VerdictName::Faster,
            comparison: None,
            in_flight: false,
            upper_bound: false,
        };
        assert_eq!(
            checked_prediction(Some(&trial)),
            "finding 2 of case 7f3a (quadratic): predicted 1.50× (1.40–1.60), measured 1.55×; the prediction holds"
        );
        trial.measured = estimate(2.0);
        assert!(checked_prediction(Some(&trial)).ends_with("the prediction does not hold"));
        assert!(checked_prediction(None).contains("not checked"));
    }

    #[test]
    fn a_proof_is_one_sentence() {
        assert_eq!(
            sentence(&proven()),
            "in the running program, at least: 1.37× (1.35–1.39) of the site, 1.31× (1.29–1.33) of the program, \
             214 pairs, output identical"
        );
        let prefetched = Proven {
            change: CodeChange::Prefetch,
            ..proven()
        };
        assert!(sentence(&prefetched).starts_with("in the running program: 1.37×"));
        let bound = Proven {
            kind: ProofKind::UpperBound,
            site_speedup: None,
            output_identical: None,
            ..proven()
        };
        assert_eq!(
            sentence(&bound),
            "at most, if it took no time: 1.31× (1.29–1.33) of the program, 214 pairs"
        );
        let checks = Proven {
            change: CodeChange::ChecksLeftOut,
            ..bound.clone()
        };
        assert!(sentence(&checks).starts_with("at least, without these tests alone: 1.31×"));
        assert!(
            method(&checks)
                .iter()
                .any(|line| line.starts_with("more: "))
        );
        assert!(!method(&bound).iter().any(|line| line.starts_with("more: ")));
        let costly = Proven {
            log_share: Some(0.5),
            ..bound
        };
        assert!(sentence(&costly).starts_with("at least, if it took no time"));
        assert!(
            method(&costly)
                .iter()
                .any(|line| line.contains("up to 50 %"))
        );
    }

    #[test]
    fn a_change_without_a_gain_is_named() {
        let one = Estimate {
            value: 0.996,
            low: 0.99,
            high: 1.0,
        };
        let none = Proven {
            site_speedup: None,
            program_speedup: one,
            ..proven()
        };
        assert_eq!(
            sentence(&none),
            "no gain in the running program by this change: 1.00× (0.99–1.00) of the program, 214 pairs, \
             output identical (the second division takes its result from the first, while operands are \
             the same)"
        );
    }

    #[test]
    fn an_expensive_translation_makes_the_claim_weaker() {
        let last = |of: &Proven| method(of).pop().unwrap_or_default();
        assert!(last(&proven()).contains("says less"));
        let cheap = Proven {
            translated_cost: Some(Estimate::exact(1.05)),
            ..proven()
        };
        assert!(!last(&cheap).contains("says less"));
    }
}
