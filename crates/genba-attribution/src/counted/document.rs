//! The document of `genba count`: functions by calls and instructions, callers and callees.

use std::collections::{HashMap, HashSet};

use genba_model::{CountedCall, CountedFunction, Counts, Per, RawCounts, best_fits};
use genba_profile::reader::ModuleId;

use super::calls::{call_sites, node};
use super::counts_index::CountIndex;
use super::executed_functions::{ExecutedFunction, ExecutedFunctions};
use super::inclusive::{Edge, Inclusive, Node};
use crate::AttributionError;
use crate::constants::{MAX_NAMES_IN_HINT, MIN_NATIVE_SECONDS};

/// The unit that counts are divided by.
#[derive(Clone, Debug, PartialEq)]
pub enum PerUnit {
    /// A number of units that the user knows.
    Number(f64),
    /// The calls of a function.
    Calls(String),
}

/// Note for counts without recorded jumps and calls.
const UNRECORDED: &str = "calls were not recorded: no inclusive counts, callers or callees (`genba count --transfers` records them at a higher overhead)";

/// Makes the document: names, lines, callers and callees. `native_cpu_seconds` is the CPU time of the
/// command without the engine, if it is known.
///
/// # Errors
/// When the function that `per` names was not called.
pub fn counts(
    raw: &RawCounts,
    per: Option<&PerUnit>,
    native_cpu_seconds: Option<f64>,
) -> Result<Counts, AttributionError> {
    let (mut counts, lines) = counts_without_lines(raw, per, native_cpu_seconds)?;
    let all = 0..counts.functions.len();
    lines.fill(&mut counts, all);
    Ok(counts)
}

/// Where the functions of a document are in the source.
pub struct FunctionLines {
    found: ExecutedFunctions,
    /// Indices in `found`, in the order of the document.
    order: Vec<u32>,
}

impl FunctionLines {
    /// Fills in file and line of functions, by their index in the document. A program may have tens
    /// of thousands of functions, of which few are shown.
    pub fn fill(&self, counts: &mut Counts, functions: impl IntoIterator<Item = usize>) {
        for index in functions {
            let (Some(row), Some(&id)) = (counts.functions.get_mut(index), self.order.get(index))
            else {
                continue;
            };
            let one = &self.found.list[id as usize];
            let binary = self.found.code.binary(ModuleId(one.module));
            let binary = binary.ok().filter(|_| one.known);
            if let Some(place) = binary.and_then(|binary| binary.line_at(one.address)) {
                row.file = place.file.as_ref().map(ToString::to_string);
                row.line = place.line;
            }
        }
    }
}

/// Makes the document as [`counts`] does, without files and lines.
///
/// # Errors
/// When the function that `per` names was not called.
pub fn counts_without_lines(
    raw: &RawCounts,
    per: Option<&PerUnit>,
    native_cpu_seconds: Option<f64>,
) -> Result<(Counts, FunctionLines), AttributionError> {
    let index = CountIndex::new(raw);
    let found = ExecutedFunctions::of(&index);
    let order = order(&found);
    let rank: HashMap<u32, u32> = order.iter().copied().zip(0u32..).collect();
    let mut functions: Vec<CountedFunction> = order
        .iter()
        .map(|&id| row(&index, &found.list[id as usize]))
        .collect();
    let mut calls = match index.transfers {
        true => calls(&index, &found, &rank),
        // Those that are known are but a part.
        false => Vec::new(),
    };
    if index.transfers {
        let nodes = order
            .iter()
            .map(|&id| node(&index, &found.list[id as usize]));
        totals(&mut functions, &nodes.collect::<Vec<_>>(), &mut calls);
        // What has no name is not a function: its calls are those of many.
        for (function, &id) in functions.iter_mut().zip(&order) {
            if !found.list[id as usize].known {
                function.total_instructions = None;
                function.cycle = None;
            }
        }
    }
    let per = per.map(|per| unit(per, &functions)).transpose()?;
    if let Some(per) = &per {
        for function in &mut functions {
            function.calls_per = Some(function.calls as f64 / per.units);
            function.instructions_per = Some(function.instructions as f64 / per.units);
        }
    }
    let sum = |known: bool| {
        let of = |one: &&ExecutedFunction| known || !one.known;
        let parts = found.list.iter().filter(of).map(|one| one.instructions);
        parts.fold(0u64, u64::saturating_add)
    };
    let cut_short = raw.processes.iter().find_map(|one| one.cut_short.clone());
    let notes = raw
        .notes
        .iter()
        .chain(raw.processes.iter().flat_map(|one| &one.notes));
    let unrecorded = (!index.transfers).then(|| UNRECORDED.to_owned());
    let mut told = HashSet::new();
    let notes = notes
        .filter(|note| told.insert(note.as_str()))
        .cloned()
        .chain(unrecorded)
        .collect();
    let counts = Counts {
        engine: raw.engine.name.clone(),
        engine_version: raw.engine.version.clone(),
        gaps: raw.engine.gaps.clone(),
        slowdown: slowdown(raw.cpu_seconds, native_cpu_seconds),
        command: raw.command.clone(),
        exit: raw.exit,
        cut_short,
        processes: raw.processes.len() as u32,
        instructions: sum(true),
        unnamed_instructions: sum(false),
        per,
        functions,
        calls,
        observation: None,
        notes,
    };
    Ok((counts, FunctionLines { found, order }))
}

/// Functions, most instructions first.
pub(super) fn order(found: &ExecutedFunctions) -> Vec<u32> {
    let mut order: Vec<u32> = (0..found.list.len() as u32).collect();
    order.sort_by_cached_key(|&id| {
        let one = &found.list[id as usize];
        (std::cmp::Reverse(one.instructions), one.module, one.address)
    });
    order
}

/// CPU time under the engine ÷ CPU time without it; `None` below [`MIN_NATIVE_SECONDS`].
pub(super) fn slowdown(under: f64, native: Option<f64>) -> Option<f64> {
    let native = native.filter(|&native| native >= MIN_NATIVE_SECONDS)?;
    (under > 0.0).then(|| under / native)
}

fn row(index: &CountIndex, one: &ExecutedFunction) -> CountedFunction {
    CountedFunction {
        function: one.name.clone(),
        module: index.modules[one.module as usize].path.clone(),
        address: one.address,
        file: None,
        line: None,
        calls: entered(index, one),
        instructions: one.instructions,
        total_instructions: None,
        cycle: None,
        calls_per: None,
        instructions_per: None,
    }
}

/// How many times a function was entered; 0 for what has no name.
pub(super) fn entered(index: &CountIndex, one: &ExecutedFunction) -> u64 {
    if one.known {
        index.entered(one.module, one.address, one.end)
    } else {
        0
    }
}

/// Instructions in functions and in what they called, by the model of [`super::inclusive`].
fn totals(functions: &mut [CountedFunction], nodes: &[Node], calls: &mut [CountedCall]) {
    let edges: Vec<Edge> = calls
        .iter()
        .map(|call| Edge {
            caller: call.caller,
            callee: call.callee,
            calls: call.calls,
        })
        .collect();
    let inclusive = Inclusive::of(nodes, &edges);
    for (at, function) in (0u32..).zip(functions) {
        function.total_instructions = Some(inclusive.total(at));
        function.cycle = inclusive.cycle(at);
    }
    for (call, edge) in calls.iter_mut().zip(&edges) {
        call.total_instructions = inclusive.of_calls(edge);
    }
}

/// Calls between functions.
fn calls(
    index: &CountIndex,
    found: &ExecutedFunctions,
    rank: &HashMap<u32, u32>,
) -> Vec<CountedCall> {
    let mut sums: HashMap<(u32, u32), u64> = HashMap::new();
    for site in call_sites(index, found) {
        let sum = (sums.entry((rank[&site.caller], rank[&site.callee]))).or_default();
        *sum = sum.saturating_add(site.count);
    }
    let mut list: Vec<CountedCall> = sums
        .into_iter()
        .map(|((caller, callee), calls)| CountedCall {
            caller,
            callee,
            calls,
            total_instructions: 0.0,
        })
        .collect();
    list.sort_by_key(|call| (std::cmp::Reverse(call.calls), call.caller, call.callee));
    list
}

fn unit(per: &PerUnit, functions: &[CountedFunction]) -> Result<Per, AttributionError> {
    match per {
        PerUnit::Number(units) => Ok(Per {
            function: None,
            units: *units,
        }),
        PerUnit::Calls(name) => {
            let names = functions.iter().map(|f| f.function.as_str());
            let named = best_fits(names, name);
            let calls = named.iter().map(|&index| functions[index].calls);
            let units = calls.max().unwrap_or(0);
            if units == 0 {
                return Err(AttributionError::NotCalled {
                    name: name.clone(),
                    hint: hint(name, functions),
                });
            }
            Ok(Per {
                function: Some(name.clone()),
                units: units as f64,
            })
        }
    }
}

fn hint(name: &str, functions: &[CountedFunction]) -> String {
    let lower = name.to_lowercase();
    let mut near: Vec<&CountedFunction> = functions
        .iter()
        .filter(|f| f.calls > 0 && !lower.is_empty() && f.function.to_lowercase().contains(&lower))
        .collect();
    near.sort_by_key(|f| std::cmp::Reverse(f.calls));
    if near.is_empty() {
        return "; `genba count` without --per lists those that were".to_owned();
    }
    let names: Vec<&str> = near
        .iter()
        .take(MAX_NAMES_IN_HINT)
        .map(|f| f.function.as_str())
        .collect();
    format!("; similar names that were called: {}", names.join(", "))
}
