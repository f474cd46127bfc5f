//! By how much the address of an instruction changes from one execution to the next.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;

/// The most frequent step of an instruction's address.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stride {
    /// The step, bytes.
    pub bytes: i64,
    /// Share of the steps that are this one; at least this, for the count is a lower bound
    /// (Misra and Gries, Science of Computer Programming 2, 1982).
    pub share: f64,
}

/// Steps that are counted for one instruction at a time.
const COUNTED_STEPS: usize = 4;

#[derive(Default)]
struct Steps {
    last: Option<u64>,
    counted: [(i64, u64); COUNTED_STEPS],
    all: u64,
}

/// The most frequent step of each load, within bursts.
pub(crate) fn strides(bursts: &[Burst]) -> FastMap<CodePoint, Stride> {
    let mut sites: FastMap<CodePoint, Steps> = FastMap::default();
    for burst in bursts {
        for event in &burst.events {
            if let Observed::Load { address, .. } = event.what {
                sites.entry(event.at).or_default().add(address);
            }
        }
        sites.values_mut().for_each(|one| one.last = None);
    }
    (sites.into_iter())
        .filter_map(|(at, steps)| {
            let (bytes, count) = steps.counted.into_iter().max_by_key(|one| one.1)?;
            (count > 0).then(|| {
                let share = count as f64 / steps.all.max(1) as f64;
                (at, Stride { bytes, share })
            })
        })
        .collect()
}

impl Steps {
    fn add(&mut self, address: u64) {
        let Some(last) = self.last.replace(address) else {
            return;
        };
        let step = address.wrapping_sub(last) as i64;
        self.all += 1;
        if let Some(one) = self
            .counted
            .iter_mut()
            .find(|one| one.1 > 0 && one.0 == step)
        {
            one.1 += 1;
        } else if let Some(free) = self.counted.iter_mut().find(|one| one.1 == 0) {
            *free = (step, 1);
        } else {
            self.counted.iter_mut().for_each(|one| one.1 -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, load};

    #[test]
    fn constant_step_is_found_and_random_addresses_have_none_of_weight() {
        let mut state = 1u64;
        let events = (0..1000u64).flat_map(|one| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            [load(0x10, 24 * one, 8, 0), load(0x20, state >> 20, 8, 0)]
        });
        let found = strides(&[burst(events.collect())]);
        assert_eq!(
            found[&at(0x10)],
            Stride {
                bytes: 24,
                share: 1.0
            }
        );
        assert!(found.get(&at(0x20)).is_none_or(|one| one.share < 0.02));
    }
}
