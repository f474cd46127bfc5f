//! Positions that go on by what stands at them: lengths of records, operands of instructions, letters of several bytes.
//!
//! **Near misses.** Sums of what is read, which are no addresses; positions that may go back (steps with a sign, or of eight bytes).

use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::loop_inputs::is_loaded_among;
use crate::patterns::positions::Handed;

/// Whether a value that iterations hand on is the address from which each of them loads by how much it goes on, at once
/// or through a table: a byte at least, or the walk would not end.
pub(super) fn goes_on_by_loads(found: &HotLoop<'_>, handed: &Handed) -> bool {
    let goes_on = |made: &Value| adds_what_is_loaded(found, handed, *made);
    !handed.made.is_empty()
        && handed.made.iter().all(goes_on)
        && loads(found).any(|address| is_of(handed, address.base))
}

/// Whether a value is the position, or what an iteration makes of it.
fn is_of(handed: &Handed, value: Value) -> bool {
    handed.joins.contains(&value.number)
        || handed.made.iter().any(|made| made.number == value.number)
}

fn loads<'a>(found: &'a HotLoop<'_>) -> impl Iterator<Item = Address> + 'a {
    let function = found.input;
    let executed = found
        .members
        .iter()
        .copied()
        .filter(|&at| found.times(at) > 0.0);
    executed.flat_map(move |at| {
        let accesses = function.data[at].memory.iter();
        let addresses = function.values.addresses(at).iter().copied();
        accesses
            .zip(addresses)
            .filter_map(|(access, address)| address.filter(|_| access.reads))
    })
}

fn adds_what_is_loaded(found: &HotLoop<'_>, handed: &Handed, made: Value) -> bool {
    let function = found.input;
    let Some((at, own, steps)) = handed.operands(function, made) else {
        return false;
    };
    let is_step = |step: &Value| {
        is_loaded_among(function, &found.members, *step) && never_goes_back(found, *step)
    };
    matches!(function.code[at].mnemonic, "add" | "lea")
        && function.data[at].memory.is_empty()
        && own.len() == 1
        && steps.len() == 1
        && steps.iter().all(is_step)
}

/// Whether a loaded value is extended by zeros: of eight bytes it may be negative.
fn never_goes_back(found: &HotLoop<'_>, step: Value) -> bool {
    let function = found.input;
    let Origin::Instruction(at) = function.values.origin(step) else {
        return false;
    };
    let at = at as usize;
    let mut reads = function.data[at].memory.iter().filter(|one| one.reads);
    let narrow = reads.next().is_some_and(|one| one.bytes < 8);
    let name = function.code[at].mnemonic;
    name == "movzx" || name == "mov" && narrow
}
