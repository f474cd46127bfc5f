//! Tables that are made anew by a constant more, and near misses.

use genba_model::Cause;
use iced_x86::code_asm::*;

use crate::causes::realloc_growth;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::synthetic::{call, function, program};

const ITEMS: u64 = 200_000;

/// What becomes of the new table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    /// It is stored where the old one was.
    InPlace,
    /// It is stored elsewhere.
    Elsewhere,
    /// It has the size of the old one.
    SameSize,
}

/// `for (items) if (full) { new = calloc(…); for (i) new[place(old[i])] = old[i]; free(old); old = new; }`, made anew so many
/// times with so many elements each.
fn input(times: u64, elements: u64, kept: Kept) -> AnalysisInput {
    let all = times * elements;
    let counts = [
        1, ITEMS, ITEMS, times, times, times, times, times, times, all, all, all, all, times,
        times, times, ITEMS, ITEMS, 1,
    ];
    let mut heat = [0.0; 19];
    heat[9..13].fill(0.22);
    let mut one = function(
        "put_all",
        |a| {
            let (mut again, mut moving, mut next) =
                (a.create_label(), a.create_label(), a.create_label());
            a.xor(r14d, r14d)?;
            a.set_label(&mut again)?;
            a.test(r13, r13)?;
            a.jne(next)?;
            a.mov(rax, qword_ptr(r15 + 16))?;
            a.lea(
                rdi,
                ptr(rax + if kept == Kept::SameSize { 0 } else { 1000 }),
            )?;
            a.mov(qword_ptr(r15 + 16), rdi)?;
            a.call(0x5000)?;
            a.mov(r12, rax)?;
            a.mov(rbp, qword_ptr(r15 + 8))?;
            a.set_label(&mut moving)?;
            a.mov(rdx, qword_ptr(rbp + rbx * 8))?;
            a.mov(qword_ptr(r12 + rdx * 8), rdx)?;
            a.dec(rbx)?;
            a.jne(moving)?;
            a.mov(rdi, rbp)?;
            a.call(0x6000)?;
            a.mov(
                qword_ptr(r15 + if kept == Kept::InPlace { 8 } else { 24 }),
                r12,
            )?;
            a.set_label(&mut next)?;
            a.inc(r14)?;
            a.jne(again)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(2, ITEMS - times), (12, all - times), (17, ITEMS - 1)],
    );
    one.call_sites = vec![
        call(6, "calloc", times, 50.0),
        call(14, "free", times, 50.0),
    ];
    program(vec![one])
}

fn is_growth(times: u64, elements: u64, kept: Kept) -> bool {
    let found = realloc_growth::detect(&input(times, elements, kept));
    found.iter().any(|one| one.cause == Cause::ReallocGrowth)
}

#[test]
fn table_that_grows_by_a_constant_is_found() {
    let found = realloc_growth::detect(&input(200, 100_000, Kept::InPlace));
    assert_eq!(found.len(), 1);
    // A hundred moves for each item; doubling makes one.
    let left = found[0].residual_fraction;
    assert!(
        (left.value - 0.01).abs() < 1e-9 && left.high < 0.05,
        "{left:?}"
    );
}

#[test]
fn tables_that_double_and_memory_that_is_kept_elsewhere_are_not() {
    assert!(!is_growth(17, 20_000, Kept::InPlace), "one that doubles");
    assert!(!is_growth(2000, 100, Kept::InPlace), "many small ones");
    assert!(!is_growth(200, 100_000, Kept::Elsewhere), "another table");
    assert!(!is_growth(200, 100_000, Kept::SameSize), "an image");
}
