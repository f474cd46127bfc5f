//! Numbers turned to text with a division for each digit: part of `integer-latency-chain`.
//!
//! **Signature.** A loop that takes a number apart digit by digit ([`crate::patterns::digit_loops`]), several digits
//! each time.
//!
//! **Confirmation.** Two digits with each division, from a table of the pairs.
//!
//! **Gain.** The measured time of the loop: half of the divisions go, what stores and tests is less by some.
//!
//! **Source.** As [`crate::patterns::digit_loops`].

use genba_model::{Cause, DivisionFact, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, MIN_DIGITS_TO_PAIR};
use crate::constants::gains::PAIRS_OF_DIGITS_LEFT;
use crate::constants::time_shares::MIN_SHARE_OF_BYTE_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::digit_loops::digit_loop;
use crate::patterns::hot_loops::hot_loops;

/// Finds loops that divide for each digit.
pub(crate) fn digits_one_by_one(input: &AnalysisInput) -> Vec<Candidate> {
    let loops = hot_loops(input, MIN_SHARE_OF_BYTE_LOOP).into_iter();
    let own = loops.filter(|one| one.input.can_be_changed());
    own.filter_map(|one| {
        let digits = one.trips.filter(|&trips| trips >= MIN_DIGITS_TO_PAIR)?;
        let found = digit_loop(&one)?;
        if one.cost.entries? < MIN_CALLS_IN_HOT_CODE {
            return None;
        }
        let site = vec![found.store, found.division];
        let fix = Fix::PairsOfDigits { base: found.base };
        let mut candidate =
            Candidate::new(Cause::IntegerLatencyChain, Some(one.function), site, fix);
        candidate.affected.clone_from(&one.members);
        let (value, low, high) = PAIRS_OF_DIGITS_LEFT;
        candidate.residual_fraction = Estimate { value, low, high };
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        let fact = DivisionFact::DigitByDigit {
            base: found.base,
            digits,
        };
        Some(candidate.fact(fact).fact(one.time()))
    })
    .collect()
}
