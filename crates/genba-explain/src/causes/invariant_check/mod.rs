//! `invariant-check`: hot code tests each time what does not change there.
//!
//! **Signature.** Branches that go one way in all but few executions (counted), or whose operands are what they were the
//! time before (observed: another object of another kind in another phase does not matter; jumps through a table as well),
//! in an innermost loop or in a function without loops that is called often. Their conditions are made of constants, of values that the
//! loop does not change, of memory at fixed places (observed: the loads are at the same address as the time
//! before, or, in a function, bring again what they brought from one of a few; compilers load and test it
//! again because a store in between might change it), or they
//! compare the loop's counter with such values. Together the checks are a good part of the
//! instructions, and the loop does not wait for a chain of its own, beside which they would run for nothing. The
//! bound of a search is none of these: without it the search would not end. Or the library checks short texts
//! ([`text_checks`]).
//!
//! **Confirmation.** The checks before the loop.
//!
//! **Gain.** The checks' part of the instructions, of the measured time.
//!
//! **Source.** R. Gupta, "Optimizing array bound checks using flow analysis", ACM LOPLAS 2, 1993 (checks
//! that hold for a whole loop); F. Allen and J. Cocke, "A catalogue of optimizing transformations",
//! 1972 (loop unswitching).

mod chains;
mod text_checks;

use std::collections::HashMap;

use genba_code::{Flow, Opaque};
use genba_model::{Cause, CodePoint, Estimate, Fix, ObservedFact, PathFact};
use genba_observe::SameLoad;

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::entries;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, SELDOM_EXECUTIONS};
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    CHECKS_SAVED, MAX_RARE_OUTCOME_OF_CHECK, MIN_BURSTS, MIN_CHECKS, MIN_PART_OF_CHECKS,
    MIN_RESIDUAL_OF_CHECKS, MIN_SAME_ADDRESS, MIN_SEEN, MIN_SHARE_OF_REPEATED_WORK,
    MOST_INSTRUCTIONS_OF_CHECK,
};
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_DEPTH_OF_CHECK;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::hot_loops::{HotLoop, mostly_innermost_loops};
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::usual_values::usually_met;
use chains::waits_for_chain;
use text_checks::text_checks;

/// Finds loops, and functions that are called often, that test the same each time with the same
/// outcome.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = text_checks(input);
    let Some(sites) = ObservedSites::of(input) else {
        return found;
    };
    let fixed = fixed_loads(&sites, |one| one.seen.share.value);
    // A function's callers may each test their own object once.
    let fixed_by_call = fixed_loads(&sites, |one| one.recent.share.value);
    let steady = steady_loads(&sites);
    let loops = mostly_innermost_loops(input, MIN_SHARE_OF_REPEATED_WORK);
    let loops = loops
        .iter()
        .filter(|one| one.input.is_users() && !waits_for_chain(input, one));
    found.extend(loops.filter_map(|one| {
        let unit = Unit::of_loop(one, &fixed, &steady);
        let found = unit.candidate(one.share)?;
        Some(found.fact(one.time()))
    }));
    for number in 0..input.functions.len() {
        let unit = Unit::of_function(input, number, &fixed_by_call, &steady);
        found.extend(unit.and_then(|unit| {
            let share = unit.function.share.value;
            Some(
                unit.candidate(share)?
                    .fact(PathFact::FunctionTime { share }),
            )
        }));
    }
    found
}

/// Loads that are at the same address as the time before, or that bring again what they brought, by the
/// share that `repeated` says, with the bursts that saw them.
fn fixed_loads(
    sites: &ObservedSites<'_>,
    repeated: impl Fn(&SameLoad) -> f64,
) -> HashMap<(usize, usize), u32> {
    let observed = sites.observed;
    // The same value from the same address is the same address; of others the steps say so.
    let same: HashMap<CodePoint, f64> = (observed.same_loads.iter())
        .filter(|one| one.seen.executions >= MIN_SEEN)
        .map(|one| (one.at, repeated(one)))
        .collect();
    let mut found = HashMap::new();
    for one in &observed.loads {
        let seen = &one.l1_missed;
        let still = one
            .stride
            .is_some_and(|stride| stride.bytes == 0 && stride.share >= MIN_SAME_ADDRESS);
        let again = same
            .get(&one.at)
            .is_some_and(|&share| share >= MIN_SAME_ADDRESS);
        if seen.executions < MIN_SEEN || seen.bursts < MIN_BURSTS || !(still || again) {
            continue;
        }
        if let Some(site) = sites.users_site(one.at) {
            found.insert(site, seen.bursts);
        }
    }
    found
}

/// Loads that nearly always bring what they brought the time before from the same place, with the share of the others.
fn steady_loads(sites: &ObservedSites<'_>) -> HashMap<(usize, usize), f64> {
    let same = sites.observed.same_loads.iter();
    let steady = same.filter(|one| {
        let seen = &one.seen;
        seen.executions >= MIN_SEEN
            && seen.bursts >= MIN_BURSTS
            && seen.share.value >= 1.0 - MAX_RARE_OUTCOME_OF_CHECK
    });
    let sites = steady.filter_map(|one| {
        let site = sites.users_site(one.at)?;
        Some((site, 1.0 - one.seen.share.value))
    });
    sites.collect()
}

/// Code that is executed again and again: a loop's iteration, or a call of a function.
struct Unit<'a> {
    number: usize,
    function: &'a FunctionInput,
    /// Index of the loop; `None` for a function.
    around: Option<u32>,
    members: Vec<usize>,
    times: u64,
    entries: u64,
    fixed: &'a HashMap<(usize, usize), u32>,
    steady: &'a HashMap<(usize, usize), f64>,
    uses: Uses,
}

/// A branch that goes one way, with the instructions that only serve it.
struct Check {
    branch: usize,
    instructions: Vec<usize>,
    rare: f64,
    /// Whether it compares the loop's counter, and leaves the loop.
    bounds: bool,
}

/// What a condition is made of, what changes most last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operand {
    Constant,
    Invariant,
    Fixed,
    Counter,
    Other,
}

/// Whether an instruction loads what one of these stores there.
fn is_stored_here(
    function: &FunctionInput,
    mut among: impl Iterator<Item = usize>,
    at: usize,
) -> bool {
    let values = &function.values;
    let from = values.addresses(at).iter().flatten();
    let here = |to: &Address| {
        let mut from = from.clone();
        from.any(|from| (to.base, to.index) == (from.base, from.index))
    };
    among.any(|store| {
        let accesses = function.data[store].memory.iter();
        let mut written = (accesses.zip(values.addresses(store))).filter(|one| one.0.writes);
        written.any(|one| one.1.as_ref().is_some_and(here))
    })
}

impl<'a> Unit<'a> {
    fn of_loop(
        one: &HotLoop<'a>,
        fixed: &'a HashMap<(usize, usize), u32>,
        steady: &'a HashMap<(usize, usize), f64>,
    ) -> Self {
        Self {
            number: one.function,
            function: one.input,
            around: Some(one.index),
            members: one.members.clone(),
            times: one.cost.iterations,
            entries: entries(one.input, one.index).unwrap_or(0),
            fixed,
            steady,
            uses: Uses::of(one.input),
        }
    }

    /// A function without loops that is called often and calls nothing on its usual path.
    fn of_function(
        input: &'a AnalysisInput,
        number: usize,
        fixed: &'a HashMap<(usize, usize), u32>,
        steady: &'a HashMap<(usize, usize), f64>,
    ) -> Option<Self> {
        let function = &input.functions[number];
        let calls = function.calls?;
        let known = function.is_users() && function.counted;
        if !known
            || function.counts.len() != function.code.len()
            || calls < MIN_CALLS_IN_HOT_CODE
            || function.share.value < MIN_SHARE_OF_REPEATED_WORK
        {
            return None;
        }
        let members: Vec<usize> = (0..function.code.len())
            .filter(|&at| function.counts[at] > 0)
            .collect();
        let usual = |at: &&usize| function.counts[**at] as f64 >= MOST_OF_IT * calls as f64;
        let plain = members.iter().filter(usual).all(|&at| {
            matches!(function.data[at].opaque, None | Some(Opaque::Exit))
                && function.flow.loop_of_instruction(at).is_none()
        });
        plain.then(|| Self {
            number,
            function,
            around: None,
            members,
            times: calls,
            entries: 0,
            fixed,
            steady,
            uses: Uses::of(function),
        })
    }

    fn per_time(&self, at: usize) -> f64 {
        self.function.counts[at] as f64 / self.times.max(1) as f64
    }

    fn candidate(&self, share: f64) -> Option<Candidate> {
        let mut checks: Vec<Check> = self
            .members
            .iter()
            .filter_map(|&at| self.check(at))
            .collect();
        // A loop that searches ends where it finds something, or at its bound.
        if self.around.is_some() && !self.ends_at_bound() {
            checks.retain(|one| !one.bounds);
        }
        let mut serving: Vec<usize> = checks
            .iter()
            .flat_map(|one| one.instructions.clone())
            .collect();
        serving.sort_unstable();
        serving.dedup();
        // What several checks use serves no one of them alone.
        let most = MOST_INSTRUCTIONS_OF_CHECK * checks.len();
        self.add_makers(serving.clone(), most, &mut serving);
        let executed = |list: &[usize]| list.iter().map(|&at| self.per_time(at)).sum::<f64>();
        let (of_checks, all) = (executed(&serving), executed(&self.members));
        let part = of_checks / all.max(1.0);
        if part < MIN_PART_OF_CHECKS || checks.len() < MIN_CHECKS {
            return None;
        }
        let seen = serving
            .iter()
            .filter_map(|&at| self.fixed.get(&(self.number, at)));
        let bursts = seen.min().copied().unwrap_or(0);
        let mut site: Vec<usize> = checks.iter().map(|one| one.branch).collect();
        site.sort_unstable();
        let executions: u64 = site.iter().map(|&at| self.function.counts[at]).sum();
        let rare = checks.iter().map(|one| one.rare).sum::<f64>() / executions.max(1) as f64;
        let mut found = Candidate::new(
            Cause::InvariantCheck,
            Some(self.number),
            site,
            Fix::CheckOnce,
        );
        found.affected.clone_from(&self.members);
        found.share = Some(share);
        let (value, low, high) = CHECKS_SAVED;
        found.residual_fraction = Estimate {
            value: 1.0 - value * part,
            low: (1.0 - high * part).max(MIN_RESIDUAL_OF_CHECKS),
            high: (1.0 - low * part).min(MAX_RESIDUAL),
        };
        found.executions = Some(self.times);
        Some(
            found
                .fact(ObservedFact::InvariantChecks {
                    checks: checks.len(),
                    executions,
                    rare,
                    bursts,
                })
                .fact(ObservedFact::CheckInstructions {
                    checks: of_checks,
                    all,
                }),
        )
    }

    fn check(&self, at: usize) -> Option<Check> {
        let function = self.function;
        let all = function.counts[at] as f64;
        let compare = match function.code[at].flow {
            Flow::CondJump(_) => self.compared_by(at)?,
            Flow::IndirectJump => at,
            _ => return None,
        };
        if self.members.binary_search(&compare).is_err() {
            return None;
        }
        let taken = function.taken.get(at).copied().flatten();
        let rarer = taken.map(|taken| (taken as f64).min((all - taken as f64).max(0.0)));
        if rarer.is_some_and(|rarer| self.is_end(at, rarer)) {
            return None;
        }
        let usual = self.per_time(at) >= MOST_OF_IT;
        let counted = rarer.filter(|rarer| usual && *rarer <= MAX_RARE_OUTCOME_OF_CHECK * all);
        let observed = || Some(self.unsteady(compare, MAX_DEPTH_OF_CHECK)? * all);
        let rare = counted.or_else(observed)?;
        let kind = self.operand_of(compare, MAX_DEPTH_OF_CHECK);
        if kind == Operand::Other || kind == Operand::Constant {
            return None;
        }
        let mut instructions = vec![at, compare];
        self.add_makers(vec![compare], MOST_INSTRUCTIONS_OF_CHECK, &mut instructions);
        // Of a function only what it loads is known to be fixed.
        if self.around.is_none() && !self.compares_fixed(compare, MAX_DEPTH_OF_CHECK) {
            return None;
        }
        Some(Check {
            branch: at,
            instructions,
            rare,
            bounds: kind == Operand::Counter && self.leaves(at),
        })
    }

    /// The instruction that sets the flags which a branch reads.
    fn compared_by(&self, branch: usize) -> Option<usize> {
        let reads = self.function.values.reads(branch).iter();
        let mut flags = reads.filter(|one| one.0 >= FLAGS);
        match self.function.values.origin(flags.next()?.1) {
            Origin::Instruction(compare) => Some(compare as usize),
            _ => None,
        }
    }

    /// The share of an instruction's executions with other operands than the time before, where all are made of what is
    /// loaded here or does not change; `None` where others are not known to be rare.
    fn unsteady(&self, at: usize, depth: u32) -> Option<f64> {
        let (data, depth) = (&self.function.data[at], depth.checked_sub(1)?);
        if self.per_time(at) < SELDOM_EXECUTIONS {
            return None;
        }
        if data.loads() {
            return self.steady.get(&(self.number, at)).copied();
        }
        let reads = self.function.values.reads(at).iter();
        let mut read = reads.filter(|one| data.data_reads >> one.0 & 1 == 1 && one.0 < FLAGS);
        read.try_fold(0.0, |most: f64, one| {
            if self.operand(one.1, depth) <= Operand::Invariant {
                return Some(most);
            }
            let Origin::Instruction(maker) = self.function.values.origin(one.1) else {
                return None;
            };
            Some(most.max(self.unsteady(maker as usize, depth)?))
        })
    }

    /// What an instruction's result is made of.
    fn operand_of(&self, at: usize, depth: u32) -> Operand {
        let data = &self.function.data[at];
        let Some(depth) = depth.checked_sub(1) else {
            return Operand::Other;
        };
        if data.opaque.is_some() || data.stores() && !data.memory.iter().all(|one| one.reads) {
            return Operand::Other;
        }
        let memory = match (data.loads(), self.fixed.contains_key(&(self.number, at))) {
            (false, _) => Operand::Constant,
            (true, true) if self.is_position(at) => Operand::Counter,
            (true, true) => Operand::Fixed,
            (true, false) => return Operand::Other,
        };
        let reads = self.function.values.reads(at).iter();
        let kinds = reads
            .filter(|one| data.data_reads >> one.0 & 1 == 1 && one.0 < FLAGS)
            .map(|one| self.operand(one.1, depth));
        kinds.fold(memory, Ord::max)
    }

    /// Whether an instruction loads a counter that is kept in memory.
    fn is_position(&self, at: usize) -> bool {
        let usual = |&at: &usize| self.per_time(at) >= MOST_OF_IT;
        let usual = self.members.iter().copied().filter(usual);
        self.around.is_some() && is_stored_here(self.function, usual, at)
    }

    /// Whether something that an instruction's result is made of is loaded from a fixed place.
    fn compares_fixed(&self, at: usize, depth: u32) -> bool {
        let data = &self.function.data[at];
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        if data.loads() {
            return self.fixed.contains_key(&(self.number, at));
        }
        let reads = self.function.values.reads(at).iter();
        reads
            .filter(|one| data.data_reads >> one.0 & 1 == 1 && one.0 < FLAGS)
            .any(|one| match self.function.values.origin(one.1) {
                Origin::Instruction(maker) => self.compares_fixed(maker as usize, depth),
                _ => false,
            })
    }

    fn operand(&self, value: Value, depth: u32) -> Operand {
        let values = &self.function.values;
        if value.number == CONSTANT {
            return Operand::Constant;
        }
        if let Some(index) = self.around {
            if values.is_invariant(value, &self.function.flow, index) {
                return Operand::Invariant;
            }
            let head = self.function.flow.loops()[index as usize].head;
            if values.origin(value) == Origin::Join(head) {
                return self.carried(value, index, depth);
            }
        }
        match values.origin(value) {
            Origin::Instruction(at) => self.operand_of(at as usize, depth),
            // An argument of a function that is called often is its caller's counter.
            Origin::Entry if self.around.is_none() => Operand::Counter,
            _ => Operand::Other,
        }
    }

    /// What a value is that the loop's head has from the iteration before.
    fn carried(&self, value: Value, index: u32, depth: u32) -> Operand {
        let values = &self.function.values;
        let flow = &self.function.flow;
        let value = Value { offset: 0, ..value };
        // A rare way that reads it anew does not make it another thing on the usual one.
        let mut changes = (usually_met(self.function, value).into_iter())
            .filter(|&one| one != value && !values.is_invariant(one, flow, index))
            .peekable();
        if changes.peek().is_none() {
            return Operand::Invariant;
        }
        // Or it was loaded, stepped and stored again.
        let kept = |one: Value| match values.origin(one) {
            Origin::Instruction(at) => self.operand_of(at as usize, depth) == Operand::Counter,
            _ => false,
        };
        let steps = |one: Value| {
            one.number == value.number || self.is_step_of(one, value, index) || kept(one)
        };
        match changes.all(steps) {
            true => Operand::Counter,
            false => Operand::Other,
        }
    }

    /// Whether a value is another one plus what the loop does not change, as counters of 32 bits are.
    fn is_step_of(&self, value: Value, counter: Value, index: u32) -> bool {
        let values = &self.function.values;
        let Origin::Instruction(at) = values.origin(value) else {
            return false;
        };
        let at = at as usize;
        let mnemonic = self.function.code[at].mnemonic;
        let adds = matches!(mnemonic, "add" | "sub" | "inc" | "dec" | "lea");
        let mut reads = values
            .reads(at)
            .iter()
            .filter(|one| one.0 < FLAGS)
            .peekable();
        adds && !self.function.data[at].loads()
            && reads.peek().is_some()
            && reads.all(|one| {
                one.1.number == counter.number
                    || values.is_invariant(one.1, &self.function.flow, index)
            })
    }

    /// Adds to the instructions found, up to `most`, those that only make what these read; readers that are never executed are
    /// no matter.
    fn add_makers(&self, readers: Vec<usize>, most: usize, found: &mut Vec<usize>) {
        let values = &self.function.values;
        let mut work = readers;
        while let Some(reader) = work.pop() {
            for &(location, value) in values.reads(reader) {
                let data = &self.function.data[reader];
                let Origin::Instruction(maker) = values.origin(value) else {
                    continue;
                };
                let maker = maker as usize;
                let here = self.members.binary_search(&maker).is_ok() && !found.contains(&maker);
                let is_address = location < FLAGS && data.data_reads >> location & 1 == 0;
                if is_address || !here {
                    continue;
                }
                let results = values.writes(maker).iter();
                let only = results
                    .flat_map(|one| self.uses.readers(one.1))
                    .filter(|&reader| self.function.counts[reader] > 0)
                    .all(|reader| found.contains(&reader) || self.repeats(reader));
                if only && found.len() < most {
                    found.push(maker);
                    work.push(maker);
                }
            }
        }
    }

    /// Whether an instruction compares again what was compared: what it sets is the value of the one before.
    fn repeats(&self, at: usize) -> bool {
        let values = &self.function.values;
        let of_another = |value: Value| values.origin(value) != Origin::Instruction(at as u32);
        let mut written = values.writes(at).iter();
        !self.function.data[at].stores() && written.all(|one| one.0 >= FLAGS && of_another(one.1))
    }

    /// Whether a branch may leave the loop.
    fn leaves(&self, at: usize) -> bool {
        let function = self.function;
        let Flow::CondJump(target) = function.code[at].flow else {
            return false;
        };
        let inside = |at: usize| self.members.binary_search(&at).is_ok();
        let target = function
            .code
            .binary_search_by_key(&target, |code| code.address);
        !target.is_ok_and(inside) || !inside(at + 1)
    }

    /// Whether a branch ends the loop in most of its runs.
    fn is_end(&self, at: usize, rare: f64) -> bool {
        self.entries > 0 && rare >= MOST_OF_IT * self.entries as f64 && self.leaves(at)
    }

    /// Whether most runs of the loop end where its counter reaches a bound.
    fn ends_at_bound(&self) -> bool {
        let function = self.function;
        self.members.iter().any(|&at| {
            let Flow::CondJump(_) = function.code[at].flow else {
                return false;
            };
            let all = function.counts[at] as f64;
            let taken = function.taken.get(at).copied().flatten().unwrap_or(0) as f64;
            self.is_end(at, taken.min(all - taken))
                && self
                    .compared_by(at)
                    .is_some_and(|one| self.operand_of(one, MAX_DEPTH_OF_CHECK) == Operand::Counter)
        })
    }
}
