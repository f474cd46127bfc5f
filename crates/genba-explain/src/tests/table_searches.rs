//! Unrolled binary searches in constant tables, and near misses.

use genba_model::{Cause, Fix};
use iced_x86::code_asm::*;

use crate::causes::integer_latency_chain;
use crate::tests::synthetic::{function, program};

const SEARCHES: u64 = 1_000_000;

/// `for (half = 1 << (steps - 1); half; half >>= 1) if (table[low + half] <= key) low += half;`, unrolled.
fn found(steps: usize, fixed: bool, chooses: bool) -> Vec<Fix> {
    let per_step = if chooses { 3 } else { 2 };
    let code = 2 + per_step * steps + 2;
    let heat: Vec<f64> = (0..code)
        .map(|at| {
            if (2..code - 2).contains(&at) {
                0.8 / (per_step * steps) as f64
            } else {
                0.0
            }
        })
        .collect();
    let one = function(
        "width",
        |a| {
            match fixed {
                true => a.mov(ebx, 0x40_3000)?,
                false => a.mov(rbx, qword_ptr(rsi))?,
            }
            a.xor(eax, eax)?;
            for step in (0..steps).rev() {
                a.lea(ecx, ptr(rax + (1 << step)))?;
                match chooses {
                    true => {
                        a.cmp(dword_ptr(rbx + rcx * 4), edi)?;
                        a.cmovbe(eax, ecx)?;
                    }
                    false => a.add(eax, dword_ptr(rbx + rcx * 4))?,
                }
            }
            a.mov(eax, dword_ptr(rbx + rax * 4))?;
            a.ret()
        },
        &vec![SEARCHES; code],
        &heat,
        &[],
    );
    let all = integer_latency_chain::detect(&program(vec![one]));
    let of_table = all.into_iter().filter(|one| one.fix == Fix::TableByKey);
    of_table
        .map(|one| {
            assert_eq!(one.cause, Cause::IntegerLatencyChain);
            assert!(one.residual_fraction.high < 1.0);
            one.fix
        })
        .collect()
}

#[test]
fn keys_searched_by_halves_in_a_constant_table_want_a_table_by_their_bits() {
    assert_eq!(found(8, true, true), [Fix::TableByKey]);
}

#[test]
fn short_searches_tables_elsewhere_and_sums_do_not() {
    assert!(found(3, true, true).is_empty());
    assert!(found(8, false, true).is_empty());
    assert!(found(8, true, false).is_empty());
}
