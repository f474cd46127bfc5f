//! `division-as-overflow-check`: a division whose only use is an overflow check.
//!
//! **Signature.** A division whose remainder is not used and whose quotient is only compared, with
//! branches on it that (almost) always go the same way; and a multiplication by the same divisor:
//! of the number that the quotient is compared with, or the one whose product is divided.
//!
//! **Confirmation.** The counted branch outcomes.
//!
//! **Gain.** The division goes; the multiplication exists already, and its overflow flag or upper
//! half gives the same answer. The loop is modelled without the division.
//!
//! **Source.** gcc's and clang's documentation of `__builtin_mul_overflow`.

use genba_code::Flow;
use genba_model::{Cause, DivisionFact, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::RARE_OUTCOME;
use crate::constants::gains::OVERFLOW_CHECK_RESIDUAL;
use crate::constants::time_shares::MIN_SHARE_OF_DIVISIONS;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::{Origin, Value};
use crate::patterns::divisions::{Division, Divisor, cycles_of, divisions, time_fact};
use genba_loop_model::Change;

/// Finds divisions whose quotient only decides a branch that goes one way, beside a multiplication
/// by the same divisor.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (index, function) in input.functions.iter().enumerate() {
        if !function.counted || function.share.value < MIN_SHARE_OF_DIVISIONS {
            continue;
        }
        let checks = checks(function);
        // Those of one loop, or of one pass through the function, gain together.
        let mut groups: Vec<(Option<u32>, Vec<Check>)> = Vec::new();
        for check in checks {
            let around = function.loops_around(check.division.at).next();
            match groups.iter_mut().find(|group| group.0 == around) {
                Some(group) => group.1.push(check),
                None => groups.push((around, vec![check])),
            }
        }
        for (around, checks) in groups {
            let time = function.heat_of(checks.iter().flat_map(Check::instructions));
            if time >= MIN_SHARE_OF_DIVISIONS {
                found.extend(candidate(input, index, around, &checks));
            }
        }
    }
    found
}

/// Divisions of a function that are such checks: what other causes about divisions leave alone.
#[must_use]
pub fn check_divisions(function: &FunctionInput) -> Vec<usize> {
    checks(function).iter().map(|one| one.division.at).collect()
}

struct Check {
    division: Division,
    /// Comparisons of its quotient.
    compares: Vec<usize>,
    multiplication: usize,
}

impl Check {
    fn instructions(&self) -> impl Iterator<Item = usize> + '_ {
        [self.division.at]
            .into_iter()
            .chain(self.compares.iter().copied())
    }
}

fn checks(function: &FunctionInput) -> Vec<Check> {
    let all = divisions(function);
    if all.is_empty() {
        return Vec::new();
    }
    let uses = Uses::of(function);
    let checks = all.into_iter().filter_map(|division| {
        if function.counts.get(division.at).copied().unwrap_or(0) == 0 {
            return None;
        }
        let compares = compares(function, &uses, &division)?;
        let multiplication = multiplication(function, &division, &compares)?;
        Some(Check {
            division,
            compares,
            multiplication,
        })
    });
    checks.collect()
}

/// The comparisons that are all uses of the quotient; `None` if there are others.
fn compares(function: &FunctionInput, uses: &Uses, division: &Division) -> Option<Vec<usize>> {
    let executed = |at: &usize| function.counts.get(*at).is_some_and(|&count| count > 0);
    let remainder = division.remainder?;
    if uses.readers(remainder).iter().any(executed) {
        return None;
    }
    let compares = uses.readers(division.quotient?);
    let one_way = |&at: &usize| {
        let compares = function.data[at].form.starts_with("cmp ");
        compares && goes_one_way(function, at)
    };
    (!compares.is_empty() && compares.iter().all(one_way)).then_some(compares)
}

/// Whether the jump that a comparison decides goes (almost) always one way.
fn goes_one_way(function: &FunctionInput, compare: usize) -> bool {
    let Some(block) = function.flow.block_of(compare) else {
        return false;
    };
    let end = function.flow.blocks()[block as usize].instructions.end as usize;
    let last = end - 1;
    let conditional = matches!(function.code[last].flow, Flow::CondJump(_));
    let times = function.counts.get(last).copied().unwrap_or(0);
    if !conditional || last <= compare || times == 0 {
        return false;
    }
    let Some(taken) = function.taken.get(last).copied().flatten() else {
        return false;
    };
    let rate = taken as f64 / times as f64;
    !(RARE_OUTCOME..=1.0 - RARE_OUTCOME).contains(&rate)
}

/// A multiplication by the divisor whose overflow the division foresees or finds.
fn multiplication(
    function: &FunctionInput,
    division: &Division,
    compares: &[usize],
) -> Option<usize> {
    let values = &function.values;
    let same = |a: Value, b: Value| {
        a == b
            || values
                .loaded_from(a)
                .zip(values.loaded_from(b))
                .is_some_and(|(a, b)| a == b)
    };
    // Numbers that the quotient is compared with.
    let mut compared = Vec::new();
    for &at in compares {
        for &(_, value) in values.reads(at) {
            if Some(value) != division.quotient {
                compared.push(value);
            }
        }
    }
    let in_memory: Vec<_> = compares
        .iter()
        .flat_map(|&at| values.addresses(at).iter().flatten())
        .collect();
    function.code.iter().enumerate().position(|(at, code)| {
        if !matches!(code.mnemonic, "imul" | "mul" | "mulx") {
            return false;
        }
        let reads = values.reads(at);
        let addresses = values.addresses(at);
        let by_divisor = match division.divisor {
            Divisor::Value(_, divisor) => {
                reads.iter().any(|&(_, value)| same(value, divisor))
                    || addresses
                        .iter()
                        .flatten()
                        .any(|a| values.loaded_from(divisor) == Some(*a))
            }
            Divisor::Memory(address) => {
                addresses.iter().flatten().any(|a| *a == address)
                    || reads
                        .iter()
                        .any(|&(_, value)| values.loaded_from(value) == Some(address))
            }
        };
        let foresees = reads
            .iter()
            .any(|&(_, value)| compared.iter().any(|&other| same(value, other)))
            || addresses.iter().flatten().any(|a| in_memory.contains(&a));
        let finds = values.origin(division.dividend) == Origin::Instruction(at as u32);
        by_divisor && (foresees || finds)
    })
}

fn candidate(
    input: &AnalysisInput,
    index: usize,
    around: Option<u32>,
    checks: &[Check],
) -> Option<Candidate> {
    let function = &input.functions[index];
    let costs = &input.program.costs;
    let heat = |check: &Check| function.heat_of(check.instructions());
    let most = checks.iter().max_by(|a, b| heat(a).total_cmp(&heat(b)))?;
    let first = most.division.at;
    let mut site = vec![first];
    site.extend(
        checks
            .iter()
            .map(|c| c.division.at)
            .filter(|&at| at != first),
    );
    let divisions: Vec<usize> = checks.iter().map(|check| check.division.at).collect();
    let mut found = Candidate::new(
        Cause::DivisionAsOverflowCheck,
        Some(index),
        site,
        Fix::TestOverflow,
    );
    let change = Change {
        gone: divisions.clone(),
        ..Change::default()
    };
    let gain = around.and_then(|index| function.loop_after(costs, index, &change));
    let mut modelled = None;
    match (around, gain) {
        (Some(around), Some(gain)) => {
            found.affected = function.loop_instructions(around);
            found.residual_fraction = gain.residual_fraction;
            modelled = Some(gain.fact());
        }
        _ => {
            found.affected = checks.iter().flat_map(Check::instructions).collect();
            found.residual_fraction = OVERFLOW_CHECK_RESIDUAL;
        }
    }
    found.executions = function.counts.get(first).copied();
    found.cycles = cycles_of(function, first);
    let here = costs.latency(&function.data[first].form);
    let share = function.heat_of(checks.iter().flat_map(Check::instructions));
    Some(
        found
            .fact(DivisionFact::OnlyCompared {
                form: function.data[first].form.clone(),
                executions: function.counts[first],
                one_way: 1.0 - RARE_OUTCOME,
            })
            .fact(DivisionFact::SameMultiplier {
                instruction: function.code[most.multiplication].text.clone(),
            })
            .fact(time_fact(function, first, share, here))
            .facts(modelled),
    )
}
