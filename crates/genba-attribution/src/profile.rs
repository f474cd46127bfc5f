//! Where the time is: functions, lines, modules, threads.

use std::cmp::Reverse;
use std::collections::HashMap;

use genba_model::{CallEdge, FunctionRow, ModuleRow, Profile, ThreadRow};
use genba_profile::reader::ModuleId;

use crate::constants::{MAX_LOCATED_FUNCTIONS, MIN_NAMELESS_SHARE};
use crate::lines::Lines;
use crate::resolved_profile::{FunctionId, ResolvedProfile};
use crate::sample_sums::Hits;
use crate::stacks::{CallTree, collapsed};
use crate::thread_rows::by_share;

/// What a profile is to contain beyond functions, modules and threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfileOptions {
    /// Leave the samples where the machine put them.
    pub raw: bool,
    /// Lines and the concentration; they take reading line tables.
    pub lines: bool,
    /// Distinct stacks by name, for flame graphs.
    pub collapsed: bool,
}

impl ResolvedProfile {
    /// The profile of the recording.
    #[must_use]
    pub fn profile(&self, options: &ProfileOptions) -> Profile {
        let totals = &self.tables.totals;
        let mut own = vec![Hits::default(); self.functions.len()];
        for (id, hits) in self.function_hits() {
            for (_, hit) in hits {
                own[id as usize].samples += hit.samples;
                own[id as usize].weight += hit.weight;
            }
        }
        let tree = if totals.stacks {
            CallTree::of(self)
        } else {
            CallTree::default()
        };
        let order = self.order(&own, &tree);
        let mut notes = self.notes.clone();
        let lines = options.lines.then(|| Lines::of(self, options.raw));
        let weights: Vec<u64> = own.iter().map(|hits| hits.weight).collect();
        let concentration = lines.as_ref().and_then(|l| l.concentration(self, &weights));
        notes.extend(self.missing_symbols(&own));
        Profile {
            event: self.event.clone(),
            imported_from: None,
            thread_times: Vec::new(),
            command: self.command.clone(),
            samples: self.hits.all.samples,
            lost: totals.lost,
            throttled: totals.throttled,
            duration_seconds: totals.last.saturating_sub(totals.first) as f64 / 1e9,
            kernel_share: self.share(self.hits.kernel.weight as f64),
            stacks: totals.stacks,
            truncated_stacks: if totals.copied_stacks == 0 {
                0.0
            } else {
                totals.truncated as f64 / totals.copied_stacks as f64
            },
            functions: self.function_rows(&order, &own, &tree),
            lines: lines.map_or_else(Vec::new, |lines| lines.rows),
            modules: self.module_rows(&own),
            threads: self.thread_rows(),
            edges: self.edge_rows(&order, &tree),
            collapsed: if options.collapsed {
                collapsed(self)
            } else {
                Vec::new()
            },
            concentration,
            notes,
            counted: self.joined.as_ref().map(|joined| joined.counted.clone()),
        }
    }

    /// Functions with any share, largest self share first.
    fn order(&self, own: &[Hits], tree: &CallTree) -> Vec<FunctionId> {
        let total = |id: &FunctionId| tree.totals.get(id).copied().unwrap_or(0);
        let mut order: Vec<FunctionId> = (0..self.functions.len() as FunctionId)
            .filter(|id| own[*id as usize].samples > 0 || total(id) > 0)
            .collect();
        order.sort_by_cached_key(|id| {
            let function = &self.functions[*id as usize];
            let weight = own[*id as usize].weight;
            (
                Reverse(weight),
                Reverse(total(id)),
                function.module,
                function.address,
            )
        });
        order
    }

    fn function_rows(
        &self,
        order: &[FunctionId],
        own: &[Hits],
        tree: &CallTree,
    ) -> Vec<FunctionRow> {
        let row = |(rank, &id): (usize, &FunctionId)| {
            let function = &self.functions[id as usize];
            let hits = own[id as usize];
            let total = tree
                .totals
                .get(&id)
                .copied()
                .unwrap_or(hits.weight)
                .max(hits.weight);
            let executed = self.executed(function);
            let calls = executed.map(|executed| executed.calls());
            let self_share = self.share(hits.weight as f64);
            let (cost_seconds, cost_cycles) = match (&self.joined, calls) {
                (Some(joined), Some(calls)) => {
                    joined.each(&self.event, self_share, self.hits.all.weight as f64, calls)
                }
                _ => (None, None),
            };
            let (file, line) = if rank < MAX_LOCATED_FUNCTIONS && function.known {
                self.declaration(function.module, function.address)
            } else {
                (None, None)
            };
            FunctionRow {
                function: function.name.clone(),
                linkage_name: function.linkage_name.clone(),
                module: self.code.module_name(function.module),
                kernel: self.code.is_kernel(function.module),
                file,
                line,
                self_samples: hits.samples,
                self_share,
                total: self.share(total as f64),
                size_bytes: function.size,
                calls,
                instructions: executed.map(|executed| executed.instructions()),
                cost_seconds,
                cost_cycles,
            }
        };
        order.iter().enumerate().map(row).collect()
    }

    /// File and line of a function.
    pub(crate) fn declaration(
        &self,
        module: ModuleId,
        address: u64,
    ) -> (Option<String>, Option<u32>) {
        let Ok(binary) = self.code.binary(module) else {
            return (None, None);
        };
        match binary.line_at(address) {
            Some(place) => (place.file.map(|file| file.to_string()), place.line),
            None => (None, None),
        }
    }

    fn module_rows(&self, own: &[Hits]) -> Vec<ModuleRow> {
        let mut weights: HashMap<String, (ModuleId, u64, u64)> = HashMap::new();
        for (function, hits) in self.functions.iter().zip(own) {
            if hits.samples == 0 {
                continue;
            }
            // Several generations of one file, or the anonymous memory of several processes,
            // are one row; the heaviest of them stands for it.
            let name = self.code.module_name(function.module);
            let row = weights.entry(name).or_insert((function.module, 0, 0));
            if hits.weight > row.2 {
                (row.0, row.2) = (function.module, hits.weight);
            }
            row.1 += hits.weight;
        }
        let mut rows: Vec<ModuleRow> = weights
            .into_iter()
            .map(|(module, (id, weight, _))| ModuleRow {
                module,
                build_id: self.code.build_id(id),
                self_share: self.share(weight as f64),
                symbols: self.code.symbols_source(id),
            })
            .collect();
        rows.sort_by(|a, b| {
            b.self_share
                .value
                .total_cmp(&a.self_share.value)
                .then_with(|| a.module.cmp(&b.module))
        });
        rows
    }

    fn thread_rows(&self) -> Vec<ThreadRow> {
        let threads = self.tables.threads.iter().zip(&self.hits.threads);
        let sampled = threads.filter(|(_, hits)| hits.samples > 0);
        by_share(sampled.map(|(thread, hits)| ThreadRow {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.comm.clone(),
            process: String::new(),
            self_share: self.share(hits.weight as f64),
        }))
    }

    fn edge_rows(&self, order: &[FunctionId], tree: &CallTree) -> Vec<CallEdge> {
        let rank: HashMap<FunctionId, u32> = order.iter().copied().zip(0u32..).collect();
        let all = self.hits.all.weight as f64;
        let mut edges: Vec<CallEdge> = tree
            .edges
            .iter()
            .filter_map(|((caller, callee), &weight)| {
                let (caller, callee) = (*rank.get(caller)?, *rank.get(callee)?);
                Some(CallEdge {
                    caller,
                    callee,
                    share: weight as f64 / all,
                })
            })
            .collect();
        edges.sort_by(|a, b| {
            b.share
                .total_cmp(&a.share)
                .then_with(|| (a.caller, a.callee).cmp(&(b.caller, b.callee)))
        });
        edges
    }

    /// Which module's functions have no names although they carry time, and why.
    fn missing_symbols(&self, own: &[Hits]) -> Vec<String> {
        let mut lost: HashMap<ModuleId, u64> = HashMap::new();
        for (function, hits) in self.functions.iter().zip(own) {
            if !function.known && hits.samples > 0 {
                *lost.entry(function.module).or_default() += hits.weight;
            }
        }
        let all = self.hits.all.weight as f64;
        let mut lost: Vec<(ModuleId, u64)> = lost.into_iter().collect();
        lost.sort_by_key(|&(id, weight)| (Reverse(weight), id));
        lost.into_iter()
            .filter(|&(_, weight)| weight as f64 / all >= MIN_NAMELESS_SHARE)
            .map(|(id, weight)| {
                format!(
                    "{:.0} % of the time has no function name: {} (symbols: {})",
                    100.0 * weight as f64 / all,
                    self.code.module_name(id),
                    self.code.symbols_source(id),
                )
            })
            .collect()
    }
}
