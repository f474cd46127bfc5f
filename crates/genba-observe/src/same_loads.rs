//! Loads that bring what the same instruction brought before, from the same address.
//!
//! Sources: P. Su et al., "Redundant loads: a software inefficiency indicator" (LoadSpy), ICSE 2019;
//! for the last few instead of the last one, M. Lipasti, C. Wilkerson and J. Shen, "Value locality and
//! load value prediction", ASPLOS 1996 (history depth).

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// A load instruction of whose executions some repeated earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SameLoad {
    /// The instruction.
    pub at: CodePoint,
    /// Executions with the address and value of the one before, of those that have one in their
    /// burst.
    pub seen: Seen,
    /// Executions with the address and value of one of the last few different ones: a function
    /// that is called for a few objects in turn reads each object's fields again.
    #[serde(default = "Seen::nothing")]
    pub recent: Seen,
}

/// Different loads of one instruction that are remembered. Chosen: as many objects as a call site
/// or a few of them hand over in turn.
const HISTORY: usize = 4;

/// Finds loads that repeat themselves, those with most executions first.
pub(crate) fn same_loads(bursts: &[Burst]) -> Vec<SameLoad> {
    let (mut same, mut recent) = (Tally::new(), Tally::new());
    let mut last: FastMap<CodePoint, Vec<(u64, u64)>> = FastMap::default();
    for burst in bursts {
        last.clear();
        for event in &burst.events {
            let Observed::Load { address, value, .. } = event.what else {
                continue;
            };
            let loaded = (address, value);
            // The latest one is first.
            let history = last.entry(event.at).or_default();
            let place = history.iter().position(|&one| one == loaded);
            if !history.is_empty() {
                same.count(event.at, place == Some(0));
                recent.count(event.at, place.is_some());
            }
            match place {
                Some(place) => history[..=place].rotate_right(1),
                None => {
                    history.truncate(HISTORY - 1);
                    history.insert(0, loaded);
                }
            }
        }
        same.end_of_burst(burst.weight);
        recent.end_of_burst(burst.weight);
    }
    (recent.shares().into_iter())
        .filter(|(_, recent)| recent.share.value > 0.0)
        .filter_map(|(at, recent)| {
            Some(SameLoad {
                at,
                seen: same.seen(at)?,
                recent,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{burst, load};

    #[test]
    fn same_address_with_another_value_is_not_a_repetition() {
        let events = (0..10).map(|one| load(0x10, 0x1000, 8, one / 5));
        let found = same_loads(&[burst(events.collect())]);
        // Nine have one before them; one of these brought another value.
        assert_eq!(found[0].seen.executions, 9);
        assert!((found[0].seen.share.value - 8.0 / 9.0).abs() < 1e-12);
        assert_eq!(found[0].recent, found[0].seen);
    }

    #[test]
    fn same_value_at_other_addresses_is_not_a_repetition() {
        let events = (0..10).map(|one| load(0x10, 0x1000 + 8 * one, 8, 3));
        assert!(same_loads(&[burst(events.collect())]).is_empty());
    }

    #[test]
    fn objects_in_turn_are_remembered_up_to_a_few() {
        let in_turn = |objects: u64| {
            let events = (0..100).map(|one| load(0x10, 0x1000 + 8 * (one % objects), 8, 3));
            same_loads(&[burst(events.collect())])
        };
        let of_two = &in_turn(2)[0];
        assert!(of_two.seen.share.value < 1e-12 && of_two.recent.share.value > 0.98);
        assert!(!in_turn(HISTORY as u64).is_empty());
        assert!(in_turn(HISTORY as u64 + 1).is_empty());
    }
}
