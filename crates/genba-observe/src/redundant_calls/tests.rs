//! Calls that repeat earlier ones, and what looks like it, on made-up streams.

use super::*;
use crate::synthetic::{AllOwn, COMPARER, at, block, burst, call, in_library, load, ret, store};
use genba_model::{BurstEvent, Observed};

/// Far from the stack, which is at 0x8000.
const HEAP: u64 = 1 << 40;

/// A call at 0x10 of 0x100: reads what its argument points to, returns twice that.
fn once(argument: u64, value: u64) -> Vec<BurstEvent> {
    vec![
        store(0x10, 0x7ff8, 8, 0, 0x15),
        call(0x10, at(0x100), [argument, 0, 0, 0, 0, 0]),
        block(0x100, 10),
        load(0x104, argument, 8, value),
        store(0x108, 0x7ff0, 8, 0, value),
        load(0x10c, 0x7ff0, 8, value),
        load(0x110, 0x7ff8, 8, 0x15),
        ret(0x110, 2 * value),
        block(0x15, 2),
    ]
}

fn found(events: Vec<BurstEvent>) -> Vec<RedundantCall> {
    let bursts = vec![burst(events.clone()), burst(events)];
    redundant_calls(&bursts, &AllOwn, &|_| false, &mut UnreadResults::new())
}

#[test]
fn call_with_same_arguments_and_memory_is_redundant() {
    let all = found((0..20).flat_map(|_| once(0x1000, 7)).collect());
    assert_eq!(all.len(), 1);
    let one = &all[0];
    assert_eq!((one.at, one.target), (at(0x10), at(0x100)));
    assert_eq!((one.seen.executions, one.instructions_per_call), (38, 10.0));
    assert!((one.seen.share.value - 1.0).abs() < 1e-12);
    assert!((one.distinct_per_burst - 1.0).abs() < 1e-12);
    assert!(one.stores_outside == 0.0);
    // 19 of 20 calls of 10 of 12 instructions each.
    let share = one.share_of_instructions.value;
    assert!((share - 190.0 / 240.0).abs() < 1e-9, "{share}");
}

#[test]
fn other_memory_behind_the_same_pointer_is_another_input() {
    let all = found((0..20).flat_map(|one| once(0x1000, one)).collect());
    assert!(all.is_empty());
}

#[test]
fn few_inputs_in_turn_repeat_earlier_calls_but_not_the_one_before() {
    let all = found(
        (0..20)
            .flat_map(|one| once(0x1000 + 8 * (one % 2), 7))
            .collect(),
    );
    assert!(all[0].seen.share.value > 0.9 && all[0].repeats_previous.share.value == 0.0);
    assert!((all[0].distinct_per_burst - 2.0).abs() < 1e-12);
}

#[test]
fn system_calls_and_callers_of_them_are_not_judged() {
    let with = |mut events: Vec<BurstEvent>| {
        let call = BurstEvent {
            at: at(0x109),
            what: Observed::SystemCall { number: 39 },
        };
        events.insert(4, call);
        events
    };
    assert!(found((0..20).flat_map(|_| with(once(0x1000, 7))).collect()).is_empty());
}

/// As [`once`], from 0x20.
fn again(argument: u64, value: u64) -> Vec<BurstEvent> {
    let mut events = once(argument, value);
    events[0] = store(0x20, 0x7ff8, 8, 0, 0x25);
    events[1].at = at(0x20);
    events[6] = load(0x110, 0x7ff8, 8, 0x25);
    events[8].at = at(0x25);
    events
}

#[test]
fn call_that_does_what_another_place_did_names_that_place() {
    let item = |n: u64| [once(0x1000 + 8 * n, n), again(0x1000 + 8 * n, n)].concat();
    let all = found((0..20).flat_map(item).collect());
    let of = |call: u64| all.iter().find(|one| one.at == at(call));
    let elsewhere = of(0x20).and_then(|one| one.elsewhere).expect("it repeats");
    assert_eq!((elsewhere.at, elsewhere.part), (at(0x10), 1.0));
    assert!((elsewhere.seen.share.value - 1.0).abs() < 1e-12);
    // The first of the two does not repeat the second: that was about another item.
    assert!(of(0x10).is_none());
}

#[test]
fn copy_of_what_the_other_place_read_is_the_same() {
    let (there, copy) = (1 << 40, 1 << 41);
    let item = |n: u64| [once(there + 8 * n, n), again(copy + 64 * n, n)].concat();
    let all = found((0..20).flat_map(item).collect());
    assert!(
        all.iter()
            .any(|one| one.at == at(0x20) && one.elsewhere.is_some())
    );
}

#[test]
fn same_hash_of_a_copy_with_other_bytes_behind_it_is_the_same() {
    // What is read has more bytes than what counts: the result tells, if it is a large number.
    let with_result = |mut events: Vec<BurstEvent>, result: u64| {
        events[7] = ret(0x110, result);
        events
    };
    let pair = |n: u64, result: u64| {
        let there = with_result(once(0x1000 + 8 * n, n), result);
        [
            there,
            with_result(again((1 << 41) + 64 * n, n + 100), result),
        ]
        .concat()
    };
    let elsewhere = |all: &[RedundantCall]| {
        let one = all.iter().find(|one| one.at == at(0x20));
        one.and_then(|one| one.elsewhere)
    };
    let all = found((0..20).flat_map(|n| pair(n, (n + 1) << 32)).collect());
    let seen = elsewhere(&all).expect("the results agree");
    assert!(seen.seen.share.value > 0.99 && seen.by_chance == 0.0);
    // Small numbers agree now and then.
    let all = found((0..20).flat_map(|n| pair(n, n % 3)).collect());
    assert!(elsewhere(&all).is_none());
    // One that never changes says nothing.
    let all = found((0..20).flat_map(|n| pair(n, 1 << 32)).collect());
    assert!(elsewhere(&all).is_some_and(|one| one.by_chance > 0.9));
}

#[test]
fn call_about_what_moved_has_the_contents_and_result_of_an_earlier_one() {
    // An element with an address in it, at another place each time.
    let element = |n: u64, content: u64, result: u64| {
        let mut events = once((1 << 40) + 64 * n, content);
        events[7] = ret(0x110, result);
        events
    };
    let moved = |all: Vec<RedundantCall>| all.iter().find_map(|one| one.moved);
    let text = |n: u64| (1 << 41) + 100 * (n % 5);
    let all = found(
        (0..40)
            .flat_map(|n| element(n, text(n), text(n) + 7))
            .collect(),
    );
    let seen = moved(all).expect("they come again");
    assert!((seen.share.value - 35.0 / 40.0).abs() < 1e-9, "{seen:?}");
    // Numbers that are equal may be of different elements.
    let all = found((0..40).flat_map(|n| element(n, n % 5, text(n))).collect());
    assert!(moved(all).is_none());
    // Small results are equal now and then.
    let all = found((0..40).flat_map(|n| element(n, text(n), n % 5)).collect());
    assert!(moved(all).is_none());
    // What returns a structure hands back where it was to be put.
    let filled = |n: u64| {
        let mut events = element(n, text(n), text(n) + 7);
        for event in &mut events {
            if let Observed::Call { arguments, .. } = &mut event.what {
                arguments[5] = text(n) + 7;
            }
        }
        events
    };
    assert!(moved(found((0..40).flat_map(filled).collect())).is_none());
}

#[test]
fn how_a_comparison_inside_came_out_is_what_it_read() {
    // A look-up compares a key elsewhere with a text, and what lies behind the key, and returns where it found it.
    let lookup = |n: u64, behind: u64, answer: u64| {
        let text = (1 << 41) + 100 * (n % 5);
        let mut events = once((1 << 40) + 64 * n, text);
        events[7] = ret(0x110, text + 7);
        let inside = [
            call(0x10d, COMPARER, [0; 6]),
            in_library(load(0xc040, (1 << 42) + 64 * n, 32, behind)),
            in_library(ret(0xc044, answer)),
            block(0x10f, 1),
        ];
        events.splice(6..6, inside);
        events
    };
    let moved = |all: Vec<RedundantCall>| all.iter().find_map(|one| one.moved);
    let all = found((0..40).flat_map(|n| lookup(n, n, 1 + n)).collect());
    let seen = moved(all).expect("they come again");
    assert!((seen.share.value - 35.0 / 40.0).abs() < 1e-9, "{seen:?}");
    let signs = |n: u64| if n < 20 { 0 } else { n % 2 };
    let all = found((0..40).flat_map(|n| lookup(n, n, signs(n))).collect());
    assert!(moved(all).is_some_and(|seen| seen.share.value < 0.8));
}

#[test]
fn other_contents_at_the_other_place_are_not_the_same() {
    let item = |n: u64| [once(0x1000 + 8 * n, n), again(0x1000 + 8 * n, n + 100)].concat();
    assert!(found((0..20).flat_map(item).collect()).is_empty());
}

#[test]
fn calls_that_differ_in_an_address_are_about_one_object() {
    let object = |n: u64| (1 << 40) + 64 * (n % 7);
    let all = found((0..40).flat_map(|n| once(object(n), n % 7)).collect());
    assert_eq!(all[0].about_one_object, 1.0);
    // What is there changes; a number says which one it is.
    let all = found((0..40).flat_map(|n| once(object(n), n % 9)).collect());
    assert!(all.iter().all(|one| one.about_one_object == 0.0));
    let all = found((0..40).flat_map(|n| once(64 * (n % 7), n % 7)).collect());
    assert_eq!(all[0].about_one_object, 0.0);
}

#[test]
fn what_a_call_puts_back_is_not_an_effect() {
    let with = |mut events: Vec<BurstEvent>| {
        events.insert(4, store(0x106, HEAP, 8, 0, 1));
        events.insert(5, store(0x107, HEAP, 8, 1, 0));
        events
    };
    let all = found((0..20).flat_map(|_| with(once(0x1000, 7))).collect());
    assert!(all[0].stores_outside == 0.0);
}

/// As [`once`], with results in its caller's frame, and others there before.
fn into_callers_frame(argument: u64, value: u64, before: u64, results: u64) -> Vec<BurstEvent> {
    let mut events = once(argument, value);
    for n in 0..results {
        events.insert(4, store(0x106, 0x8000 + 8 * n, 8, before, value));
    }
    events
}

#[test]
fn value_stored_for_the_caller_on_its_stack_is_part_of_the_result() {
    let all = found(
        (0..20)
            .flat_map(|n| into_callers_frame(0x1000, 7, n, 1))
            .collect(),
    );
    assert!(all[0].stores_outside == 0.0 && all[0].repeats_previous.share.value > 0.99);
    // A buffer that is filled.
    let all = found(
        (0..20)
            .flat_map(|n| into_callers_frame(0x1000, 7, n, 40))
            .collect(),
    );
    assert!(all[0].stores_outside > 0.99);
}

#[test]
fn what_a_callee_puts_back_is_not_an_effect_of_its_caller() {
    let inner = [
        store(0x120, 0x7fe8, 8, 0, 0x125),
        call(0x120, at(0x200), [0; 6]),
        block(0x200, 3),
        store(0x206, HEAP, 8, 1, 0),
        ret(0x210, 0),
        block(0x125, 2),
    ];
    let with = |before: u64| {
        let mut events = once(0x1000, 7);
        let inner = inner.iter().copied();
        events.splice(
            4..4,
            [store(0x106, HEAP, 8, before, 1)].into_iter().chain(inner),
        );
        events
    };
    let outer = |all: &[RedundantCall]| {
        let mut all = all.iter().filter(|one| one.target == at(0x100));
        all.next().map(|one| one.stores_outside)
    };
    // Set by the call, cleared by what it calls.
    let all = found((0..20).flat_map(|_| with(0)).collect());
    assert_eq!(outer(&all), Some(0.0));
    // It was set before.
    let all = found((0..20).flat_map(|_| with(5)).collect());
    assert_eq!(outer(&all), Some(1.0));
}

/// What a call that makes something does beside that.
#[derive(Clone, Copy, Default)]
struct Making {
    /// Where it reads a number that is another one each time.
    other: Option<u64>,
    /// Whether it frees what it made.
    frees: bool,
    /// Whether it frees what it was handed.
    frees_others: bool,
    /// Whether it stores elsewhere.
    stores: bool,
}

/// A call at 0x10 of 0x100: reads what its argument points to, allocates a block somewhere and puts five words there.
fn maker(n: u64, making: Making) -> Vec<BurstEvent> {
    let block_at = HEAP + 4096 * (n % 7);
    let inner = |code: u64, target: u64, argument: u64, result: u64| {
        vec![
            store(code, 0x7fe8, 8, 0, code + 5),
            call(code, at(target), [argument, 0, 0, 0, 0, 0]),
            block(target, 20),
            // The allocator's own lists.
            store(target + 4, 2 * HEAP, 8, n, n + 1),
            load(target + 8, 2 * HEAP + 64 * n, 8, n),
            ret(target + 16, result),
            block(code + 5, 2),
        ]
    };
    let mut events = vec![
        store(0x10, 0x7ff8, 8, 0, 0x15),
        call(0x10, at(0x100), [0x1000, 0, 0, 0, 0, 0]),
        block(0x100, 30),
        load(0x104, 0x1000, 8, 7),
    ];
    events.extend(making.other.map(|address| load(0x106, address, 8, n)));
    events.extend(inner(0x110, 0xa110c, 64, block_at));
    events.extend((0..5).map(|word| store(0x120, block_at + 8 * word, 8, n, word)));
    if making.stores {
        events.push(store(0x124, 3 * HEAP, 8, n, n + 1));
    }
    if making.frees {
        events.extend(inner(0x130, 0xf4ee, block_at, 0));
    }
    if making.frees_others {
        events.extend(inner(0x140, 0xf4ee, 4 * HEAP, 0));
    }
    events.extend([ret(0x150, block_at), block(0x15, 2)]);
    events
}

fn made(making: Making) -> Option<MadeAgain> {
    let all = found((0..20).flat_map(|n| maker(n, making)).collect());
    let mut of = all.iter().filter(|one| one.target == at(0x100));
    of.next().and_then(|one| one.made)
}

#[test]
fn what_is_made_again_in_other_memory_is_the_same() {
    let one = made(Making::default()).expect("they make the same");
    // All but the first one; the second burst's first repeats the first burst's last.
    assert!(one.seen.share.value > 0.999 && one.repeats_previous.share.value > 0.999);
    assert_eq!((one.words, one.loads), (5.0, 1.0));
    // 30 and what follows the call of the allocator; not the 20 of the allocator itself.
    assert_eq!(one.instructions, 32.0);
    // Repeated calls show also where a burst holds one of them.
    let bursts: Vec<_> = (0..20)
        .map(|n| burst(maker(n, Making::default())))
        .collect();
    let all = redundant_calls(&bursts, &AllOwn, &|_| false, &mut UnreadResults::new());
    let one = all.iter().find(|one| one.target == at(0x100));
    let one = one.and_then(|one| one.made).expect("they make the same");
    assert!(one.seen.share.value > 0.999 && one.distinct_per_burst == 1.0);
}

#[test]
fn calls_that_read_others_free_others_or_store_elsewhere_make_something_else() {
    let other = |change: fn(&mut Making)| {
        let mut making = Making::default();
        change(&mut making);
        made(making)
    };
    // As many different inputs as calls: the second burst repeats the first.
    let of_others = other(|one| one.other = Some(0x2000)).expect("the same in both bursts");
    assert_eq!(
        (
            of_others.distinct_per_burst,
            of_others.repeats_previous.share.value
        ),
        (20.0, 0.0)
    );
    assert!(other(|one| one.frees = true).is_none());
    assert!(other(|one| one.frees_others = true).is_none());
    assert!(other(|one| one.stores = true).is_none());
}

#[test]
fn buffer_that_is_allocated_and_freed_is_not_an_effect() {
    let outside = |making: Making| {
        let without_result = |n: u64| {
            let mut events = maker(n, making);
            let last = events.len() - 2;
            events[last] = ret(0x150, 3);
            events
        };
        let all = found((0..20).flat_map(without_result).collect());
        let mut of = all.iter().filter(|one| one.target == at(0x100));
        of.next()
            .map(|one| (one.seen.share.value, one.stores_outside))
    };
    let frees = Making {
        frees: true,
        ..Making::default()
    };
    assert_eq!(outside(frees), Some((1.0, 0.0)));
    let both = Making {
        frees_others: true,
        ..frees
    };
    assert_eq!(outside(both).map(|one| one.1), Some(1.0));
    assert_eq!(outside(Making::default()).map(|one| one.1), Some(1.0));
}

#[test]
fn stores_to_memory_of_others_are_reported() {
    let with = |mut events: Vec<BurstEvent>| {
        events.insert(4, store(0x106, HEAP, 8, 0, 1));
        events
    };
    let all = found((0..20).flat_map(|_| with(once(0x1000, 7))).collect());
    assert!(all[0].stores_outside > 0.99);
}
