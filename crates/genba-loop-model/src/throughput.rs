//! Cycles that an iteration takes if all its instructions were independent.
//!
//! Every unit that we know to be shared has a sum of reciprocal throughputs, weighted with
//! executions; the largest sum is a bound from below. Units that different processors share
//! differently are kept apart, so that the bound is rather too low than too high.

use genba_code::{DataFlow, Flow, Instruction, Opaque, Shortcut};
use genba_model::{Estimate, LoopThroughput, ThroughputLimit};

use super::costs::{
    Costs, first_throughput, is_locked, operation, plain_load, plain_store, throughput,
};

/// Instructions per iteration, with how many times each is executed per iteration.
pub(super) struct Mix<'a> {
    pub instructions: &'a [Instruction],
    pub flows: &'a [DataFlow],
    /// Instruction, executions per iteration, times taken per iteration (jumps).
    pub rows: Vec<(usize, f64, f64)>,
}

/// What an iteration executes beside the mix.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extra {
    /// Instructions of the cheapest kind.
    pub slots: f64,
}

/// The bound; `None` where not even the width is known and no form is.
pub(super) fn bound(mix: &Mix<'_>, costs: &dyn Costs, extra: Extra) -> Option<LoopThroughput> {
    let mut units: Vec<(ThroughputLimit, Estimate)> = Vec::new();
    let mut add = |limit: ThroughputLimit, cost: Option<Estimate>, times: f64| {
        let Some(cost) = cost.map(|c| c.scaled(times)) else {
            return;
        };
        match units.iter_mut().find(|u| u.0 == limit) {
            Some(unit) => {
                unit.1 = Estimate {
                    value: unit.1.value + cost.value,
                    low: unit.1.low + cost.low,
                    high: unit.1.high + cost.high,
                }
            }
            None => units.push((limit, cost)),
        }
    };
    let mut slots = extra.slots;
    for &(index, times, taken) in &mix.rows {
        let (Some(flow), Some(instruction)) = (mix.flows.get(index), mix.instructions.get(index))
        else {
            continue;
        };
        if !is_fused(mix, index) {
            slots += times;
        }
        let jumps = matches!(instruction.flow, Flow::Jump(_) | Flow::CondJump(_));
        if jumps {
            add(
                ThroughputLimit::TakenBranches,
                first_throughput(costs, operation::TAKEN),
                taken,
            );
        }
        if flow.opaque.is_some_and(|why| why != Opaque::Call) || flow.shortcut != Shortcut::None {
            continue;
        }
        if is_locked(flow) {
            add(
                ThroughputLimit::LockedOperations,
                throughput(costs, &flow.form),
                times,
            );
            continue;
        }
        if flow.loads() {
            add(ThroughputLimit::Loads, load(flow, costs), times);
        }
        if flow.stores() {
            add(ThroughputLimit::Stores, store(flow, costs), times);
        }
        let form = match &flow.without_memory {
            Some(form) => form,
            None if flow.memory.is_empty() => &flow.form,
            None => continue,
        };
        let jump_or_call = jumps || flow.opaque.is_some();
        if !jump_or_call {
            add(unit(form), throughput(costs, form), times);
        }
    }
    if let Some(width) = width(costs) {
        let limit = ThroughputLimit::Width {
            instructions: slots,
            per_cycle: 1.0 / width.value,
        };
        units.push((limit, width.scaled(slots)));
    }
    let most = units
        .into_iter()
        .max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    Some(LoopThroughput {
        cycles: most.1,
        limit: most.0,
    })
}

/// Cycles that an instruction of the cheapest kind takes of the processor's width.
fn width(costs: &dyn Costs) -> Option<Estimate> {
    let found = first_throughput(costs, &["nop", "mov r64, r64", "xor r32, r32"])?;
    (found.low > 0.0).then_some(found)
}

fn load(flow: &DataFlow, costs: &dyn Costs) -> Option<Estimate> {
    let own = (flow.without_memory.is_none() && !flow.stores())
        .then(|| throughput(costs, &flow.form))
        .flatten();
    own.or_else(|| first_throughput(costs, plain_load(flow)))
}

fn store(flow: &DataFlow, costs: &dyn Costs) -> Option<Estimate> {
    let own = (flow.without_memory.is_none() && !flow.loads())
        .then(|| throughput(costs, &flow.form))
        .flatten();
    own.or_else(|| first_throughput(costs, plain_store(flow)))
}

/// Whether it goes through with the instruction before it: a conditional jump behind a
/// comparison or test (fused by Intel's since 2006 and AMD's since 2011).
fn is_fused(mix: &Mix<'_>, index: usize) -> bool {
    let conditional = matches!(mix.instructions[index].flow, Flow::CondJump(_));
    let before = index
        .checked_sub(1)
        .and_then(|before| mix.flows.get(before));
    conditional
        && before
            .is_some_and(|flow| flow.form.starts_with("cmp ") || flow.form.starts_with("test "))
}

/// The unit whose instructions' throughputs add up.
fn unit(form: &str) -> ThroughputLimit {
    let name = form.split(' ').next().unwrap_or(form);
    match name {
        "add" | "sub" | "and" | "or" | "xor" | "cmp" | "test" | "inc" | "dec" | "neg" | "not"
        | "mov" | "movzx" | "movsx" | "movsxd" => ThroughputLimit::IntegerOperations,
        "imul" | "mul" | "mulx" => ThroughputLimit::Multiplications,
        "div" | "idiv" => ThroughputLimit::Divisions,
        "shl" | "shr" | "sar" | "rol" | "ror" => ThroughputLimit::Shifts,
        _ => match name.strip_prefix('v').unwrap_or(name) {
            "addss" | "addsd" | "addps" | "addpd" | "subss" | "subsd" | "subps" | "subpd" => {
                ThroughputLimit::FloatAdditions
            }
            "mulss" | "mulsd" | "mulps" | "mulpd" => ThroughputLimit::FloatMultiplications,
            "divss" | "divsd" | "divps" | "divpd" | "sqrtss" | "sqrtsd" | "sqrtps" | "sqrtpd" => {
                ThroughputLimit::FloatDivisions
            }
            stem if stem.starts_with("fma") || stem.starts_with("fmadd") => {
                ThroughputLimit::FloatMultiplyAdds
            }
            _ => ThroughputLimit::Mnemonic(name.to_owned()),
        },
    }
}
