//! Runs of loops that begin as the run before: descents through trees, results made anew from the beginning; and
//! programs that do everything again.

use iced_x86::code_asm::*;

use genba_model::{Cause, Fix};
use genba_observe::{RepeatedLoop, SilentStore};

use crate::causes::{quadratic, redundant_computation, repeated_search};
use crate::input::analysis_input::{AnalysisInput, Place, UserCall};
use crate::tests::observed_repetition::{observations, point, redundant, seen, share_of};
use crate::tests::synthetic::{function, program};

const RUNS: u64 = 1_000_000;

fn alike(input: &AnalysisInput, head: usize, share: f64) -> RepeatedLoop {
    RepeatedLoop {
        head: point(input, 0, head),
        seen: seen(0.0),
        repeats_previous: seen(0.0),
        starts_as_previous: Some(seen(share)),
        ends_near_earlier: None,
        loads_as_previous: None,
        repeats_recent: None,
        distinct_per_burst: 1000.0,
        share_of_instructions: share_of(0.0),
        instructions_per_run: 500.0,
        stores_outside: 1.0,
    }
}

/// Through three pages, in each of which eight elements are looked at; the way is stored. The middle is of the sum
/// of the range's ends; or what is halved is a number by itself, and the elements are multiplied.
fn descent(of_range: bool, share: f64) -> AnalysisInput {
    let (pages, probes) = (3 * RUNS, 24 * RUNS);
    let one = function(
        "seek",
        |a| {
            let (mut page, mut probe, mut left) =
                (a.create_label(), a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut page)?;
            a.mov(r8d, dword_ptr(rsi))?;
            a.xor(ecx, ecx)?;
            a.set_label(&mut probe)?;
            if of_range {
                a.lea(eax, qword_ptr(rcx + r8))?;
            } else {
                a.lea(eax, qword_ptr(r8 + 1))?;
            }
            a.sar(eax, 1)?;
            match of_range {
                true => a.cmp(rdx, qword_ptr(rsi + rax * 8))?,
                false => a.imul_2(rdx, qword_ptr(rsi + rax * 8))?,
            }
            a.jl(left)?;
            a.lea(ecx, qword_ptr(rax + 1))?;
            a.set_label(&mut left)?;
            a.cmp(ecx, r8d)?;
            a.jl(probe)?;
            a.mov(qword_ptr(rdi), rsi)?;
            a.mov(rsi, qword_ptr(rsi + rcx * 8))?;
            a.test(rsi, rsi)?;
            a.jne(page)?;
            a.ret()
        },
        &[
            RUNS, pages, pages, probes, probes, probes, probes, probes, probes, probes, pages,
            pages, pages, pages, RUNS,
        ],
        &[
            0.0, 0.05, 0.0, 0.1, 0.1, 0.3, 0.1, 0.05, 0.1, 0.05, 0.0, 0.05, 0.0, 0.0, 0.0,
        ],
        &[(6, 12 * RUNS), (9, probes - pages), (13, pages - RUNS)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.repeated_loops.push(alike(&input, 1, share));
    input.observed = Some(observed);
    input
}

#[test]
fn descent_that_takes_the_way_of_the_one_before_is_a_repeated_search() {
    let found = repeated_search::detect(&descent(true, 0.85));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RememberFound { few: false });
    assert_eq!(found[0].executions, Some(RUNS));
    // Keys at random have the first page in common.
    assert!(repeated_search::detect(&descent(true, 0.4)).is_empty());
    // Nothing that is halved is a range.
    assert!(repeated_search::detect(&descent(false, 0.85)).is_empty());
}

/// Down three levels of a path, on each of which a tree of names is searched, of which one register's value is kept in the
/// frame; or on each of which letters are passed up to a constant one.
fn path(names: bool, share: f64) -> AnalysisInput {
    let (levels, steps) = (3 * RUNS, 24 * RUNS);
    let one = function(
        "find_directory",
        |a| {
            let (mut level, mut step) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut level)?;
            a.mov(rsi, qword_ptr(rdi))?;
            a.set_label(&mut step)?;
            a.mov(qword_ptr(rsp + 8), rsi)?;
            a.mov(rsi, qword_ptr(rsi + 16))?;
            match names {
                true => a.cmp(rdx, qword_ptr(rsi + 32))?,
                false => a.cmp(byte_ptr(rsi), 47)?,
            }
            a.jg(step)?;
            a.mov(rdi, qword_ptr(rsi + 8))?;
            a.sub(r9, 1)?;
            a.jne(level)?;
            a.ret()
        },
        &[
            RUNS, levels, steps, steps, steps, steps, levels, levels, levels, RUNS,
        ],
        &[0.0, 0.05, 0.1, 0.3, 0.3, 0.1, 0.05, 0.0, 0.0, 0.0],
        &[(5, steps - levels), (8, levels - RUNS)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.repeated_loops.push(alike(&input, 1, share));
    input.observed = Some(observed);
    input
}

#[test]
fn path_that_leads_where_the_one_before_led_is_a_repeated_search() {
    let found = repeated_search::detect(&path(true, 0.85));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].executions, Some(RUNS));
    assert!(repeated_search::detect(&path(true, 0.4)).is_empty());
    assert!(
        repeated_search::detect(&path(false, 0.85)).is_empty(),
        "no key"
    );
}

/// A loop that makes an array of offsets of a record's header; of the stores this share is of what is there.
fn offsets(stored_again: f64, share: f64) -> AnalysisInput {
    let times = 12 * RUNS;
    let one = function(
        "column",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rsi))?;
            a.movzx(eax, byte_ptr(r9 + rax))?;
            a.add(edx, eax)?;
            a.mov(dword_ptr(rdi + rcx * 4), edx)?;
            a.inc(rsi)?;
            a.inc(rcx)?;
            a.cmp(rcx, r8)?;
            a.jl(head)?;
            a.ret()
        },
        &[
            RUNS, times, times, times, times, times, times, times, times, RUNS,
        ],
        &[0.0, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(8, times - RUNS)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.repeated_loops.push(alike(&input, 1, share));
    observed.silent_stores.push(SilentStore {
        at: point(&input, 0, 4),
        seen: seen(stored_again),
        reads: false,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn what_is_made_anew_from_the_beginning_is_redundant() {
    let found = redundant_computation::detect(&offsets(0.97, 0.8));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].cause, &found[0].fix),
        (Cause::RedundantComputation, &Fix::GoOnFromThere)
    );
    let left = found[0].residual_fraction;
    assert!((0.2..0.35).contains(&left.value), "{left:?}");
    // Other results each time, or another beginning.
    assert!(redundant_computation::detect(&offsets(0.5, 0.8)).is_empty());
    assert!(redundant_computation::detect(&offsets(0.97, 0.4)).is_empty());
}

#[test]
fn program_that_does_everything_again_repeats_nothing_inside() {
    let with = |mut input: AnalysisInput, outside: f64| {
        let of_whole = redundant(
            |call| {
                call.stores_outside = outside;
                call.repeats_previous = seen(0.99);
            },
            false,
        );
        let calls = of_whole.observed.expect("observations").redundant_calls;
        input
            .observed
            .as_mut()
            .expect("observations")
            .redundant_calls = calls;
        input
    };
    let searches = |outside| repeated_search::detect(&with(descent(true, 0.85), outside)).len();
    assert_eq!((searches(1.0), searches(0.0)), (0, 1));
    let made = |outside| {
        let found = redundant_computation::detect(&with(offsets(0.97, 0.8), outside));
        found
            .iter()
            .filter(|one| one.fix == Fix::GoOnFromThere)
            .count()
    };
    assert_eq!((made(1.0), made(0.0)), (0, 1));
}

/// What a walk does with what it loads.
#[derive(Clone, Copy)]
enum Walk {
    /// Goes on by it.
    Steps,
    /// Compares it with what is handed over.
    Searches,
    /// The same, and stores.
    Stores,
    /// Compares it for what is no end.
    Chooses,
    /// Multiplies it by a number that depends on what is handed over.
    Weighs,
}

/// The letter of a number in a text, by the lengths of those before it, or another walk. This share of the iterations is of walks
/// that end near an earlier one.
fn letters(walk: Walk, near: f64, same: f64) -> AnalysisInput {
    walks(walk, 16, near, same)
}

/// The same with so many iterations each.
fn walks(walk: Walk, trips: u64, near: f64, same: f64) -> AnalysisInput {
    let times = trips * RUNS;
    let leaves = matches!(walk, Walk::Searches | Walk::Stores);
    let taken = [(3, RUNS / 2), (6, times - RUNS)];
    let one = function(
        "letter",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rdi))?;
            match walk {
                Walk::Searches | Walk::Stores | Walk::Chooses => a.cmp(eax, edx)?,
                Walk::Steps => a.movzx(eax, byte_ptr(r8 + rax))?,
                Walk::Weighs => a.lea(rcx, qword_ptr(rsi + r9))?,
            }
            match walk {
                Walk::Weighs => a.imul_2(rax, rcx)?,
                Walk::Searches | Walk::Stores => a.je(out)?,
                _ => a.nop()?,
            }
            a.add(rdi, rax)?;
            match walk {
                Walk::Stores => a.mov(byte_ptr(rdi), sil)?,
                _ => a.dec(rsi)?,
            }
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.mov(rax, rdi)?;
            a.ret()
        },
        &[RUNS, times, times, times, times, times, times, RUNS, RUNS],
        &[0.0, 0.2, 0.3, 0.0, 0.3, 0.1, 0.1, 0.0, 0.0],
        &taken[usize::from(!leaves)..],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.repeated_loops.push(RepeatedLoop {
        repeats_previous: seen(same),
        ends_near_earlier: Some(seen(near)),
        stores_outside: 0.0,
        ..alike(&input, 1, 0.0)
    });
    input.observed = Some(observed);
    input
}

#[test]
fn walk_to_each_next_letter_from_the_first_one_is_quadratic() {
    let found = quadratic::detect(&letters(Walk::Steps, 0.95, 0.1));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].cause, &found[0].fix),
        (&Cause::Quadratic, &Fix::ScanOnce)
    );
    assert_eq!(found[0].executions, Some(RUNS));
    for other in [
        letters(Walk::Steps, 0.4, 0.1),
        letters(Walk::Steps, 0.95, 0.95),
        letters(Walk::Searches, 0.95, 0.1),
        letters(Walk::Weighs, 0.95, 0.1),
    ] {
        assert!(quadratic::detect(&other).is_empty());
    }
}

#[test]
fn long_searches_for_one_key_after_the_other_are_walks_again() {
    let found = quadratic::detect(&walks(Walk::Searches, 60, 0.98, 0.1));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::ScanOnce);
    for other in [
        // Keys without order end near by chance.
        walks(Walk::Searches, 60, 0.85, 0.1),
        // A few elements.
        walks(Walk::Searches, 8, 0.98, 0.1),
        // What is found is not where.
        walks(Walk::Weighs, 60, 0.98, 0.1),
        walks(Walk::Chooses, 60, 0.98, 0.1),
        // What is stored may be there already.
        walks(Walk::Stores, 60, 0.98, 0.1),
    ] {
        assert!(quadratic::detect(&other).is_empty());
    }
}

/// A library's function that walks by wide steps first and by single ones then, which take most of its time.
fn wide_and_narrow() -> AnalysisInput {
    let (wide, narrow) = (8 * RUNS, 16 * RUNS);
    let mut one = function(
        "advance_by",
        |a| {
            for _ in 0..2 {
                let mut head = a.create_label();
                a.nop()?;
                a.set_label(&mut head)?;
                a.movzx(eax, byte_ptr(rdi))?;
                a.add(rdi, rax)?;
                a.dec(rsi)?;
                a.jne(head)?;
            }
            a.ret()
        },
        &[
            RUNS, wide, wide, wide, wide, RUNS, narrow, narrow, narrow, narrow, RUNS,
        ],
        &[0.0, 0.05, 0.05, 0.02, 0.02, 0.0, 0.3, 0.3, 0.1, 0.1, 0.0],
        &[(4, wide - RUNS), (9, narrow - RUNS)],
    );
    let place = |file: &str, line| Place {
        function: None,
        file: Some(file.to_owned()),
        line: Some(line),
        inlined: false,
        within: None,
    };
    let library = place("/rustc/5980/library/core/src/str/iter.rs", 87);
    one.places = vec![library; one.code.len()];
    one.user_callers = vec![UserCall {
        function: "differences".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x9000,
        place: place("slow.rs", 4),
        through: Vec::new(),
        through_library: false,
        calls: RUNS as f64,
        executions: RUNS,
        caller_calls: None,
    }];
    let mut input = program(vec![one]);
    let mut observed = observations();
    for head in [1, 6] {
        observed.repeated_loops.push(RepeatedLoop {
            repeats_previous: seen(0.1),
            ends_near_earlier: Some(seen(0.95)),
            stores_outside: 0.0,
            ..alike(&input, head, 0.0)
        });
    }
    input.observed = Some(observed);
    input
}

#[test]
fn walk_of_a_library_is_told_at_the_line_that_asks_for_it() {
    for turned in [false, true] {
        let mut input = wide_and_narrow();
        let observed = input.observed.as_mut().expect("made with them");
        if turned {
            observed.repeated_loops.reverse();
        }
        let found = quadratic::detect(&input);
        assert_eq!(found.len(), 1);
        let at = found[0].at.as_ref().expect("the user's line");
        assert_eq!((at.function.as_str(), at.line), ("differences", Some(4)));
        // All of the function's time, whichever loop is looked at first.
        assert_eq!(found[0].share, Some(input.functions[0].share.value));
    }
}
