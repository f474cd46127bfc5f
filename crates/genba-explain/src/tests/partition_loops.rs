//! Partitions of sorts, and near misses.

use iced_x86::code_asm::*;

use genba_model::Fix;

use crate::candidate::Candidate;
use crate::causes::partition_loops::parts;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::synthetic::{function, program};

/// With two steps each time 15 cycles a step.
const RUNS: u64 = 15_000_000;

/// What is different.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// `while (*++a < pivot); while (*--b > pivot); swap(a, b);`
    Plain,
    /// Both scans go forward: a merge.
    SameDirection,
    /// Nothing changes places.
    NoSwap,
}

/// Two scans of so many steps each time, and a change of places.
fn partition(variant: Variant, steps: u64) -> Vec<Candidate> {
    let mut found = unpredictable_branch::detect(&parted(variant, steps));
    found.retain(|one| one.fix == Fix::PartitionWithoutBranches);
    found
}

fn parted(variant: Variant, steps: u64) -> AnalysisInput {
    let all = steps * RUNS;
    let mut counts = vec![RUNS];
    counts.extend([all; 6]);
    counts.extend([RUNS; 6]);
    counts.push(1);
    let mut heat = vec![0.0; counts.len()];
    heat[1..7].fill(0.15);
    let sorted = function(
        "part",
        |a| {
            let mut around = a.create_label();
            let (mut up, mut back) = (a.create_label(), a.create_label());
            a.set_label(&mut around)?;
            a.mov(r10, rdx)?;
            a.set_label(&mut up)?;
            a.add(rsi, 8)?;
            a.cmp(qword_ptr(rsi), r10)?;
            a.jb(up)?;
            a.set_label(&mut back)?;
            match variant {
                Variant::SameDirection => a.add(rdi, 8)?,
                _ => a.sub(rdi, 8)?,
            }
            a.cmp(qword_ptr(rdi), r10)?;
            a.ja(back)?;
            a.mov(rax, qword_ptr(rsi))?;
            a.mov(rcx, qword_ptr(rdi))?;
            match variant {
                Variant::NoSwap => {
                    a.add(r8, rax)?;
                    a.add(r9, rcx)?;
                }
                _ => {
                    a.mov(qword_ptr(rdi), rax)?;
                    a.mov(qword_ptr(rsi), rcx)?;
                }
            }
            a.cmp(rsi, rdi)?;
            a.jb(around)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(3, all - RUNS), (6, all - RUNS), (12, RUNS - 1)],
    );
    program(vec![sorted])
}

#[test]
fn partitions_whose_scans_end_at_any_time_are_found() {
    let found = partition(Variant::Plain, 2);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [2, 5]);
    let left = found[0].residual_fraction;
    assert!((left.value - 4.0 / 15.0).abs() < 0.01, "{left:?}");
}

#[test]
fn scans_of_partitions_are_told_from_others_however_long() {
    let is_part = |variant, steps| {
        let input = parted(variant, steps);
        let function = &input.functions[0];
        let inner = function.flow.loop_of_instruction(2).expect("a scan");
        parts(&input, function, inner)
    };
    assert!(is_part(Variant::Plain, 2));
    assert!(is_part(Variant::Plain, 400));
    assert!(!is_part(Variant::SameDirection, 400));
    assert!(!is_part(Variant::NoSwap, 400));
}

#[test]
fn long_scans_merges_and_searches_are_no_partitions() {
    for (variant, steps) in [
        (Variant::Plain, 20),
        // All keys are equal.
        (Variant::Plain, 1),
        (Variant::SameDirection, 2),
        (Variant::NoSwap, 2),
    ] {
        assert!(partition(variant, steps).is_empty());
    }
}
