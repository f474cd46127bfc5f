//! How much is left to pass until a scan ends: the letters, lines or elements up to a number, of which each iteration
//! takes off as many as what it read shows.
//!
//! **Near misses.** Sums, which decide nothing; counts that go up or down by constants, which count iterations.

use crate::input::values::Value;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::load_stalls::sources;
use crate::patterns::loop_exits::exits;
use crate::patterns::positions::Handed;

/// Whether a value that iterations hand on only shrinks by what each of them makes anew, and ends the loop where it is
/// below what stays.
pub(super) fn is_left_to_pass(found: &HotLoop<'_>, handed: &Handed) -> bool {
    let shrinks = |made: &Value| shrinks_by_new(found, handed, *made);
    !handed.made.is_empty()
        && handed.made.iter().all(shrinks)
        && handed.made.iter().any(|made| ends_loop(found, *made))
}

fn shrinks_by_new(found: &HotLoop<'_>, handed: &Handed, made: Value) -> bool {
    let function = found.input;
    let Some((at, own, passed)) = handed.operands(function, made) else {
        return false;
    };
    let is_itself = |value: &Value| handed.joins.contains(&value.number);
    if function.code[at].mnemonic != "sub" || own.len() != 1 || passed.len() != 1 {
        return false;
    }
    let varying = sources(function, found.index, &passed);
    !varying.is_empty() && !varying.iter().any(is_itself)
}

/// Whether a comparison of the value with what stays decides whether the loop goes on.
fn ends_loop(found: &HotLoop<'_>, made: Value) -> bool {
    let function = found.input;
    let fixed = |value: Value| {
        function
            .values
            .is_invariant(value, &function.flow, found.index)
    };
    let of_it = |value: Value| value.number == made.number;
    exits(function, &found.members).any(|(_, flags)| {
        let compares = matches!(function.code[flags].mnemonic, "cmp" | "test" | "sub");
        let reads = || function.values.reads(flags).iter().map(|one| one.1);
        let tests = reads().any(of_it) && reads().all(|one| of_it(one) || fixed(one));
        let makes = function.values.writes(flags).iter().any(|one| of_it(one.1));
        compares && (tests || makes)
    })
}
