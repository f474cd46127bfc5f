//! Divisors that are nearly always one value: of division instructions, and of the compiler's functions
//! for integers of 128 bits.

use std::collections::{BTreeMap, HashMap};

use genba_code::{CostClass, Location};
use genba_model::{Cause, Estimate, Fix, KnownValueKind, ObservedFact};
use genba_observe::{OperandValues, ValueShare};

use super::{Scene, Spared};
use crate::candidate::Candidate;
use crate::causes::division_as_overflow_check::check_divisions;
use crate::causes::duplicate_division::pair_divisions;
use crate::causes::loop_invariant_divisor::invariant_divisions;
use crate::causes::wrapped_counters::wrapping_divisions;
use crate::constants::observations::{
    MIN_BURSTS, MIN_SEEN, MIN_SHARE_OF_REPEATED_WORK, MIN_USUAL_VALUE,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{CallTarget, FunctionInput};
use crate::input::values::Value;
use crate::patterns::divisions::{by_reciprocal, left_without};
use crate::patterns::observed_sites::{ObservedSites, share_of_target};

/// A division by what was loaded.
struct Known<'a> {
    at: usize,
    load: usize,
    one: &'a OperandValues,
    usual: ValueShare,
    integer: bool,
}

/// Divisions by what was loaded.
pub(super) fn divisions(scene: &Scene<'_>) -> Vec<Candidate> {
    let function = scene.function;
    // Those have a cheaper remedy.
    let mut others = wrapping_divisions(function);
    let divisions = (0..function.code.len()).filter(|at| !others.contains(at));
    let all: Vec<Known<'_>> = divisions.filter_map(|at| known(scene, at)).collect();
    others.extend(check_divisions(function));
    others.extend(pair_divisions(function));
    others.extend(invariant_divisions(function));
    let in_loops = |one: &&Known<'_>| !others.contains(&one.at);
    let left: Vec<&Known<'_>> = all.iter().filter(in_loops).collect();
    let firsts = left.iter();
    let mut found: Vec<Candidate> = firsts
        .filter_map(|one| scene.of_one_value(&left, one))
        .collect();
    for one in &all {
        let spared = Spared {
            site: vec![one.at],
            affected: vec![one.at],
            share: function.heat[one.at],
            executions: function.counts[one.at],
            steady: scene.is_steady(one.load),
        };
        let candidate = scene.candidate(KnownValueKind::Divisor, one.usual, spared);
        let fact = scene.fact(one.load, one.one, one.usual);
        found.extend(candidate.map(|found| found.fact(fact)));
    }
    found
}

fn known<'a>(scene: &'a Scene<'_>, at: usize) -> Option<Known<'a>> {
    let function = scene.function;
    let code = &function.code[at];
    let integer = code.class == CostClass::Div;
    let scalar = matches!(code.mnemonic, "divsd" | "divss" | "vdivsd" | "vdivss");
    if !(integer || scalar) || function.counts[at] == 0 {
        return None;
    }
    let load = match function.data[at].loads() {
        true => at,
        false => divisor(function, at).and_then(|value| scene.load_of(value))?,
    };
    let (one, usual) = scene.usual(load)?;
    let is_one = usual.value == 1.0f64.to_bits() || usual.value == u64::from(1.0f32.to_bits());
    let fits = if integer { usual.value != 0 } else { is_one };
    (fits && usual.share.low >= MIN_USUAL_VALUE).then_some(Known {
        at,
        load,
        one,
        usual,
        integer,
    })
}

impl Scene<'_> {
    /// The loops of a function whose divisions are by one value, which one constant serves: of all of them, at the
    /// first.
    fn of_one_value(&self, all: &[&Known<'_>], first: &Known<'_>) -> Option<Candidate> {
        let function = self.function;
        let same = |one: &&Known<'_>| one.integer && one.usual.value == first.usual.value;
        let group: Vec<&Known<'_>> = all.iter().copied().filter(same).collect();
        if group.first().is_none_or(|one| one.at != first.at) {
            return None;
        }
        let mut loops: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for one in &group {
            let index = function.flow.loop_of_instruction(one.at);
            if let Some(index) = index.filter(|&index| function.is_innermost(index)) {
                loops.entry(index).or_default().push(one.at);
            }
        }
        let part = first.usual.share;
        let costs = &self.sites.input.program.costs;
        let (mut saved, mut affected, mut site, mut executions) =
            (Vec::new(), Vec::new(), Vec::new(), 0);
        for (index, divisions) in loops {
            let change = by_reciprocal(&divisions, Some(first.usual.value));
            let Some(gain) = function.loop_after(costs, index, &change) else {
                continue;
            };
            let left = left_without(function, index, &divisions, &gain, true);
            saved.push(SavedTime {
                share: Estimate::exact(function.loop_heat(index)),
                saved: Estimate {
                    value: part.value * (1.0 - left.value),
                    low: (part.low * (1.0 - left.high)).max(0.0),
                    high: part.high * (1.0 - left.low),
                },
            });
            executions += divisions.iter().map(|&at| function.counts[at]).sum::<u64>();
            site.extend(divisions);
            affected.extend(function.loop_instructions(index));
        }
        let heat = function.heat_of(affected.iter().copied());
        if saved.is_empty() || heat < MIN_SHARE_OF_REPEATED_WORK {
            return None;
        }
        // The hottest is shown, and what was seen there.
        site.sort_by(|a, b| function.heat[*b].total_cmp(&function.heat[*a]));
        let shown = group.into_iter().find(|one| one.at == site[0])?;
        let kind = KnownValueKind::Divisor;
        let fix = Fix::TestForValue { value: kind };
        let mut one = Candidate::new(Cause::KnownOperand, Some(self.number), site, fix);
        one.affected = affected;
        one.saves(&saved);
        one.executions = Some(executions);
        Some(one.fact(self.fact(shown.load, shown.one, shown.usual)))
    }
}

/// The value that a division instruction with register operands divides by.
fn divisor(function: &FunctionInput, at: usize) -> Option<Value> {
    let reads = function.values.reads(at);
    let implied: &[Location] = match function.code[at].class {
        CostClass::Div => &[0, 2],
        _ => &[],
    };
    let written = function.data[at].writes;
    let mut others = reads.iter().filter(|one| {
        one.0 < 64
            && !implied.contains(&one.0)
            && (!implied.is_empty() || written >> one.0 & 1 == 0)
    });
    let first = others.next()?;
    others.next().is_none().then_some(first.1)
}

/// Whether a function of the compiler's library divides integers of 128 bits: dividend in the first two
/// arguments, divisor in the next two.
fn divides_wide(name: &str) -> bool {
    matches!(
        name.split('@').next().unwrap_or(name),
        "__divti3" | "__udivti3" | "__modti3" | "__umodti3" | "__divmodti4" | "__udivmodti4"
    )
}

/// Calls that divide wide integers by one value.
pub(super) fn wide_divisions(sites: &ObservedSites<'_>, all: f64) -> Vec<Candidate> {
    let input = sites.input;
    let mut found = Vec::new();
    let list = &sites.observed.argument_values;
    for low in list.iter().filter(|one| one.argument == 2) {
        let high = list
            .iter()
            .find(|one| (one.at, one.target, one.argument) == (low.at, low.target, 3));
        let (Some((number, at)), Some(high)) = (sites.users_site(low.at), high) else {
            continue;
        };
        let Some(target) = sites.target((number, at), low.target) else {
            continue;
        };
        let usual = low.value;
        let enough = low.calls >= MIN_SEEN
            && low.bursts >= MIN_BURSTS
            && usual.share.low >= MIN_USUAL_VALUE
            && high.value.share.low >= MIN_USUAL_VALUE
            && high.value.value == 0
            && usual.value != 0;
        if !divides_wide(&target.function) || !enough {
            continue;
        }
        let values = HashMap::new();
        let scene = Scene {
            sites,
            number,
            function: &input.functions[number],
            values: &values,
            all,
        };
        found.extend(wide_division(&scene, at, target, usual, low.bursts));
    }
    found
}

fn wide_division(
    scene: &Scene<'_>,
    at: usize,
    target: &CallTarget,
    usual: ValueShare,
    bursts: u32,
) -> Option<Candidate> {
    let share = share_of_target(scene.sites.input, scene.number, target);
    let spared = Spared {
        site: vec![at],
        affected: vec![at],
        share,
        executions: target.count,
        steady: false,
    };
    let mut found = scene.candidate(KnownValueKind::Divisor, usual, spared)?;
    scene.saves_calls(&mut found, [at].into_iter(), usual);
    Some(
        found
            .fact(ObservedFact::KnownArgument {
                function: target.function.clone(),
                value: format!("{} as its divisor", usual.value),
                share: usual.share,
                calls: target.count,
                bursts,
            })
            .fact(ObservedFact::NeedlessTime {
                share,
                cycles: share * scene.all / target.count.max(1) as f64,
            }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_divisions_are_known_by_name() {
        assert!(divides_wide("__divti3") && divides_wide("__umodti3@@GCC_3.0"));
        assert!(!divides_wide("div"));
    }
}
