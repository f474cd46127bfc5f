//! The host table asked about the instructions and loops of one function.

use std::cell::RefCell;
use std::collections::HashMap;

use genba_code::{DataFlow, data_flow_of};
use genba_model::{Estimate, HostTable};

use crate::function_code::FunctionCode;
use crate::resolved_profile::{Function, ResolvedProfile};
use genba_loop_model::{Costs, LoopAnalysis, LoopInputs, loops};

/// Latency and reciprocal throughput, cycles.
type Cost = (Option<Estimate>, Option<Estimate>);

/// A host table that remembers what it was asked.
pub struct TableCosts<'a> {
    table: &'a HostTable,
    known: RefCell<HashMap<String, Cost>>,
}

impl<'a> TableCosts<'a> {
    pub fn new(table: &'a HostTable) -> Self {
        Self {
            table,
            known: RefCell::default(),
        }
    }

    fn cost(&self, form: &str) -> Cost {
        if let Some(&cost) = self.known.borrow().get(form) {
            return cost;
        }
        let cost = genba_host::cost_of(self.table, form)
            .map_or((None, None), |cost| (cost.latency, cost.throughput));
        self.known.borrow_mut().insert(form.to_owned(), cost);
        cost
    }
}

impl Costs for TableCosts<'_> {
    fn latency(&self, form: &str) -> Option<Estimate> {
        self.cost(form).0
    }

    fn throughput(&self, form: &str) -> Option<Estimate> {
        self.cost(form).1
    }
}

/// What the model says of one function.
#[derive(Default)]
pub struct FunctionModel {
    /// By instruction: what its form costs here, cycles.
    pub latencies: Vec<Option<Estimate>>,
    /// By loop.
    pub loops: Vec<Option<LoopAnalysis>>,
}

impl ResolvedProfile {
    /// What the host table says of a function whose executions were counted; nothing without
    /// either. `weight` is that of all its samples.
    pub fn model(&self, function: &Function, code: &FunctionCode, weight: f64) -> FunctionModel {
        let (Some(executed), Some(joined)) = (self.executed(function), &self.joined) else {
            return FunctionModel::default();
        };
        let (Some(table), Ok(binary)) = (&joined.host, self.code.binary(function.module)) else {
            return FunctionModel::default();
        };
        let end = code.instructions.last().map_or(0, |last| last.end());
        let Ok(data_flow) = data_flow_of(binary, function.address, end) else {
            return FunctionModel::default();
        };
        if data_flow.len() != code.instructions.len() {
            return FunctionModel::default();
        }
        let costs = TableCosts::new(table);
        let counts: Vec<Option<u64>> = (code.instructions.iter())
            .map(|instruction| Some(executed.count(instruction.address)))
            .collect();
        let inputs = LoopInputs {
            flow: &code.flow,
            instructions: &code.instructions,
            data_flow: &data_flow,
            counts: &counts,
            taken: &|index| executed.taken(code.instructions[index].address),
            samples: &code.samples,
            weight: &code.weight,
            cycles: &|part| {
                let share =
                    crate::resolved_profile::share_of(part, weight, self.squares_of(weight));
                joined.time(&self.event, share, weight).1
            },
            costs: &costs,
        };
        FunctionModel {
            loops: loops(&inputs),
            latencies: data_flow.iter().map(|flow| latency(&costs, flow)).collect(),
        }
    }

    /// Sum of squared weights of samples that weigh `weight` together.
    fn squares_of(&self, weight: f64) -> f64 {
        let mean = self.hits.all.weight as f64 / self.hits.all.samples.max(1) as f64;
        weight * mean
    }
}

/// What an instruction's own form costs; nothing for those that a processor does not execute.
fn latency(costs: &TableCosts<'_>, flow: &DataFlow) -> Option<Estimate> {
    match flow.shortcut {
        genba_code::Shortcut::None => costs.latency(&flow.form),
        _ => None,
    }
}
