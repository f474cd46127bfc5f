//! From what detectors suspect to findings: gains, order, overlaps.
//!
//! **Gain.** A site with share `p` of the time of which `r` stays after the fix: the program
//! becomes 1 ÷ (1 − p·(1 − r)) times faster (G. Amdahl, AFIPS 1967). The interval takes the
//! sampling interval of `p` and the detector's bounds of `r`.
//!
//! **Restraint.** Nothing below the least gain that can be seen; nothing but
//! `unoptimised-build` in code that was built without optimisation; of several candidates for
//! the same instructions the one that promises most, so that no time is gained twice.

use std::collections::HashMap;

use genba_code::STACK_POINTER;
use genba_model::{Cause, Confirmation, Diagnosis, Estimate, Fact, FindingSite, Fix};

use crate::input::analysis_input::{AnalysisInput, FunctionInput};

/// What a detector suspects.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The cause.
    pub cause: Cause,
    /// Index of the function in [`AnalysisInput::functions`]; `None` if it is about the program.
    pub function: Option<usize>,
    /// Instructions that the finding names: the first of them decides the line that is shown.
    pub site: Vec<usize>,
    /// Instructions whose time would change; those of the site where empty.
    pub affected: Vec<usize>,
    /// Share of all time that would change, where it is not that of `affected` in `function`.
    pub share: Option<f64>,
    /// What of that time stays: value, least, most, 0…1.
    pub residual_fraction: Estimate,
    /// Executions of the site.
    pub executions: Option<u64>,
    /// What each costs, cycles.
    pub cycles: Option<Estimate>,
    /// What was observed.
    pub facts: Vec<Fact>,
    /// What to change.
    pub fix: Fix,
    /// How to check it.
    pub confirmation: Confirmation,
    /// Whether it holds in code that was built without optimisation as well.
    pub unoptimised_too: bool,
    /// Where it is, if not at instructions of a function of the input.
    pub at: Option<FindingSite>,
    /// Only said, never counted as a gain.
    pub advice: bool,
}

impl Candidate {
    /// A candidate without facts, whose fix is checked by comparing both programs.
    #[must_use]
    pub fn new(cause: Cause, function: Option<usize>, site: Vec<usize>, fix: Fix) -> Self {
        Self {
            cause,
            function,
            site,
            affected: Vec::new(),
            share: None,
            residual_fraction: Estimate {
                value: 0.5,
                low: 0.0,
                high: 1.0,
            },
            executions: None,
            cycles: None,
            facts: Vec::new(),
            fix,
            confirmation: Confirmation::Compare,
            unoptimised_too: false,
            at: None,
            advice: false,
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn fact(mut self, fact: impl Into<Fact>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// Share of all time that would change.
    fn share_of_time(&self, input: &AnalysisInput) -> f64 {
        if let Some(share) = self.share {
            return share.clamp(0.0, 1.0);
        }
        let Some(function) = self.function.and_then(|index| input.functions.get(index)) else {
            return 0.0;
        };
        function.heat_of(self.affected().iter().copied()).min(1.0)
    }

    fn affected(&self) -> &[usize] {
        if self.affected.is_empty() {
            &self.site
        } else {
            &self.affected
        }
    }
}

/// What findings depend on beside the input.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Least gain that is told, as a share of the time.
    pub min_gain: f64,
    /// Samples that the shares are of.
    pub samples: u64,
}

/// Makes findings of candidates, most profitable first.
#[must_use]
pub fn findings(
    input: &AnalysisInput,
    candidates: Vec<Candidate>,
    limits: Limits,
) -> Vec<Diagnosis> {
    let (advice, candidates): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|one| one.advice);
    let unoptimised = unoptimised_functions(input);
    let mut rated: Vec<(Candidate, Estimate, Estimate)> = candidates
        .into_iter()
        .filter(|one| {
            let of = one.function.and_then(|index| unoptimised.get(index));
            one.unoptimised_too || !of.copied().unwrap_or(false)
        })
        .filter_map(|one| {
            let share = interval(one.share_of_time(input), limits.samples);
            let gain = speedup(share, one.residual_fraction, most_gain(input))?;
            let likely = 1.0 - 1.0 / gain.value;
            // A little that may as well be nothing is not worth anybody's time.
            let doubtful = gain.low < 1.0 + LEAST_SURE && likely < LEAST_DOUBTFUL;
            (likely >= limits.min_gain && !doubtful).then_some((one, share, gain))
        })
        .collect();
    rated.sort_by(|a, b| {
        b.2.value
            .total_cmp(&a.2.value)
            .then_with(|| a.0.cause.id().cmp(b.0.cause.id()))
    });
    let mut taken: Vec<Candidate> = Vec::new();
    let mut list = Vec::new();
    for (one, share, gain) in rated {
        if taken.iter().any(|before| overlap(input, &one, before)) {
            continue;
        }
        taken.push(one.clone());
        list.push(diagnosis(input, one, share, gain));
    }
    for one in advice {
        // That nothing is to be gained is only said where nothing was found to gain.
        let about_code = one.function.is_some() && !one.affected().is_empty();
        let gains = |before: &Candidate| before.function.is_none() || overlap(input, &one, before);
        if about_code && taken.iter().any(gains) {
            continue;
        }
        let share = interval(one.share_of_time(input), limits.samples);
        list.push(diagnosis(input, one, share, Estimate::exact(1.0)));
    }
    list
}

/// Whether most of a candidate's time is in instructions that an earlier finding takes; of
/// findings about the whole program, whether it is the same cause.
fn overlap(input: &AnalysisInput, one: &Candidate, before: &Candidate) -> bool {
    let Some(function) = one.function.and_then(|index| input.functions.get(index)) else {
        return before.function.is_none() && before.cause == one.cause;
    };
    if before.function != one.function {
        return false;
    }
    let mine = one.affected();
    let theirs = before.affected();
    let shared = mine.iter().copied().filter(|at| theirs.contains(at));
    let all = function.heat_of(mine.iter().copied());
    function.heat_of(shared) > 0.5 * all || mine == theirs
}

/// Share of executed instructions that touch a fixed place on the stack, above which code whose
/// compiler keeps no record of its options was not optimised: such code has about a half, optimised
/// code seldom a quarter.
const STACK_SHARE: f64 = 0.4;

/// Executed instructions that are enough to tell.
const ENOUGH: usize = 24;

/// Which functions were built without optimisation. Where the compiler keeps no record of its
/// options all of a module are judged together, since short functions alone do not tell.
#[must_use]
pub fn unoptimised_functions(input: &AnalysisInput) -> Vec<bool> {
    let judged = |f: &FunctionInput| f.own && f.producer.is_some();
    let recorded = |f: &FunctionInput| unoptimised(f.producer.as_deref());
    let mut modules: HashMap<&str, Moves> = HashMap::new();
    for f in &input.functions {
        if judged(f) && recorded(f).is_none() {
            modules.entry(f.module.as_str()).or_default().add(f);
        }
    }
    let of = |f: &FunctionInput| {
        let module = || modules.get(f.module.as_str()).is_some_and(Moves::are_many);
        judged(f) && recorded(f).unwrap_or_else(module)
    };
    input.functions.iter().map(of).collect()
}

/// How much of what is executed touches fixed places on the stack.
#[derive(Default)]
struct Moves {
    places: usize,
    all: f64,
    stack: f64,
}

impl Moves {
    fn add(&mut self, function: &FunctionInput) {
        let executed = function.counts.iter().zip(&function.data);
        for (&count, data) in executed.filter(|(count, _)| **count > 0) {
            self.places += 1;
            self.all += count as f64;
            let touches = data.memory.iter().any(|access| {
                let input = matches!(access.base, Some(STACK_POINTER | FRAME_POINTER));
                input && access.index.is_none() && !access.stack
            });
            if touches {
                self.stack += count as f64;
            }
        }
    }

    fn are_many(&self) -> bool {
        self.places >= ENOUGH && self.stack > STACK_SHARE * self.all
    }
}

/// rbp.
const FRAME_POINTER: genba_code::Location = 5;

/// Whether a compiler's record of its options says that nothing was optimised; `None` where
/// it has no such record (clang, rustc).
#[must_use]
pub fn unoptimised(producer: Option<&str>) -> Option<bool> {
    let producer = producer?;
    if !producer.starts_with("GNU ") {
        return None;
    }
    // The last option counts.
    let level = producer
        .split_whitespace()
        .rfind(|word| word.starts_with("-O"));
    Some(matches!(level, None | Some("-O0")))
}

/// The 95 % interval of a share of so many samples (Wilson).
fn interval(share: f64, samples: u64) -> Estimate {
    let total = samples.max(1) as f64;
    genba_attribution::share_of(share * total, total, total)
}

/// Gains that are not sure to reach the first must likely reach the second.
const LEAST_SURE: f64 = 0.01;
const LEAST_DOUBTFUL: f64 = 0.05;

/// How far what stays may be from what it was.
const STAYS: f64 = 0.1;

/// What stays is never known to less than so much of the time, however little a model leaves.
const LEAST_KNOWN: f64 = 0.01;

/// Seconds that a program takes to start and to end, whatever it does.
const START: f64 = 5e-4;

/// The most that any change may gain: but for starting and ending, nothing stays.
fn most_gain(input: &AnalysisInput) -> f64 {
    let most = input.program.cpu_seconds / START;
    if most > 0.0 { most.max(2.0) } else { 1e3 }
}

/// Old ÷ new time; `None` where nothing is gained.
fn speedup(share: Estimate, residual_fraction: Estimate, most: f64) -> Option<Estimate> {
    let gain = |p: f64, r: f64| {
        let stays = 1.0 - p.clamp(0.0, 1.0) * (1.0 - r.clamp(0.0, 1.0));
        (1.0 / stays.max(1e-6)).min(most)
    };
    // What stays is the larger part of the new time the more goes, and it is known to a tenth:
    // caches and predictors serve it better, or what was hidden behind the rest shows.
    // Where next to nothing stays that is starting and ending, which samples hardly see.
    let doubt = |gain: f64| {
        let gain = gain.max(1.0);
        1.0 + STAYS * (1.0 - 1.0 / gain) + 0.5 * (1.0 - 10.0 / gain).max(0.0)
    };
    let (low, high) = (
        gain(share.low, residual_fraction.high),
        gain(share.high, residual_fraction.low),
    );
    let value = gain(share.value, residual_fraction.value).min(1.0 / LEAST_KNOWN);
    let found = Estimate {
        value,
        low: (low / doubt(low)).clamp(1.0, value.max(1.0)),
        high: (high * doubt(high)).min(most).max(value),
    };
    (found.value > 1.0 && found.value.is_finite()).then_some(found)
}

fn diagnosis(input: &AnalysisInput, one: Candidate, share: Estimate, gain: Estimate) -> Diagnosis {
    let function = one.function.and_then(|index| input.functions.get(index));
    let site = match (one.at, function) {
        (Some(site), _) => site,
        (None, Some(function)) => site(function, &one.site),
        (None, None) => program_site(input),
    };
    let seconds = one.cycles.zip(input.program.clock_hz);
    Diagnosis {
        cause: one.cause,
        site,
        share,
        executions: one.executions,
        cost_seconds: seconds.map(|(cycles, hz)| cycles.scaled(1.0 / hz)),
        cost_cycles: one.cycles,
        predicted_speedup: gain,
        facts: one.facts,
        fix: one.fix,
        confirmation: one.confirmation,
    }
}

/// Where instructions are; code that the user cannot change is told with the user's line that
/// calls it.
#[must_use]
pub fn site(function: &FunctionInput, instructions: &[usize]) -> FindingSite {
    let places = || {
        instructions
            .iter()
            .filter_map(|&at| function.places.get(at))
    };
    let first = places().find(|place| place.line.is_some());
    // Lines of one file and one function only make a range.
    let same = |place: &&crate::input::analysis_input::Place| {
        first.is_some_and(|first| place.file == first.file && place.function == first.function)
    };
    let lines = || places().filter(same).filter_map(|place| place.line);
    let name = first
        .and_then(|place| place.function.clone())
        .unwrap_or_else(|| function.function.clone());
    let called_from = (!function.own).then(|| {
        let caller = function.callers.iter().find(|caller| caller.own)?;
        Some(Box::new(FindingSite {
            function: caller.function.clone(),
            module: caller.module.clone(),
            file: caller.place.file.clone(),
            line: caller.place.line,
            end_line: caller.place.line,
            addresses: vec![caller.address],
            called_from: None,
        }))
    });
    FindingSite {
        function: name,
        module: function.module.clone(),
        file: first.and_then(|place| place.file.clone()),
        line: lines().min(),
        end_line: lines().max(),
        addresses: instructions
            .iter()
            .filter_map(|&at| function.code.get(at).map(|i| i.address))
            .collect(),
        called_from: called_from.flatten(),
    }
}

/// A finding about the whole program points at its hottest function of its own.
fn program_site(input: &AnalysisInput) -> FindingSite {
    let own = input.functions.iter().find(|function| function.own);
    match own.or(input.functions.first()) {
        Some(function) => {
            let mut site = site(function, &[]);
            site.addresses.clear();
            site
        }
        None => FindingSite {
            function: "the program".to_owned(),
            module: String::new(),
            file: None,
            line: None,
            end_line: None,
            addresses: Vec::new(),
            called_from: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_follow_amdahl() {
        let half = Estimate {
            value: 0.5,
            low: 0.4,
            high: 0.6,
        };
        let gone = Estimate {
            value: 0.0,
            low: 0.0,
            high: 0.5,
        };
        let gain = speedup(half, gone, 1e3).expect("a gain");
        assert!((gain.value - 2.0).abs() < 1e-12);
        assert!((gain.low - 1.25 / 1.02).abs() < 1e-12);
        assert!((gain.high - 2.5 * 1.06).abs() < 1e-12);
        assert_eq!(speedup(half, Estimate::exact(1.0), 1e3), None);
        // Where next to nothing stays, more than a hundred times is no figure that is known, and
        // starting and ending stay.
        let all = Estimate::exact(0.9999);
        let gain = speedup(all, Estimate::exact(0.0), 700.0).expect("a gain");
        assert!((gain.value - 100.0).abs() < 1e-9 && gain.high <= 700.0);
        assert!(gain.low <= gain.value && gain.low > 10.0);
    }

    #[test]
    fn the_last_option_of_a_compiler_counts() {
        assert_eq!(
            unoptimised(Some("GNU C17 12.2.0 -mtune=generic -g -O2")),
            Some(false)
        );
        assert_eq!(unoptimised(Some("GNU C17 12.2.0 -O2 -g -O0")), Some(true));
        assert_eq!(unoptimised(Some("GNU C17 12.2.0 -g")), Some(true));
        assert_eq!(unoptimised(Some("clang LLVM (rustc version 1.95)")), None);
        assert_eq!(unoptimised(None), None);
    }

    #[test]
    fn what_gains_too_little_or_the_same_twice_is_not_told() {
        let input = AnalysisInput::default();
        let mut small = Candidate::new(Cause::Quadratic, None, Vec::new(), Fix::AvoidShifts);
        small.share = Some(0.01);
        small.residual_fraction = Estimate::exact(0.0);
        let mut large = small.clone();
        large.cause = Cause::MallocChurn;
        large.share = Some(0.4);
        let limits = Limits {
            min_gain: 0.02,
            samples: 10_000,
        };
        let found = findings(&input, vec![small, large.clone(), large], limits);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, Cause::MallocChurn);
        assert!((found[0].predicted_speedup.value - 1.0 / 0.6).abs() < 1e-9);
    }
}
