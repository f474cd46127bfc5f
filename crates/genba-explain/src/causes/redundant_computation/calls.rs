//! Calls from one place that mostly repeat earlier ones.

use genba_model::{CallFact, Cause, Estimate, Fix, ObservedFact};
use genba_observe::{DoneElsewhere, MadeAgain, RedundantCall, Seen};

use super::{how_repeated, left};
use crate::candidate::Candidate;
use crate::causes::bytewise_copy;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    CYCLES_OF_KEPT_OBJECT, CYCLES_OF_KEPT_RESULT, MAX_CALLS_WITH_EFFECTS, MAX_DISTINCT_INPUTS,
    MAX_EQUAL_BY_CHANCE, MAX_PART_OF_MAKER, MIN_CALLS_PER_INPUT, MIN_INSTRUCTIONS_PER_MADE_WORD,
    MIN_INSTRUCTIONS_TO_KEEP_RESULT, MIN_LOADS_OF_MAKER, MIN_MADE_AGAIN, MIN_RECAPTURED,
    MIN_REPEATED, MIN_REPEATED_AMONG_FEW, MIN_REPEATED_IN_RECURSION, MIN_REPEATED_OF_OBJECT,
    MIN_SHARE_OF_REPEATED_WORK,
};
use crate::constants::search_limits::{MAX_CALLEES_FOLLOWED, MAX_CALLERS_FOLLOWED};
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::input::runtime_services::is_copy_function;
use crate::patterns::calls::{cycles_of_all, index_of, reaches};
use crate::patterns::observed_sites::{ObservedSites, is_enough, share_of_target};
use crate::patterns::search_loops::{compares, search_of};

/// Calls from one place that mostly repeat earlier ones.
pub(crate) struct RepeatedCalls<'a> {
    seen: &'a RedundantCall,
    caller: usize,
    /// The calls: those of one function in one other are one finding, since one kept result serves them.
    sites: Vec<usize>,
    pub(super) target: &'a CallTarget,
    calls: u64,
    share: f64,
    all: f64,
    repeated: Estimate,
    /// Whether most of their time is in searches.
    pub(crate) searches: bool,
    /// Whether they repeat the call just before, else one of a few.
    pub(crate) previous: bool,
    /// Whether each is about one object, which can keep the result.
    of_object: bool,
    /// Whether a function calls itself: where a result is kept, the calls inside are not made.
    pub(super) recurses: bool,
    /// Whether the result is a structure that each of them allocates.
    pub(super) makes: bool,
    /// Calls of other functions about the same objects.
    others: Vec<RepeatedCalls<'a>>,
    /// The place that did the same just before, if that is another one, and its function and line.
    elsewhere: Option<(Option<String>, Option<u32>)>,
}

/// All of them, the outermost only, most time first.
pub(crate) fn repeated_calls(input: &AnalysisInput) -> Vec<RepeatedCalls<'_>> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let mut found: Vec<RepeatedCalls<'_>> = (sites.observed.redundant_calls.iter())
        .filter_map(|seen| repeated(&sites, seen, all))
        .collect();
    if found.iter().any(is_benchmark) {
        found.retain(|one| !one.makes);
    }
    if !found.is_empty() {
        let copies = bytewise_copy::detect(input);
        found.retain(|one| !is_copy(input, &copies, one.target));
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut outermost: Vec<RepeatedCalls<'_>> = Vec::new();
    for one in found {
        // What a repeated call does inside is repeated as well; and a call around one that takes more, for
        // others too, has that one's time.
        let same_time = |other: &RepeatedCalls<'_>| {
            is_within(input, &one, other) || is_within(input, other, &one)
        };
        // Calls of a function within itself have a part of its time each.
        let inside = one.recurses && outermost.iter().any(|other| other.is_one_with(&one));
        if !inside && outermost.iter().any(same_time) {
            continue;
        }
        match outermost.iter_mut().find(|other| other.is_one_with(&one)) {
            Some(other) => other.add(one),
            None => outermost.push(one),
        }
    }
    outermost
}

/// Whether calls are made by what other calls call.
fn is_within(input: &AnalysisInput, inner: &RepeatedCalls<'_>, outer: &RepeatedCalls<'_>) -> bool {
    outer
        .callee(input)
        .is_some_and(|callee| reaches(input, callee, inner.caller, MAX_CALLERS_FOLLOWED))
}

/// Whether a function with what it calls mostly copies or appends bytes: to copy a kept result takes as long.
fn is_copy(input: &AnalysisInput, copies: &[Candidate], target: &CallTarget) -> bool {
    let copying = |index: usize| {
        let function = &input.functions[index];
        let copies = copies.iter().filter(|one| one.function == Some(index));
        let mut members: Vec<usize> = copies.flat_map(|one| one.affected().to_vec()).collect();
        members.sort_unstable();
        members.dedup();
        function.heat_of(members)
    };
    let of = |index| {
        time_of_kind(
            input,
            index,
            MAX_CALLEES_FOLLOWED,
            &is_copy_function,
            &copying,
        )
    };
    index_of(input, &target.function, &target.module)
        .map(of)
        .is_some_and(|(copying, whole)| copying > MOST_OF_IT * whole)
}

fn repeated<'a>(
    sites: &ObservedSites<'a>,
    seen: &'a RedundantCall,
    all: f64,
) -> Option<RepeatedCalls<'a>> {
    let input = sites.input;
    let (caller, at) = sites.users_site(seen.at)?;
    let target = sites.target((caller, at), seen.target)?;
    let here = how_repeated(&seen.seen, &seen.repeats_previous, seen.distinct_per_burst);
    let callee = index_of(input, &target.function, &target.module)?;
    // However many different ones a recursion makes within itself: results may be kept for as long as it lasts.
    let within = (callee == caller && is_enough(&seen.seen)).then_some(seen.seen.share);
    let within = within.filter(|share| share.low >= MIN_REPEATED_IN_RECURSION);
    let here = here.or(within.map(|share| (share, false)));
    let elsewhere = seen.elsewhere.as_ref().filter(|one| is_done_elsewhere(one));
    let of_object = here.is_none();
    let here = here.or_else(|| of_objects(seen).map(|share| (share, false)));
    let over_bursts = over_bursts(seen, target.count).filter(|_| here.is_none());
    let here = here.or(over_bursts.map(|share| (share, false)));
    let mut elsewhere = elsewhere.filter(|_| here.is_none());
    let of_object = of_object && here.is_some();
    let has_effects = seen.stores_outside > MAX_CALLS_WITH_EFFECTS;
    let found = (here.or(elsewhere.map(|one| (one.seen.share, true)))).filter(|_| !has_effects);
    let makes = found.is_none();
    if makes {
        elsewhere = None;
    }
    let of_object = of_object && !makes;
    let (repeated, previous) = found.or_else(|| seen.made.as_ref().and_then(made_again))?;
    let work = seen.instructions_per_call;
    if work < MIN_INSTRUCTIONS_TO_KEEP_RESULT {
        return None;
    }
    let share = share_of_target(input, caller, target);
    if share < MIN_SHARE_OF_REPEATED_WORK || target.count == 0 {
        return None;
    }
    // Calls whose inputs are not all recorded are not judged: the repeated ones must be those that
    // take the time, not the short ones among them.
    let judged = match (over_bursts, input.program.instructions) {
        (Some(_), Some(all)) => work * target.count as f64 / all.max(1) as f64,
        _ => seen.share_of_instructions.high,
    };
    if judged < MOST_OF_IT * share * repeated.value {
        return None;
    }
    // What a library's templates do among themselves is not the user's to keep.
    if [caller, callee].map(|one| input.functions[one].is_library_template()) == [true; 2] {
        return None;
    }
    let (searching, whole) = searching(input, callee);
    Some(RepeatedCalls {
        seen,
        caller,
        sites: vec![at],
        target,
        calls: target.count,
        share,
        all,
        repeated,
        searches: searching > MOST_OF_IT * whole,
        previous,
        of_object,
        recurses: callee == caller,
        makes,
        others: Vec::new(),
        elsewhere: elsewhere.map(|one| (sites.function_name(one.at), sites.line(one.at))),
    })
}

/// The same of calls that make a structure, if they are worth to be spared.
fn made_again(made: &MadeAgain) -> Option<(Estimate, bool)> {
    let reads = made.loads >= MIN_LOADS_OF_MAKER;
    let works = made.instructions >= MIN_INSTRUCTIONS_PER_MADE_WORD * made.words;
    let repeats = is_enough(&made.seen)
        && made.seen.share.low >= MIN_MADE_AGAIN
        && made.distinct_per_burst <= MAX_DISTINCT_INPUTS;
    let previous = made.repeats_previous.share.low >= MIN_REPEATED;
    (reads && works && repeats).then_some((made.seen.share, previous))
}

/// Whether these calls are nearly all that the program does, as in a benchmark. Bursts cut calls off, and time is
/// followed to a few callees only: both are too low.
fn is_benchmark(one: &RepeatedCalls<'_>) -> bool {
    let share = one.share.max(one.seen.share_of_instructions.value);
    one.makes && share > MAX_PART_OF_MAKER
}

/// Share of the calls that repeat an earlier one of the same object, which may have moved: however many
/// objects there are, each can keep its result.
fn of_objects(seen: &RedundantCall) -> Option<Estimate> {
    let repeated = |one: &Seen| is_enough(one) && one.share.low >= MIN_REPEATED_OF_OBJECT;
    let stays = repeated(&seen.seen) && seen.about_one_object >= MIN_REPEATED_AMONG_FEW;
    match stays {
        true => Some(seen.seen.share),
        false => (seen.moved.filter(repeated)).map(|one| one.share),
    }
}

/// The same where objects are so many that they seldom come again within a burst: by how many inputs of one came again
/// in a later one, whose number is small beside that of the calls.
fn over_bursts(seen: &RedundantCall, calls: u64) -> Option<Estimate> {
    let found = seen.recaptured?;
    let calls = calls as f64;
    let enough = found.again >= MIN_RECAPTURED && is_enough(&seen.seen);
    let about_object = seen.about_one_object >= MIN_REPEATED_AMONG_FEW;
    if !enough || !about_object || calls < MIN_CALLS_PER_INPUT * found.different {
        return None;
    }
    // Two standard deviations of the number of those that came again.
    let wrong = 1.0 + 2.0 / (found.again as f64).sqrt();
    let share = |different: f64| (1.0 - different / calls).max(0.0);
    Some(Estimate {
        value: share(found.different),
        low: share(found.different * wrong),
        high: share(found.different / wrong),
    })
}

/// Whether nearly all calls do what one other place did.
fn is_done_elsewhere(one: &DoneElsewhere) -> bool {
    is_enough(&one.seen)
        && one.seen.share.low >= MIN_REPEATED_AMONG_FEW
        && one.part >= MIN_REPEATED_AMONG_FEW
        && one.by_chance <= MAX_EQUAL_BY_CHANCE
}

/// Time in searches, and all time, of a function and what it calls.
fn searching(input: &AnalysisInput, index: usize) -> (f64, f64) {
    let of = |index: usize| search_heat(input, &input.functions[index]);
    time_of_kind(input, index, MAX_CALLEES_FOLLOWED, &compares, &of)
}

/// Time of one kind, and all time, of a function and what it calls: `routine` knows functions that do
/// nothing else by their names, `heat` how much of another's own time is of the kind.
fn time_of_kind(
    input: &AnalysisInput,
    index: usize,
    depth: u32,
    routine: &dyn Fn(&str) -> bool,
    heat: &dyn Fn(usize) -> f64,
) -> (f64, f64) {
    let function = &input.functions[index];
    if routine(&function.function) {
        return (function.share.value, function.share.value);
    }
    let mut sum = (heat(index), function.share.value);
    let Some(depth) = depth.checked_sub(1) else {
        return sum;
    };
    for target in function.call_sites.iter().flat_map(|site| &site.targets) {
        let Some(callee) = index_of(input, &target.function, &target.module) else {
            continue;
        };
        if callee == index {
            continue;
        }
        let entered = input.functions[callee].calls.unwrap_or(0).max(target.count);
        let part = target.count as f64 / entered.max(1) as f64;
        let (of_kind, whole) = time_of_kind(input, callee, depth, routine, heat);
        sum = (sum.0 + of_kind * part, sum.1 + whole * part);
    }
    sum
}

fn search_heat(input: &AnalysisInput, function: &FunctionInput) -> f64 {
    if function.counts.len() != function.code.len() {
        return 0.0;
    }
    let loops = 0..function.flow.loops().len() as u32;
    loops
        .filter(|&index| {
            function.is_innermost(index) && search_of(input, function, index).is_some()
        })
        .map(|index| function.loop_heat(index))
        .sum()
}

/// What stays of a recursion where each call is made once, and looks at the kept results of those inside.
fn left_of_recursion(repeated: Estimate, [value, low, high]: [f64; 3]) -> Estimate {
    let stays = |repeated: f64, cost: f64| ((1.0 - repeated) * (1.0 + cost)).min(MAX_RESIDUAL);
    Estimate {
        value: stays(repeated.value, value),
        low: stays(repeated.high, low),
        high: stays(repeated.low, high),
    }
}

impl<'a> RepeatedCalls<'a> {
    /// The function that is called, where its code is known.
    pub(super) fn callee(&self, input: &AnalysisInput) -> Option<usize> {
        index_of(input, &self.target.function, &self.target.module)
    }

    /// Whether one kept result serves both: calls of one function in one other, or about the same objects.
    fn is_one_with(&self, other: &RepeatedCalls<'_>) -> bool {
        let same = self.target.function == other.target.function
            && self.target.module == other.target.module
            && self.of_object == other.of_object;
        let here = same || self.of_object && other.of_object;
        // One call instruction that calls several functions, as virtual ones.
        let same_call = self.sites == other.sites && self.elsewhere == other.elsewhere;
        let not_elsewhere = self.elsewhere.is_none() && other.elsewhere.is_none();
        self.caller == other.caller && (same_call || here && not_elsewhere)
    }

    fn add(&mut self, other: RepeatedCalls<'a>) {
        self.sites.extend(&other.sites);
        self.share = (self.share + other.share).min(1.0);
        let known = |one: &RepeatedCalls<'_>| one.target.function == other.target.function;
        if known(self) {
            self.calls += other.calls;
        } else {
            match self.others.iter_mut().find(|one| known(one)) {
                Some(one) => one.calls += other.calls,
                None => self.others.push(other),
            }
        }
    }

    /// Share of the calls that repeat one; about objects and of recursion at least: bursts are short, and what comes
    /// again after their end is not seen.
    fn saved(&self) -> Estimate {
        match self.of_object || self.recurses {
            true => Estimate {
                value: (self.repeated.value + 1.0) / 2.0,
                high: 1.0,
                ..self.repeated
            },
            false => self.repeated,
        }
    }

    /// What was observed of the calls of one function.
    fn fact(&self) -> ObservedFact {
        let function = self.target.function.clone();
        let calls = self.calls;
        let bursts = self.seen.seen.bursts;
        if let Some(made) = self.seen.made.filter(|_| self.makes) {
            return ObservedFact::MadeAgain {
                function,
                calls,
                share: self.repeated,
                distinct: made.distinct_per_burst,
                bytes: 8.0 * made.words,
                bursts: made.seen.bursts,
            };
        }
        match &self.elsewhere {
            Some((caller, line)) => ObservedFact::RepeatedElsewhere {
                function,
                calls,
                share: self.repeated,
                caller: caller.clone(),
                line: *line,
                bursts,
            },
            None => ObservedFact::RepeatedCalls {
                function,
                calls,
                share: self.repeated,
                distinct: self.seen.distinct_per_burst,
                bursts,
            },
        }
    }

    /// The candidate of either cause.
    pub(crate) fn candidate(&self, cause: Cause, fix: Fix) -> Candidate {
        let calls = self.calls + self.others.iter().map(|one| one.calls).sum::<u64>();
        let each = self.share * self.all / calls as f64;
        let mut one = Candidate::new(cause, Some(self.caller), self.sites.clone(), fix);
        one.share = Some(self.share);
        let costs = match self.makes {
            true => CYCLES_OF_KEPT_OBJECT,
            false => CYCLES_OF_KEPT_RESULT,
        };
        let costs = costs.map(|one| one / each);
        one.residual_fraction = match self.recurses {
            true => left_of_recursion(self.saved(), costs),
            false => left(self.saved(), costs),
        };
        one.executions = Some(calls);
        one.cycles = Some(Estimate::exact(each));
        let facts = self.others.iter().map(RepeatedCalls::fact);
        let one = facts.fold(one.fact(self.fact()), Candidate::fact);
        let alone = self.others.is_empty();
        one.fact(CallFact::Time {
            function: alone.then(|| self.target.function.clone()),
            share: self.share,
            cycles: each,
        })
    }
}
