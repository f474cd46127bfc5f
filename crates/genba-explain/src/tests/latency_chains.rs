//! The causes about latency chains, on loops assembled by hand: what they must find, and what looks like it
//! and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{Estimate, Fact, Fix, HostTableEntry, LoopFact, Reduction};

use crate::causes::already_optimal;
use crate::causes::fp_latency_chain;
use crate::causes::integer_latency_chain;
use crate::causes::missed_vectorisation;
use crate::constants::gains::MAX_LOOP_RESIDUAL;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::latency::{count, iterations, looped};
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point};
use crate::tests::synthetic::{has_fact, program};

/// `sum += a[i]`, and what is done with the sum in each iteration.
fn sum(stored: bool) -> AnalysisInput {
    program(vec![looped(3.0, &[0.9, 0.02, 0.02, 0.02, 0.04], |a| {
        a.addsd(xmm0, qword_ptr(rdi + rax * 8))?;
        if stored {
            a.movsd_2(qword_ptr(rsi + rax * 8), xmm0)?;
        } else {
            a.nop()?;
        }
        a.add(rax, 1)?;
        a.cmp(rax, rdx)
    })])
}

#[test]
fn fp_latency_chain_is_found_for_a_sum() {
    let found = fp_latency_chain::detect(&sum(false));
    assert_eq!(count(&found), 1);
    assert!(
        found[0].residual_fraction.value < 0.6,
        "{:?}",
        found[0].residual_fraction
    );
    assert!(found[0].residual_fraction.low <= found[0].residual_fraction.value);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::Chain { instructions, .. }) if instructions == &["addsd"]
    )));
    assert_eq!(found[0].fix, Fix::Accumulators(Reduction::FloatSum));
    assert!(already_optimal::detect(&sum(false)).len() <= 1);
}

/// A sum over what the second cache delivers, at 1.3 times this rate and a core clock of 1 GHz.
#[test]
fn chain_beside_lines_that_take_as_long_is_not_worth_splitting() {
    let split = |bytes_per_second: f64| {
        let mut input = sum(false);
        input.program.clock_hz = Some(1e9);
        let table = input.program.costs.table.as_mut().expect("a table");
        table.entries.push(HostTableEntry {
            form: "memcpy [L2]".to_owned(),
            bytes_per_second: Some(Estimate::exact(bytes_per_second)),
            ..HostTableEntry::default()
        });
        let mut observed = observations();
        let load = point(&input, 0, 1);
        observed.loads.push(load_site(load, 1.0 / 8.0, None));
        input.observed = Some(observed);
        fp_latency_chain::detect(&input)[0].residual_fraction.value
    };
    // Eight bytes of a line for each number: 3 cycles at 2 GB/s, one in a hundred at 600.
    assert_eq!(split(2e9), MAX_LOOP_RESIDUAL);
    assert!(split(6e11) < 0.6);
}

/// The quotient by 65521 is a product with 2⁴⁶ ÷ 65521, shifted.
const SHIFT: u32 = 46;

fn reciprocal_of(divisor: u64) -> i32 {
    (1u64 << SHIFT).div_ceil(divisor) as i32
}

/// `a = (a + p[i]) % 65521; b = (b + a) % 65521`.
fn remainders_of_two_sums() -> AnalysisInput {
    let reciprocal = reciprocal_of(65521);
    let heat = [0.05; 17];
    program(vec![looped(11.0, &heat, |a| {
        a.movzx(ecx, byte_ptr(rdi + rax))?;
        a.add(edx, ecx)?;
        a.mov(rcx, rdx)?;
        a.imul_3(rdx, rdx, reciprocal)?;
        a.shr(rdx, SHIFT)?;
        a.imul_3(r9d, edx, 65521)?;
        a.sub(ecx, r9d)?;
        a.mov(edx, ecx)?;
        a.add(ebx, ecx)?;
        a.mov(rcx, rbx)?;
        a.imul_3(rbx, rbx, reciprocal)?;
        a.shr(rbx, SHIFT)?;
        a.imul_3(r9d, ebx, 65521)?;
        a.sub(ecx, r9d)?;
        a.mov(ebx, ecx)?;
        a.sub(rax, 1)
    })])
}

/// `sum = (sum + p[i]) % 65521`, by the reciprocal of this number, or `sum = (sum * reciprocal >> 46) + p[i]`; what is
/// done with the sum.
fn remainder(taken: bool, divisor: u64, stored: bool) -> AnalysisInput {
    let reciprocal = reciprocal_of(divisor);
    let heat = [
        0.1, 0.1, 0.05, 0.2, 0.1, 0.2, 0.1, 0.05, 0.0, 0.05, 0.05, 0.0,
    ];
    program(vec![looped(10.0, &heat, |a| {
        a.movzx(ecx, byte_ptr(rdi + rax))?;
        a.add(edx, ecx)?;
        a.mov(rcx, rdx)?;
        a.imul_3(rdx, rdx, reciprocal)?;
        a.shr(rdx, SHIFT)?;
        if taken {
            a.imul_3(r9d, edx, 65521)?;
            a.sub(ecx, r9d)?;
            a.mov(edx, ecx)?;
        } else {
            for _ in 0..3 {
                a.nop()?;
            }
        }
        match stored {
            true => a.mov(dword_ptr(rsi + rax * 4), edx)?,
            false => a.nop()?,
        }
        a.add(rax, 1)?;
        a.cmp(rax, r10)
    })])
}

#[test]
fn sums_whose_remainder_is_taken_at_each_step_may_defer_it() {
    let found = integer_latency_chain::detect(&remainder(true, 65521, false));
    assert_eq!(count(&found), 1);
    assert_eq!(found[0].fix, Fix::Accumulators(Reduction::Remainder));
    assert!(found[0].residual_fraction.value < 0.5);
    let two = integer_latency_chain::detect(&remainders_of_two_sums());
    assert_eq!(count(&two), 1);
    assert!(two[0].residual_fraction.value < 0.5);
    // The remainder is wanted each time; a fraction of the sum is not a remainder.
    assert_eq!(
        count(&integer_latency_chain::detect(&remainder(
            true, 65521, true
        ))),
        0
    );
    assert_eq!(
        count(&integer_latency_chain::detect(&remainder(
            false, 65521, false
        ))),
        0
    );
    // A filter of two other factors is not a remainder.
    let filter = remainder(true, 65000, false);
    assert_eq!(count(&integer_latency_chain::detect(&filter)), 0);
}

#[test]
fn gathered_elements_are_summed_without_vectors() {
    // The index is loaded, too: `sum += a[b[i]]`.
    let gathered = program(vec![looped(3.0, &[0.1, 0.82, 0.02, 0.02, 0.04], |a| {
        a.mov(ecx, dword_ptr(rsi + rax * 4))?;
        a.addsd(xmm0, qword_ptr(rdi + rcx * 8))?;
        a.add(rax, 1)?;
        a.cmp(rax, rdx)
    })]);
    let found = fp_latency_chain::detect(&gathered);
    assert_eq!(count(&found), 1);
    let left = |found: &[crate::candidate::Candidate]| found[0].residual_fraction;
    let plain = fp_latency_chain::detect(&sum(false));
    assert!(left(&found).low > left(&plain).low);
}

#[test]
fn fp_latency_chain_is_not_found_for_stored_prefix_sums() {
    assert_eq!(count(&fp_latency_chain::detect(&sum(true))), 0);
    assert_eq!(count(&missed_vectorisation::detect(&sum(true))), 0);
}

#[test]
fn fp_latency_chain_is_not_found_for_horners_rule() {
    let input = program(vec![looped(7.0, &[0.5, 0.45, 0.02, 0.01, 0.02], |a| {
        a.mulsd(xmm0, xmm1)?;
        a.addsd(xmm0, qword_ptr(rdi + rax * 8))?;
        a.add(rax, 1)?;
        a.cmp(rax, rdx)
    })]);
    assert_eq!(count(&fp_latency_chain::detect(&input)), 0);
    let told = already_optimal::detect(&input);
    assert_eq!(count(&told), 1, "it runs at its chain");
    assert!(told[0].advice);
}

#[test]
fn costs_extrapolated_from_a_part_do_not_show_what_a_loop_waits_for() {
    let mut input = sum(false);
    input.program.part_counted = true;
    assert!(fp_latency_chain::detect(&input).is_empty());
    let horner = |part| {
        let mut input = program(vec![looped(7.0, &[0.5, 0.45, 0.02, 0.01, 0.02], |a| {
            a.mulsd(xmm0, xmm1)?;
            a.addsd(xmm0, qword_ptr(rdi + rax * 8))?;
            a.add(rax, 1)?;
            a.cmp(rax, rdx)
        })]);
        input.program.part_counted = part;
        already_optimal::detect(&input).len()
    };
    assert_eq!((horner(false), horner(true)), (1, 0));
}

/// `h = h * f + p[i]`, or a generator that takes nothing in.
fn hash(takes: bool) -> AnalysisInput {
    program(vec![looped(
        4.0,
        &[0.7, 0.01, 0.25, 0.01, 0.01, 0.02],
        |a| {
            a.imul_2(rax, rbx)?;
            if takes {
                a.movzx(ecx, byte_ptr(rdi))?;
                a.add(rax, rcx)?;
            } else {
                a.nop()?;
                a.add(rax, r8)?;
            }
            a.add(rdi, 1)?;
            a.cmp(rdi, rdx)
        },
    )])
}

/// A checksum by tables: one look-up a byte, or four side by side for a word.
fn table(sliced: bool) -> AnalysisInput {
    let heat: &[f64] = if sliced {
        &[0.05; 20]
    } else {
        &[0.05, 0.1, 0.3, 0.1, 0.3, 0.05, 0.05, 0.05]
    };
    program(vec![looped(9.0, heat, |a| {
        if sliced {
            a.xor(eax, dword_ptr(rdi))?;
            for (byte, register) in [ecx, ebx, r9d, r10d].into_iter().enumerate() {
                a.mov(register, eax)?;
                a.shr(register, 8 * byte as u32)?;
                a.and(register, 255)?;
            }
            a.mov(eax, dword_ptr(rsi + rcx * 4))?;
            a.xor(eax, dword_ptr(rsi + rbx * 4 + 1024))?;
            a.xor(eax, dword_ptr(rsi + r9 * 4 + 2048))?;
            a.xor(eax, dword_ptr(rsi + r10 * 4 + 3072))?;
            a.add(rdi, 4)?;
        } else {
            a.movzx(ecx, byte_ptr(rdi))?;
            a.xor(ecx, eax)?;
            a.movzx(ecx, cl)?;
            a.shr(eax, 8)?;
            a.xor(eax, dword_ptr(rsi + rcx * 4))?;
            a.add(rdi, 1)?;
        }
        a.cmp(rdi, rdx)
    })])
}

#[test]
fn integer_latency_chain_is_found_for_bytewise_not_for_sliced_checksums() {
    let found = integer_latency_chain::detect(&table(false));
    assert_eq!(count(&found), 1);
    assert_eq!(found[0].fix, Fix::Accumulators(Reduction::Table));
    assert!(integer_latency_chain::detect(&table(true)).is_empty());
}

#[test]
fn integer_latency_chain_is_found_for_a_hash_not_for_a_generator() {
    let found = integer_latency_chain::detect(&hash(true));
    assert_eq!(count(&found), 1);
    assert!((0.2..0.5).contains(&found[0].residual_fraction.value));
    assert_eq!(found[0].fix, Fix::Accumulators(Reduction::Polynomial));
    assert_eq!(count(&integer_latency_chain::detect(&hash(false))), 0);
}

/// `h = (h + (h << 5)) ^ p[i]`, or a generator that takes nothing in.
fn shifted_hash(takes: bool) -> AnalysisInput {
    program(vec![looped(
        3.0,
        &[0.3, 0.3, 0.3, 0.02, 0.04, 0.02, 0.02, 0.0],
        |a| {
            a.mov(rcx, rax)?;
            a.shl(rcx, 5)?;
            a.add(rax, rcx)?;
            if takes {
                a.movzx(edx, byte_ptr(rdi))?;
                a.xor(rax, rdx)?;
            } else {
                a.nop()?;
                a.xor(rax, r8)?;
            }
            a.add(rdi, 1)?;
            a.cmp(rdi, rsi)
        },
    )])
}

#[test]
fn integer_latency_chain_is_found_for_a_hash_of_shifts_and_additions() {
    let found = integer_latency_chain::detect(&shifted_hash(true));
    assert_eq!(count(&found), 1);
    assert_eq!(found[0].fix, Fix::Accumulators(Reduction::Mixing));
    assert_eq!(
        count(&integer_latency_chain::detect(&shifted_hash(false))),
        0
    );
}

#[test]
fn another_hash_gains_less_for_short_keys() {
    let left = |entries| {
        let mut input = shifted_hash(true);
        let function = &mut input.functions[0];
        function.counts[0] = entries;
        for cost in function.loops.iter_mut().flatten() {
            cost.entries = Some(entries);
        }
        let found = integer_latency_chain::detect(&input);
        found.first().map(|one| one.residual_fraction.value)
    };
    let times = iterations(3.0);
    let (long, short) = (left(times / 10_000), left(times / 20));
    assert!(short > long.map(|long| long + 0.1), "{long:?} {short:?}");
    assert_eq!(left(times / 8), None, "a word");
}
