//! Differences of source lines and instructions. Pure.

use std::collections::BTreeMap;

use genba_model::{
    AnnotatedInstruction, Annotation, FunctionDiff, InstructionDiff, LineDiff, MovedHow,
};

use super::Side;
use super::align_instructions::{align, bare};
use super::align_lines::{Lines, Place, pairs};
use super::function_rows::base;

/// Maximum number of lines.
const MAX_LINES: usize = 400;
/// Maximum number of functions whose instructions are compared.
const MAX_LISTED_FUNCTIONS: usize = 5;
/// Maximum number of instructions.
const MAX_INSTRUCTIONS: usize = 2_000;

/// Returns the time of an instruction in a run that takes `run`.
pub(super) fn time_of(run: f64, annotation: &Annotation, one: &AnnotatedInstruction) -> f64 {
    one.share.value * annotation.share.value * run
}

/// A source line on one side.
#[derive(Clone, Debug, Default)]
struct Spot {
    seconds: f64,
    count: Option<u64>,
    function: String,
    /// Seconds by the function that contains its code.
    inside: BTreeMap<String, f64>,
    text: Option<String>,
}

fn texts(spots: &BTreeMap<Place, Spot>) -> Lines<'_> {
    (spots.iter())
        .map(|(place, spot)| (place, spot.text.as_deref()))
        .collect()
}

fn spots(side: &Side, run: f64) -> BTreeMap<Place, Spot> {
    let mut all: BTreeMap<Place, Spot> = BTreeMap::new();
    for annotation in &side.annotations {
        for one in &annotation.instructions {
            let (Some(file), Some(line)) = (&one.file, one.line) else {
                continue;
            };
            let spot = all.entry((file.clone(), line)).or_default();
            let seconds = time_of(run, annotation, one);
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

pub(super) fn lines(before: &Side, after: &Side, runs: [f64; 2]) -> Vec<LineDiff> {
    if before.annotations.is_empty() || after.annotations.is_empty() {
        return Vec::new();
    }
    let (left, right) = (spots(before, runs[0]), spots(after, runs[1]));
    let inside = |spot: Option<&Spot>| {
        let most = spot?
            .inside
            .iter()
            .max_by(|one, two| one.1.total_cmp(two.1));
        most.map(|(name, _)| base(name).to_owned())
    };
    let mut all: Vec<LineDiff> = pairs(&texts(&left), &texts(&right))
        .into_iter()
        .filter_map(|(from, to)| {
            let place = to.or(from)?;
            let (one, two) = (
                from.and_then(|at| left.get(at)),
                to.and_then(|at| right.get(at)),
            );
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
    all.truncate(MAX_LINES);
    all
}

pub(super) fn instructions(
    before: &Side,
    after: &Side,
    runs: [f64; 2],
    functions: &[FunctionDiff],
) -> Vec<InstructionDiff> {
    let find = |side: &Side, name: &str| -> Option<Annotation> {
        side.annotations
            .iter()
            .find(|one| one.function == name)
            .cloned()
    };
    let mut all = Vec::new();
    for function in functions.iter().take(MAX_LISTED_FUNCTIONS) {
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
                |run: f64, annotation: &Option<Annotation>, i: Option<&AnnotatedInstruction>| {
                    Some(time_of(run, annotation.as_ref()?, i?))
                };
            let row = InstructionDiff {
                function: function.function.clone(),
                address_before: from.map(|one| one.address),
                address_after: to.map(|one| one.address),
                text: to.or(from).map(|one| one.text.clone()).unwrap_or_default(),
                before: time(runs[0], &one, from),
                after: time(runs[1], &two, to),
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
    all.truncate(MAX_INSTRUCTIONS);
    all
}
