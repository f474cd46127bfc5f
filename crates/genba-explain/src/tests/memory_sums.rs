//! Sums that loops along arrays keep in memory, and their near misses.

use genba_model::{Fact, LoopFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::missed_vectorisation;
use crate::tests::latency::looped;
use crate::tests::synthetic::{has_fact, program};

/// How a loop stores at an address that stays.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// `s->sum += p[i]` in one instruction.
    Sum,
    /// The same in three.
    SumInSteps,
    /// The sum is stored for each element as well.
    Prefix,
    /// `s->last = p[i]`: no sum.
    Last,
    /// The sum goes round in a register, and is stored each time.
    Stored,
    /// The same, but what is stored has been shifted.
    StoredShifted,
    /// Another field next to it, of which the sum has a byte.
    Overlapping,
}

/// `for (; rax != rcx; rax++)` over bytes, so many cycles an iteration.
fn found(kept: Kept, cycles: f64) -> Vec<Candidate> {
    let heat = match kept {
        Kept::Sum | Kept::Last => vec![0.2, 0.6, 0.1, 0.05, 0.05],
        Kept::Stored => vec![0.2, 0.2, 0.4, 0.1, 0.05, 0.05],
        Kept::StoredShifted => vec![0.2, 0.2, 0.1, 0.1, 0.2, 0.1, 0.05, 0.05],
        Kept::SumInSteps => vec![0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05],
        Kept::Prefix => vec![0.2, 0.2, 0.1, 0.1, 0.2, 0.1, 0.05, 0.05],
        Kept::Overlapping => vec![0.2, 0.4, 0.2, 0.1, 0.05, 0.05],
    };
    let one = looped(cycles, &heat, |a| {
        a.movzx(r8d, byte_ptr(rdi + rax))?;
        match kept {
            Kept::Sum => a.add(qword_ptr(rsi), r8)?,
            Kept::Last => a.mov(qword_ptr(rsi), r8)?,
            Kept::Overlapping => {
                a.add(qword_ptr(rsi), r8)?;
                a.mov(byte_ptr(rsi + 7), r8b)?;
            }
            Kept::Stored => {
                a.add(r9, r8)?;
                a.mov(qword_ptr(rsi), r9)?;
            }
            Kept::StoredShifted => {
                a.add(r9, r8)?;
                a.mov(r10, r9)?;
                a.shr(r10, 2)?;
                a.mov(qword_ptr(rsi), r10)?;
            }
            Kept::SumInSteps | Kept::Prefix => {
                a.mov(r9, qword_ptr(rsi))?;
                a.add(r9, r8)?;
                a.mov(qword_ptr(rsi), r9)?;
            }
        }
        if kept == Kept::Prefix {
            a.mov(qword_ptr(rdx + rax * 8), r9)?;
        }
        a.add(rax, 1)?;
        a.cmp(rax, rcx)
    });
    missed_vectorisation::detect(&program(vec![one]))
}

#[test]
fn sum_that_comes_back_from_memory_is_found_at_the_cycles_of_forwarding() {
    for kept in [Kept::Sum, Kept::SumInSteps] {
        let found = found(kept, 7.0);
        assert_eq!(found.len(), 1);
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Loop(LoopFact::SumsInMemory { sums: 1, .. })
        )));
        // In a register at least.
        assert!(found[0].residual_fraction.value < 0.3);
        assert!(found[0].residual_fraction.high < 0.6);
    }
}

#[test]
fn sum_that_is_stored_for_each_element_is_found() {
    let found = found(Kept::Stored, 1.5);
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::StoredSums { sums: 1 })
    )));
    assert!(found[0].residual_fraction.value < 0.6);
}

#[test]
fn sum_in_memory_is_not_found_in_loops_that_wait_for_something_else() {
    assert!(found(Kept::Sum, 40.0).is_empty());
}

#[test]
fn stores_at_a_fixed_address_that_are_not_sums_are_not_found() {
    assert!(found(Kept::StoredShifted, 2.0).is_empty());
    for kept in [Kept::Prefix, Kept::Last, Kept::Overlapping] {
        assert!(found(kept, 7.0).is_empty());
    }
}
