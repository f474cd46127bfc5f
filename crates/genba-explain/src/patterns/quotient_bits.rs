//! Loops that divide bit by bit: each iteration doubles a rest, compares it with the divisor and takes that away from it if
//! it fits (long division by shift and subtraction).
//!
//! All is in registers; what iterations hand on is doubled, by a shift of one place or by adding it to itself, and the
//! divisor stays.
//!
//! **Near misses.** Multiplication by shifts and additions, which compares nothing with what stays; checksums, which take
//! away without a carry (`xor`); loops over more bits than two words have.
//!
//! **Source.** D. Knuth, *The Art of Computer Programming* 2, section 4.3.1; H. Warren, *Hacker's Delight*, section 9-4.

use crate::constants::counts::MAX_BITS_OF_DIVISION;
use crate::constants::registers::FLAGS;
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, value_step};

/// The instruction that doubles the rest, if a loop divides so.
pub(crate) fn quotient_bits(found: &HotLoop<'_>) -> Option<usize> {
    let function = found.input;
    let in_registers = |&at: &usize| function.data[at].memory.is_empty();
    let short = found
        .trips
        .is_some_and(|trips| trips <= MAX_BITS_OF_DIVISION);
    if found.has_opaque() || !short || !found.members.iter().all(in_registers) {
        return None;
    }
    let usual: Vec<usize> = found.usual().collect();
    let doubles = usual.iter().copied().find(|&at| is_doubled(found, at))?;
    let names = |list: &'static [&'static str]| {
        let usual = usual.iter().copied();
        usual.filter(move |&at| list.contains(&function.code[at].mnemonic))
    };
    let takes_divisor = |at: usize| reads_what_stays(found, at);
    let compares = names(&["cmp", "sub", "sbb"]).any(takes_divisor);
    let takes_away = names(&["sub", "sbb", "add", "adc"]).any(|at| !takes_divisor(at))
        || names(&["sub", "sbb"]).any(takes_divisor);
    let chooses = chooses(found, &usual);
    (compares && takes_away && chooses).then_some(doubles)
}

/// Whether an instruction doubles a value that iterations hand on.
fn is_doubled(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let (code, values) = (&function.code[at], &function.values);
    let by_one =
        code.text.ends_with(",1") || code.text.ends_with(",0x1") || !code.text.contains(',');
    let operands: Vec<Value> = (values.reads(at).iter())
        .filter(|one| one.0 < FLAGS)
        .map(|one| one.1)
        .collect();
    let to_itself = operands.windows(2).any(|two| two[0] == two[1]) || operands.len() == 1;
    let doubles = match code.mnemonic {
        "shl" | "shld" => by_one,
        "add" | "adc" | "lea" => to_itself && !by_constant(found, at),
        _ => false,
    };
    let carried = |value: &Value| {
        matches!(values.origin(*value), Origin::Join(block)
            if function.flow.loop_blocks(found.index).contains(&block))
    };
    doubles && operands.iter().any(carried)
}

fn by_constant(found: &HotLoop<'_>, at: usize) -> bool {
    found.input.data[at].form.ends_with(", i")
}

/// Whether an instruction takes something that stays, in a register or in the code, and something that is no counter.
fn reads_what_stays(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let data = &function.data[at];
    let operands = (function.values.reads(at).iter())
        .filter(|one| one.0 < FLAGS && data.data_reads >> one.0 & 1 == 1)
        .map(|one| one.1);
    let (stays, others): (Vec<Value>, Vec<Value>) = operands.partition(|&value| {
        function
            .values
            .is_invariant(value, &function.flow, found.index)
    });
    let counts = |&value: &Value| {
        matches!(
            value_step(function, found.index, value),
            Some(Step::Constant(_))
        )
    };
    (!stays.is_empty() || by_constant(found, at))
        && !others.is_empty()
        && !others.iter().any(counts)
}

/// Whether an outcome of the comparison decides: a branch inside, a conditional move, or a mask made of a carry or sign.
fn chooses(found: &HotLoop<'_>, usual: &[usize]) -> bool {
    let function = found.input;
    let names = |at: &usize| function.code[*at].mnemonic;
    let masks = usual.iter().map(names).any(|name| {
        name.starts_with("cmov") || name.starts_with("set") || matches!(name, "sbb" | "sar")
    });
    let branches = usual
        .iter()
        .filter(|&&at| function.code[at].flow.jump_target().is_some());
    masks || branches.count() > 1
}
