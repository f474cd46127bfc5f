//! The difference of two profiles. Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{DiffSide, Estimate, FunctionDiff, Moved, MovedHow, ProfileDiff};

use super::Side;
use super::function_rows::{Key, Row, renamed, rows};
use super::lines_and_instructions::{instructions, lines};
use super::moved_functions::{Moves, callers, inlined};

/// Maximum number of functions.
const MAX_FUNCTIONS: usize = 400;

/// Returns the difference of two profiles of the same workload.
#[must_use]
pub fn diff(before: &Side, after: &Side) -> ProfileDiff {
    // Where one side has no seconds, both are shares: the two could not be subtracted.
    let runs = match (before.seconds, after.seconds) {
        (Some(before), Some(after)) => [before, after],
        _ => [1.0, 1.0],
    };
    let (rows_before, rows_after) = (rows(before, runs[0]), rows(after, runs[1]));
    let inlined_before = inlined(before, runs[0]);
    let inlined_after = inlined(after, runs[1]);
    let callers_before = callers(before);
    let moves = Moves {
        callers_before: &callers_before,
        rows_before: &rows_before,
        rows_after: &rows_after,
        inlined_before: &inlined_before,
        inlined_after: &inlined_after,
    };
    let both_counted = before.counts.is_some() && after.counts.is_some();
    let both_timed = before.profile.is_some() && after.profile.is_some();
    let renamed = renamed(&rows_before, &rows_after);
    let new_names: BTreeSet<&Key> = renamed.values().copied().collect();
    let mut functions = Vec::new();
    let mut inlined_here: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let all: BTreeSet<&Key> = rows_before.keys().chain(rows_after.keys()).collect();
    for one in all {
        if new_names.contains(one) {
            continue;
        }
        let left = rows_before.get(one);
        let right = rows_after.get(renamed.get(one).copied().unwrap_or(one));
        let Some(any) = left.or(right) else { continue };
        let moved = match (left, right) {
            (Some(left), Some(right)) if right.name != left.name => vec![Moved {
                into: right.name.clone(),
                how: MovedHow::Cloned,
                seconds: None,
            }],
            (Some(left), right) => moves.of(left, right),
            (None, _) => Vec::new(),
        };
        for target in moved.iter().filter(|moved| moved.how != MovedHow::Cloned) {
            inlined_here
                .entry(target.into.clone())
                .or_default()
                .insert(any.name.clone());
        }
        let time = |row: Option<&Row>| row.and_then(|row| row.time);
        let count = |of: fn(&Row) -> Option<u64>| {
            let number = |row: Option<&Row>| row.and_then(of).unwrap_or(0);
            both_counted.then(|| (number(left), number(right)))
        };
        functions.push(FunctionDiff {
            function: any.name.clone(),
            module: any
                .module
                .rsplit('/')
                .next()
                .unwrap_or(&any.module)
                .to_owned(),
            file: any.file.clone(),
            line: any.line,
            before: time(left).filter(|_| both_timed),
            after: time(right).filter(|_| both_timed),
            change: if both_timed {
                change(time(left), time(right))
            } else {
                Estimate::exact(0.0)
            },
            calls: count(|row| row.calls),
            instructions: count(|row| row.instructions),
            moved,
            inlined_here: Vec::new(),
        });
    }
    for function in &mut functions {
        // Also under its new name, if it has one.
        let new = function
            .moved
            .iter()
            .find(|moved| moved.how == MovedHow::Cloned);
        let names = [Some(&function.function), new.map(|moved| &moved.into)];
        let taken = names
            .into_iter()
            .flatten()
            .filter_map(|name| inlined_here.get(name));
        function.inlined_here = taken.flatten().cloned().collect();
    }
    let weight = |one: &FunctionDiff| {
        let counted = one
            .instructions
            .map_or(0.0, |(left, right)| left.abs_diff(right) as f64);
        (one.change.value.abs(), counted)
    };
    functions.sort_by(|one, two| {
        let (one, two) = (weight(one), weight(two));
        two.0.total_cmp(&one.0).then(two.1.total_cmp(&one.1))
    });
    functions.truncate(MAX_FUNCTIONS);
    let mut notes = [before.notes.clone(), after.notes.clone()].concat();
    notes.extend(doubts(before, after));
    // Of two sides of one name.
    let mut told = std::collections::BTreeSet::new();
    notes.retain(|note| told.insert(note.clone()));
    ProfileDiff {
        before: of_side(before),
        after: of_side(after),
        lines: lines(before, after, runs),
        instructions: instructions(before, after, runs, &functions),
        functions,
        notes,
    }
}

fn of_side(side: &Side) -> DiffSide {
    DiffSide {
        name: side.name.clone(),
        command: side.command.clone(),
        event: side.profile.as_ref().map(|profile| profile.event.clone()),
        samples: side.profile.as_ref().map_or(0, |profile| profile.samples),
        runs: side.runs,
        seconds: side.seconds.filter(|_| side.profile.is_some()),
        instructions: side.counts.as_ref().map(|counts| counts.instructions),
    }
}

/// Returns after − before with its interval; the samples of the two sides are independent.
fn change(before: Option<Estimate>, after: Option<Estimate>) -> Estimate {
    let (one, two) = (
        before.unwrap_or(Estimate::exact(0.0)),
        after.unwrap_or(Estimate::exact(0.0)),
    );
    let down = (two.value - two.low).hypot(one.high - one.value);
    let up = (two.high - two.value).hypot(one.value - one.low);
    let value = two.value - one.value;
    Estimate {
        value,
        low: value - down,
        high: value + up,
    }
}

/// Returns notes on what makes the comparison unreliable.
fn doubts(before: &Side, after: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    let events =
        [before, after].map(|side| side.profile.as_ref().map(|profile| &profile.event.name));
    if let [Some(one), Some(two)] = events
        && one != two
    {
        notes.push(format!(
            "different events were sampled ({one} before, {two} after): shares are not comparable"
        ));
    }
    for side in [before, after] {
        if side.profile.is_some() && side.seconds.is_none() {
            notes.push(format!(
                "the CPU time of a run of {} is unknown: shares are shown in place of seconds",
                side.name
            ));
        }
        // Weighted by samples: cold libraries may have debug information.
        let (mut known, mut all) = (0.0, 0.0);
        for one in side.annotations.iter().flat_map(|one| &one.instructions) {
            all += one.samples;
            known += if one.file.is_some() { one.samples } else { 0.0 };
        }
        if all > 0.0 && known * 2.0 < all {
            notes.push(format!(
                "{} has no debug information: inlined functions are not shown; build with -g",
                side.name
            ));
        }
    }
    notes
}
#[cfg(test)]
mod unit {
    use super::super::function_rows::{base, key};
    use super::super::moved_functions::is_gone;
    use super::*;

    fn rows(names: &[&str]) -> BTreeMap<Key, Row> {
        let row = |name: &&str| {
            let row = Row {
                name: (*name).to_owned(),
                calls: Some(10),
                ..Row::default()
            };
            (key(name, "/bin/prog"), row)
        };
        names.iter().map(row).collect()
    }

    #[test]
    fn clone_with_a_suffix_is_the_same_function() {
        let (before, after) = (
            rows(&["a", "b", "c"]),
            rows(&["a.lto_priv.0", "b.constprop.0", "b.isra.0", "c"]),
        );
        let found = renamed(&before, &after);
        let names: Vec<_> = found
            .iter()
            .map(|(one, two)| (one.0.as_str(), two.0.as_str()))
            .collect();
        assert_eq!(names, [("a", "a.lto_priv.0")]);
        assert_eq!(base("x.part.0.cold"), "x");
        assert_eq!(base("plain"), "plain");
    }

    #[test]
    fn function_is_gone_by_calls_or_without_counts_by_time() {
        let called = |calls| Row {
            calls: Some(calls),
            ..Row::default()
        };
        assert!(is_gone(&called(100), Some(&called(10))));
        assert!(!is_gone(&called(100), Some(&called(11))));
        assert!(is_gone(&called(100), None));
        let timed = |seconds| Row {
            time: Some(Estimate::exact(seconds)),
            ..Row::default()
        };
        assert!(is_gone(&timed(1.0), Some(&timed(0.05))));
        assert!(!is_gone(&timed(1.0), Some(&timed(0.5))));
        assert!(!is_gone(&Row::default(), None));
    }

    #[test]
    fn sides_of_which_one_has_no_seconds_are_compared_by_shares() {
        let event = genba_model::Event {
            name: "weight".to_owned(),
            hardware: false,
            frequency_hz: 0,
            kernel: false,
            precision: genba_model::Precision::Skid,
        };
        let unit = genba_model::SampleUnit::Count;
        let mut builder = genba_model::SampledDetailBuilder::new(event, unit, Vec::new());
        let thread = builder.thread(genba_model::SampledThread::default());
        for (name, weight) in [("a", 30), ("b", 70)] {
            let frame = builder.named_frame(name, genba_model::CodeKind::User);
            let stack = builder.stack(None, frame);
            builder.detail.samples.push(genba_model::Sampled {
                thread,
                stack,
                time_ns: None,
                weight,
                samples: 0,
            });
        }
        let untimed = Side::of_samples("untimed", &builder.detail, "collapsed stacks");
        let mut timed = untimed.clone();
        timed.seconds = Some(8.0);
        let found = diff(&timed, &untimed);
        assert_eq!(found.functions.len(), 2);
        for one in found.functions {
            assert!(one.change.value.abs() < 1e-12, "{one:?}");
        }
    }

    #[test]
    fn intervals_of_changes_combine_both_sides() {
        let side = |value: f64| Estimate {
            value,
            low: value - 0.3,
            high: value + 0.4,
        };
        let found = change(Some(side(5.0)), Some(side(4.0)));
        assert!((found.value + 1.0).abs() < 1e-12);
        assert!((found.high - (-1.0 + 0.5)).abs() < 1e-9);
        assert!((change(None, Some(side(1.0))).value - 1.0).abs() < 1e-12);
    }
}
