//! `unpredictable-branch` where a select could choose between a few instructions, on functions assembled by hand
//! with synthetic observations.

use iced_x86::code_asm::*;

use genba_model::Cause;
use genba_observe::BranchSite;

use crate::candidate::Candidate;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{function, program};

const TIMES: u64 = 10_000_000;

/// Which instruction stands in the piece that a branch leaves out.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Computes,
    Stores,
    Calls,
}

/// `if (x < y) x += z;` in the middle of a loop that calls.
fn left_out(piece: Piece, share: f64) -> AnalysisInput {
    let half = TIMES / 2;
    let one = function(
        "step",
        |a| {
            let (mut head, mut join, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.call(callee)?;
            a.cmp(rax, rcx)?;
            a.jae(join)?;
            match piece {
                Piece::Computes => a.add(rax, rdx)?,
                Piece::Stores => a.mov(qword_ptr(rdi), rdx)?,
                Piece::Calls => a.call(callee)?,
            }
            a.set_label(&mut join)?;
            a.add(rbx, rax)?;
            a.dec(rsi)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, half, TIMES, TIMES, TIMES, 1],
        &[0.3, 0.1, 0.05, 0.2, 0.2, 0.05, 0.1, 0.0],
        &[(2, half), (6, TIMES - 1)],
    );
    observed(program(vec![one]), &[(2, share)])
}

/// The program with branches that are mispredicted in these shares of their executions.
fn observed(mut input: AnalysisInput, branches: &[(usize, f64)]) -> AnalysisInput {
    let mut all = observations();
    for &(at, share) in branches {
        all.branches.push(BranchSite {
            at: point(&input, 0, at),
            taken: seen(0.5),
            mispredicted: Some(seen(share)),
            repeated: None,
        });
    }
    input.observed = Some(all);
    input
}

fn found(input: &AnalysisInput) -> Vec<Candidate> {
    let all = unpredictable_branch::detect(input);
    assert!((all.iter()).all(|one| one.cause == Cause::UnpredictableBranch));
    all
}

#[test]
fn mispredicted_branch_round_a_few_instructions_is_found_beside_calls() {
    let all = found(&left_out(Piece::Computes, 0.4));
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].site, [2]);
    let left = all[0].residual_fraction;
    assert!(left.low < left.value && left.value < left.high && left.high < 1.0);
}

#[test]
fn predicted_branches_and_pieces_with_effects_are_no_choices() {
    assert!(found(&left_out(Piece::Computes, 0.01)).is_empty());
    assert!(found(&left_out(Piece::Stores, 0.4)).is_empty());
    assert!(found(&left_out(Piece::Calls, 0.4)).is_empty());
}

#[test]
fn time_that_is_not_behind_the_branch_is_not_of_mispredictions() {
    let mut input = left_out(Piece::Computes, 0.4);
    for at in [2, 3, 4, 5, 6] {
        input.functions[0].heat[at] = 0.005;
    }
    assert!(found(&input).is_empty());
}

/// `if (candidate >= limit && *candidate == key) return …;`: so many are in range, so many of those equal.
fn two_conditions(in_range: f64, equal: f64) -> AnalysisInput {
    let inside = (TIMES as f64 * in_range) as u64;
    let hits = (inside as f64 * equal) as u64;
    let one = function(
        "probe",
        |a| {
            let (mut head, mut next, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.call(callee)?;
            a.cmp(rax, rcx)?;
            a.jb(next)?;
            a.cmp(qword_ptr(rax), rdx)?;
            a.jne(next)?;
            a.call(callee)?;
            a.set_label(&mut next)?;
            a.dec(rsi)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, inside, inside, hits, TIMES, TIMES, 1],
        &[0.2, 0.1, 0.05, 0.25, 0.1, 0.0, 0.2, 0.1, 0.0],
        &[(2, TIMES - inside), (4, inside - hits), (7, TIMES - 1)],
    );
    observed(program(vec![one]), &[(2, in_range.min(1.0 - in_range))])
}

#[test]
fn two_conditions_that_are_decided_alike_together_are_one_choice() {
    assert_eq!(found(&two_conditions(0.5, 0.02)).len(), 1);
    // Together they are a toss-up as well.
    assert!(found(&two_conditions(0.5, 0.98)).is_empty());
}
