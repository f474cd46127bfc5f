//! Runs of loops in made-up bursts.

use super::*;
use crate::synthetic::{AllOwn, COMPARER, at, block, branch, burst, call, load, ret, store};

/// Instructions from 0x100 to 0x1ff are of the loop with its head at 0x100.
fn search(steps: u64, first: u64) -> Vec<BurstEvent> {
    let mut events = vec![block(0x80, 5)];
    for step in 0..steps {
        events.extend([
            block(0x100, 4),
            load(0x104, first + 8 * step, 8, step),
            branch(0x108, step + 1 < steps),
        ]);
    }
    events.push(block(0x200, 3));
    events
}

fn found(events: Vec<BurstEvent>) -> Vec<RepeatedLoop> {
    repeated_loops(&[burst(events.clone()), burst(events)], &AllOwn)
}

#[test]
fn search_that_takes_the_same_steps_again_repeats_itself() {
    let all = found((0..10).flat_map(|_| search(6, 0x1000)).collect());
    assert_eq!(all.len(), 1);
    let one = &all[0];
    assert_eq!((one.head, one.repeats_previous.executions), (at(0x100), 18));
    assert!((one.repeats_previous.share.value - 1.0).abs() < 1e-12);
    assert!(one.stores_outside == 0.0 && (one.instructions_per_run - 24.0).abs() < 1e-9);
    // Nine of ten runs of 24 of 32 instructions.
    let share = one.share_of_instructions.value;
    assert!((share - 216.0 / 320.0).abs() < 1e-9, "{share}");
}

#[test]
fn searches_that_end_elsewhere_do_not_repeat_the_one_before() {
    let all = found(
        (0..10)
            .flat_map(|one| search(3 + one % 2, 0x1000))
            .collect(),
    );
    assert!(all[0].repeats_previous.share.value == 0.0);
    assert!(all[0].seen.share.value > 0.8 && all[0].distinct_per_burst == 2.0);
    let all = found((0..10).flat_map(|one| search(3 + one, 0x1000)).collect());
    assert!(all.iter().all(|one| one.seen.share.value == 0.0));
}

#[test]
fn runs_repeat_a_recent_one_where_few_others_came_in_between() {
    let recent = |between: u64| {
        let turns = |one: u64| search(4, 0x1000 + 64 * (one % between));
        let all = found((0..6 * between).flat_map(turns).collect());
        let recent = all[0].repeats_recent.expect("it was compared");
        (recent.share.value, all[0].seen.share.value)
    };
    let (few, many) = (recent(40), recent(100));
    assert!(few.0 > 0.8 && few.0 == few.1, "{few:?}");
    assert!(many.0 == 0.0 && many.1 > 0.8, "{many:?}");
}

#[test]
fn iterations_up_to_the_first_difference_are_the_start_of_the_run_before() {
    // Runs of five and six steps in turn: the fifth step differs, since one leaves there.
    let turns = |one: u64| search(5 + one % 2, 0x1000);
    let all = found((0..20).flat_map(turns).collect());
    let starts = all[0].starts_as_previous.expect("it was compared");
    assert!((starts.share.value - 4.0 / 6.0).abs() < 0.02, "{starts:?}");
    // Beyond what is compared nothing is alike.
    let long = found((0..20).flat_map(|one| search(3000 + one, 0x1000)).collect());
    let starts = long[0].starts_as_previous.expect("it was compared");
    assert!(starts.share.value < 0.5, "{starts:?}");
    // From other places on nothing is the same.
    let elsewhere = |one: u64| search(6, 0x1000 + 64 * one);
    assert!(found((0..20).flat_map(elsewhere).collect()).is_empty());
}

#[test]
fn walks_that_go_a_step_further_than_an_earlier_one_end_near_it() {
    // Along two texts in turn, a byte further each time.
    let turns = |one: u64| search(8 + one / 2, 0x1000 + 0x1000 * (one % 2));
    let all = found((0..40).flat_map(turns).collect());
    let near = all[0].ends_near_earlier.expect("it was compared");
    assert!(near.share.value > 0.9, "{near:?}");
    // Searches that end anywhere, walks that begin anywhere, and the same four walks in turn.
    let anywhere = |one: u64| search(5 + one * 7 % 41, 0x1000);
    let elsewhere = |one: u64| search(8 + one, 0x1000 + 64 * one);
    let same = |one: u64| search(20, 0x1000 + 0x1000 * (one % 4));
    for events in [
        (0..40).flat_map(anywhere).collect(),
        (0..40).flat_map(elsewhere).collect::<Vec<_>>(),
        (0..40).flat_map(same).collect(),
    ] {
        let near = found(events).first().and_then(|one| one.ends_near_earlier);
        assert!(near.is_none_or(|one| one.share.value < 0.3), "{near:?}");
    }
}

/// Two nested loops: the inner one loads the elements of a row, the outer one where the rows begin.
fn nest(values: u64) -> Vec<BurstEvent> {
    let mut events = vec![block(0x80, 5)];
    for row in 0..4u64 {
        events.extend([
            block(0x300, 2),
            load(0x304, 0x1000 + 8 * row, 8, 0x2000 * row),
        ]);
        for column in 0..5u64 {
            events.extend([
                block(0x340, 3),
                load(0x344, 0x2000 * row + 8 * column, 8, values + row + column),
                branch(0x348, column < 4),
            ]);
        }
        events.extend([block(0x380, 1), branch(0x384, row < 3)]);
    }
    events.push(block(0x400, 3));
    events
}

#[test]
fn nest_whose_inner_loops_differ_is_one_run_that_repeats() {
    let all = found((0..10).flat_map(|_| nest(7)).collect());
    let of = |head: u64| all.iter().find(|one| one.head == at(head)).expect("seen");
    let (outer, inner) = (of(0x300), of(0x340));
    assert!((outer.repeats_previous.share.value - 1.0).abs() < 1e-12);
    assert!((outer.instructions_per_run - 4.0 * 18.0).abs() < 1e-9);
    assert_eq!(inner.repeats_previous.share.value, 0.0);
    assert_eq!(
        (outer.distinct_per_burst, inner.distinct_per_burst),
        (1.0, 4.0)
    );
    // Other elements in an inner loop make another run of the nest.
    let all = found((0..10).flat_map(nest).collect());
    assert!(all.iter().all(|one| one.head != at(0x300)), "{all:?}");
}

#[test]
fn run_that_began_before_the_burst_is_not_judged() {
    let events = search(6, 0x1000).split_off(4);
    assert!(found(events).is_empty());
}

/// A search that compares elements with a key at this address by a function.
fn compared(key: u64, text: u64, first: u64) -> Vec<BurstEvent> {
    let mut events = vec![block(0x80, 5)];
    for step in 0..5u64 {
        events.extend([
            block(0x100, 4),
            load(0x104, first + 8 * step, 8, 0x7000_0000 + step),
            load(0x108, key, 8, text),
            // The return address, where another call had put its own.
            store(0x10c, 0x7fff_0000, 8, 0x777 * u64::from(step == 0), 0x110),
            call(0x10c, at(0x900), [0x7000_0000 + step, text, 8, 0, 0, 0]),
            block(0x900, 3),
            load(0x904, text, 8, 0x6162),
            load(0x908, 0x7000_0000 + step, 8, 0x6100 + step),
            ret(0x90c, 1),
            block(0x110, 2),
            branch(0x114, step < 4),
        ]);
    }
    events.push(block(0x200, 3));
    events
}

#[test]
fn same_key_elsewhere_is_the_same_search() {
    let moved = |one: u64| compared(0x9000 + 64 * one, 0x50_0000 + 64 * one, 0x1000);
    let all = found((0..10).flat_map(moved).collect());
    let one = all.iter().find(|one| one.head == at(0x100)).expect("seen");
    assert!(
        (one.repeats_previous.share.value - 1.0).abs() < 1e-12,
        "{one:?}"
    );
    assert!(one.stores_outside == 0.0, "{one:?}");
}

#[test]
fn how_a_library_compares_depends_on_pages() {
    // Where a text ends near its page, the comparison branches and loads in another way.
    let inside = |near: bool, answer: u64| {
        let mut events = vec![block(0x80, 5)];
        for step in 0..5u64 {
            let of = |address| CodePoint {
                address,
                ..COMPARER
            };
            events.extend([
                block(0x100, 4),
                load(0x104, 0x1000 + 8 * step, 8, 0x7000_0000 + step),
                call(0x10c, COMPARER, [0x7000_0000 + step, 0x50_0000, 8, 0, 0, 0]),
            ]);
            let what = [
                Observed::Block { instructions: 3 },
                Observed::Branch { taken: near },
                Observed::Return {
                    value: answer.wrapping_mul(1 + step),
                },
            ];
            events.extend(
                (0xc03b..)
                    .step_by(4)
                    .zip(what)
                    .map(|(address, what)| BurstEvent {
                        at: of(address),
                        what,
                    }),
            );
            events.extend([block(0x110, 2), branch(0x114, step < 4)]);
        }
        events.push(block(0x200, 3));
        events
    };
    let share = |answer: fn(u64) -> u64| {
        let runs = (0..10).flat_map(|one| inside(one % 3 == 0, answer(one)));
        let all = found(runs.collect());
        let one = all.iter().find(|one| one.head == at(0x100));
        one.map_or(0.0, |one| one.repeats_previous.share.value)
    };
    assert!((share(|_| 1) - 1.0).abs() < 1e-12);
    assert!((share(|one| 1 + one % 2) - 1.0).abs() < 1e-12, "its size");
    let sign = |one: u64| if one.is_multiple_of(2) { 1 } else { u64::MAX };
    assert!(share(sign) < 0.1, "another answer");
}

#[test]
fn same_elements_elsewhere_are_another_search() {
    let other = |one: u64| compared(0x9000, 0x50_0000, 0x1000 + 0x100 * one);
    let all = found((0..10).flat_map(other).collect());
    let one = all.iter().find(|one| one.head == at(0x100));
    assert!(one.is_none_or(|one| one.repeats_previous.share.value == 0.0));
}

#[test]
fn loop_that_writes_is_marked() {
    let with = |mut events: Vec<BurstEvent>, number: u64| {
        events.insert(3, store(0x10c, 0x9000, 8, number, number + 1));
        events
    };
    let all = found(
        (0..10)
            .flat_map(|one| with(search(6, 0x1000), one))
            .collect(),
    );
    assert!((all[0].stores_outside - 1.0).abs() < 1e-12);
}
