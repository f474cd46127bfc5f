//! What bursts showed of a function or line, with names.

use std::collections::{BTreeSet, HashMap};

use genba_attribution::merged;
use genba_model::{
    AnnotatedInstruction, Annotation, CodePoint, Estimate, ObservedInstruction, ObservedPlace,
    RawCounts,
};
use genba_observe::Observations;

use crate::observations_by_instruction::SiteFacts;
use crate::observed_names::{Names, PlaceQuery};

/// Returns what bursts showed of a place; no instructions if they showed nothing.
#[must_use]
pub fn observed_place(
    observations: &Observations,
    raw: Option<&RawCounts>,
    command: &[String],
    place: &str,
) -> ObservedPlace {
    let query = PlaceQuery::parse(place);
    let is_asked_for = |names: &Names, at: CodePoint| names.is_asked_for(at, &query);
    let mut found = observed(observations, raw, command, &is_asked_for);
    place.clone_into(&mut found.place);
    found
}

fn observed(
    observations: &Observations,
    raw: Option<&RawCounts>,
    command: &[String],
    is_asked_for: &dyn Fn(&Names, CodePoint) -> bool,
) -> ObservedPlace {
    let facts = SiteFacts::of(observations);
    let names = Names::of(observations);
    let mut executions: HashMap<(&str, u64), u64> = HashMap::new();
    let modules = raw.map(merged).unwrap_or_default();
    for module in &modules {
        let counts = module.instructions.iter();
        executions.extend(counts.map(|one| ((module.path.as_str(), one.address), one.count)));
    }
    let instructions = (facts.sites.iter())
        .filter(|&&at| is_asked_for(&names, at))
        .map(|&at| {
            let mut one = facts.instruction(at, observations, &names);
            let key = (observations.path(at), at.address);
            one.executions = executions.get(&key).copied();
            one
        })
        .collect();
    let mut notes = observations.notes.clone();
    notes.push(
        "shares are observed in bursts; levels beyond L1d are rough, mispredictions those of a \
         model of a TAGE predictor"
            .to_owned(),
    );
    ObservedPlace {
        command: command.to_vec(),
        place: String::new(),
        bursts: observations.bursts,
        observed_instructions: observations.instructions,
        threads: observations.threads,
        instructions,
        notes,
    }
}

/// Places of each kind that [`most_notable`] takes.
const NOTABLE_OF_KIND: usize = 5;

/// Returns the places where bursts saw most mispredictions, most loads that miss L1d, and most
/// work that was done before, by their rate times their executions.
#[must_use]
pub fn most_notable(observations: &Observations, raw: &RawCounts) -> ObservedPlace {
    let mut all = observed(observations, Some(raw), &raw.command, &|_, _| true);
    let mut retained: BTreeSet<usize> = BTreeSet::new();
    type ShareOf = dyn Fn(&ObservedInstruction) -> Option<Estimate>;
    let kinds: [&ShareOf; 6] = [
        &|one| one.branch?.mispredicted,
        &|one| {
            let l1 = one.loads?.l1;
            Some(Estimate {
                value: 1.0 - l1.value,
                low: 1.0 - l1.high,
                high: 1.0 - l1.low,
            })
        },
        &|one| one.redundant.dead_store,
        &|one| one.redundant.repeated_call,
        &|one| one.redundant.overwritten_buffer,
        &|one| one.redundant.copied_again,
    ];
    for rate in kinds {
        // By the interval's lower end: what was seen once is not notable.
        let times = |one: &ObservedInstruction| {
            let rate = rate(one).map_or(0.0, |rate| rate.low);
            rate * one.executions.unwrap_or(one.seen) as f64
        };
        let list = all.instructions.iter().enumerate();
        let mut list: Vec<(usize, f64)> = list.map(|(at, one)| (at, times(one))).collect();
        list.retain(|one| one.1 > 0.0);
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        retained.extend(list.iter().take(NOTABLE_OF_KIND).map(|one| one.0));
    }
    let mut index = 0;
    all.instructions.retain(|_| {
        index += 1;
        retained.contains(&(index - 1))
    });
    all
}

/// Source lines that [`hottest_lines`] takes.
const MAX_HOT_LINES: usize = 12;

/// Least share of all time of such a line.
const MIN_SHARE_OF_HOT_LINE: f64 = 0.02;

/// Returns what bursts showed of the source lines with most time, the hottest first, of instructions without
/// lines of the functions with most time. Executions are those of the annotations.
#[must_use]
pub(crate) fn hottest_lines(
    observations: &Observations,
    annotations: &[Annotation],
    command: &[String],
) -> ObservedPlace {
    let mut lines: HashMap<LineOfAnnotation<'_>, f64> = HashMap::new();
    for annotation in annotations {
        for one in &annotation.instructions {
            let share = annotation.share.value * one.share.value;
            *lines.entry(line_of(annotation, one)).or_default() += share;
        }
    }
    let mut hottest: Vec<(LineOfAnnotation<'_>, f64)> = lines.into_iter().collect();
    hottest.retain(|one| one.1 >= MIN_SHARE_OF_HOT_LINE);
    hottest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    hottest.truncate(MAX_HOT_LINES);
    // Rank of the line and executions of each instruction.
    let mut wanted: HashMap<(&str, u64), (usize, Option<u64>)> = HashMap::new();
    for annotation in annotations {
        for one in &annotation.instructions {
            let line = line_of(annotation, one);
            if let Some(rank) = hottest.iter().position(|hot| hot.0 == line) {
                let key = (annotation.module.as_str(), one.address);
                wanted.insert(key, (rank, one.count));
            }
        }
    }
    let key = |at: CodePoint| (observations.path(at), at.address);
    let is_wanted = |_: &Names, at: CodePoint| wanted.contains_key(&key(at));
    let mut found = observed(observations, None, command, &is_wanted);
    let of = |one: &ObservedInstruction| wanted.get(&(one.module.as_str(), one.address)).copied();
    for one in &mut found.instructions {
        one.executions = of(one).and_then(|found| found.1);
    }
    (found.instructions).sort_by_key(|one| (of(one).map(|found| found.0), one.address));
    found
}

type LineOfAnnotation<'a> = (&'a str, Option<&'a str>, Option<u32>);

/// The line of an instruction; of those without one, the function.
fn line_of<'a>(annotation: &'a Annotation, one: &'a AnnotatedInstruction) -> LineOfAnnotation<'a> {
    (&annotation.function, one.file.as_deref(), one.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_observe::Seen;

    #[test]
    fn lines_with_most_time_come_first_and_cold_ones_not_at_all() {
        let share = |value| Estimate::exact(value);
        let instruction = |address, line, of_function| AnnotatedInstruction {
            address,
            text: String::new(),
            file: Some("/src/a.c".to_owned()),
            line: Some(line),
            inlined: None,
            samples: 0.0,
            share: share(of_function),
            count: Some(1000 * address),
            taken: None,
            cost_seconds: None,
            cost_cycles: None,
            host_latency_cycles: None,
            loop_index: None,
        };
        let annotation = Annotation {
            function: "f".to_owned(),
            module: "[synthetic]".to_owned(),
            address: 0x10,
            event: genba_model::Event {
                name: "cpu-clock".to_owned(),
                hardware: false,
                frequency_hz: 4999,
                kernel: false,
                precision: genba_model::Precision::Skid,
            },
            samples: 100,
            share: share(0.9),
            raw: false,
            instructions: vec![
                instruction(0x10, 5, 0.2),
                instruction(0x14, 6, 0.6),
                instruction(0x18, 7, 0.01),
                instruction(0x1c, 5, 0.19),
            ],
            loops: Vec::new(),
            jumps: Vec::new(),
            source: Vec::new(),
            calls: None,
            counted: None,
            notes: Vec::new(),
        };
        let seen = Seen {
            share: share(0.5),
            executions: 100,
            bursts: 9,
        };
        let branch = |address| genba_observe::BranchSite {
            at: CodePoint { module: 0, address },
            taken: seen,
            mispredicted: None,
            repeated: None,
        };
        let observations = Observations {
            modules: vec!["[synthetic]".to_owned()],
            branches: [0x10, 0x14, 0x18, 0x1c, 0x20].map(branch).to_vec(),
            ..Observations::default()
        };
        let found = hottest_lines(&observations, &[annotation], &[]);
        let order: Vec<(u64, Option<u64>)> = (found.instructions.iter())
            .map(|one| (one.address, one.executions))
            .collect();
        let expected = [0x14, 0x10, 0x1c].map(|at| (at, Some(1000 * at)));
        assert_eq!(order, expected);
    }
}
