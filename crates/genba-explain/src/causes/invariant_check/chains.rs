//! Loops that wait for a chain of their own, beside which checks run for nothing.

use genba_loop_model::Change;

use crate::causes::invariant_check::is_stored_here;
use crate::constants::observations::MAX_CYCLES_OF_CHAIN;
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_DEPTH_OF_CHECK;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::usual_values::usually_met;

/// Whether an iteration takes hardly longer than the loop's chain, which the checks are not part of.
pub(super) fn waits_for_chain(input: &AnalysisInput, one: &HotLoop<'_>) -> bool {
    if follows_loads(one) {
        return true;
    }
    let model = one
        .input
        .loop_model(&input.program.costs, one.index, &Change::default());
    let Some(chain) = model.and_then(|model| model.chain) else {
        return false;
    };
    one.cycles.value <= MAX_CYCLES_OF_CHAIN * chain.value
}

/// Whether a load of the loop takes its address from a load of the iteration before: then it waits for
/// memory, however long that takes. Where it stored itself what it loads that is a position, which a register holds once
/// nothing is tested between.
fn follows_loads(one: &HotLoop<'_>) -> bool {
    let (function, values) = (one.input, &one.input.values);
    let head = function.flow.loops()[one.index as usize].head;
    let loaded = |value: Value| {
        let mut value = value;
        for _ in 0..MAX_DEPTH_OF_CHECK {
            let Origin::Instruction(at) = values.origin(value) else {
                return false;
            };
            let at = at as usize;
            if one.members.binary_search(&at).is_err() {
                return false;
            }
            if function.data[at].loads() {
                return !is_stored_here(function, one.usual(), at);
            }
            match values.reads(at).iter().find(|read| read.0 < FLAGS) {
                Some(read) => value = read.1,
                None => return false,
            }
        }
        false
    };
    let addresses = one
        .members
        .iter()
        .flat_map(|&at| values.addresses(at).iter().flatten());
    let numbers = addresses.flat_map(|address| {
        [Some(address.base), address.index.map(|index| index.0)]
            .into_iter()
            .flatten()
    });
    // A register that is only restored behind a rare call is not a pointer that is followed.
    numbers
        .filter(|&value| values.origin(value) == Origin::Join(head))
        .any(|value| usually_met(function, value).into_iter().any(loaded))
}
