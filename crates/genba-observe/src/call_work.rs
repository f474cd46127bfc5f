//! How much a call does: instructions until it returns, with all that it calls, for each place of a call.
//!
//! Time in a function of a library is divided among its callers by this, not by their numbers of calls.

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::{CallStack, Change, Frame};
use crate::fast_hash::FastMap;

/// A call instruction with what its calls executed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallWork {
    /// The call instruction.
    pub at: CodePoint,
    /// Calls that began and ended in a burst.
    pub calls: u64,
    /// Instructions of one, on average.
    pub instructions_per_call: f64,
}

/// The work of all calls that bursts saw from begin to end, in order of their place.
pub(crate) fn call_work(bursts: &[Burst]) -> Vec<CallWork> {
    let mut sums: FastMap<CodePoint, (u64, f64)> = FastMap::default();
    for burst in bursts {
        let mut stack = CallStack::default();
        let mut open: Vec<(Frame, u64)> = Vec::new();
        let mut instructions = 0u64;
        for event in &burst.events {
            match stack.event(event) {
                Change::Entered => {
                    let frame = stack.frames().last().copied();
                    open.extend(frame.map(|frame| (frame, instructions)));
                }
                Change::Left(frames) => {
                    for _ in 0..frames {
                        if let Some((frame, began)) = open.pop() {
                            let sum = sums.entry(frame.call).or_default();
                            sum.0 += 1;
                            sum.1 += (instructions - began) as f64;
                        }
                    }
                }
                Change::Lost => open.clear(),
                Change::Retargeted | Change::None => {}
            }
            if let Observed::Block { instructions: some } = event.what {
                instructions += u64::from(some);
            }
        }
    }
    let mut found: Vec<CallWork> = (sums.into_iter())
        .map(|(at, (calls, instructions))| CallWork {
            at,
            calls,
            instructions_per_call: instructions / calls.max(1) as f64,
        })
        .collect();
    found.sort_by_key(|one| one.at);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, block, burst, call, ret};

    #[test]
    fn callees_count_for_their_callers_and_calls_that_did_not_end_for_none() {
        let events = vec![
            call(0x10, at(0x100), [0; 6]),
            block(0x100, 10),
            call(0x104, at(0x200), [0; 6]),
            block(0x200, 70),
            ret(0x210, 0),
            block(0x109, 5),
            ret(0x110, 0),
            block(0x15, 3),
            call(0x20, at(0x100), [0; 6]),
            block(0x100, 10),
        ];
        let found = call_work(&[burst(events)]);
        let work: Vec<(u64, u64, f64)> = (found.iter())
            .map(|one| (one.at.address, one.calls, one.instructions_per_call))
            .collect();
        assert_eq!(work, [(0x10, 1, 85.0), (0x104, 1, 70.0)]);
    }
}
