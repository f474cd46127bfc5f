//! The causes about divisions, vectors and memory, on loops assembled by hand: what they
//! must find, and what looks like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{AddressPattern, DivisionFact, EvidenceSource, Fact, LoadFact, LoopFact};

use crate::causes::cache_miss;
use crate::causes::division_as_overflow_check;
use crate::causes::loop_invariant_divisor;
use crate::causes::missed_vectorisation;
use crate::causes::pointer_chase;
use crate::causes::strided_access;
use crate::input::analysis_input::{AnalysisInput, EventCounts, EventPlace, FunctionInput};
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point};
use crate::tests::synthetic::{ALL, function, has_fact, program};

/// Iterations of a loop with all the time, at so many cycles per iteration.
pub(super) fn iterations(cycles: f64) -> u64 {
    (ALL / cycles) as u64
}

/// A loop of these instructions after one and before a return, with its time spread as given.
pub(super) fn looped(
    cycles: f64,
    heat: &[f64],
    body: impl FnOnce(&mut CodeAssembler) -> Result<(), iced_x86::IcedError>,
) -> FunctionInput {
    let (times, entries) = (iterations(cycles), 100);
    let mut counts = vec![times; heat.len()];
    counts.insert(0, entries);
    counts.push(entries);
    let mut all = heat.to_vec();
    all.insert(0, 0.0);
    all.push(0.0);
    let jump = heat.len();
    function(
        "work",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            body(a)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &all,
        &[(jump, times - entries)],
    )
}

pub(super) fn count(found: &[crate::candidate::Candidate]) -> usize {
    found.len()
}

/// `slot = key[i] % n`, where `n` stays or is another each iteration.
fn slots(changes: bool) -> AnalysisInput {
    slots_sampled(changes, &[0.01, 0.01, 0.9, 0.02, 0.02, 0.02, 0.02])
}

fn slots_sampled(changes: bool, samples: &[f64]) -> AnalysisInput {
    program(vec![looped(20.0, samples, |a| {
        a.mov(rax, qword_ptr(rdi))?;
        a.xor(edx, edx)?;
        a.div(rcx)?;
        if changes {
            a.mov(rcx, qword_ptr(rdi))?;
        } else {
            a.mov(r9, rdx)?;
        }
        a.add(rdi, 8)?;
        a.cmp(rdi, rsi)
    })])
}

#[test]
fn loop_invariant_divisor_is_found_for_constant_divisors_only() {
    let found = loop_invariant_divisor::detect(&slots(false));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Division(DivisionFact::InvariantDivisor { entries: 100, .. })
    )));
    assert!(found[0].residual_fraction.value < 0.6);
    assert_eq!(count(&loop_invariant_divisor::detect(&slots(true))), 0);
}

#[test]
fn time_of_a_division_may_stand_at_what_waits_for_its_result() {
    let behind = [0.01, 0.01, 0.0, 0.9, 0.04, 0.02, 0.02];
    let found = loop_invariant_divisor::detect(&slots_sampled(false, &behind));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Division(DivisionFact::Time { share, .. }) if *share > 0.9
    )));
    let before = [0.97, 0.02, 0.0, 0.0, 0.0, 0.0, 0.01];
    let elsewhere = loop_invariant_divisor::detect(&slots_sampled(false, &before));
    assert_eq!(count(&elsewhere), 0);
}

/// `if (n > (max) / base) fail; n = n * base`, with the failure so often, or the quotient used.
fn check(fails: u64, used: bool) -> AnalysisInput {
    let times = iterations(22.0);
    program(vec![function(
        "check",
        |a| {
            let (mut head, mut fail) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(rax, r8)?;
            a.xor(edx, edx)?;
            a.div(rcx)?;
            a.cmp(rax, rbx)?;
            a.jb(fail)?;
            a.imul_2(rbx, rcx)?;
            if used {
                a.add(r10, rax)?;
            } else {
                a.nop()?;
            }
            a.set_label(&mut fail)?;
            a.add(rdi, 1)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            1,
            times,
            times,
            times,
            times,
            times,
            times - fails,
            times - fails,
            times,
            times,
            times,
            1,
        ],
        &[
            0.0, 0.01, 0.01, 0.8, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02, 0.03, 0.0,
        ],
        &[(5, fails), (10, times - 1)],
    )])
}

#[test]
fn overflow_check_is_found_for_quotients_that_are_only_compared() {
    let found = division_as_overflow_check::detect(&check(0, false));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Division(DivisionFact::OnlyCompared { form, .. }) if form == "div r64"
    )));
    assert!(found[0].residual_fraction.high < 1.0);
    // The division has a better remedy than a reciprocal.
    assert_eq!(count(&loop_invariant_divisor::detect(&check(0, false))), 0);
}

#[test]
fn overflow_check_is_not_found_for_used_quotients_or_varying_outcomes() {
    assert_eq!(
        count(&division_as_overflow_check::detect(&check(0, true))),
        0
    );
    let often = iterations(22.0) / 3;
    assert_eq!(
        count(&division_as_overflow_check::detect(&check(often, false))),
        0
    );
}

/// `o[i] = a[i] + b[i]`, or each of the one before.
fn map(recurs: bool) -> AnalysisInput {
    let heat = [0.2, 0.2, 0.2, 0.2, 0.1, 0.1];
    program(vec![looped(1.3, &heat, |a| {
        a.mov(r8, qword_ptr(rdi + rax * 8))?;
        a.add(r8, qword_ptr(rsi + rax * 8))?;
        if recurs {
            a.mov(qword_ptr(rdi + rax * 8 + 8), r8)?;
        } else {
            a.mov(qword_ptr(rdx + rax * 8), r8)?;
        }
        a.add(rax, 1)?;
        a.cmp(rax, rcx)
    })])
}

#[test]
fn missed_vectorisation_is_found_for_arrays_not_for_recurrences() {
    let found = missed_vectorisation::detect(&map(false));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| {
        *fact == Fact::Loop(LoopFact::ScalarElements { bytes: 8 })
    }));
    assert!(found[0].residual_fraction.value < 0.8);
    assert_eq!(count(&missed_vectorisation::detect(&map(true))), 0);
}

/// The same at more cycles than the model has, with loads that were observed to miss so often.
fn slow_map(cycles: f64, missed: f64) -> AnalysisInput {
    let heat = [0.2, 0.2, 0.2, 0.2, 0.1, 0.1];
    let mut input = program(vec![looped(cycles, &heat, |a| {
        a.mov(r8, qword_ptr(rdi + rax * 8))?;
        a.add(r8, qword_ptr(rsi + rax * 8))?;
        a.mov(qword_ptr(rdx + rax * 8), r8)?;
        a.add(rax, 1)?;
        a.cmp(rax, rcx)
    })]);
    let mut observed = observations();
    for at in [1, 2] {
        let at = point(&input, 0, at);
        observed.loads.push(load_site(at, missed, Some(8)));
    }
    input.observed = Some(observed);
    input
}

#[test]
fn missed_vectorisation_is_found_above_the_model_where_loads_hit() {
    let found = missed_vectorisation::detect(&slow_map(4.0, 0.0));
    assert_eq!(count(&found), 1);
    // What is above the model may stay.
    let sure = missed_vectorisation::detect(&slow_map(1.5, 0.0));
    assert!(
        found[0].residual_fraction.high > 0.6,
        "{:?}",
        found[0].residual_fraction
    );
    assert!(found[0].residual_fraction.value > sure[0].residual_fraction.value);
    assert!(missed_vectorisation::detect(&slow_map(4.0, 0.125)).is_empty());
    assert!(missed_vectorisation::detect(&slow_map(20.0, 0.0)).is_empty());
    let mut unseen = slow_map(4.0, 0.0);
    unseen.observed = None;
    assert!(missed_vectorisation::detect(&unseen).is_empty());
}

/// `o[i] = a[i] + b[i]; m = max(m, o[i])`; with `shown`, the largest one so far is stored instead.
fn largest(shown: bool) -> AnalysisInput {
    let heat = [0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.05, 0.05];
    program(vec![looped(2.0, &heat, |a| {
        a.mov(r8d, dword_ptr(rdi + rax * 4))?;
        a.add(r8d, dword_ptr(rsi + rax * 4))?;
        a.cmp(r9d, r8d)?;
        a.cmovb(r9, r8)?;
        let stored = if shown { r9d } else { r8d };
        a.mov(dword_ptr(rdx + rax * 4), stored)?;
        a.add(rax, 1)?;
        a.cmp(rax, rcx)
    })])
}

#[test]
fn missed_vectorisation_is_found_for_a_largest_element_that_is_wanted_at_the_end_only() {
    assert_eq!(count(&missed_vectorisation::detect(&largest(false))), 1);
    assert_eq!(count(&missed_vectorisation::detect(&largest(true))), 0);
}

/// `out[i] = in[i] + 33` on bytes, with the sum by `lea`, or a copy where only addresses are made by it.
fn shifted_letters(adds: bool) -> Vec<crate::candidate::Candidate> {
    let heat = [0.3, 0.2, 0.2, 0.2, 0.05, 0.05];
    missed_vectorisation::detect(&program(vec![looped(1.5, &heat, |a| {
        a.movzx(r8d, byte_ptr(rdi + rax))?;
        match adds {
            true => a.lea(ecx, dword_ptr(r8 + 0x21))?,
            false => a.lea(r9, qword_ptr(rdi + rax * 1 + 1))?,
        }
        a.mov(byte_ptr(rsi + rax), if adds { cl } else { r8b })?;
        a.add(rax, 1)?;
        a.cmp(rax, rdx)
    })]))
}

#[test]
fn missed_vectorisation_takes_sums_by_address_arithmetic_for_sums() {
    assert_eq!(count(&shifted_letters(true)), 1);
    assert_eq!(count(&shifted_letters(false)), 0);
}

/// `p = p->next`, so many cycles a node.
fn list(cycles: f64) -> AnalysisInput {
    program(vec![looped(cycles, &[0.9, 0.05, 0.03, 0.02], |a| {
        a.mov(rax, qword_ptr(rax + 8))?;
        a.add(rcx, 1)?;
        a.test(rax, rax)
    })])
}

#[test]
fn pointer_chase_is_found_beyond_l1d_only() {
    let found = pointer_chase::detect(&list(80.0));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| {
        let pattern = AddressPattern::PreviousLoad;
        *fact == Fact::Load(LoadFact::Address { pattern, bytes: 8 })
    }));
    assert!(found[0].residual_fraction.value < 0.3);
    assert_eq!(count(&cache_miss::detect(&list(80.0))), 0);
    assert_eq!(count(&pointer_chase::detect(&list(4.2))), 0);
}

/// `sum += p->key->length; p = p->next`: the time is at the key's length.
fn keys(cycles: f64) -> AnalysisInput {
    program(vec![looped(cycles, &[0.02, 0.9, 0.03, 0.03, 0.02], |a| {
        a.mov(rdx, qword_ptr(rax))?;
        a.add(rcx, qword_ptr(rdx + 16))?;
        a.mov(rax, qword_ptr(rax + 8))?;
        a.test(rax, rax)
    })])
}

#[test]
fn load_behind_a_link_of_its_own_iteration_is_not_a_pointer_chase() {
    assert_eq!(count(&pointer_chase::detect(&keys(80.0))), 0);
    assert_eq!(count(&cache_miss::detect(&keys(80.0))), 1);
}

/// `while (p = p->next) sum += p->count`, entered in its middle: the time is at the count, which is read
/// first of each element.
fn entered_behind() -> AnalysisInput {
    let times = 10_000_000;
    program(vec![function(
        "walk",
        |a| {
            let (mut head, mut middle) = (a.create_label(), a.create_label());
            a.jmp(middle)?;
            a.set_label(&mut head)?;
            a.movzx(edx, word_ptr(rax + 28))?;
            a.add(rcx, rdx)?;
            a.set_label(&mut middle)?;
            a.mov(rax, qword_ptr(rax))?;
            a.test(rax, rax)?;
            a.jne(head)?;
            a.ret()
        },
        &[100, times - 100, times - 100, times, times, times, 100],
        &[0.0, 0.8, 0.1, 0.04, 0.03, 0.02, 0.0],
        &[(5, times - 100)],
    )])
}

#[test]
fn first_load_of_an_element_is_a_pointer_chase_wherever_the_loop_is_entered() {
    assert_eq!(count(&pointer_chase::detect(&entered_behind())), 1);
}

/// `sum += a[i * step]`, so many cycles per iteration.
fn strides(step: i32, cycles: f64) -> AnalysisInput {
    program(vec![looped(cycles, &[0.1, 0.8, 0.06, 0.02, 0.02], |a| {
        a.nop()?;
        a.add(rcx, qword_ptr(rdi))?;
        a.add(rdi, step)?;
        a.cmp(rdi, rsi)
    })])
}

#[test]
fn strided_access_is_found_for_strides_not_for_streams() {
    let found = strided_access::detect(&strides(4096, 12.0));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| {
        let pattern = AddressPattern::Stride { bytes: 4096 };
        *fact == Fact::Load(LoadFact::Address { pattern, bytes: 8 })
    }));
    assert_eq!(count(&strided_access::detect(&strides(8, 12.0))), 0);
    assert_eq!(count(&strided_access::detect(&strides(4096, 1.1))), 0);
    assert_eq!(count(&cache_miss::detect(&strides(4096, 12.0))), 0);
}

/// `for (c…) for (r…) sum += rows[r][c]`, or `rows[r][hash(r)]`: so many bytes from one `c` to the next.
fn rows(step: i32, same_element: bool) -> AnalysisInput {
    let (times, runs) = ((ALL / 12.0) as u64, 1_000);
    program(vec![function(
        "means",
        |a| {
            let (mut column, mut row) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut column)?;
            a.mov(rdi, r8)?;
            a.set_label(&mut row)?;
            a.mov(rax, qword_ptr(rdi))?;
            match same_element {
                true => a.nop()?,
                false => a.xor(rcx, rdi)?,
            }
            a.add(rbx, qword_ptr(rax + rcx * 8))?;
            a.add(rdi, 24)?;
            a.cmp(rdi, rsi)?;
            a.jne(row)?;
            a.add(rcx, step / 8)?;
            a.cmp(rcx, rdx)?;
            a.jne(column)?;
            a.ret()
        },
        &[
            1, runs, times, times, times, times, times, times, runs, runs, runs, 1,
        ],
        &[
            0.0, 0.0, 0.1, 0.0, 0.8, 0.06, 0.02, 0.02, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(7, times - runs), (10, runs - 1)],
    )])
}

#[test]
fn column_of_rows_behind_pointers_is_strided() {
    let found = strided_access::detect(&rows(8, true));
    assert_eq!(count(&found), 1);
    assert!(has_fact(&found, |fact| {
        let pattern = AddressPattern::ColumnOfRows { bytes: 8 };
        *fact == Fact::Load(LoadFact::Address { pattern, bytes: 8 })
    }));
    assert_eq!(count(&cache_miss::detect(&rows(8, true))), 0);
    // Of rows of lines each element is in a line of its own, and of a hash nothing comes in order.
    for other in [rows(512, true), rows(8, false)] {
        assert_eq!(count(&strided_access::detect(&other)), 0);
    }
}

#[test]
fn lines_that_stay_for_the_next_element_of_their_row_are_no_strides() {
    let found = |misses_per_load: f64| {
        let mut input = rows(8, true);
        let function = &input.functions[0];
        let at = (0..function.code.len()).find(|&at| function.heat[at] >= 0.8);
        let at = at.expect("a slow load");
        input.program.follow_up.cache_misses = Some(EventCounts {
            event: "misses".to_owned(),
            source: EvidenceSource::Observed,
            period: 1.0,
            places: vec![EventPlace {
                function: 0,
                at,
                times: misses_per_load * function.counts[at] as f64,
            }],
        });
        count(&strided_access::detect(&input))
    };
    assert_eq!(found(0.9), 1);
    // A line has eight elements: one of eight loads fetches it, and it stays.
    assert_eq!(found(0.125), 0);
}

/// `sum += table[hash(i)]`.
fn look_ups(cycles: f64) -> AnalysisInput {
    let heat = [0.02, 0.02, 0.9, 0.02, 0.02, 0.02];
    program(vec![looped(cycles, &heat, |a| {
        a.mov(rax, qword_ptr(rdi))?;
        a.imul_2(rax, rbx)?;
        a.add(rcx, qword_ptr(r8 + rax * 8))?;
        a.add(rdi, 8)?;
        a.cmp(rdi, rsi)
    })])
}

#[test]
fn cache_miss_is_found_beyond_l1d_only() {
    assert_eq!(count(&cache_miss::detect(&look_ups(40.0))), 1);
    assert_eq!(count(&cache_miss::detect(&look_ups(1.5))), 0);
    assert_eq!(count(&pointer_chase::detect(&look_ups(40.0))), 0);
}

/// The entries of a bucket of a hash table, 16 bytes each, compared with a key: so many of them for a key, so
/// many cycles an entry.
fn bucket(entries: u64, cycles: f64) -> FunctionInput {
    let times = (ALL / cycles) as u64;
    let keys = times / entries;
    function(
        "probe",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.set_label(&mut next)?;
            a.imul_2(rax, rbx)?;
            a.mov(rcx, rax)?;
            a.shr(rcx, 40)?;
            a.shl(rcx, 6)?;
            a.add(rcx, rdi)?;
            a.lea(rdx, qword_ptr(rcx + entries as i32 * 16))?;
            a.set_label(&mut head)?;
            a.cmp(qword_ptr(rcx), r9)?;
            a.je(next)?;
            a.add(rcx, 16)?;
            a.cmp(rcx, rdx)?;
            a.jne(head)?;
            a.dec(rsi)?;
            a.jne(next)?;
            a.ret()
        },
        &[
            keys, keys, keys, keys, keys, keys, times, times, times, times, times, keys, keys, 1,
        ],
        &[
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.3, 0.02, 0.04, 0.04, 0.0, 0.0, 0.0,
        ],
        &[(7, 0), (10, times - keys), (12, keys - 1)],
    )
}

#[test]
fn first_entry_of_a_bucket_misses_though_the_others_follow_it() {
    let of = |entries, cycles| program(vec![bucket(entries, cycles)]);
    assert_eq!(count(&cache_miss::detect(&of(4, 60.0))), 1);
    assert_eq!(count(&cache_miss::detect(&of(400, 60.0))), 0, "a stream");
    assert_eq!(count(&cache_miss::detect(&of(4, 1.5))), 0, "in L1d");
}

/// `while (has(seen, e = edges[next])) next = e.next;` in elements of 24 bytes.
fn indexed_list(cycles: f64) -> FunctionInput {
    let times = (ALL / cycles) as u64;
    let entries = times / 200;
    function(
        "walk",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(edx, r15d)?;
            a.lea(rdx, qword_ptr(rdx + rdx * 2))?;
            a.mov(r15d, dword_ptr(rbx + rdx * 8 + 8))?;
            a.cmp(r15, r14)?;
            a.jb(head)?;
            a.ret()
        },
        &[entries, times, times, times, times, times, entries],
        &[0.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.0],
        &[(5, times - entries)],
    )
}

#[test]
fn link_that_is_an_index_of_large_elements_is_a_pointer_chase() {
    let found = pointer_chase::detect(&program(vec![indexed_list(80.0)]));
    assert_eq!(count(&found), 1);
}
