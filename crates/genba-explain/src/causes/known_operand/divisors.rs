//! Divisors that are nearly always one value: of division instructions, and of the compiler's functions
//! for integers of 128 bits.

use std::collections::HashMap;

use genba_code::{CostClass, Location};
use genba_model::{KnownValueKind, ObservedFact};
use genba_observe::ValueShare;

use super::{Scene, Spared};
use crate::candidate::Candidate;
use crate::causes::wrapped_counters::wrapping_divisions;
use crate::constants::observations::{MIN_BURSTS, MIN_SEEN, MIN_USUAL_VALUE};
use crate::input::analysis_input::{CallTarget, FunctionInput};
use crate::input::values::Value;
use crate::patterns::observed_sites::{ObservedSites, share_of_target};

/// Divisions by what was loaded.
pub(super) fn divisions(scene: &Scene<'_>) -> Vec<Candidate> {
    let function = scene.function;
    let mut found = Vec::new();
    // Those have a cheaper remedy.
    let wrapping = wrapping_divisions(function);
    for (at, code) in function.code.iter().enumerate() {
        if wrapping.contains(&at) {
            continue;
        }
        let integer = code.class == CostClass::Div;
        let scalar = matches!(code.mnemonic, "divsd" | "divss" | "vdivsd" | "vdivss");
        if !(integer || scalar) || function.counts[at] == 0 {
            continue;
        }
        let load = match function.data[at].loads() {
            true => Some(at),
            false => divisor(function, at).and_then(|value| scene.load_of(value)),
        };
        let Some((load, (one, usual))) = load.and_then(|load| Some((load, scene.usual(load)?)))
        else {
            continue;
        };
        let is_one = usual.value == 1.0f64.to_bits() || usual.value == u64::from(1.0f32.to_bits());
        let fits = if integer { usual.value != 0 } else { is_one };
        if !fits || usual.share.low < MIN_USUAL_VALUE {
            continue;
        }
        let spared = Spared {
            site: vec![at],
            affected: vec![at],
            share: function.heat[at],
            executions: function.counts[at],
            steady: scene.is_steady(load),
        };
        let candidate = scene.candidate(KnownValueKind::Divisor, usual, spared);
        found.extend(candidate.map(|found| found.fact(scene.fact(load, one, usual))));
    }
    found
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
