//! Mispredicted tests of one value in a loop that does more.

use iced_x86::code_asm::*;

use crate::causes::unpredictable_branch;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

/// A loop of many instructions that sorts bytes into three classes, or looks at two values for that.
fn classes(of_one_value: bool) -> FunctionInput {
    let iterations = 10_000_000;
    let (first, second) = (iterations / 2, iterations / 4);
    let mut counts = vec![1, iterations, iterations, iterations];
    counts.extend([iterations - first; 2]);
    counts.extend([iterations - first - second; REST as usize]);
    counts.extend([iterations, iterations, iterations, 1]);
    let mut heat = vec![0.0; counts.len()];
    // At the sides of both tests.
    for at in [4, 6, counts.len() - 4] {
        heat[at] = 0.09;
    }
    let last = counts.len() - 2;
    function(
        "classify",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.movzx(ecx, byte_ptr(rdi + rax))?;
            a.cmp(cl, 0x40)?;
            a.jb(next)?;
            match of_one_value {
                true => a.cmp(cl, 0x60)?,
                false => a.cmp(byte_ptr(rsi + rax), 0x60)?,
            }
            a.jb(next)?;
            for _ in 0..REST {
                a.add(r8, rcx)?;
            }
            a.set_label(&mut next)?;
            a.add(rax, 1)?;
            a.cmp(rax, r9)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(3, first), (5, second), (last, iterations - 1)],
    )
}

/// Instructions of what is done for one class.
const REST: u32 = 60;

#[test]
fn tests_of_one_value_are_unpredictable_in_a_large_loop_too() {
    let found = unpredictable_branch::detect(&program(vec![classes(true)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site[0], 3);
}

#[test]
fn choices_of_several_values_in_a_large_loop_are_not_replaced_by_a_table() {
    assert!(unpredictable_branch::detect(&program(vec![classes(false)])).is_empty());
}
