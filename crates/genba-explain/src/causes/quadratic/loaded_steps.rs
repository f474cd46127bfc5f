//! Positions that go on by what stands at them: lengths of records, operands of instructions, letters of several bytes.
//!
//! **Near misses.** Sums of what is read, which are no addresses; positions that may go back (signed steps).

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
    let Origin::Instruction(at) = function.values.origin(made) else {
        return false;
    };
    let at = at as usize;
    let data = &function.data[at];
    let operands: Vec<Value> = (function.values.reads(at).iter())
        .filter(|one| data.data_reads >> one.0 & 1 == 1)
        .map(|one| one.1)
        .collect();
    let is_itself = |value: &Value| handed.joins.contains(&value.number);
    let (own, steps): (Vec<Value>, Vec<Value>) = operands.into_iter().partition(is_itself);
    let unsigned = |step: &Value| {
        let by = match function.values.origin(*step) {
            Origin::Instruction(by) => by as usize,
            _ => return false,
        };
        !function.code[by].mnemonic.starts_with("movs")
            && is_loaded_among(function, &found.members, *step)
    };
    matches!(function.code[at].mnemonic, "add" | "lea")
        && data
            .memory
            .iter()
            .all(|access| !access.reads && !access.writes)
        && own.len() == 1
        && steps.len() == 1
        && steps.iter().all(unsigned)
}
