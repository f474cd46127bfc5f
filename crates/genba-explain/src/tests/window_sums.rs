//! Sums over windows, and near misses.

use genba_model::{Fact, Fix, QuadraticFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::tests::synthetic::{function, has_fact, program};

const PLACES: u64 = 100_000;

/// What an inner loop adds up for each of many places.
#[derive(Clone, Copy, PartialEq)]
enum Sum {
    /// Elements of a window, which moves by so many bytes.
    Window(i32),
    /// Products with the weights of a filter.
    Filter,
    /// The sum goes on from place to place.
    GoesOn,
    /// A column of a table whose rows are longer than an element.
    Column,
}

fn found(sum: Sum, trips: u64) -> Vec<Candidate> {
    let all = PLACES * trips;
    let multiplies = usize::from(sum == Sum::Filter);
    let body = 4 + multiplies;
    let begins = usize::from(sum != Sum::GoesOn);
    let mut counts = vec![1];
    counts.extend(vec![PLACES; 1 + begins]);
    counts.extend(vec![all; body]);
    counts.extend(vec![PLACES; 3]);
    counts.push(1);
    let mut heat = vec![0.0; 2 + begins];
    heat.extend(vec![0.9 / body as f64; body]);
    heat.extend([0.0; 4]);
    let (moved, step) = match sum {
        Sum::Window(moved) => (moved, 8),
        Sum::Column => (8, 4096),
        Sum::Filter | Sum::GoesOn => (8, 8),
    };
    let smooth = function(
        "smooth",
        |a| {
            let mut place = a.create_label();
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut place)?;
            a.mov(rax, rdi)?;
            if sum != Sum::GoesOn {
                a.xor(ecx, ecx)?;
            }
            a.set_label(&mut head)?;
            match sum {
                Sum::Filter => {
                    a.mov(rdx, qword_ptr(rax))?;
                    a.imul_2(rdx, r9)?;
                    a.add(rcx, rdx)?;
                }
                _ => a.add(rcx, qword_ptr(rax))?,
            }
            a.add(rax, step)?;
            if sum != Sum::Filter {
                a.cmp(rax, rsi)?;
            }
            a.jne(head)?;
            a.add(rdi, moved)?;
            a.cmp(rdi, r8)?;
            a.jne(place)?;
            a.ret()
        },
        &counts,
        &heat,
        &[
            (1 + begins + body, all - PLACES),
            (begins + body + 4, PLACES - 1),
        ],
    );
    let mut all = quadratic::detect(&program(vec![smooth]));
    all.retain(|one| one.fix == Fix::SlideSum);
    all
}

/// The same of a window of rows: a loop over its rows around the one along a row.
fn of_rows(rows: u64, trips: u64) -> Vec<Candidate> {
    let (all_rows, all) = (PLACES * rows, PLACES * rows * trips);
    let counts = [
        1, PLACES, PLACES, all_rows, all, all, all, all, all_rows, all_rows, all_rows, PLACES,
        PLACES, PLACES, 1,
    ];
    let mut heat = [0.0; 15];
    heat[4..8].fill(0.2);
    let blur = function(
        "blur",
        |a| {
            let [mut place, mut row, mut head] = [(); 3].map(|()| a.create_label());
            a.nop()?;
            a.set_label(&mut place)?;
            a.mov(rdx, rdi)?;
            a.xor(ecx, ecx)?;
            a.set_label(&mut row)?;
            a.mov(rax, rdx)?;
            a.set_label(&mut head)?;
            a.add(rcx, qword_ptr(rax))?;
            a.add(rax, 8)?;
            a.cmp(rax, rsi)?;
            a.jne(head)?;
            a.add(rdx, 4096)?;
            a.cmp(rdx, r9)?;
            a.jne(row)?;
            a.add(rdi, 8)?;
            a.cmp(rdi, r8)?;
            a.jne(place)?;
            a.ret()
        },
        &counts,
        &heat,
        &[
            (7, all - all_rows),
            (10, all_rows - PLACES),
            (13, PLACES - 1),
        ],
    );
    quadratic::detect(&program(vec![blur]))
}

#[test]
fn sums_over_a_window_of_rows_are_found() {
    let found = of_rows(5, 10);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::SlideSum);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::WindowSums { places: PLACES, elements }) if (elements - 50.0).abs() < 1e-9
    )));
}

#[test]
fn sums_over_a_window_that_moves_by_little_are_found() {
    let found = found(Sum::Window(8), 100);
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::WindowSums { places: PLACES, elements }) if (elements - 100.0).abs() < 1e-9
    )));
    assert!(found[0].residual_fraction.high < 0.5);
}

#[test]
fn stretches_apart_filters_columns_and_running_sums_are_no_windows() {
    assert!(found(Sum::Window(800), 100).is_empty(), "blocks");
    assert!(found(Sum::Window(400), 100).is_empty(), "half of it is new");
    assert!(found(Sum::Window(8), 4).is_empty(), "a few elements");
    assert!(found(Sum::Filter, 100).is_empty(), "a filter");
    assert!(found(Sum::GoesOn, 100).is_empty(), "one sum of all");
    assert!(found(Sum::Column, 100).is_empty(), "columns");
}
