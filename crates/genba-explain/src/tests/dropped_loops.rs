//! Loops whose results a test behind them drops, and near misses.

use iced_x86::code_asm::*;

use genba_model::{Fact, Fix, ObservedFact};

use crate::causes::discarded_work;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::synthetic::{function, has_fact, program};

const RUNS: u64 = 100_000;

/// What is different.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// `for (...) sum += *p++; if (!wanted) return; *to += sum;`
    Plain,
    /// The test looks at the sum.
    TestsSum,
    /// What drops the sum adds it to another one.
    ReadByBoth,
    /// The loop stores each sum.
    Stores,
    /// The sum waits in the frame.
    InFrame,
    /// What drops the sum hands it over to another function, to which it jumps.
    HandedOver,
}

/// A sum in a loop, and a test behind it that drops so many.
fn summed(variant: Variant, dropped: u64) -> AnalysisInput {
    let kept = RUNS - dropped;
    let mut counts = vec![RUNS];
    counts.extend([10 * RUNS; 5]);
    counts.extend([RUNS; 3]);
    counts.extend([kept; 3]);
    counts.extend([RUNS; 2]);
    let mut heat = vec![0.0; counts.len()];
    heat[1..6].fill(0.16);
    // What is handed over is not in the register of results as well.
    let sum = match variant {
        Variant::HandedOver => r9d,
        _ => eax,
    };
    let checksum = function(
        "checksum",
        |a| {
            let (mut head, mut end) = (a.create_label(), a.create_label());
            a.xor(sum, sum)?;
            a.set_label(&mut head)?;
            a.movzx(r8d, byte_ptr(rsi))?;
            a.add(sum, r8d)?;
            match variant {
                Variant::Stores => a.mov(dword_ptr(rbx), eax)?,
                _ => a.add(rsi, 1)?,
            }
            a.cmp(rsi, rcx)?;
            a.jne(head)?;
            match variant {
                Variant::InFrame => a.mov(dword_ptr(rsp + 8), eax)?,
                Variant::HandedOver => a.mov(eax, 1)?,
                _ => a.mov(r9d, eax)?,
            }
            match variant {
                Variant::TestsSum => a.test(eax, 1)?,
                _ => a.test(edx, 1)?,
            }
            a.je(end)?;
            match variant {
                Variant::InFrame => a.mov(r9d, dword_ptr(rsp + 8))?,
                _ => a.nop()?,
            }
            a.add(dword_ptr(rdi), r9d)?;
            a.nop()?;
            a.set_label(&mut end)?;
            match variant {
                Variant::ReadByBoth => a.mov(eax, r9d)?,
                Variant::HandedOver => a.mov(edi, r9d)?,
                _ => a.mov(eax, 1)?,
            }
            match variant {
                Variant::HandedOver => a.jmp(0x9000),
                _ => a.ret(),
            }
        },
        &counts,
        &heat,
        &[(5, 9 * RUNS), (8, dropped)],
    );
    program(vec![checksum])
}

#[test]
fn sums_that_a_test_behind_them_drops_are_found() {
    for variant in [Variant::Plain, Variant::InFrame] {
        let found = discarded_work::detect(&summed(variant, RUNS * 6 / 10));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fix, Fix::TestBeforeWork);
        assert_eq!(found[0].site, [1, 8]);
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Observed(ObservedFact::DiscardingTest { executions: RUNS, share, .. }) if (share - 0.6).abs() < 1e-9
        )));
        // 80 % of the time, 60 % of the runs.
        assert!((found[0].residual_fraction.low - 0.52).abs() < 0.01);
    }
}

#[test]
fn sums_that_are_read_stored_tested_or_mostly_wanted_are_not() {
    for (variant, dropped) in [
        (Variant::TestsSum, RUNS * 6 / 10),
        (Variant::ReadByBoth, RUNS * 6 / 10),
        (Variant::HandedOver, RUNS * 6 / 10),
        (Variant::Stores, RUNS * 6 / 10),
        (Variant::Plain, RUNS / 10),
        // Nobody ever wants it: that may lie in the input.
        (Variant::Plain, RUNS),
    ] {
        assert!(discarded_work::detect(&summed(variant, dropped)).is_empty());
    }
}
