//! Numbers that each iteration loads, computes on and stores again, and near misses.

use iced_x86::code_asm::*;

use genba_model::Fix;

use crate::candidate::Candidate;
use crate::causes::{fp_latency_chain, integer_latency_chain};
use crate::input::analysis_input::AnalysisInput;
use crate::tests::latency::looped;
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point};
use crate::tests::synthetic::program;

/// Where a sum of products is kept.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// Behind a pointer that the loop does not change.
    Behind,
    /// Behind one that it loads again each time, to the same address by this share of the loads.
    Reloaded(Option<i64>),
    /// In an element of its own for each iteration.
    Apart,
}

/// `*total += w[i] * key[i]` in so many cycles.
fn sum(kept: Kept, cycles: f64) -> AnalysisInput {
    let one = looped(
        cycles,
        &[0.05, 0.05, 0.05, 0.05, 0.6, 0.1, 0.05, 0.05],
        |a| {
            a.movsd_2(xmm0, qword_ptr(rsi))?;
            a.mulsd(xmm0, qword_ptr(rcx + rsi))?;
            match kept {
                Kept::Reloaded(_) => a.mov(rax, qword_ptr(r8))?,
                _ => a.nop()?,
            }
            let to = match kept {
                Kept::Behind => rdi,
                Kept::Reloaded(_) => rax,
                Kept::Apart => rsi,
            };
            a.addsd(xmm0, qword_ptr(to + 0x1000))?;
            a.movsd_2(qword_ptr(to + 0x1000), xmm0)?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rdx)
        },
    );
    let mut input = program(vec![one]);
    if let Kept::Reloaded(stride) = kept {
        let mut observed = observations();
        let at = point(&input, 0, 4);
        observed.loads.push(load_site(at, 0.0, stride));
        input.observed = Some(observed);
    }
    input
}

fn found(kept: Kept, cycles: f64) -> Vec<Candidate> {
    let mut all = fp_latency_chain::detect(&sum(kept, cycles));
    all.retain(|one| one.fix == Fix::DropDeadStores { buffer: false });
    all
}

#[test]
fn sum_behind_a_pointer_waits_for_its_way_through_memory() {
    for kept in [Kept::Behind, Kept::Reloaded(Some(0))] {
        let all = found(kept, 12.0);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].site, [4, 5]);
        let left = all[0].residual_fraction;
        assert!(
            left.low < 0.2 && left.value < 0.5 && left.high < 0.8,
            "{left:?}"
        );
    }
}

#[test]
fn elements_apart_and_loops_of_other_times_do_not() {
    assert_eq!(found(Kept::Apart, 12.0).len(), 0);
    assert_eq!(found(Kept::Reloaded(Some(8)), 12.0).len(), 0, "another row");
    assert_eq!(found(Kept::Reloaded(None), 12.0).len(), 0, "not seen");
    assert_eq!(found(Kept::Behind, 4.0).len(), 0, "renamed");
    assert_eq!(found(Kept::Behind, 60.0).len(), 0, "slow for other reasons");
}

#[test]
fn integers_are_a_chain_of_integers() {
    let counted = |cycles| {
        let one = looped(cycles, &[0.1, 0.5, 0.2, 0.1, 0.1], |a| {
            a.mov(rax, qword_ptr(rsi))?;
            a.add(qword_ptr(rdi), rax)?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rdx)
        });
        let input = program(vec![one]);
        let all = integer_latency_chain::detect(&input);
        assert!(fp_latency_chain::detect(&input).is_empty());
        all.len()
    };
    assert_eq!(counted(7.0), 1);
    assert_eq!(counted(1.0), 0);
}
