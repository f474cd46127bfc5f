//! The causes about values, checks and the layout of data, on functions assembled by hand with synthetic
//! observations: what they must find, and what looks like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Estimate, Fact, Fix, KnownValueKind, ObservedFact, ThreadFact};
use genba_observe::{
    ArgumentValue, LineUse, LoadSite, OperandValues, SameLoad, SharedLine, SharingAccess, Stride,
    ValueShare,
};

use crate::causes::{false_sharing, field_order, invariant_check, known_operand};
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{call, function, has_fact, looped, program};

pub(super) const TIMES: u64 = 10_000_000;

pub(super) fn loaded(at: CodePoint, value: u64, share: f64) -> OperandValues {
    OperandValues {
        at,
        stored: false,
        size: 4,
        values: vec![ValueShare {
            value,
            share: share_of(share),
        }],
        executions: 10_000,
        bursts: 20,
    }
}

/// A division of wide integers by what is one in most calls.
fn wide_division(ones: f64, name: &str) -> AnalysisInput {
    let mut one = function(
        "convert",
        |a| {
            let mut callee = a.create_label();
            a.mov(rdx, qword_ptr(rbx + 8))?;
            a.xor(ecx, ecx)?;
            a.call(callee)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[TIMES; 4],
        &[0.02; 4],
        &[],
    );
    one.call_sites.push(call(2, name, TIMES, 30.0));
    "/bin/other".clone_into(&mut one.call_sites[0].targets[0].module);
    let mut callee = function(name, |a| a.ret(), &[TIMES], &[0.6], &[]);
    "/bin/other".clone_into(&mut callee.module);
    let mut input = program(vec![one, callee]);
    let argument = |argument: u8, value: u64, share: f64| ArgumentValue {
        at: point(&input, 0, 2),
        target: CodePoint {
            module: 1,
            address: 0x1000,
        },
        argument,
        value: ValueShare {
            value,
            share: share_of(share),
        },
        calls: 10_000,
        bursts: 20,
    };
    let list = vec![argument(2, 1, ones), argument(3, 0, 0.99)];
    let mut observed = observations();
    observed.argument_values = list;
    input.observed = Some(observed);
    input
}

#[test]
fn division_by_what_is_nearly_always_one_is_found() {
    let found = known_operand::detect(&wide_division(0.98, "__divti3"));
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].fix,
        Fix::TestForValue {
            value: KnownValueKind::Divisor
        }
    );
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::KnownArgument { calls: TIMES, .. })
    )));
    assert!(known_operand::detect(&wide_division(0.6, "__divti3")).is_empty());
    assert!(known_operand::detect(&wide_division(0.98, "draw")).is_empty());
}

/// `for (line = lines; line < end; line++) out[(line->at + line->cap) % line->cap] = line->at`, with this capacity in so many
/// iterations; samples stand anywhere.
fn rings(capacity: u64, share: f64) -> AnalysisInput {
    let mut input = program(vec![looped(12.0, 1, &[0.125; 8], |a| {
        a.mov(ecx, dword_ptr(rbx))?;
        a.mov(esi, dword_ptr(rbx + 4))?;
        a.lea(eax, ptr(rsi + rcx))?;
        a.xor(edx, edx)?;
        a.div(ecx)?;
        a.mov(dword_ptr(rdi + rdx * 4), esi)?;
        a.add(rbx, 32)
    })]);
    let mut observed = observations();
    observed.operand_values = vec![loaded(point(&input, 0, 1), capacity, share)];
    input.observed = Some(observed);
    input
}

#[test]
fn loop_of_divisions_by_one_value_is_modelled_without_them() {
    let left = |capacity, share| {
        let found = known_operand::detect(&rings(capacity, share));
        let value = KnownValueKind::Divisor;
        let all = found
            .iter()
            .all(|one| one.fix == Fix::TestForValue { value });
        assert!(all);
        found
            .iter()
            .map(|one| one.residual_fraction.value)
            .reduce(f64::min)
    };
    let mask = left(8192, 0.99).expect("a mask");
    let reciprocal = left(8191, 0.99).expect("a multiplication");
    assert!(mask < reciprocal && reciprocal < 0.9, "{mask} {reciprocal}");
    assert_eq!(left(8192, 0.6), None);
    assert_eq!(left(0, 0.99), None);
}

/// Two calls of a function of the mathematical library, with these second arguments each time.
fn powers(name: &str, exponents: [f64; 2]) -> AnalysisInput {
    let mut one = function(
        "energy",
        |a| {
            let mut callee = a.create_label();
            for at in [0, 8] {
                a.mov(rax, qword_ptr(rbx + at))?;
                a.movq(xmm1, rax)?;
                a.call(callee)?;
            }
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[TIMES; 7],
        &[0.02; 7],
        &[],
    );
    let mut callee = function(name, |a| a.ret(), &[2 * TIMES], &[0.8], &[]);
    "/lib/libm.so.6".clone_into(&mut callee.module);
    callee.own = false;
    for at in [2, 5] {
        one.call_sites.push(call(at, name, TIMES, 60.0));
        let target = &mut one.call_sites.last_mut().expect("just made").targets[0];
        "/lib/libm.so.6".clone_into(&mut target.module);
    }
    let mut input = program(vec![one, callee]);
    let mut observed = observations();
    for (at, exponent) in [0, 3].into_iter().zip(exponents) {
        let value = loaded(point(&input, 0, at), exponent.to_bits(), 0.99);
        observed
            .operand_values
            .push(OperandValues { size: 8, ..value });
    }
    input.observed = Some(observed);
    input
}

#[test]
fn small_whole_powers_of_a_function_are_multiplications() {
    let fixes = |name: &str, exponents| -> Vec<Fix> {
        let found = known_operand::detect(&powers(name, exponents));
        found.into_iter().map(|one| one.fix).collect()
    };
    let of = |value| Fix::TestForValue { value };
    let (exponent, argument) = (of(KnownValueKind::Exponent), of(KnownValueKind::Argument));
    assert_eq!(fixes("pow", [12.0, 6.0]), std::slice::from_ref(&exponent));
    // What is raised to 2.2 is not known by that.
    assert_eq!(fixes("pow", [2.2, 6.0]), [exponent]);
    assert_eq!(fixes("pow", [1.5, 2.2]), std::slice::from_ref(&argument));
    assert_eq!(fixes("atan2", [1.0, 1.0]), [argument.clone(), argument]);
    let found = known_operand::detect(&powers("pow", [12.0, 6.0]));
    assert!(found[0].share.is_some_and(|share| share > 0.75));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::KnownValue { value, .. }) if value == "12" || value == "6"
    )));
}

/// A loop that tests a flag in memory and a limit in memory for each byte; `chain` of so many
/// additions that wait for one another.
fn checked_bytes(rare: u64, fixed: bool, cycles: f64) -> AnalysisInput {
    let heat = cycles * TIMES as f64 / crate::tests::synthetic::ALL / 9.0;
    let one = function(
        "pixels",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.cmp(byte_ptr(rdi + 40), 0)?;
            a.jne(out)?;
            a.cmp(rax, qword_ptr(rdi + 8))?;
            a.jae(out)?;
            a.movzx(ecx, byte_ptr(rsi + rax))?;
            a.mov(byte_ptr(rdx + rax), cl)?;
            a.add(rax, 1)?;
            a.cmp(rax, r8)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            1000, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, 1000,
        ],
        &[
            0.0, heat, heat, heat, heat, heat, heat, heat, heat, heat, 0.0,
        ],
        &[(2, rare), (4, 0), (9, TIMES - 1000)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    for at in [1, 3] {
        let at = point(&input, 0, at);
        observed.loads.push(load_site(at, 0.0, fixed.then_some(0)));
        if fixed {
            observed.same_loads.push(SameLoad {
                at,
                seen: seen(0.99),
                recent: seen(0.99),
            });
        }
    }
    input.observed = Some(observed);
    input
}

pub(crate) fn load_site(at: CodePoint, missed: f64, stride: Option<i64>) -> LoadSite {
    let none = Estimate::exact(0.0);
    LoadSite {
        at,
        l1_missed: seen(missed),
        l1: share_of(1.0 - missed),
        l2: share_of(missed),
        l3: none,
        memory: none,
        tlb_missed: none,
        stride: stride.map(|bytes| Stride { bytes, share: 0.99 }),
    }
}

#[test]
fn checks_of_fixed_memory_in_each_iteration_are_found() {
    let found = invariant_check::detect(&checked_bytes(0, true, 4.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::CheckOnce);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::CheckInstructions { checks, all })
            if (checks - 4.0).abs() < 0.1 && (all - 9.0).abs() < 0.1
    )));
}

#[test]
fn checks_that_vary_or_cost_nothing_are_not_reported() {
    // One of the two outcomes varies: what is left is too little.
    assert!(invariant_check::detect(&checked_bytes(TIMES / 3, false, 4.0)).is_empty());
    // Addresses change.
    assert!(invariant_check::detect(&checked_bytes(0, false, 4.0)).is_empty());
    // The loop takes what its chain of additions takes.
    assert!(invariant_check::detect(&checked_bytes(0, true, 1.0)).is_empty());
    // Nobody changes the language's library.
    let mut library = checked_bytes(0, true, 4.0);
    for place in &mut library.functions[0].places {
        place.file = Some("/rustc/1a2b3c/library/core/src/fmt/mod.rs".to_owned());
    }
    assert!(invariant_check::detect(&library).is_empty());
}

/// An accessor that tests a length and a kind of the object that it is called for; of its executions
/// `again` bring what one of the last few objects brought, none what the one before did.
fn checked_element(again: f64) -> AnalysisInput {
    let one = function(
        "element",
        |a| {
            let mut out = a.create_label();
            a.cmp(rsi, qword_ptr(rdi + 8))?;
            a.jae(out)?;
            a.cmp(dword_ptr(rdi), 0)?;
            a.jne(out)?;
            a.mov(rax, qword_ptr(rdi + 16))?;
            a.mov(rax, qword_ptr(rax + rsi * 8))?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[TIMES; 7],
        &[0.1; 7],
        &[(1, 0), (3, 0)],
    );
    let mut input = program(vec![one]);
    input.functions[0].calls = Some(TIMES);
    let mut observed = observations();
    for at in [0, 2] {
        let at = point(&input, 0, at);
        observed.loads.push(load_site(at, 0.0, None));
        observed.same_loads.push(SameLoad {
            at,
            seen: seen(0.0),
            recent: seen(again),
        });
    }
    input.observed = Some(observed);
    input
}

#[test]
fn checks_of_a_few_objects_in_turn_are_found_in_what_each_of_them_is_asked_by() {
    assert_eq!(invariant_check::detect(&checked_element(0.99)).len(), 1);
    // Another object each time has to be tested.
    assert!(invariant_check::detect(&checked_element(0.3)).is_empty());
}

/// Three fields of an object at these offsets, each missed in so many loads.
fn fields(offsets: [i32; 3], missed: f64) -> AnalysisInput {
    let one = function(
        "serve",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(rsi))?;
            a.mov(rcx, qword_ptr(rax + offsets[0]))?;
            a.add(rdx, qword_ptr(rax + offsets[1]))?;
            a.add(rdx, qword_ptr(rax + offsets[2]))?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rdi)?;
            a.jne(head)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, 1],
        &[0.0, 0.2, 0.3, 0.3, 0.05, 0.05, 0.0, 0.0],
        &[(6, TIMES - 1)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    for at in [1, 2, 3] {
        let at = point(&input, 0, at);
        observed.loads.push(load_site(at, missed, None));
        observed.line_use.push(LineUse {
            at,
            seen: seen(0.12),
            lines: 5000,
        });
    }
    input.observed = Some(observed);
    input
}

#[test]
fn fields_in_three_lines_that_are_missed_are_found() {
    let found = field_order::detect(&fields([0, 72, 160], 0.8));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::FieldsApart {
            fields: 3,
            bytes: 24,
            span: 168,
            ..
        })
    )));
    let left = found[0].residual_fraction;
    assert!(
        left.value < 0.75 && left.low < left.value && left.value < left.high,
        "{left:?}"
    );
}

#[test]
fn fields_side_by_side_or_in_the_cache_are_in_order() {
    assert!(field_order::detect(&fields([0, 8, 16], 0.8)).is_empty());
    assert!(field_order::detect(&fields([0, 72, 160], 0.01)).is_empty());
}

#[test]
fn two_missed_lines_for_what_one_could_hold_are_found() {
    let mut input = fields([0, 8, 160], 0.8);
    let observed = input.observed.as_mut().expect("observations");
    // The second field is in the line of the first.
    observed.loads[1].l1_missed = seen(0.0);
    assert_eq!(field_order::detect(&input).len(), 1);
    let observed = input.observed.as_mut().expect("observations");
    observed.loads[2].l1_missed = seen(0.0);
    assert!(field_order::detect(&input).is_empty(), "one line missed");
}

#[test]
fn objects_that_are_used_whole_are_in_order() {
    let mut input = fields([0, 72, 160], 0.8);
    let observed = input.observed.as_mut().expect("observations");
    observed
        .line_use
        .iter_mut()
        .for_each(|one| one.seen = seen(0.9));
    assert!(field_order::detect(&input).is_empty());
}

/// A loop of two threads that counts in a line of both.
fn counters(false_sharing: bool, part: u64) -> AnalysisInput {
    let one = function(
        "tally",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.add(qword_ptr(rdi), 1)?;
            a.add(rax, 1)?;
            a.cmp(rax, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, TIMES, 2],
        &[0.7, 0.1, 0.1, 0.0, 0.0],
        &[(3, TIMES - 2)],
    );
    let mut input = program(vec![one]);
    input.program.threads = 2;
    input.program.cpu_seconds = 2.0;
    input.program.follow_up.one_cpu_seconds = Some(0.5);
    let access = |thread: u32| SharingAccess {
        at: point(&input, 0, 0),
        thread,
        writes: true,
        offset: 8 * thread as u8,
        size: 8,
        accesses: 1000,
        of: 1000 * part,
    };
    let by = vec![access(0), access(1)];
    let mut observed = observations();
    observed.threads = 2;
    observed.shared_lines.push(SharedLine {
        pid: 1,
        address: 0x5000,
        false_sharing,
        threads: 2,
        writers: 2,
        distance_bytes: 1,
        bursts: 20,
        accesses: 2000,
        by,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn line_that_threads_use_in_turn_is_found_without_samples() {
    let input = counters(true, 1);
    assert!(false_sharing::is_suspected(&input));
    let found = false_sharing::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [0]);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Thread(ThreadFact::ObservedSharedLine {
            threads: 2,
            lines: 1,
            ..
        })
    )));
}

#[test]
fn data_that_is_shared_truly_or_seldom_touched_is_not_false_sharing() {
    assert!(false_sharing::detect(&counters(false, 1)).is_empty());
    assert!(false_sharing::detect(&counters(true, 100)).is_empty());
    let mut alone = counters(true, 1);
    alone.program.threads = 1;
    assert!(false_sharing::detect(&alone).is_empty());
}
