//! Counts instruction by instruction, with names: the material of exports.

use std::collections::{BTreeMap, HashMap};

use genba_model::{
    CodePoint, CountedDetail, DetailCall, DetailFunction, DetailModule, DetailSite, RawCounts,
};
use genba_profile::reader::ModuleId;
use genba_symbols::SourceLocation;

use super::calls::{call_sites, node};
use super::counts_index::{CountIndex, ModuleIndex};
use super::document::{entered, order};
use super::executed_functions::ExecutedFunctions;
use super::inclusive::{Edge, Inclusive, Node};

/// Every instruction that was executed and every call, with functions, files and lines.
///
/// Sums are those of the counts: the sites of all functions together have as many executions as
/// all modules.
#[must_use]
pub fn counted_detail(raw: &RawCounts) -> CountedDetail {
    let index = CountIndex::new(raw);
    let found = ExecutedFunctions::of(&index);
    let order = order(&found);
    let mut rank = vec![0u32; order.len()];
    for (at, &id) in (0u32..).zip(&order) {
        rank[id as usize] = at;
    }
    let mut places = Places {
        found: &found,
        files: Vec::new(),
        numbers: HashMap::new(),
    };
    let mut functions: Vec<DetailFunction> = order
        .iter()
        .map(|&id| {
            let one = &found.list[id as usize];
            let (file, line) = if one.known {
                places.at(one.module, one.address)
            } else {
                (None, None)
            };
            DetailFunction {
                name: one.name.clone(),
                module: one.module,
                address: one.address,
                file,
                line,
                calls: entered(&index, one),
                sites: Vec::new(),
                call_sites: Vec::new(),
            }
        })
        .collect();
    for (module, counted) in (0..).zip(&index.modules) {
        for one in &counted.instructions {
            let address = one.address;
            let Some(id) = found.at(CodePoint { module, address }) else {
                continue;
            };
            let (file, line) = places.at(module, address);
            let function = &mut functions[rank[id as usize] as usize];
            function.sites.push(DetailSite {
                address,
                file,
                line,
                count: one.count,
            });
        }
    }
    calls(&index, &found, &rank, &mut places, &mut functions);
    CountedDetail {
        engine: raw.engine.clone(),
        command: raw.command.clone(),
        pid: raw.processes.first().map_or(0, |process| process.pid),
        cut_short: raw.processes.iter().find_map(|one| one.cut_short.clone()),
        modules: index
            .modules
            .iter()
            .map(|module| DetailModule {
                path: module.path.clone(),
                build_id: module.build_id.clone(),
            })
            .collect(),
        files: places.files,
        functions,
    }
}

/// Puts the calls into the functions that make them, with their part of the callees' totals.
fn calls(
    index: &CountIndex,
    found: &ExecutedFunctions,
    rank: &[u32],
    places: &mut Places<'_>,
    functions: &mut [DetailFunction],
) {
    // By caller, address and callee; several processes may have the same.
    let mut sums: BTreeMap<(u32, u64, u32), (ModuleIndex, u64)> = BTreeMap::new();
    for site in call_sites(index, found) {
        let ends = (rank[site.caller as usize], rank[site.callee as usize]);
        let key = (ends.0, site.from.address, ends.1);
        let sum = &mut sums.entry(key).or_insert((site.from.module, 0)).1;
        *sum = sum.saturating_add(site.count);
    }
    let mut nodes = vec![Node { own: 0, calls: 0 }; functions.len()];
    for (one, &at) in found.list.iter().zip(rank) {
        nodes[at as usize] = node(index, one);
    }
    let edges: Vec<Edge> = sums
        .iter()
        .map(|(&(caller, _, callee), &(_, calls))| Edge {
            caller,
            callee,
            calls,
        })
        .collect();
    let inclusive = Inclusive::of(&nodes, &edges);
    for ((&(caller, address, callee), &(module, count)), edge) in sums.iter().zip(&edges) {
        let (file, line) = places.at(module, address);
        functions[caller as usize].call_sites.push(DetailCall {
            address,
            file,
            line,
            callee,
            count,
            total_instructions: inclusive.of_calls(edge),
        });
    }
}

/// Files and lines of addresses, every file once.
struct Places<'a> {
    found: &'a ExecutedFunctions,
    files: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Places<'_> {
    fn at(&mut self, module: ModuleIndex, address: u64) -> (Option<u32>, Option<u32>) {
        let Some(SourceLocation { file, line, .. }) = self
            .found
            .code
            .binary(ModuleId(module))
            .ok()
            .and_then(|binary| binary.line_at(address))
        else {
            return (None, None);
        };
        (file.map(|file| self.number(&file)), line)
    }

    fn number(&mut self, file: &str) -> u32 {
        if let Some(&number) = self.numbers.get(file) {
            return number;
        }
        let number = self.files.len() as u32;
        self.files.push(file.to_owned());
        self.numbers.insert(file.to_owned(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::synthetic::raw;
    use genba_model::{CountedModule, ProcessCounts, Transfer, TransferKind};

    fn point(address: u64) -> CodePoint {
        CodePoint { module: 0, address }
    }

    /// Code without names still has all its counts, and its calls.
    #[test]
    fn code_without_names_keeps_its_counts_and_calls() {
        let process = |pid| ProcessCounts {
            pid,
            command: vec!["a".to_owned()],
            cut_short: (pid == 2).then(|| "killed".to_owned()),
            modules: vec![CountedModule {
                path: "/nowhere/a".to_owned(),
                build_id: None,
                instructions: [(0x10, 5), (0x14, 5), (0x80, 3)].map(Into::into).to_vec(),
            }],
            transfers: vec![Transfer {
                kind: TransferKind::Call,
                from: point(0x14),
                to: point(0x80),
                count: 3,
            }],
            notes: Vec::new(),
            generated: Vec::new(),
            observation: None,
        };
        let raw = RawCounts {
            command: vec!["a".to_owned()],
            ..raw(vec![process(1), process(2)])
        };
        let detail = counted_detail(&raw);
        assert_eq!(
            (detail.pid, detail.cut_short.as_deref()),
            (1, Some("killed"))
        );
        let [function] = &detail.functions[..] else {
            panic!("one row for what has no names: {:?}", detail.functions);
        };
        let counts: Vec<u64> = function.sites.iter().map(|site| site.count).collect();
        assert_eq!(counts, [10, 10, 6]);
        assert_eq!(function.call_sites.len(), 1);
        assert_eq!(function.call_sites[0].count, 6);
        assert_eq!(function.call_sites[0].total_instructions, 0.0);
    }
}
