//! What the usual case takes that needs none of it (searches, comparisons and copies by calls, copies by value), on
//! functions assembled by hand, with near misses.

use iced_x86::code_asm::*;

use genba_model::{Cause, Fix};
use genba_observe::{CallLength, CopiedAgain, LineUse, LoadSite, RepeatedLoop};

use crate::causes::{bytewise_copy, field_order, general_case_first, repeated_copy};
use crate::causes::{cache_miss, short_trip_vector_loop};
use crate::findings::{Limits, findings};
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{call, function, program};

const TIMES: u64 = 10_000_000;

/// What becomes of a search.
#[derive(Clone, Copy, PartialEq)]
enum Search {
    /// It has an effect where it finds something only.
    Exceptions,
    /// Its last position is read behind it.
    Position,
    /// It finds something every other time.
    Finds,
    /// It compares other elements each time.
    Others,
}

/// For each letter a search of three elements for it, in front of what is done with all letters.
fn searched(search: Search) -> AnalysisInput {
    let found = if search == Search::Finds {
        TIMES / 2
    } else {
        TIMES / 100
    };
    let (rounds, unfound) = (3 * TIMES, TIMES - found);
    let one = function(
        "next",
        |a| {
            let (mut letter, mut element) = (a.create_label(), a.create_label());
            let (mut out, mut hit) = (a.create_label(), a.create_label());
            a.set_label(&mut letter)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.lea(rsi, ptr(rbx))?;
            a.lea(rdx, ptr(rbx + 24))?;
            a.set_label(&mut element)?;
            a.cmp(qword_ptr(rsi), rax)?;
            a.je(hit)?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rdx)?;
            a.jne(element)?;
            a.set_label(&mut out)?;
            match search {
                Search::Position => a.add(r8, rsi)?,
                _ => a.add(r8, rax)?,
            }
            a.add(rdi, 1)?;
            a.cmp(rdi, r9)?;
            a.jne(letter)?;
            a.ret()?;
            a.set_label(&mut hit)?;
            a.mov(qword_ptr(r10), rsi)?;
            a.jmp(out)
        },
        &[
            TIMES,
            TIMES,
            TIMES,
            rounds,
            rounds,
            rounds - found,
            rounds - found,
            rounds - found,
            TIMES,
            TIMES,
            TIMES,
            TIMES,
            1,
            found,
            found,
        ],
        &[
            0.1, 0.05, 0.05, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0, 0.0,
        ],
        &[(4, found), (7, rounds - found - unfound), (11, TIMES - 1)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    let same = if search == Search::Others { 0.1 } else { 0.99 };
    observed
        .repeated_loops
        .push(elements_compared(&input, same));
    input.observed = Some(observed);
    input
}

/// The search loop, of whose runs the part `same` compares the elements of the one before.
fn elements_compared(input: &AnalysisInput, same: f64) -> RepeatedLoop {
    RepeatedLoop {
        head: point(input, 0, 3),
        seen: seen(same),
        repeats_previous: seen(same),
        starts_as_previous: None,
        ends_near_earlier: None,
        loads_as_previous: None,
        repeats_recent: None,
        distinct_per_burst: 3.0,
        share_of_instructions: share_of(0.5),
        instructions_per_run: 15.0,
        stores_outside: 0.0,
    }
}

#[test]
fn search_for_what_is_hardly_ever_there_is_found() {
    let found = general_case_first::detect(&searched(Search::Exceptions));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RuleOutFirst);
    // The pointers to the elements serve the search only, the letter does not.
    assert!(found[0].affected.contains(&4) && !found[0].affected.contains(&8));
    assert!(!found[0].affected.contains(&0));
}

#[test]
fn searches_with_a_use_are_not_reported() {
    for search in [Search::Position, Search::Finds, Search::Others] {
        assert!(general_case_first::detect(&searched(search)).is_empty());
    }
}

/// For each letter a search of three elements for it; so many of the elements are looked at closer, by a
/// loop that writes, before the search goes on.
fn looked_closer(fitting: u64) -> AnalysisInput {
    let rounds = 3 * TIMES;
    let one = function(
        "fitting",
        |a| {
            let (mut letter, mut element) = (a.create_label(), a.create_label());
            let (mut other, mut closer) = (a.create_label(), a.create_label());
            let mut bytes = a.create_label();
            a.set_label(&mut letter)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.lea(rsi, ptr(rbx))?;
            a.lea(rdx, ptr(rbx + 24))?;
            a.set_label(&mut element)?;
            a.cmp(qword_ptr(rsi), rax)?;
            a.je(closer)?;
            a.set_label(&mut other)?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rdx)?;
            a.jne(element)?;
            a.add(r8, rax)?;
            a.add(rdi, 1)?;
            a.cmp(rdi, r9)?;
            a.jne(letter)?;
            a.ret()?;
            a.set_label(&mut closer)?;
            a.mov(ecx, 4)?;
            a.set_label(&mut bytes)?;
            a.imul_2(r11, r11)?;
            a.mov(qword_ptr(r10), r11)?;
            a.dec(ecx)?;
            a.jne(bytes)?;
            a.jmp(other)
        },
        &[
            TIMES,
            TIMES,
            TIMES,
            rounds,
            rounds,
            rounds,
            rounds,
            rounds,
            TIMES,
            TIMES,
            TIMES,
            TIMES,
            1,
            fitting,
            4 * fitting,
            4 * fitting,
            4 * fitting,
            4 * fitting,
            fitting,
        ],
        &[
            0.1, 0.05, 0.05, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0,
            0.0, 0.0, 0.0,
        ],
        &[
            (4, fitting),
            (7, rounds - TIMES),
            (11, TIMES - 1),
            (17, 3 * fitting),
        ],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed
        .repeated_loops
        .push(elements_compared(&input, 0.99));
    input.observed = Some(observed);
    input
}

#[test]
fn search_that_seldom_looks_closer_is_found() {
    let found = general_case_first::detect(&looked_closer(TIMES / 100));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RuleOutFirst);
}

#[test]
fn search_that_often_looks_closer_is_not_reported() {
    assert!(general_case_first::detect(&looked_closer(TIMES / 2)).is_empty());
}

/// A call of `memmove`, of whose lengths so many are short.
fn moved(short: f64) -> AnalysisInput {
    let mut one = function(
        "unpack",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            a.call(callee)?;
            a.add(rbx, r12)?;
            a.cmp(rbx, r13)?;
            a.jne(head)?;
            a.ret()?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, TIMES, TIMES, 1, 0],
        &[0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0],
        &[(4, TIMES - 1)],
    );
    one.call_sites
        .push(call(1, "__memmove_evex_unaligned_erms", TIMES, 12.0));
    let name = "__memmove_evex_unaligned_erms";
    let mut copy = function(name, |a| a.ret(), &[TIMES], &[0.5], &[]);
    copy.own = false;
    let mut input = program(vec![one, copy]);
    let mut observed = observations();
    observed.call_lengths.push(CallLength {
        at: point(&input, 0, 1),
        calls: 10_000,
        bytes_per_call: 40.0,
        short: Some(seen(short)),
        bytes_of_short: 5.0,
        onto_itself: None,
        moved_by: 0.0,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn copies_of_a_few_bytes_by_calls_are_found() {
    let found = short_trip_vector_loop::detect(&moved(0.97));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::FixedSizeInline { fill: false });
    assert!(found[0].residual_fraction.value < 0.7);
    assert!(bytewise_copy::detect(&moved(0.97)).is_empty());
}

#[test]
fn few_long_copies_take_the_time_of_many_short_ones_beside_them() {
    let mut input = moved(0.97);
    let gain = |input: &AnalysisInput| {
        let found = short_trip_vector_loop::detect(input);
        found
            .first()
            .map_or(0.0, |one| 1.0 - one.residual_fraction.value)
    };
    let short = gain(&input);
    let observed = input.observed.as_mut().expect("observations");
    // Three in a hundred are of 20 kB.
    observed.call_lengths[0].bytes_per_call = 600.0;
    let beside = gain(&input);
    assert!(beside < short / 3.0, "{beside} of {short}");
}

#[test]
fn copies_of_all_lengths_are_for_the_library() {
    assert!(short_trip_vector_loop::detect(&moved(0.5)).is_empty());
}

/// A string instruction that copies a structure for each call.
fn by_value(again: f64, modified: f64, reads: f64) -> AnalysisInput {
    let one = function(
        "apart",
        |a| {
            a.mov(ecx, 44)?;
            a.rep().movsq()?;
            a.addsd(xmm0, qword_ptr(rsp + 8))?;
            a.ret()
        },
        &[TIMES; 4],
        &[0.1, 0.4, 0.3, 0.2],
        &[],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.copied_again.push(CopiedAgain {
        at: point(&input, 0, 1),
        target: None,
        stores: vec![point(&input, 0, 1)],
        readers: vec![point(&input, 0, 2)],
        seen: seen(again),
        modified: seen(modified),
        bytes_per_copy: 352.0,
        reads_per_byte: reads,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn structure_copied_for_each_call_is_found() {
    let found = repeated_copy::detect(&by_value(0.95, 0.0, 0.3));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].fix.clone(), found[0].site.clone()),
        (Fix::PassByReference, vec![1])
    );
}

#[test]
fn copies_that_are_needed_are_not_reported() {
    assert!(
        repeated_copy::detect(&by_value(0.2, 0.0, 0.3)).is_empty(),
        "other bytes"
    );
    assert!(
        repeated_copy::detect(&by_value(0.95, 0.9, 0.3)).is_empty(),
        "written to"
    );
    assert!(
        repeated_copy::detect(&by_value(0.95, 0.0, 6.0)).is_empty(),
        "packed"
    );
}

/// A virtual call for each of many objects: the caller reads the table of functions, the callee two
/// fields further on; `same` if it is the object that the caller handed on.
fn stepped(same: bool) -> AnalysisInput {
    let mut main = function(
        "main",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(rdi, qword_ptr(rbx))?;
            a.mov(rax, qword_ptr(rdi))?;
            if same {
                a.nop()?;
            } else {
                a.mov(rdi, r12)?;
            }
            a.call(qword_ptr(rax + 16))?;
            a.add(rbx, 8)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.ret()
        },
        &[TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, 1],
        &[0.0, 0.2, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[(6, TIMES - 1)],
    );
    main.call_sites.push(call(3, "step", TIMES, 4.0));
    let step = function(
        "step",
        |a| {
            a.mov(rax, qword_ptr(rdi + 96))?;
            a.add(rax, qword_ptr(rdi + 300))?;
            a.add(rax, qword_ptr(rdi + 420))?;
            a.ret()
        },
        &[TIMES; 4],
        &[0.2, 0.2, 0.1, 0.1],
        &[],
    );
    let mut input = program(vec![main, step]);
    let mut observed = observations();
    for (number, at) in [(0, 1), (1, 0), (1, 1), (1, 2)] {
        let at = point(&input, number, at);
        observed.loads.push(LoadSite {
            at,
            stride: None,
            l1_missed: seen(0.9),
            l1: share_of(0.1),
            l2: share_of(0.0),
            l3: share_of(0.9),
            memory: share_of(0.0),
            tlb_missed: share_of(0.0),
        });
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
fn what_the_caller_reads_of_an_object_belongs_to_it() {
    let with = field_order::detect(&stepped(true));
    assert_eq!(with.len(), 1);
    assert_eq!(with[0].function, Some(1));
    assert!(
        with[0]
            .copies
            .iter()
            .any(|copy| copy.0 == 0 && copy.1.contains(&1))
    );
    let other = field_order::detect(&stepped(false));
    assert!(other[0].copies.is_empty());
}

#[test]
fn misses_are_not_named_where_the_order_of_fields_says_why() {
    let input = stepped(true);
    let mut all = cache_miss::detect(&input);
    assert!(!all.is_empty());
    all.extend(field_order::detect(&input));
    let limits = Limits {
        min_gain: 0.02,
        samples: 10_000,
    };
    let found = findings(&input, all, limits);
    assert!(found.iter().any(|one| one.cause == Cause::FieldOrder));
    assert!(found.iter().all(|one| one.cause != Cause::CacheMiss));
}

/// A loop over two bytes whose vector part never runs, and whose remainder is unrolled: for each byte so
/// many instructions compute its address.
fn unrolled_remainder(addresses: usize) -> AnalysisInput {
    let each = addresses + 3;
    let mut counts = vec![TIMES, TIMES, 0, 0, 0, 0];
    counts.extend(vec![TIMES; 2 * each]);
    counts.push(TIMES);
    let heat = vec![1.0 / counts.len() as f64; counts.len()];
    let mut one = function(
        "blend",
        |a| {
            let (mut vector, mut rest) = (a.create_label(), a.create_label());
            a.cmp(rdx, 16)?;
            a.jb(rest)?;
            a.set_label(&mut vector)?;
            a.movdqu(xmm0, xmmword_ptr(rsi + r8))?;
            a.movdqu(xmmword_ptr(rdi + r8), xmm0)?;
            a.add(r8, 16)?;
            a.jne(vector)?;
            a.set_label(&mut rest)?;
            for byte in 0..2 {
                for _ in 0..addresses {
                    a.lea(r9, ptr(rsi + rcx + byte))?;
                }
                a.movzx(eax, byte_ptr(r9))?;
                a.add(eax, 3)?;
                a.mov(byte_ptr(rdi + byte), al)?;
            }
            a.ret()
        },
        &counts,
        &heat,
        &[(1, TIMES), (5, 0)],
    );
    for place in &mut one.places {
        place.line = Some(7);
    }
    program(vec![one])
}

#[test]
fn unrolled_remainder_is_compared_by_its_work_on_elements() {
    assert_eq!(
        short_trip_vector_loop::detect(&unrolled_remainder(8)).len(),
        1
    );
    assert!(short_trip_vector_loop::detect(&unrolled_remainder(1)).is_empty());
}
