//! Stores of the value that is in memory already.
//!
//! Source: K. Lepak and M. Lipasti, "On the value locality of store instructions", ISCA 2000.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::tally::{Seen, Tally};

/// A store instruction of whose executions some changed nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SilentStore {
    /// The instruction.
    pub at: CodePoint,
    /// Executions that stored what was there, of all.
    pub seen: Seen,
    /// Whether the instruction reads the memory as well (`or %eax,(%rdi)`).
    pub reads: bool,
}

/// Finds stores that change nothing, those with most executions first.
pub(crate) fn silent_stores(bursts: &[Burst]) -> Vec<SilentStore> {
    let mut tally = Tally::new();
    for burst in bursts {
        for event in &burst.events {
            if let Observed::Store {
                before,
                value,
                reads,
                ..
            } = event.what
            {
                tally.count((event.at, reads), before == value);
            }
        }
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value > 0.0)
        .map(|((at, reads), seen)| SilentStore { at, seen, reads })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, store};

    #[test]
    fn share_of_stores_that_change_nothing() {
        let events = (0..40).map(|one| store(0x10, 0x1000, 8, 5, if one < 30 { 5 } else { 6 }));
        let mut events: Vec<_> = events.collect();
        events.push(store(0x20, 0x1000, 8, 5, 6));
        let found = silent_stores(&[burst(events)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, at(0x10));
        assert!((found[0].seen.share.value - 0.75).abs() < 1e-12);
    }
}
