//! Code that no compiler wrote, or too much of it: explanations must come, and come soon.

use genba_code::{Disassembler, Flow, Syntax};
use iced_x86::code_asm::*;
use proptest::prelude::*;

use crate::explain;
use crate::findings::Limits;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, of_bytes, program};

const LIMITS: Limits = Limits {
    min_gain: 0.02,
    samples: 10_000,
};

/// Machine code with counts and time that some numbers make.
fn arbitrary(bytes: &[u8], seed: u64) -> Option<FunctionInput> {
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(bytes, 0x1000, &|_| None);
    if code.is_empty() {
        return None;
    }
    let mut state = seed | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    let counts: Vec<u64> = code
        .iter()
        .map(|_| next() % 4 * (next() % 1_000_000_000))
        .collect();
    let heat: Vec<f64> = code.iter().map(|_| (next() % 1000) as f64).collect();
    let all: f64 = heat.iter().sum::<f64>().max(1.0);
    let heat: Vec<f64> = heat.iter().map(|heat| heat / all).collect();
    let jumps: Vec<(usize, u64)> = (0..code.len())
        .filter(|&at| matches!(code[at].flow, Flow::CondJump(_)))
        .map(|at| (at, next() % (counts[at] + 2)))
        .collect();
    Some(of_bytes("noise", bytes, &counts, &heat, &jumps))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Bytes as they come: jumps into the middle of instructions, tangles, unknown forms; counts
    /// that cannot be.
    #[test]
    fn noise_is_explained_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 1..300),
        seed in any::<u64>(),
    ) {
        if let Some(function) = arbitrary(&bytes, seed) {
            for finding in explain(&program(vec![function]), LIMITS) {
                let gain = finding.predicted_speedup;
                prop_assert!(gain.low <= gain.value && gain.value <= gain.high, "{gain:?}");
                prop_assert!(gain.low.is_finite() && gain.high.is_finite());
            }
        }
    }

    /// Nothing but short jumps forth and back: loops in loops, entered anywhere.
    #[test]
    fn tangles_are_explained_without_a_panic(
        jumps in proptest::collection::vec((0u8..16, -60i8..60), 1..80),
        seed in any::<u64>(),
    ) {
        let bytes: Vec<u8> = jumps
            .iter()
            .flat_map(|&(condition, by)| [0x70 | condition, by as u8 & 0xfe])
            .collect();
        if let Some(function) = arbitrary(&bytes, seed) {
            let _ = explain(&program(vec![function]), LIMITS);
        }
    }
}

/// A loop of one instruction: a jump to itself, `rep movsb`, `loop`.
#[test]
fn one_instruction_loops_are_analysed_without_panic() {
    let spin = function(
        "spin",
        |a| {
            let mut here = a.create_label();
            a.set_label(&mut here)?;
            a.jmp(here)
        },
        &[1_000_000_000],
        &[1.0],
        &[],
    );
    let copy = function(
        "copy",
        |a| {
            a.rep().movsb()?;
            a.ret()
        },
        &[1000, 1000],
        &[0.9, 0.1],
        &[],
    );
    let bytes = [0xe2, 0xfe, 0xc3];
    let counted = of_bytes(
        "count",
        &bytes,
        &[1_000_000_000, 1],
        &[1.0, 0.0],
        &[(0, 999_999_999)],
    );
    for one in [spin, copy, counted] {
        let found = explain(&program(vec![one]), LIMITS);
        assert!(
            found.iter().all(|one| one.predicted_speedup.value < 50.0),
            "{found:?}"
        );
    }
}

/// A generated interpreter: one function of fifty thousand instructions, three thousand cases in
/// one loop. A walk over all of it for each instruction would take minutes.
#[test]
fn function_of_fifty_thousand_instructions_is_analysed() {
    const CASES: usize = 3000;
    const EACH: usize = 18;
    let (mut counts, mut jumps) = (vec![1_000_000; 2], Vec::new());
    for case in 0..CASES {
        jumps.push((counts.len() + 1, 300));
        counts.extend(vec![300 + case as u64 % 7; EACH]);
    }
    counts.push(1);
    let all: f64 = counts.iter().map(|&count| count as f64).sum();
    let heat: Vec<f64> = counts.iter().map(|&count| count as f64 / all).collect();
    let write = |a: &mut CodeAssembler| {
        let mut head = a.create_label();
        a.set_label(&mut head)?;
        a.movzx(eax, byte_ptr(rdi))?;
        a.add(rdi, 1)?;
        for case in 0..CASES as i32 {
            let mut next = a.create_label();
            a.cmp(eax, case)?;
            a.jne(next)?;
            for step in 0..6 {
                a.mov(rdx, qword_ptr(rsi + 8 * step))?;
                a.add(rdx, rax)?;
            }
            a.mov(qword_ptr(rsi + 8 * (case % 16)), rdx)?;
            a.add(rcx, 1)?;
            a.jmp(head)?;
            a.set_label(&mut next)?;
            a.nop()?;
        }
        a.ret()
    };
    let parser = function("yyparse", write, &counts, &heat, &jumps);
    assert!(parser.code.len() > 50_000);
    let found = explain(&program(vec![parser]), LIMITS);
    assert!(
        found
            .iter()
            .all(|one| one.predicted_speedup.low.is_finite())
    );
}
