//! From two sides to their differences. Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_code::without_parameters;
use genba_model::{
    AnnotatedInstruction, Annotation, DiffSide, Estimate, FunctionDiff, InstructionDiff, LineDiff,
    Moved, MovedHow, ProfileDiff,
};

use super::Side;
use super::align::{align, bare};

/// Rows of each table at most.
const MOST_FUNCTIONS: usize = 400;
const MOST_LINES: usize = 400;
/// Functions whose instructions are shown, and instructions in all.
const MOST_LISTED: usize = 5;
const MOST_INSTRUCTIONS: usize = 2_000;
/// A function is gone if of its time (or calls) no more than this share is left.
const GONE: f64 = 0.1;

/// A function of one side.
#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    module: String,
    file: Option<String>,
    line: Option<u32>,
    time: Option<Estimate>,
    calls: Option<u64>,
    instructions: Option<u64>,
}

/// Name and sort of module: programs of the two sides may have other names.
type Key = (String, String);

fn key(function: &str, module: &str) -> Key {
    let file = module.rsplit('/').next().unwrap_or(module);
    let shared = file.contains(".so") || file.starts_with('[');
    (
        function.to_owned(),
        if shared {
            file.to_owned()
        } else {
            String::new()
        },
    )
}

fn rows(side: &Side) -> BTreeMap<Key, Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    let seconds = side.seconds.unwrap_or(1.0);
    for function in side.profile.iter().flat_map(|profile| &profile.functions) {
        let row = rows
            .entry(key(&function.function, &function.module))
            .or_default();
        row.name.clone_from(&function.function);
        row.module.clone_from(&function.module);
        row.file = row.file.take().or_else(|| function.file.clone());
        row.line = row.line.or(function.line);
        let share = function.self_share;
        let time = Estimate {
            value: share.value * seconds,
            low: share.low * seconds,
            high: share.high * seconds,
        };
        row.time = Some(row.time.map_or(time, |sum| Estimate {
            value: sum.value + time.value,
            low: sum.low + time.low,
            high: sum.high + time.high,
        }));
    }
    for function in side.counts.iter().flat_map(|counts| &counts.functions) {
        let row = rows
            .entry(key(&function.function, &function.module))
            .or_default();
        row.name.clone_from(&function.function);
        row.module.clone_from(&function.module);
        row.file = row.file.take().or_else(|| function.file.clone());
        row.line = row.line.or(function.line);
        row.calls = Some(row.calls.unwrap_or(0) + function.calls);
        row.instructions = Some(row.instructions.unwrap_or(0) + function.instructions);
    }
    rows
}

/// Two profiles of the same work, side by side.
#[must_use]
pub fn diff(before: &Side, after: &Side) -> ProfileDiff {
    let (rows_before, rows_after) = (rows(before), rows(after));
    let inlined_before = inlined(before);
    let inlined_after = inlined(after);
    let moves = Moves {
        before,
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
    let mut took_in: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
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
            took_in
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
            took_in: Vec::new(),
        });
    }
    for function in &mut functions {
        // Under its new name, if it has one.
        let new = function
            .moved
            .iter()
            .find(|moved| moved.how == MovedHow::Cloned);
        let names = [Some(&function.function), new.map(|moved| &moved.into)];
        let taken = names
            .into_iter()
            .flatten()
            .filter_map(|name| took_in.get(name));
        function.took_in = taken.flatten().cloned().collect();
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
    functions.truncate(MOST_FUNCTIONS);
    let mut notes = [before.notes.clone(), after.notes.clone()].concat();
    notes.extend(doubts(before, after));
    ProfileDiff {
        before: of_side(before),
        after: of_side(after),
        lines: lines(before, after),
        instructions: instructions(before, after, &functions),
        functions,
        notes,
    }
}

/// Functions that are there on both sides, but afterwards under a name that compilers give to
/// copies (or before).
fn renamed<'a>(
    before: &'a BTreeMap<Key, Row>,
    after: &'a BTreeMap<Key, Row>,
) -> BTreeMap<&'a Key, &'a Key> {
    let by_base = |rows: &'a BTreeMap<Key, Row>, others: &BTreeMap<Key, Row>| {
        let mut found: BTreeMap<(&'a str, &'a str), Vec<&'a Key>> = BTreeMap::new();
        for key in rows.keys().filter(|key| !others.contains_key(*key)) {
            found
                .entry((base(&key.0), key.1.as_str()))
                .or_default()
                .push(key);
        }
        found
    };
    let (left, right) = (by_base(before, after), by_base(after, before));
    let pairs = left.into_iter().filter_map(|(name, keys)| {
        // Of several copies none is the function itself.
        match (&keys[..], right.get(&name).map(Vec::as_slice)) {
            ([one], Some([two])) => Some((*one, *two)),
            _ => None,
        }
    });
    pairs.collect()
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

/// After − before; the samples of the two sides are independent.
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

fn doubts(before: &Side, after: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    let events =
        [before, after].map(|side| side.profile.as_ref().map(|profile| &profile.event.name));
    if let [Some(one), Some(two)] = events
        && one != two
    {
        notes.push(format!(
            "{one} was sampled before and {two} after: shares are not alike"
        ));
    }
    for side in [before, after] {
        if side.profile.is_some() && side.seconds.is_none() {
            notes.push(format!(
                "how long a run of {} took is not known: shares stand for seconds",
                side.name
            ));
        }
        // Judged by where the time is: a library beside it may well have debug information.
        let (mut known, mut all) = (0.0, 0.0);
        for one in side.annotations.iter().flat_map(|one| &one.instructions) {
            all += one.samples;
            known += if one.file.is_some() { one.samples } else { 0.0 };
        }
        if all > 0.0 && known * 2.0 < all {
            notes.push(format!(
                "{} has no debug information: what was inlined there is not seen; build with -g",
                side.name
            ));
        }
    }
    notes
}

/// Time and executions of inlined code: by inlined function, then by the function it is in.
type Inlined = BTreeMap<String, BTreeMap<String, (f64, u64)>>;

fn inlined(side: &Side) -> Inlined {
    let mut all = Inlined::new();
    for annotation in &side.annotations {
        for one in &annotation.instructions {
            let Some(name) = &one.inlined else { continue };
            let inside = all.entry(plain(name)).or_default();
            let entry = inside.entry(annotation.function.clone()).or_default();
            entry.0 += seconds_of(side, annotation, one);
            entry.1 = entry.1.max(one.count.unwrap_or(0));
        }
    }
    all
}

fn seconds_of(side: &Side, annotation: &Annotation, one: &AnnotatedInstruction) -> f64 {
    one.share.value * annotation.share.value * side.seconds.unwrap_or(1.0)
}

fn plain(name: &str) -> String {
    without_parameters(name).to_owned()
}

/// The name without what compilers add to copies.
fn base(name: &str) -> &str {
    let marks = [
        ".constprop.",
        ".isra.",
        ".part.",
        ".cold",
        ".lto_priv.",
        ".llvm.",
        ".localalias",
    ];
    let places = marks.iter().filter_map(|mark| name.find(mark));
    places.min().map_or(name, |place| &name[..place])
}

struct Moves<'a> {
    before: &'a Side,
    rows_before: &'a BTreeMap<Key, Row>,
    rows_after: &'a BTreeMap<Key, Row>,
    inlined_before: &'a Inlined,
    inlined_after: &'a Inlined,
}

impl Moves<'_> {
    /// Where the code of a function went, if it is no function of its own any more.
    fn of(&self, left: &Row, right: Option<&Row>) -> Vec<Moved> {
        if !is_gone(left, right) {
            return Vec::new();
        }
        let found = self.inlined(left);
        if !found.is_empty() {
            return found;
        }
        let cloned = self.cloned(left);
        if !cloned.is_empty() {
            return cloned;
        }
        self.likely(left).into_iter().collect()
    }

    fn inlined(&self, left: &Row) -> Vec<Moved> {
        let name = plain(&left.name);
        let there = self.inlined_after.get(&name).into_iter().flatten();
        let known = self.inlined_before.get(&name);
        let mut found: Vec<Moved> = there
            .filter(|(into, (seconds, count))| {
                // What was inlined there before as well is no news.
                let before = known
                    .and_then(|known| known.get(*into))
                    .copied()
                    .unwrap_or_default();
                **into != left.name && (*seconds > before.0 || *count > before.1)
            })
            .map(|(into, (seconds, _))| Moved {
                into: into.clone(),
                how: MovedHow::Inlined,
                seconds: Some(*seconds),
            })
            .collect();
        found.sort_by(|one, two| {
            two.seconds
                .unwrap_or(0.0)
                .total_cmp(&one.seconds.unwrap_or(0.0))
        });
        found
    }

    fn cloned(&self, left: &Row) -> Vec<Moved> {
        let new = self.rows_after.iter().filter(|(key, row)| {
            row.name != left.name
                && base(&row.name) == base(&left.name)
                && !self.rows_before.contains_key(*key)
        });
        new.map(|(_, row)| Moved {
            into: row.name.clone(),
            how: MovedHow::Cloned,
            seconds: row.time.map(|time| time.value),
        })
        .collect()
    }

    /// Of those that called it the one that grew most.
    fn likely(&self, left: &Row) -> Option<Moved> {
        let callers = self.callers(&left.name);
        let grown = |name: &str| -> Option<f64> {
            let find =
                |rows: &BTreeMap<Key, Row>| rows.values().find(|row| row.name == name).cloned();
            let (one, two) = (find(self.rows_before)?, find(self.rows_after)?);
            let time = two.time?.value - one.time.map_or(0.0, |time| time.value);
            let more = match (one.instructions, two.instructions) {
                (Some(one), Some(two)) => two > one,
                _ => true,
            };
            (time > 0.0 && more).then_some(time)
        };
        let best = callers
            .iter()
            .filter_map(|name| Some((name, grown(name)?)))
            .max_by(|one, two| one.1.total_cmp(&two.1))?;
        Some(Moved {
            into: best.0.clone(),
            how: MovedHow::Likely,
            seconds: None,
        })
    }

    fn callers(&self, name: &str) -> BTreeSet<String> {
        let mut callers = BTreeSet::new();
        if let Some(profile) = &self.before.profile {
            for edge in &profile.edges {
                let of = |index: u32| profile.functions.get(index as usize);
                if let (Some(caller), Some(callee)) = (of(edge.caller), of(edge.callee))
                    && callee.function == name
                {
                    callers.insert(caller.function.clone());
                }
            }
        }
        if let Some(counts) = &self.before.counts {
            for call in &counts.calls {
                let of = |index: u32| counts.functions.get(index as usize);
                if let (Some(caller), Some(callee)) = (of(call.caller), of(call.callee))
                    && callee.function == name
                {
                    callers.insert(caller.function.clone());
                }
            }
        }
        callers
    }
}

/// Whether a function that did something does nothing afterwards.
fn is_gone(left: &Row, right: Option<&Row>) -> bool {
    if let (Some(before), Some(after)) = (left.calls, right.map_or(Some(0), |row| row.calls))
        && before > 0
    {
        return after as f64 <= GONE * before as f64;
    }
    let time = |row: &Row| row.time.map_or(0.0, |time| time.value);
    time(left) > 0.0 && right.map_or(0.0, time) <= GONE * time(left)
}

/// A line on one side.
#[derive(Clone, Debug, Default)]
struct Spot {
    seconds: f64,
    count: Option<u64>,
    function: String,
    /// Time by the function that its code is in.
    inside: BTreeMap<String, f64>,
    text: Option<String>,
}

fn spots(side: &Side) -> BTreeMap<(String, u32), Spot> {
    let mut all: BTreeMap<(String, u32), Spot> = BTreeMap::new();
    for annotation in &side.annotations {
        for one in &annotation.instructions {
            let (Some(file), Some(line)) = (&one.file, one.line) else {
                continue;
            };
            let spot = all.entry((file.clone(), line)).or_default();
            let seconds = seconds_of(side, annotation, one);
            spot.seconds += seconds;
            spot.count = spot.count.max(one.count);
            *spot.inside.entry(annotation.function.clone()).or_default() += seconds;
            spot.function = one
                .inlined
                .clone()
                .unwrap_or_else(|| annotation.function.clone());
        }
        for line in &annotation.source {
            if let Some(spot) = all.get_mut(&(line.file.clone(), line.line)) {
                spot.text = Some(line.text.clone());
            }
        }
    }
    all
}

fn lines(before: &Side, after: &Side) -> Vec<LineDiff> {
    if before.annotations.is_empty() || after.annotations.is_empty() {
        return Vec::new();
    }
    let (left, right) = (spots(before), spots(after));
    let places: BTreeSet<&(String, u32)> = left.keys().chain(right.keys()).collect();
    let inside = |spot: Option<&Spot>| {
        let most = spot?
            .inside
            .iter()
            .max_by(|one, two| one.1.total_cmp(two.1));
        most.map(|(name, _)| base(name).to_owned())
    };
    let mut all: Vec<LineDiff> = places
        .into_iter()
        .filter_map(|place| {
            let (one, two) = (left.get(place), right.get(place));
            let any = two.or(one)?;
            let counts = (
                one.and_then(|spot| spot.count),
                two.and_then(|spot| spot.count),
            );
            Some(LineDiff {
                file: place.0.clone(),
                line: place.1,
                function: any.function.clone(),
                inside_before: inside(one),
                inside_after: inside(two),
                before: one.map_or(0.0, |spot| spot.seconds),
                after: two.map_or(0.0, |spot| spot.seconds),
                executions: match counts {
                    (None, None) => None,
                    (one, two) => Some((one.unwrap_or(0), two.unwrap_or(0))),
                },
                text: any
                    .text
                    .clone()
                    .or_else(|| one.and_then(|spot| spot.text.clone())),
            })
        })
        .filter(|line| line.before != line.after)
        .collect();
    let weight = |line: &LineDiff| (line.after - line.before).abs();
    all.sort_by(|one, two| weight(two).total_cmp(&weight(one)));
    all.truncate(MOST_LINES);
    all
}

fn instructions(before: &Side, after: &Side, functions: &[FunctionDiff]) -> Vec<InstructionDiff> {
    let find = |side: &Side, name: &str| -> Option<Annotation> {
        side.annotations
            .iter()
            .find(|one| one.function == name)
            .cloned()
    };
    let mut all = Vec::new();
    for function in functions.iter().take(MOST_LISTED) {
        let one = find(before, &function.function);
        let new = function
            .moved
            .iter()
            .find(|moved| moved.how == MovedHow::Cloned);
        let two = find(after, new.map_or(&function.function, |moved| &moved.into));
        let list = |annotation: &Option<Annotation>| -> Vec<AnnotatedInstruction> {
            annotation
                .as_ref()
                .map(|one| one.instructions.clone())
                .unwrap_or_default()
        };
        let (left, right) = (list(&one), list(&two));
        let texts = |list: &[AnnotatedInstruction]| -> Vec<String> {
            list.iter().map(|one| bare(&one.text)).collect()
        };
        for (left_at, right_at) in align(&texts(&left), &texts(&right)) {
            let (from, to) = (left_at.map(|at| &left[at]), right_at.map(|at| &right[at]));
            let time =
                |side: &Side, annotation: &Option<Annotation>, i: Option<&AnnotatedInstruction>| {
                    Some(seconds_of(side, annotation.as_ref()?, i?))
                };
            let row = InstructionDiff {
                function: function.function.clone(),
                address_before: from.map(|one| one.address),
                address_after: to.map(|one| one.address),
                text: to.or(from).map(|one| one.text.clone()).unwrap_or_default(),
                before: time(before, &one, from),
                after: time(after, &two, to),
                count_before: from.and_then(|one| one.count),
                count_after: to.and_then(|one| one.count),
            };
            let idle = |time: Option<f64>, count: Option<u64>| {
                time.unwrap_or(0.0) == 0.0 && count.unwrap_or(0) == 0
            };
            if !(idle(row.before, row.count_before) && idle(row.after, row.count_after)) {
                all.push(row);
            }
        }
    }
    all.truncate(MOST_INSTRUCTIONS);
    all
}

#[cfg(test)]
mod unit {
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
    fn copies_under_other_names_are_the_same_function() {
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
    fn a_function_is_gone_by_its_calls_else_by_its_time() {
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
    fn changes_have_the_uncertainty_of_both_sides() {
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
