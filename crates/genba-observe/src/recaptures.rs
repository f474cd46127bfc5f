//! How many different inputs a call meets in a run of which bursts see a small part: capture and recapture.
//!
//! A burst is too short to see an input again that comes back after thousands of others. If all inputs are as frequent,
//! a call has one of the K that earlier bursts saw with probability K ÷ D, where D are all: so many calls as had a
//! known one tell D (Z. Schnabel, "The estimation of the total fish population of a lake", American Mathematical Monthly
//! 45, 1938). Of inputs that are not as frequent D is underestimated: that of those which count.
//!
//! A program that does all its work again, as benchmarks do, meets its inputs again in their order: then nothing is said.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::fast_hash::{FastSet, mix};

/// What bursts together say of the different inputs of calls from one place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recaptured {
    /// Calls, each the first with its input in its burst, whose input an earlier burst had met.
    pub again: u64,
    /// Estimate of the number of different inputs.
    pub different: f64,
}

/// Inputs that are remembered of one call site over all bursts.
const MAX_INPUTS: usize = 1 << 16;

/// Calls in a row that tell whether the program repeats itself: longer than a pass over the children of a node, which
/// begins anew at other nodes. Chosen.
const CALLS_IN_A_ROW: usize = 32;

/// Part of the calls that had all calls in a row before them as an earlier burst had: from here on the program repeats
/// itself. Chosen.
const MAX_IN_ORDER: f64 = 0.1;

/// Inputs of a call site, burst by burst.
#[derive(Default)]
pub(crate) struct Recaptures {
    known: FastSet<u64>,
    known_rows: FastSet<u64>,
    /// Of this burst.
    rows: Vec<u64>,
    row: VecDeque<u64>,
    again: u64,
    /// For each call, the number of inputs that were known.
    chances: f64,
    ordered: u64,
    in_rows: u64,
}

impl Recaptures {
    /// A call with an input; `first`: the first with it in its burst.
    pub(crate) fn call(&mut self, input: u64, first: bool) {
        if first && !self.known.is_empty() {
            self.chances += self.known.len() as f64;
            self.again += u64::from(self.known.contains(&input));
        }
        self.row.push_back(input);
        if self.row.len() > CALLS_IN_A_ROW {
            self.row.pop_front();
        }
        if self.row.len() == CALLS_IN_A_ROW {
            let row = self.row.iter().fold(0, |sum, &one| mix(sum, one));
            if self.known.contains(&input) {
                self.in_rows += 1;
                self.ordered += u64::from(self.known_rows.contains(&row));
            }
            self.rows.push(row);
        }
    }

    /// The end of a burst, which met these inputs.
    pub(crate) fn end_of_burst(&mut self, inputs: impl Iterator<Item = u64>) {
        for input in inputs {
            if self.known.len() < MAX_INPUTS {
                self.known.insert(input);
            }
        }
        for row in self.rows.drain(..) {
            if self.known_rows.len() < MAX_INPUTS {
                self.known_rows.insert(row);
            }
        }
        self.row.clear();
    }

    /// What they say, where inputs came again, in other orders.
    pub(crate) fn recaptured(&self) -> Option<Recaptured> {
        let repeats_itself = self.ordered as f64 > MAX_IN_ORDER * self.in_rows as f64;
        (self.again > 0 && self.in_rows > 0 && !repeats_itself).then(|| Recaptured {
            again: self.again,
            different: self.chances / self.again as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts of a hundred calls each, with these inputs.
    fn seen(input: impl Fn(u64) -> u64) -> Option<Recaptured> {
        let mut all = Recaptures::default();
        for burst in 0..40u64 {
            let mut met = FastSet::default();
            for call in 0..100 {
                let input = input(burst * 100 + call);
                all.call(input, met.insert(input));
            }
            all.end_of_burst(met.into_iter());
        }
        all.recaptured()
    }

    /// A number that looks like chance.
    fn chance(of: u64) -> u64 {
        mix(mix(0, of), 1) >> 16
    }

    #[test]
    fn number_of_inputs_follows_from_those_that_come_again() {
        let found = seen(|call| chance(call) % 2000).expect("come again");
        assert!(found.again > 500, "{found:?}");
        assert!((1500.0..2700.0).contains(&found.different), "{found:?}");
    }

    #[test]
    fn inputs_that_never_come_again_say_nothing() {
        assert_eq!(seen(|call| call), None);
    }

    #[test]
    fn passes_over_one_of_many_groups_are_another_order() {
        assert!(seen(|call| 20 * (chance(call / 20) % 200) + call % 20).is_some());
    }

    #[test]
    fn program_that_repeats_itself_says_nothing() {
        assert_eq!(seen(|call| call % 700), None);
    }
}
