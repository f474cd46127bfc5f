//! The third integer argument of calls, which is the number of bytes for functions that copy, compare
//! or search memory: who knows that of the callee asks for it.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;

/// A call instruction with the mean of its third argument.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallLength {
    /// The call instruction.
    pub at: CodePoint,
    /// Calls that bursts saw.
    pub calls: u64,
    /// Mean of the third argument: bytes, where it is a size.
    pub bytes_per_call: f64,
}

/// Arguments from here on are no sizes: 16 TB, where addresses begin.
const MAX_BYTES: u64 = 1 << 44;

/// Means for all calls whose third argument may be a size, in order of their place.
pub(crate) fn call_lengths(bursts: &[Burst]) -> Vec<CallLength> {
    let mut sums: FastMap<CodePoint, Option<(u64, f64)>> = FastMap::default();
    for event in bursts.iter().flat_map(|burst| &burst.events) {
        let Observed::Call { arguments, .. } = event.what else {
            continue;
        };
        let sum = sums.entry(event.at).or_insert(Some((0, 0.0)));
        *sum = sum.and_then(|(calls, bytes)| {
            (arguments[2] < MAX_BYTES).then(|| (calls + 1, bytes + arguments[2] as f64))
        });
    }
    let mut found: Vec<CallLength> = (sums.into_iter())
        .filter_map(|(at, sum)| {
            let (calls, bytes) = sum?;
            Some(CallLength {
                at,
                calls,
                bytes_per_call: bytes / calls.max(1) as f64,
            })
        })
        .collect();
    found.sort_by_key(|one| one.at);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call};

    #[test]
    fn mean_of_the_third_argument_is_kept_for_each_call() {
        let copy = |code, bytes| call(code, at(0x100), [1, 2, bytes, 0, 0, 0]);
        let found = call_lengths(&[burst(vec![
            copy(0x10, 100),
            copy(0x20, 8),
            copy(0x10, 300),
            copy(0x30, 0x7fff_0000_0000),
        ])]);
        let means: Vec<(u64, u64, f64)> = (found.iter())
            .map(|one| (one.at.address, one.calls, one.bytes_per_call))
            .collect();
        assert_eq!(means, [(0x10, 2, 200.0), (0x20, 1, 8.0)]);
    }
}
