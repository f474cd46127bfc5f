//! The profile of samples that another program took: functions, lines, modules, threads, stacks, by the
//! names that they have.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use genba_model::{
    CallEdge, CodeKind, Concentration, Estimate, FunctionRow, LineRow, ModuleRow, Profile,
    SampledDetail, SampledFrame, StackRow, ThreadRow,
};

use crate::constants::{CONCENTRATION_SHARE, MAX_STACKS};
use crate::lines::number_needed;
use crate::resolved_profile::share_of;
use crate::stack_ends::{OTHER_CALLEES, other_stacks, stack_ends};
use crate::thread_rows::by_share;

/// Returns the profile of samples by their names. Functions are those of the machine, as of a recording: inlined ones
/// are in lines and stacks. Where the number of samples is unknown (0), shares have no intervals.
#[must_use]
pub fn sampled_profile(detail: &SampledDetail, format: &str) -> Profile {
    Shares::of(detail).profile(format)
}

/// A function by name and module.
type Key<'a> = (&'a str, Option<u32>);

#[derive(Default)]
struct Function {
    /// Index into the functions of the samples, of the first that is found.
    first: u32,
    own: u64,
    own_samples: u64,
    total: u64,
}

struct Shares<'a> {
    detail: &'a SampledDetail,
    all: u64,
    samples: u64,
    squares: f64,
    /// Weight and number of samples by stack.
    by_stack: Vec<(u64, u64)>,
    functions: Vec<Function>,
    /// Index of a row by function of the samples.
    rows: Vec<u32>,
    edges: HashMap<(u32, u32), u64>,
}

/// Weight times itself, for each of the samples that it is the sum of.
fn squares(weight: u64, samples: u64) -> f64 {
    let weight = weight as f64;
    weight * weight / samples.max(1) as f64
}

impl<'a> Shares<'a> {
    fn of(detail: &'a SampledDetail) -> Self {
        let mut by_stack = vec![(0u64, 0u64); detail.stacks.len()];
        for one in &detail.samples {
            let sum = &mut by_stack[one.stack as usize];
            sum.0 = sum.0.saturating_add(one.weight);
            sum.1 = sum.1.saturating_add(one.samples);
        }
        let mut known: HashMap<Key<'a>, u32> = HashMap::new();
        let mut functions = Vec::new();
        let row = |(index, one): (u32, &'a genba_model::SampledFunction)| {
            *known.entry((&one.name, one.module)).or_insert_with(|| {
                functions.push(Function {
                    first: index,
                    ..Function::default()
                });
                functions.len() as u32 - 1
            })
        };
        let rows = (0u32..).zip(&detail.functions).map(row).collect();
        let mut shares = Self {
            detail,
            all: detail.total_weight(),
            samples: detail.total_samples(),
            squares: (detail.samples.iter())
                .map(|one| squares(one.weight, one.samples))
                .sum(),
            by_stack,
            functions,
            rows,
            edges: HashMap::new(),
        };
        shares.add_stacks();
        shares
    }

    /// Adds up functions and calls; a recursive function counts a sample once.
    fn add_stacks(&mut self) {
        let detail = self.detail;
        let (mut seen, mut seen_edges) = (HashSet::new(), HashSet::new());
        for (stack, &(weight, samples)) in (0u32..).zip(&self.by_stack) {
            if weight == 0 {
                continue;
            }
            seen.clear();
            seen_edges.clear();
            let mut callee = None;
            for frame in machine_functions(detail, stack) {
                let row = self.rows[frame.function as usize];
                let function = &mut self.functions[row as usize];
                if seen.is_empty() {
                    function.own = function.own.saturating_add(weight);
                    function.own_samples = function.own_samples.saturating_add(samples);
                }
                if seen.insert(row) {
                    function.total = function.total.saturating_add(weight);
                }
                if let Some(callee) = callee.replace(row)
                    && seen_edges.insert((row, callee))
                {
                    let edge = self.edges.entry((row, callee)).or_default();
                    *edge = edge.saturating_add(weight);
                }
            }
        }
    }

    fn share(&self, weight: u64) -> Estimate {
        let all = self.all.max(1) as f64;
        match self.samples {
            0 => Estimate::exact(weight as f64 / all),
            _ => share_of(weight as f64, all, self.squares),
        }
    }

    fn profile(&self, format: &str) -> Profile {
        let detail = self.detail;
        let mut order: Vec<u32> = (0u32..).take(self.functions.len()).collect();
        order.retain(|&row| self.functions[row as usize].total > 0);
        order.sort_by_key(|&row| {
            let one = &self.functions[row as usize];
            (Reverse(one.own), Reverse(one.total), one.first)
        });
        let last = detail.samples.iter().filter_map(|one| one.time_ns).max();
        let lines = self.lines();
        let kernel: u64 = (order.iter())
            .map(|&row| &self.functions[row as usize])
            .filter(|one| detail.functions[one.first as usize].kind == CodeKind::Kernel)
            .fold(0, |sum, one| sum.saturating_add(one.own));
        Profile {
            event: detail.event.clone(),
            imported_from: Some(format.to_owned()),
            thread_times: Vec::new(),
            command: detail.command.clone(),
            samples: self.samples,
            lost: detail.lost,
            throttled: 0,
            duration_seconds: last.unwrap_or(0) as f64 / 1e9,
            kernel_share: self.share(kernel),
            stacks: detail.has_callers,
            truncated_stacks: 0.0,
            functions: order.iter().map(|&row| self.function_row(row)).collect(),
            modules: self.modules(),
            threads: self.threads(),
            edges: self.edge_rows(&order),
            collapsed: self.collapsed(),
            concentration: self.concentration(&lines),
            lines,
            counted: None,
            notes: detail.notes.clone(),
        }
    }

    fn module(&self, module: Option<u32>) -> String {
        let module = module.and_then(|module| self.detail.modules.get(module as usize));
        module.map_or("[unknown]", |module| &module.path).to_owned()
    }

    fn file(&self, file: Option<u32>) -> Option<String> {
        file.and_then(|file| self.detail.files.get(file as usize))
            .cloned()
    }

    fn function_row(&self, row: u32) -> FunctionRow {
        let sums = &self.functions[row as usize];
        let function = &self.detail.functions[sums.first as usize];
        FunctionRow {
            function: function.name.clone(),
            linkage_name: None,
            module: self.module(function.module),
            kernel: function.kind == CodeKind::Kernel,
            file: self.file(function.file),
            line: function.line,
            self_samples: sums.own_samples,
            self_share: self.share(sums.own),
            total: self.share(sums.total),
            size_bytes: 0,
            calls: None,
            instructions: None,
            cost_seconds: None,
            cost_cycles: None,
        }
    }

    fn lines(&self) -> Vec<LineRow> {
        let detail = self.detail;
        let mut weights: HashMap<(u32, u32), (u64, u32)> = HashMap::new();
        for (stack, &(weight, _)) in (0u32..).zip(&self.by_stack) {
            let leaf = detail.frames_of(stack).next().filter(|_| weight > 0);
            if let Some(leaf) = leaf
                && let (Some(file), Some(line)) = (leaf.file, leaf.line)
            {
                let sum = weights.entry((file, line)).or_insert((0, leaf.function));
                sum.0 = sum.0.saturating_add(weight);
            }
        }
        let mut rows: Vec<LineRow> = (weights.into_iter())
            .map(|((file, line), (weight, function))| LineRow {
                file: self.file(Some(file)).unwrap_or_default(),
                line,
                function: detail.functions[function as usize].name.clone(),
                self_share: self.share(weight),
                text: None,
                count: None,
                cost_seconds: None,
            })
            .collect();
        rows.sort_by(|a, b| {
            (b.self_share.value.total_cmp(&a.self_share.value))
                .then_with(|| (&a.file, a.line).cmp(&(&b.file, b.line)))
        });
        rows
    }

    fn concentration(&self, lines: &[LineRow]) -> Option<Concentration> {
        let functions = self.functions.iter().map(|one| one.own as f64).collect();
        let wanted = self.all as f64 * CONCENTRATION_SHARE;
        let shares = lines.iter().map(|line| line.self_share.value).collect();
        Some(Concentration {
            share: CONCENTRATION_SHARE,
            functions: number_needed(functions, wanted).filter(|_| self.samples > 0)?,
            lines: number_needed(shares, CONCENTRATION_SHARE),
            code_share: None,
        })
    }

    fn modules(&self) -> Vec<ModuleRow> {
        let mut weights: HashMap<Option<u32>, u64> = HashMap::new();
        for one in self.functions.iter().filter(|one| one.own > 0) {
            let module = self.detail.functions[one.first as usize].module;
            let sum = weights.entry(module).or_default();
            *sum = sum.saturating_add(one.own);
        }
        let mut rows: Vec<ModuleRow> = (weights.into_iter())
            .map(|(module, weight)| ModuleRow {
                module: self.module(module),
                build_id: module
                    .and_then(|module| self.detail.modules.get(module as usize))
                    .and_then(|module| module.build_id.clone()),
                self_share: self.share(weight),
                symbols: "as imported".to_owned(),
            })
            .collect();
        rows.sort_by(|a, b| {
            (b.self_share.value.total_cmp(&a.self_share.value))
                .then_with(|| a.module.cmp(&b.module))
        });
        rows
    }

    fn threads(&self) -> Vec<ThreadRow> {
        let mut weights = vec![0u64; self.detail.threads.len()];
        for one in &self.detail.samples {
            let sum = &mut weights[one.thread as usize];
            *sum = sum.saturating_add(one.weight);
        }
        let threads = self.detail.threads.iter().zip(weights);
        let sampled = threads.filter(|(_, weight)| *weight > 0);
        by_share(sampled.map(|(thread, weight)| ThreadRow {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.name.clone(),
            process: String::new(),
            self_share: self.share(weight),
        }))
    }

    fn edge_rows(&self, order: &[u32]) -> Vec<CallEdge> {
        let rank: HashMap<u32, u32> = order.iter().copied().zip(0u32..).collect();
        let all = self.all.max(1) as f64;
        let mut edges: Vec<CallEdge> = (self.edges.iter())
            .filter_map(|((caller, callee), &weight)| {
                Some(CallEdge {
                    caller: *rank.get(caller)?,
                    callee: *rank.get(callee)?,
                    share: weight as f64 / all,
                })
            })
            .collect();
        edges.sort_by(|a, b| {
            (b.share.total_cmp(&a.share))
                .then_with(|| (a.caller, a.callee).cmp(&(b.caller, b.callee)))
        });
        edges
    }

    /// Stacks by name, heaviest first.
    fn collapsed(&self) -> Vec<StackRow> {
        let detail = self.detail;
        let parents: Vec<_> = detail.stacks.iter().map(|one| one.parent).collect();
        let own: Vec<u64> = self.by_stack.iter().map(|sum| sum.0).collect();
        let (ends, rest) = stack_ends(&parents, &own, MAX_STACKS);
        let mut merged: HashMap<Vec<&str>, u64> = HashMap::new();
        for end in ends {
            let others = end.others.then_some(OTHER_CALLEES);
            let frames = detail.frames_of(end.node);
            let mut names: Vec<&str> = (others.into_iter())
                .chain(frames.map(|frame| detail.function(frame).name.as_str()))
                .collect();
            names.reverse();
            *merged.entry(names).or_default() += end.weight;
        }
        let mut rows: Vec<StackRow> = (merged.into_iter())
            .map(|(names, weight)| StackRow {
                frames: names.into_iter().map(str::to_owned).collect(),
                weight,
            })
            .collect();
        rows.sort_by(|a, b| (b.weight.cmp(&a.weight)).then_with(|| a.frames.cmp(&b.frames)));
        rows.extend(other_stacks(rest));
        rows
    }
}

/// The frames of a stack that are functions of the machine, innermost first. An inlined frame without a surrounding
/// function stands for itself.
fn machine_functions(detail: &SampledDetail, stack: u32) -> impl Iterator<Item = &SampledFrame> {
    let mut next = Some(stack);
    std::iter::from_fn(move || {
        loop {
            let node = detail.stacks.get(next? as usize)?;
            next = node.parent;
            let frame = &detail.frames[node.frame as usize];
            if !frame.inlined || next.is_none() {
                return Some(frame);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::{Event, Precision, SampleUnit, Sampled, SampledDetailBuilder, SampledThread};

    fn detail(samples: u64) -> SampledDetail {
        let event = Event {
            name: "weight".to_owned(),
            hardware: true,
            frequency_hz: 0,
            kernel: false,
            precision: Precision::Skid,
        };
        let mut b = SampledDetailBuilder::new(event, SampleUnit::Count, Vec::new());
        let thread = b.thread(SampledThread::default());
        let names = ["main", "f", "g"];
        let frames = names.map(|name| b.named_frame(name, CodeKind::User));
        let main = b.stack(None, frames[0]);
        let f = b.stack(Some(main), frames[1]);
        let again = b.stack(Some(f), frames[1]);
        let g = b.stack(Some(main), frames[2]);
        for (stack, weight) in [(main, 10), (f, 20), (again, 30), (g, 40)] {
            b.detail.samples.push(Sampled {
                thread,
                stack,
                time_ns: None,
                weight,
                samples: samples * weight,
            });
        }
        b.detail
    }

    #[test]
    fn recursive_functions_count_a_sample_once() {
        let profile = sampled_profile(&detail(1), "pprof");
        let rows: Vec<(&str, f64, f64)> = (profile.functions.iter())
            .map(|row| (row.function.as_str(), row.self_share.value, row.total.value))
            .collect();
        assert_eq!(rows, [("f", 0.5, 0.5), ("g", 0.4, 0.4), ("main", 0.1, 1.0)]);
        assert!(profile.functions[0].self_share.low < 0.5);
        let edges: Vec<(u32, u32, f64)> = (profile.edges.iter())
            .map(|edge| (edge.caller, edge.callee, edge.share))
            .collect();
        assert_eq!(edges, [(2, 0, 0.5), (2, 1, 0.4), (0, 0, 0.3)]);
        assert_eq!(
            profile.collapsed.iter().map(|row| row.weight).sum::<u64>(),
            100
        );
    }

    #[test]
    fn shares_of_an_unknown_number_of_samples_have_no_intervals() {
        let profile = sampled_profile(&detail(0), "collapsed stacks");
        assert_eq!(profile.functions[0].self_share, Estimate::exact(0.5));
        assert_eq!((profile.samples, profile.concentration), (0, None));
    }
}
