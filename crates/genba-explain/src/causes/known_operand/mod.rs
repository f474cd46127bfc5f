//! `known-operand`: an operand is nearly always one value, for which the work is needless or cheap.
//!
//! **Signature.** Observed: a load brings one value in most of its executions, and what is done with
//! it is needless or cheaper for that value:
//! - zero that is multiplied, and the product only added to something ([`zero_factors`]);
//! - a divisor, of a division instruction or of the compiler's functions for wide integers;
//! - an argument of a function of the mathematical library; a small whole exponent is a few multiplications.
//!
//! **Confirmation.** A test for the value.
//!
//! **Gain.** The measured time of what is spared, in these executions, less that of a test.
//!
//! **Source.** S. Wen et al., "RedSpy: exploring value locality in software", ASPLOS 2017 (operands); X.
//! You et al., "ZeroSpy: exploring software inefficiency with redundant zeros", SC 2020; B. Calder et
//! al., "Value profiling", MICRO 1997.

mod divisors;
mod zero_factors;

use std::collections::HashMap;

use genba_model::{Cause, Estimate, Fix, KnownValueKind, ObservedFact};
use genba_observe::{OperandValues, ValueShare};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::arguments;
use crate::constants::counts::MAX_MULTIPLIED_POWER;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    AROUND_CALL_SAVED, CYCLES_OF_MISPREDICTED_TEST, CYCLES_OF_VALUE_TEST, MIN_BURSTS,
    MIN_CYCLES_SPARED, MIN_CYCLES_SPARED_BY_STEADY_VALUE, MIN_SEEN, MIN_SHARE_OF_REPEATED_WORK,
    MIN_SHARE_OF_STEADY_VALUE, MIN_USUAL_VALUE, MIN_USUAL_VALUE_OF_LOOP,
};
use crate::constants::registers::XMM0;
use crate::constants::search_limits::MAX_MOVES_TO_OPERAND;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, CallSite, CallTarget, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{around, cycles_of_all};
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::{ObservedSites, share_of_target};
use crate::patterns::search_loops::stem;

/// Finds operands that are nearly always one value, where that value spares work.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let (Some(sites), Some(all)) = (ObservedSites::of(input), cycles_of_all(input)) else {
        return Vec::new();
    };
    let loaded = usual_values(&sites);
    let mut found = divisors::wide_divisions(&sites, all);
    for (number, function) in input.functions.iter().enumerate() {
        let Some(values) = loaded.get(&number) else {
            continue;
        };
        let scene = Scene {
            sites: &sites,
            number,
            function,
            values,
            all,
        };
        found.extend(zero_factors::detect(&scene));
        found.extend(divisors::divisions(&scene));
        found.extend(mathematical_calls(&scene));
    }
    found
}

/// A function with the usual values of its loads.
struct Scene<'a> {
    sites: &'a ObservedSites<'a>,
    number: usize,
    function: &'a FunctionInput,
    values: &'a HashMap<usize, &'a OperandValues>,
    all: f64,
}

/// Loads of the user's own code that bring one value in many executions, by function and instruction.
fn usual_values<'a>(
    sites: &ObservedSites<'a>,
) -> HashMap<usize, HashMap<usize, &'a OperandValues>> {
    let mut found: HashMap<usize, HashMap<usize, &OperandValues>> = HashMap::new();
    for one in &sites.observed.operand_values {
        let usual =
            (one.values.first()).is_some_and(|first| first.share.low >= MIN_USUAL_VALUE_OF_LOOP);
        // Of longer operands a hash is recorded: only that of zeros is known.
        let known = one.size <= 8 || one.values.first().is_some_and(|first| first.value == 0);
        if one.stored || !known || one.executions < MIN_SEEN || one.bursts < MIN_BURSTS {
            continue;
        }
        if let (Some((number, at)), true) = (sites.users_site(one.at), usual) {
            found.entry(number).or_default().insert(at, one);
        }
    }
    found
}

/// What a test for a value spares.
struct Spared {
    site: Vec<usize>,
    affected: Vec<usize>,
    share: f64,
    executions: u64,
    /// Whether the value stays for many executions, so that a test for it is predicted.
    steady: bool,
}

impl Scene<'_> {
    fn usual(&self, at: usize) -> Option<(&OperandValues, ValueShare)> {
        let one = self.values.get(&at)?;
        Some((one, *one.values.first()?))
    }

    /// Whether a load nearly always brings what it brought the time before.
    fn is_steady(&self, at: usize) -> bool {
        let point = self.sites.point(self.number, at);
        (self.sites.observed.same_loads.iter())
            .any(|one| Some(one.at) == point && one.seen.share.low >= MIN_SHARE_OF_STEADY_VALUE)
    }

    /// The load that made a value, through moves, conversions and copies into all parts of a vector.
    fn load_of(&self, value: Value) -> Option<usize> {
        let mut value = value;
        for _ in 0..MAX_MOVES_TO_OPERAND {
            let Origin::Instruction(at) = self.function.values.origin(value) else {
                return None;
            };
            let at = at as usize;
            let data = &self.function.data[at];
            if !carries(self.function.code[at].mnemonic) {
                return None;
            }
            if data.loads() {
                return Some(at);
            }
            let mut reads = self.function.values.reads(at).iter();
            value = reads.find(|one| data.data_reads >> one.0 & 1 == 1)?.1;
        }
        None
    }

    fn candidate(
        &self,
        kind: KnownValueKind,
        usual: ValueShare,
        spared: Spared,
    ) -> Option<Candidate> {
        let each = spared.share * self.all / spared.executions.max(1) as f64;
        let least = match spared.steady {
            true => MIN_CYCLES_SPARED_BY_STEADY_VALUE,
            false => MIN_CYCLES_SPARED,
        };
        if spared.share < MIN_SHARE_OF_REPEATED_WORK || each < least {
            return None;
        }
        let [value, low, high] = CYCLES_OF_VALUE_TEST.map(|cycles| (cycles / each).min(1.0));
        let mut one = Candidate::new(
            Cause::KnownOperand,
            Some(self.number),
            spared.site,
            Fix::TestForValue { value: kind },
        );
        one.affected = spared.affected;
        one.share = Some(spared.share);
        one.residual_fraction = Estimate {
            value: 1.0 - usual.share.value + value,
            low: (1.0 - usual.share.high).max(0.0) + low,
            high: (1.0 - usual.share.low + high).min(MAX_RESIDUAL),
        };
        one.executions = Some(spared.executions);
        one.cycles = Some(Estimate::exact(each));
        Some(one)
    }

    /// Counts what is made for calls alone as spared with them: their arguments, results, registers that are
    /// saved across them.
    fn saves_calls(
        &self,
        found: &mut Candidate,
        beside: impl Iterator<Item = usize>,
        usual: ValueShare,
    ) {
        let left = found.residual_fraction;
        let share = Estimate::exact(found.share.unwrap_or(0.0));
        let saved = Estimate {
            value: 1.0 - left.value,
            low: 1.0 - left.high,
            high: 1.0 - left.low,
        };
        let mut beside: Vec<usize> = beside.collect();
        beside.sort_unstable();
        beside.dedup();
        let beside = self.function.heat_of(beside);
        let beside = SavedTime::of(beside * usual.share.value, AROUND_CALL_SAVED);
        found.saves(&[SavedTime { share, saved }, beside]);
    }

    fn fact(&self, at: usize, one: &OperandValues, usual: ValueShare) -> ObservedFact {
        let floating = self.function.data[at].writes >> XMM0 != 0;
        self.fact_of(at, one, usual, floating)
    }

    /// The same of a value that is known to be a floating-point number, or not.
    fn fact_of(
        &self,
        at: usize,
        one: &OperandValues,
        usual: ValueShare,
        floating: bool,
    ) -> ObservedFact {
        ObservedFact::KnownValue {
            instruction: self.function.code[at].text.clone(),
            value: text_of(usual.value, one.size, floating),
            share: usual.share,
            executions: self.function.counts[at],
            bursts: one.bursts,
        }
    }
}

/// Whether a value goes through an instruction as it is, or as another form of itself.
fn carries(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    [
        "mov",
        "cvt",
        "shuf",
        "unpck",
        "broadcast",
        "pshuf",
        "punpck",
        "pbroadcast",
        "cdq",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// A call of the mathematical library of which an argument was loaded, and is usually one value.
struct KnownCall<'a> {
    at: usize,
    target: &'a CallTarget,
    load: usize,
    values: &'a OperandValues,
    usual: ValueShare,
    kind: KnownValueKind,
    share: f64,
}

/// Calls of the mathematical library with an argument that was loaded; powers of one function are one finding.
fn mathematical_calls(scene: &Scene<'_>) -> Vec<Candidate> {
    let sites = scene.function.call_sites.iter();
    let mut calls: Vec<Vec<KnownCall<'_>>> = Vec::new();
    for one in sites.filter_map(|site| known_call(scene, site)) {
        let powers = |list: &&mut Vec<KnownCall<'_>>| list[0].kind == KnownValueKind::Exponent;
        let known = calls.iter_mut().find(powers);
        match known.filter(|_| one.kind == KnownValueKind::Exponent) {
            Some(list) => list.push(one),
            None => calls.push(vec![one]),
        }
    }
    (calls.into_iter())
        .filter_map(|list| candidate_of_calls(scene, &list))
        .collect()
}

fn known_call<'a>(scene: &Scene<'a>, site: &'a CallSite) -> Option<KnownCall<'a>> {
    let [target, ..] = site.targets.as_slice() else {
        return None;
    };
    let arguments = arguments(&target.function).unwrap_or_default();
    let share = share_of_target(scene.sites.input, scene.number, target);
    let least = least_usual(share * scene.all / target.count.max(1) as f64);
    let (location, load, (values, usual)) = (arguments.iter())
        .filter(|&&location| location >= XMM0)
        .filter_map(|&location| {
            let value = value_at(scene.function, site.at, location)?;
            Some((location, scene.load_of(value)?))
        })
        .filter_map(|(location, load)| {
            let one = *scene.values.get(&load)?;
            Some((location, load, (one, *one.values.first()?)))
        })
        .rfind(|(_, _, (_, usual))| usual.share.low >= least)?;
    let exponent = location == XMM0 + 1 && is_power(&target.function);
    let number = match values.size {
        8 => f64::from_bits(usual.value),
        _ => f64::from(f32::from_bits(usual.value as u32)),
    };
    let few = number.fract() == 0.0 && number.abs() <= MAX_MULTIPLIED_POWER;
    // One of two arguments tells the result only where it is neutral, or the result is a few multiplications and a
    // square root.
    let tells = match (arguments.len(), exponent) {
        (1, _) => true,
        (_, true) => few || (2.0 * number).fract() == 0.0,
        _ => number == 0.0 || number == 1.0,
    };
    tells.then_some(KnownCall {
        at: site.at,
        target,
        load,
        values,
        usual,
        kind: match exponent && few {
            true => KnownValueKind::Exponent,
            false => KnownValueKind::Argument,
        },
        share,
    })
}

/// The share of its usual value from which a test for it pays beside a call of so many cycles: what is spared outweighs
/// mispredictions in up to twice the rest.
fn least_usual(cycles: f64) -> f64 {
    let lost = 2.0 * CYCLES_OF_MISPREDICTED_TEST;
    (lost / (cycles + lost)).clamp(MIN_USUAL_VALUE_OF_LOOP, MIN_USUAL_VALUE)
}

fn is_power(name: &str) -> bool {
    matches!(stem(name), "pow" | "powf")
}

fn candidate_of_calls(scene: &Scene<'_>, list: &[KnownCall<'_>]) -> Option<Candidate> {
    let most = (list.iter()).max_by(|a, b| a.share.total_cmp(&b.share))?;
    let share: f64 = list.iter().map(|one| one.share).sum();
    let calls: u64 = list.iter().map(|one| one.target.count).sum();
    let spared = Spared {
        site: vec![most.at],
        affected: list.iter().map(|one| one.at).collect(),
        share,
        executions: calls,
        steady: list.iter().all(|one| scene.is_steady(one.load)),
    };
    let mut found = scene.candidate(most.kind, most.usual, spared)?;
    let beside = list.iter().flat_map(|one| around(scene.function, one.at));
    scene.saves_calls(&mut found, beside, most.usual);
    Some(
        found
            .fact(scene.fact_of(most.load, most.values, most.usual, true))
            .fact(ObservedFact::NeedlessTime {
                share,
                cycles: share * scene.all / calls.max(1) as f64,
            }),
    )
}

/// A value as people read it.
fn text_of(value: u64, size: u16, floating: bool) -> String {
    match (floating, size) {
        (true, 8) => format!("{}", f64::from_bits(value)),
        (true, 4) => format!("{}", f32::from_bits(value as u32)),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_what_the_register_holds() {
        assert_eq!(text_of(0x3ff0_0000_0000_0000, 8, true), "1");
        assert_eq!(text_of(0, 4, true), "0");
        assert_eq!(text_of(12, 8, false), "12");
    }

    #[test]
    fn rarer_values_pay_beside_longer_calls() {
        assert_eq!(least_usual(0.0), MIN_USUAL_VALUE);
        assert!((least_usual(40.0) - 0.5).abs() < 1e-12);
        assert_eq!(least_usual(1000.0), MIN_USUAL_VALUE_OF_LOOP);
    }
}
