//! Loads that bring what the same instruction brought the time before, from the same address.
//!
//! Source: P. Su et al., "Redundant loads: a software inefficiency indicator" (LoadSpy), ICSE 2019.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// A load instruction of whose executions some repeated the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SameLoad {
    /// The instruction.
    pub at: CodePoint,
    /// Executions with the address and value of the one before, of those that have one in their
    /// burst.
    pub seen: Seen,
}

/// Finds loads that repeat themselves, those with most executions first.
pub(crate) fn same_loads(bursts: &[Burst]) -> Vec<SameLoad> {
    let mut tally = Tally::new();
    let mut last: FastMap<CodePoint, (u64, u64)> = FastMap::default();
    for burst in bursts {
        last.clear();
        for event in &burst.events {
            if let Observed::Load { address, value, .. } = event.what
                && let Some(before) = last.insert(event.at, (address, value))
            {
                tally.count(event.at, before == (address, value));
            }
        }
        tally.end_of_burst(burst.weight);
    }
    (tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value > 0.0)
        .map(|(at, seen)| SameLoad { at, seen })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{burst, load};

    #[test]
    fn same_address_with_another_value_is_no_repetition() {
        let events = (0..10).map(|one| load(0x10, 0x1000, 8, one / 5));
        let found = same_loads(&[burst(events.collect())]);
        // Nine have one before them; one of these brought another value.
        assert_eq!(found[0].seen.executions, 9);
        assert!((found[0].seen.share.value - 8.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn same_value_at_other_addresses_is_no_repetition() {
        let events = (0..10).map(|one| load(0x10, 0x1000 + 8 * one, 8, 3));
        assert!(same_loads(&[burst(events.collect())]).is_empty());
    }
}
