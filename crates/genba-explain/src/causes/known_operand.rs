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

use std::collections::HashMap;

use genba_code::{CostClass, Flow, Location};
use genba_model::{Cause, Estimate, Fix, KnownValueKind, ObservedFact};
use genba_observe::{OperandValues, ValueShare};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::arguments;
use crate::constants::gains::MAX_RESIDUAL;
use crate::constants::observations::{
    AROUND_CALL_SAVED, CYCLES_OF_VALUE_TEST, MIN_BURSTS, MIN_CYCLES_SPARED, MIN_SEEN,
    MIN_SHARE_OF_REPEATED_WORK, MIN_USUAL_VALUE, MIN_USUAL_VALUE_OF_LOOP,
};
use crate::constants::registers::XMM0;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::input::value_uses::Uses;
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
    let mut found = wide_divisions(&sites, all);
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
        found.extend(zero_factors(&scene));
        found.extend(divisions(&scene));
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
        if one.stored || one.size > 8 || one.executions < MIN_SEEN || one.bursts < MIN_BURSTS {
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
}

impl Scene<'_> {
    fn usual(&self, at: usize) -> Option<(&OperandValues, ValueShare)> {
        let one = self.values.get(&at)?;
        Some((one, *one.values.first()?))
    }

    /// The load that made a value, through moves, conversions and copies into all parts of a vector.
    fn load_of(&self, value: Value) -> Option<usize> {
        let mut value = value;
        for _ in 0..MAX_MOVES_FOLLOWED {
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
        if spared.share < MIN_SHARE_OF_REPEATED_WORK || each < MIN_CYCLES_SPARED {
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

/// Moves and conversions that are followed from an operand to its load.
const MAX_MOVES_FOLLOWED: u32 = 6;

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

fn multiplies(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["mul", "imul", "pmul", "fmadd", "fnmadd", "fmsub", "pmadd"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn adds(mnemonic: &str) -> bool {
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    ["add", "sub", "padd", "psub", "lea"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Zeros that are multiplied with something, and the product added to something else.
fn zero_factors(scene: &Scene<'_>) -> Vec<Candidate> {
    let function = scene.function;
    let is_zero = |at: &usize| scene.usual(*at).is_some_and(|(_, usual)| usual.value == 0);
    let mut loads: Vec<usize> = scene.values.keys().copied().filter(is_zero).collect();
    if loads.is_empty() {
        return Vec::new();
    }
    loads.sort_unstable();
    let uses = Uses::of(function);
    // By the loop, or the load where nothing but its own products go.
    let mut found: Vec<Candidate> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    for load in loads {
        let products: Vec<usize> = products_of(function, &uses, load)
            .into_iter()
            .filter(|&at| is_only_added(function, &uses, at))
            .collect();
        let Some(&product) = products.first() else {
            continue;
        };
        if taken.contains(&product) {
            continue;
        }
        let Some((one, usual)) = scene.usual(load) else {
            continue;
        };
        let inner = function
            .flow
            .loop_of_instruction(product)
            .filter(|&index| !function.loop_instructions(index).contains(&load));
        let (least, affected) = match inner {
            Some(index) if is_mostly_of(function, &uses, index, &products) => {
                (MIN_USUAL_VALUE_OF_LOOP, function.loop_instructions(index))
            }
            Some(_) => continue,
            None => (MIN_USUAL_VALUE, with_sums(function, &uses, &products)),
        };
        if usual.share.low < least {
            continue;
        }
        let spared = Spared {
            site: vec![load, product],
            share: function.heat_of(affected.iter().copied()),
            affected,
            executions: function.counts[load],
        };
        let (share, executions) = (spared.share, spared.executions.max(1));
        if let Some(candidate) = scene.candidate(KnownValueKind::ZeroFactor, usual, spared) {
            taken.extend(products);
            found.push(candidate.fact(scene.fact(load, one, usual)).fact(
                ObservedFact::NeedlessTime {
                    share,
                    cycles: share * scene.all / executions as f64,
                },
            ));
        }
    }
    found
}

/// Instructions that multiply what was loaded; the load itself may be one.
fn products_of(function: &FunctionInput, uses: &Uses, load: usize) -> Vec<usize> {
    let mut work = vec![load];
    let mut met = vec![load];
    let mut found = Vec::new();
    while let Some(at) = work.pop() {
        let mnemonic = function.code[at].mnemonic;
        if multiplies(mnemonic) {
            found.push(at);
            continue;
        }
        if !carries(mnemonic) || met.len() > MAX_READERS {
            // Used for something else: a comparison, an address.
            return Vec::new();
        }
        for &(_, value) in function.values.writes(at) {
            for reader in uses.readers(value) {
                if !met.contains(&reader) {
                    met.push(reader);
                    work.push(reader);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// Readers of a value and of its copies that are looked at.
const MAX_READERS: usize = 64;

/// Whether a product is added to something, and nothing else is done with it.
fn is_only_added(function: &FunctionInput, uses: &Uses, product: usize) -> bool {
    let mnemonic = function.code[product].mnemonic;
    if mnemonic.starts_with("vf") {
        return true;
    }
    let results = function
        .values
        .writes(product)
        .iter()
        .filter(|one| one.0 < 64);
    let mut readers = results
        .flat_map(|one| uses.readers(one.1))
        .filter(|&at| at != product)
        .peekable();
    readers.peek().is_some() && readers.all(|at| adds(function.code[at].mnemonic))
}

/// Products with the sums that take them.
fn with_sums(function: &FunctionInput, uses: &Uses, products: &[usize]) -> Vec<usize> {
    let mut all = products.to_vec();
    for &product in products {
        for &(location, value) in function.values.writes(product) {
            if location < 64 {
                let readers = uses.readers(value).into_iter();
                all.extend(readers.filter(|&at| adds(function.code[at].mnemonic)));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a loop does little else than these products and their sums: half of its multiplications and
/// additions of data, and it calls nothing.
fn is_mostly_of(function: &FunctionInput, uses: &Uses, index: u32, products: &[usize]) -> bool {
    let of = with_sums(function, uses, products);
    let (mut mine, mut others) = (0u32, 0u32);
    for at in function.loop_instructions(index) {
        let code = &function.code[at];
        if matches!(
            code.flow,
            Flow::Call(_) | Flow::IndirectCall | Flow::Syscall
        ) {
            return false;
        }
        let arithmetic = matches!(
            code.class,
            CostClass::Mul
                | CostClass::FpArith
                | CostClass::VectorArith
                | CostClass::FpDiv
                | CostClass::Div
                | CostClass::Sqrt
        );
        if of.contains(&at) {
            mine += 1;
        } else if arithmetic && !carries(code.mnemonic) {
            others += 1;
        }
    }
    mine > 0 && mine >= others
}

/// Divisions by what was loaded.
fn divisions(scene: &Scene<'_>) -> Vec<Candidate> {
    let function = scene.function;
    let mut found = Vec::new();
    for (at, code) in function.code.iter().enumerate() {
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
        };
        let (share, calls) = (spared.share, target.count.max(1));
        let candidate = scene.candidate(KnownValueKind::Argument, usual, spared);
        found.extend(candidate.map(|found| {
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

/// Whether a function of the compiler's library divides integers of 128 bits: dividend in the first two
/// arguments, divisor in the next two.
fn divides_wide(name: &str) -> bool {
    matches!(
        name.split('@').next().unwrap_or(name),
        "__divti3" | "__udivti3" | "__modti3" | "__umodti3" | "__divmodti4" | "__udivmodti4"
    )
}

/// Calls that divide wide integers by one value.
fn wide_divisions(sites: &ObservedSites<'_>, all: f64) -> Vec<Candidate> {
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
    };
    let mut found = scene.candidate(KnownValueKind::Divisor, usual, spared)?;
    let left = found.residual_fraction;
    // Arguments are made and the result is taken for the call alone.
    let beside = scene.function.heat_of(around(scene.function, at));
    found.saves(&[
        SavedTime {
            share: Estimate::exact(share),
            saved: Estimate {
                value: 1.0 - left.value,
                low: 1.0 - left.high,
                high: 1.0 - left.low,
            },
        },
        SavedTime::of(beside, AROUND_CALL_SAVED),
    ]);
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
    fn wide_divisions_are_known_by_name() {
        assert!(divides_wide("__divti3") && divides_wide("__umodti3@@GCC_3.0"));
        assert!(!divides_wide("div"));
    }
}
