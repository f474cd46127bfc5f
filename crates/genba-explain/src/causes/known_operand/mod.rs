//! `known-operand`: an operand is nearly always one value, for which the work is needless or cheap.
//!
//! **Signature.** Observed: a load brings one value in most of its executions, and what is done with
//! it is needless or cheaper for that value:
//! - zero that is multiplied, and the product only added to something ([`zero_factors`]);
//! - a divisor, of a division instruction or of the compiler's functions for wide integers;
//! - an argument of a function of the mathematical library.
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
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    AROUND_CALL_SAVED, CYCLES_OF_VALUE_TEST, MIN_BURSTS, MIN_CYCLES_SPARED,
    MIN_CYCLES_SPARED_BY_STEADY_VALUE, MIN_SEEN, MIN_SHARE_OF_REPEATED_WORK,
    MIN_SHARE_OF_STEADY_VALUE, MIN_USUAL_VALUE, MIN_USUAL_VALUE_OF_LOOP,
};
use crate::constants::registers::XMM0;
use crate::constants::search_limits::MAX_MOVES_TO_OPERAND;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{around, cycles_of_all};
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::{ObservedSites, share_of_target};

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

    /// Counts what is made for a call alone as spared with it: its arguments, its result, registers that are
    /// saved across it.
    fn saves_call(&self, found: &mut Candidate, at: usize, usual: ValueShare) {
        let left = found.residual_fraction;
        let share = Estimate::exact(found.share.unwrap_or(0.0));
        let saved = Estimate {
            value: 1.0 - left.value,
            low: 1.0 - left.high,
            high: 1.0 - left.low,
        };
        let beside = self.function.heat_of(around(self.function, at));
        let beside = SavedTime::of(beside * usual.share.value, AROUND_CALL_SAVED);
        found.saves(&[SavedTime { share, saved }, beside]);
    }

    fn fact(&self, at: usize, one: &OperandValues, usual: ValueShare) -> ObservedFact {
        let floating = self.function.data[at].writes >> XMM0 != 0;
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

/// Calls of the mathematical library with an argument that was loaded.
fn mathematical_calls(scene: &Scene<'_>) -> Vec<Candidate> {
    let function = scene.function;
    let mut found = Vec::new();
    for site in &function.call_sites {
        let [target, ..] = site.targets.as_slice() else {
            continue;
        };
        let known = (arguments(&target.function).unwrap_or_default().iter())
            .filter(|&&location| location >= XMM0)
            .filter_map(|&location| scene.load_of(value_at(function, site.at, location)?))
            .filter_map(|load| Some((load, scene.usual(load)?)))
            .rfind(|(_, (_, usual))| usual.share.low >= MIN_USUAL_VALUE);
        let Some((load, (one, usual))) = known else {
            continue;
        };
        let spared = Spared {
            site: vec![site.at],
            affected: vec![site.at],
            share: share_of_target(scene.sites.input, scene.number, target),
            executions: target.count,
            steady: scene.is_steady(load),
        };
        let (share, calls) = (spared.share, target.count.max(1));
        let candidate = scene.candidate(KnownValueKind::Argument, usual, spared);
        found.extend(candidate.map(|mut found| {
            scene.saves_call(&mut found, site.at, usual);
            found
                .fact(scene.fact(load, one, usual))
                .fact(ObservedFact::NeedlessTime {
                    share,
                    cycles: share * scene.all / calls as f64,
                })
        }));
    }
    found
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
}
