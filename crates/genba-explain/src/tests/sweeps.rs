//! Passes over all elements for each item that change hardly any, and their near misses.

use genba_model::{Fix, QuadraticFact};
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::synthetic::{function, program};

const SWEEPS: u64 = 10_000;

/// What the loop does beside `if (*p > key) (*p)--`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    /// The bound is a number in the code.
    Constant,
    /// The number of those that fit is returned.
    Counts,
    /// Every tenth element is changed.
    Filters,
    /// Half of the elements are changed.
    Renumbers,
    /// The same, and the bound is a number in the code.
    Limits,
    /// Half of the elements are halved.
    Halves,
}

/// `for (p = begin; p != end; p++) if (*p > key) --*p;` of so many elements.
fn remove(elements: u64, kind: Kind) -> FunctionInput {
    let all = SWEEPS * elements;
    let changed = match kind {
        Kind::Filters => all / 10,
        Kind::Renumbers | Kind::Limits | Kind::Halves => all / 2,
        _ => all / 2000,
    };
    function(
        "remove",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.mov(rdi, qword_ptr(r15))?;
            a.set_label(&mut head)?;
            match kind {
                Kind::Counts => a.add(rax, r9)?,
                _ => a.nop()?,
            }
            a.mov(r10, qword_ptr(rdi))?;
            match kind {
                Kind::Constant | Kind::Limits => a.cmp(r10, 77)?,
                _ => a.cmp(r10, rdx)?,
            }
            a.jbe(next)?;
            match kind {
                Kind::Filters | Kind::Halves => a.shr(r10, 1)?,
                _ => a.dec(r10)?,
            }
            a.mov(qword_ptr(rdi), r10)?;
            a.set_label(&mut next)?;
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            SWEEPS, all, all, all, all, changed, changed, all, all, all, SWEEPS,
        ],
        &[0.0, 0.1, 0.3, 0.1, 0.1, 0.0, 0.0, 0.1, 0.1, 0.1, 0.0],
        &[(4, all - changed), (9, all - SWEEPS)],
    )
}

fn of_memory(functions: Vec<FunctionInput>, memory: f64) -> AnalysisInput {
    let mut input = program(functions);
    input.program.input_bytes = Some(1000);
    input.program.max_rss_bytes = Some(memory);
    input
}

/// `for (p = begin; p != end; p++) *p = i;` over all elements again for each pass.
fn made_anew(elements: u64) -> FunctionInput {
    let all = SWEEPS * elements;
    function(
        "fill",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(qword_ptr(rdi), rsi)?;
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[all, all, all, all, SWEEPS],
        &[0.05, 0.0, 0.0, 0.0, 0.0],
        &[(3, all - SWEEPS)],
    )
}

fn is_sweep(input: &AnalysisInput) -> bool {
    let found = quadratic::detect(input);
    found
        .iter()
        .any(|one| one.fix == Fix::HashLookup { strings: false })
}

#[test]
fn passes_over_the_same_elements_that_change_hardly_any_are_quadratic() {
    let found = quadratic::detect(&of_memory(vec![remove(20_000, Kind::Plain)], 4e6));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, vec![3]);
    assert!(found[0].residual_fraction.value < 0.05);
    let is_told = found[0].facts.iter().any(|fact| {
        matches!(
            fact,
            genba_model::Fact::Quadratic(QuadraticFact::LinearSearches {
                searches: SWEEPS,
                ..
            })
        )
    });
    assert!(is_told);
}

#[test]
fn passes_that_are_short_count_filter_or_have_no_key_are_not_sweeps() {
    for (elements, kind) in [
        (200, Kind::Plain),
        (20_000, Kind::Constant),
        (20_000, Kind::Counts),
        (20_000, Kind::Filters),
    ] {
        let input = of_memory(vec![remove(elements, kind)], 1e5);
        assert!(!is_sweep(&input), "{elements} {kind:?}");
    }
}

#[test]
fn passes_over_elements_that_are_remade_are_not_sweeps() {
    let elements = vec![remove(20_000, Kind::Plain), made_anew(20_000)];
    assert!(!is_sweep(&of_memory(elements, 4e6)));
    // Each element is gone over a few times.
    assert!(!is_sweep(&of_memory(
        vec![remove(20_000, Kind::Plain)],
        1e9
    )));
}

#[test]
fn passes_that_renumber_what_comes_behind_an_item_are_shifts() {
    let found = quadratic::detect(&of_memory(vec![remove(20_000, Kind::Renumbers)], 1e6));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::AvoidShifts);
    assert!(found[0].residual_fraction.high < 0.1);
}

/// `for (k = 0; k != table->size; k++) if (!(table->flags[k >> 4] >> (k << 1 & 30) & 3) && table->numbers[k] > key)
/// table->numbers[k]--;`
fn renumbered_table(elements: u64) -> FunctionInput {
    let all = SWEEPS * elements;
    let (used, changed) = (all / 3, all / 4);
    function(
        "remove",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.mov(rdx, qword_ptr(r11 + 16))?;
            a.set_label(&mut head)?;
            a.mov(eax, r10d)?;
            a.lea(ecx, dword_ptr(r10 + r10))?;
            a.shr(eax, 4)?;
            a.and(ecx, 30)?;
            a.mov(eax, dword_ptr(rdx + rax * 4))?;
            a.shr(eax, cl)?;
            a.test(al, 3)?;
            a.jne(next)?;
            a.mov(rcx, qword_ptr(r11 + 32))?;
            a.mov(eax, r10d)?;
            a.lea(rcx, qword_ptr(rcx + rax * 4))?;
            a.mov(eax, dword_ptr(rcx))?;
            a.cmp(r13d, eax)?;
            a.jge(next)?;
            a.sub(eax, 1)?;
            a.mov(dword_ptr(rcx), eax)?;
            a.set_label(&mut next)?;
            a.add(r10d, 1)?;
            a.cmp(r10d, dword_ptr(r11))?;
            a.jb(head)?;
            a.call(0x5000)?;
            a.ret()
        },
        &[
            SWEEPS, all, all, all, all, all, all, all, all, used, used, used, used, used, used,
            changed, changed, all, all, all, SWEEPS, SWEEPS,
        ],
        &[
            0.0, 0.05, 0.05, 0.05, 0.05, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05,
            0.05, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(8, all - used), (14, used - changed), (19, all - SWEEPS)],
    )
}

#[test]
fn passes_over_a_table_that_renumber_its_entries_are_shifts() {
    let found = quadratic::detect(&of_memory(vec![renumbered_table(20_000)], 1e6));
    let fixes: Vec<&Fix> = found.iter().map(|one| &one.fix).collect();
    assert_eq!(fixes, [&Fix::AvoidShifts]);
}

#[test]
fn passes_that_change_many_elements_otherwise_renumber_nothing() {
    for (elements, kind, memory) in [
        (20_000, Kind::Limits, 1e6),
        (20_000, Kind::Halves, 1e6),
        (20_000, Kind::Counts, 1e6),
        (200, Kind::Renumbers, 1e5),
        (20_000, Kind::Renumbers, 1e9),
    ] {
        let found = quadratic::detect(&of_memory(vec![remove(elements, kind)], memory));
        assert!(found.is_empty(), "{elements} {kind:?}");
    }
}

/// What a pass does with each element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    /// Looks it up in a table: `if (bits[hash(*p) >> 32] & 1) *p = 0;`
    Table,
    /// Loads what it points to.
    Pointer,
    /// Counts those that are in the table.
    Counted,
}

/// `for (p = begin; p != end; p++) if (looked_up(*p)) *p = 0;` of so many elements, of which one in so many is changed.
fn take_away(elements: u64, kind: Asked, one_in: u64) -> FunctionInput {
    let all = SWEEPS * elements;
    let changed = all / one_in;
    function(
        "take_away",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.mov(rdi, qword_ptr(r15))?;
            a.set_label(&mut head)?;
            a.mov(qword_ptr(rsp + 0x30), rdi)?;
            a.mov(r10, qword_ptr(rdi))?;
            match kind {
                Asked::Pointer => a.nop()?,
                _ => a.imul_2(r10, r11)?,
            }
            match kind {
                Asked::Pointer => a.nop()?,
                _ => a.shr(r10, 32)?,
            }
            match kind {
                Asked::Counted => a.add(rax, qword_ptr(rdx + r10))?,
                Asked::Pointer => a.test(byte_ptr(r10), 1)?,
                Asked::Table => a.test(byte_ptr(rdx + r10), 1)?,
            }
            a.je(next)?;
            a.mov(rcx, qword_ptr(rsp + 0x30))?;
            a.mov(qword_ptr(rcx), 0)?;
            a.set_label(&mut next)?;
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            SWEEPS, all, all, all, all, all, all, changed, changed, all, all, all, SWEEPS,
        ],
        &[
            0.0, 0.1, 0.2, 0.1, 0.1, 0.2, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.0,
        ],
        &[(6, all - changed), (11, all - SWEEPS)],
    )
}

#[test]
fn passes_that_look_each_element_up_and_change_hardly_any_are_quadratic() {
    let found = quadratic::detect(&of_memory(vec![take_away(20_000, Asked::Table, 2000)], 4e6));
    let fixes: Vec<&Fix> = found.iter().map(|one| &one.fix).collect();
    assert_eq!(fixes, [&Fix::GoOverFewer]);
    assert!(found[0].residual_fraction.value < 0.05);
}

#[test]
fn passes_that_look_up_and_change_often_or_count_or_go_over_much_memory_are_not_needless() {
    for (elements, kind, one_in, memory) in [
        (20_000, Asked::Table, 10, 4e6),
        (200, Asked::Table, 2000, 1e5),
        (20_000, Asked::Table, 2000, 1e9),
        (20_000, Asked::Pointer, 2000, 4e6),
        (20_000, Asked::Counted, 2000, 4e6),
    ] {
        let found = quadratic::detect(&of_memory(vec![take_away(elements, kind, one_in)], memory));
        let needless = found.iter().any(|one| one.fix == Fix::GoOverFewer);
        assert!(!needless, "{elements} {kind:?} {one_in} {memory}");
    }
}
