//! Raw counts laid out for look-ups: all processes together, by module and address.

use std::collections::HashMap;

use genba_model::{
    CodePoint, CodeSpan, CountedModule, GeneratedFunction, InstructionCount, ProcessCounts,
    RawCounts, Transfer, TransferKind,
};

/// Path that stands for code generated at run time ([`CountedModule::path`]).
const GENERATED: &str = "[generated]";

/// Index of a module in [`CountIndex`].
pub type ModuleIndex = u32;

/// A module with the counts of all processes added up.
#[derive(Debug)]
pub struct IndexedModule {
    /// Its file.
    pub path: String,
    /// Its build id as hex digits, where the engine read it.
    pub build_id: Option<String>,
    /// Whose code it is if it was generated at run time; `None` for code of a file.
    pub generated: Option<GeneratedCode>,
    /// In address order, each address once.
    pub instructions: Vec<InstructionCount>,
}

/// Code that a process generated at run time.
#[derive(Clone, Debug)]
pub struct GeneratedCode {
    /// The process.
    pub pid: i32,
    /// Its functions that were executed, where their names are known.
    pub functions: Vec<GeneratedFunction>,
}

/// Counts of a run, all processes added up, by module and address.
#[derive(Debug, Default)]
pub struct CountIndex {
    /// By [`ModuleIndex`].
    pub modules: Vec<IndexedModule>,
    by_path: HashMap<String, Vec<ModuleIndex>>,
    /// By where they come from; modules are those of this index.
    from: Vec<Transfer>,
    /// By where they go to.
    to: Vec<Transfer>,
    /// Whether all jumps and calls were recorded.
    pub transfers: bool,
    /// Where they were, if not everywhere.
    within: Vec<CodeSpan>,
}

impl CountIndex {
    /// Adds up all processes.
    pub fn new(raw: &RawCounts) -> Self {
        let mut index = Self {
            transfers: raw.transfers,
            within: raw.transfers_within.clone(),
            ..Self::default()
        };
        for process in &raw.processes {
            index.add(process);
        }
        for module in &mut index.modules {
            settle(&mut module.instructions);
        }
        index.to = index.from.clone();
        merge(&mut index.from, |t| (t.from, t.to, t.kind));
        merge(&mut index.to, |t| (t.to, t.from, t.kind));
        index
    }

    fn add(&mut self, process: &ProcessCounts) {
        let mut here = Vec::with_capacity(process.modules.len());
        for module in &process.modules {
            // Addresses of generated code say nothing in another process.
            let generated = (module.path == GENERATED).then(|| GeneratedCode {
                pid: process.pid,
                functions: process.generated.clone(),
            });
            let id = self.module_for(&module.path, module.build_id.as_deref(), generated);
            here.push(id);
            self.modules[id as usize]
                .instructions
                .extend_from_slice(&module.instructions);
        }
        for transfer in &process.transfers {
            let (Some(&from), Some(&to)) = (
                here.get(transfer.from.module as usize),
                here.get(transfer.to.module as usize),
            ) else {
                // Of a damaged file: a module that it does not have.
                continue;
            };
            let mut transfer = *transfer;
            transfer.from.module = from;
            transfer.to.module = to;
            self.from.push(transfer);
        }
    }

    fn module_for(
        &mut self,
        path: &str,
        build_id: Option<&str>,
        generated: Option<GeneratedCode>,
    ) -> ModuleIndex {
        let pid = generated.as_ref().map(|generated| generated.pid);
        let same = self.by_path.entry(path.to_owned()).or_default();
        for &id in same.iter() {
            let known = &self.modules[id as usize];
            let known_pid = known.generated.as_ref().map(|generated| generated.pid);
            if known.build_id.as_deref() == build_id && known_pid == pid {
                return id;
            }
        }
        let id = self.modules.len() as ModuleIndex;
        same.push(id);
        self.modules.push(IndexedModule {
            path: path.to_owned(),
            build_id: build_id.map(ToOwned::to_owned),
            generated,
            instructions: Vec::new(),
        });
        id
    }

    /// The module of this path; where both sides know a build id, it must be the same.
    pub fn module(&self, path: &str, build_id: Option<&str>) -> Option<ModuleIndex> {
        self.by_path.get(path)?.iter().copied().find(|&id| {
            match (self.modules[id as usize].build_id.as_deref(), build_id) {
                // The kernel pads short build ids with zeros.
                (Some(counted), Some(sampled)) => sampled.starts_with(counted),
                _ => true,
            }
        })
    }

    /// Executions of an instruction: 0 for one that was never executed.
    pub fn count(&self, module: ModuleIndex, address: u64) -> u64 {
        let list = &self.modules[module as usize].instructions;
        match list.binary_search_by_key(&address, |one| one.address) {
            Ok(at) => list[at].count,
            Err(_) => 0,
        }
    }

    /// Instructions of a range that were executed.
    pub fn executed(&self, module: ModuleIndex, begin: u64, end: u64) -> &[InstructionCount] {
        let list = &self.modules[module as usize].instructions;
        let from = list.partition_point(|one| one.address < begin);
        let to = list.partition_point(|one| one.address < end);
        &list[from..to.max(from)]
    }

    /// Transfers that an instruction made.
    pub fn transfers_from(&self, module: ModuleIndex, address: u64) -> &[Transfer] {
        at(&self.from, CodePoint { module, address }, |t| t.from)
    }

    /// Transfers that came to an address.
    pub fn transfers_to(&self, module: ModuleIndex, address: u64) -> &[Transfer] {
        at(&self.to, CodePoint { module, address }, |t| t.to)
    }

    /// All transfers by where they come from.
    pub fn transfers(&self) -> &[Transfer] {
        &self.from
    }

    /// Whether it is known of a jump how often it was taken, and where it went.
    pub fn recorded(&self, module: ModuleIndex, address: u64) -> bool {
        let path = &self.modules[module as usize].path;
        let mut within = self.within.iter();
        self.transfers
            || within.any(|span| span.path == *path && (span.begin..span.end).contains(&address))
    }

    /// How many times a jump was taken.
    pub fn taken(&self, module: ModuleIndex, address: u64) -> u64 {
        self.transfers_from(module, address)
            .iter()
            .filter(|transfer| transfer.kind == TransferKind::Jump)
            .fold(0, |sum, transfer| sum.saturating_add(transfer.count))
    }

    /// How many times the function in `begin..end` was entered: the executions of its first
    /// instruction that did not come from its own jumps.
    pub fn entered(&self, module: ModuleIndex, begin: u64, end: u64) -> u64 {
        let own = self
            .transfers_to(module, begin)
            .iter()
            .filter(|transfer| {
                let from = transfer.from;
                transfer.kind == TransferKind::Jump
                    && from.module == module
                    && (begin..end).contains(&from.address)
            })
            .fold(0u64, |sum, transfer| sum.saturating_add(transfer.count));
        self.count(module, begin).saturating_sub(own)
    }
}

/// Counts by module, those of all processes added up, each address once.
#[must_use]
pub fn merged(raw: &RawCounts) -> Vec<CountedModule> {
    let modules = CountIndex::new(raw).modules.into_iter();
    modules
        .map(|module| CountedModule {
            path: module.path,
            build_id: module.build_id,
            instructions: module.instructions,
        })
        .collect()
}

/// The part of a sorted list at one place.
fn at(list: &[Transfer], place: CodePoint, key: impl Fn(&Transfer) -> CodePoint) -> &[Transfer] {
    let from = list.partition_point(|one| key(one) < place);
    let to = list.partition_point(|one| key(one) <= place);
    &list[from..to]
}

/// Sorts, and adds up what has the same key.
fn merge<K: Ord>(list: &mut Vec<Transfer>, key: impl Fn(&Transfer) -> K) {
    list.sort_unstable_by_key(&key);
    list.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            kept.count = kept.count.saturating_add(next.count);
        }
        same
    });
}

fn settle(list: &mut Vec<InstructionCount>) {
    list.sort_unstable();
    list.dedup_by(|next, kept| {
        let same = next.address == kept.address;
        if same {
            kept.count = kept.count.saturating_add(next.count);
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::synthetic::raw;
    use proptest::prelude::*;

    fn process(instructions: &[(u64, u64)], transfers: Vec<Transfer>) -> ProcessCounts {
        ProcessCounts {
            pid: 1,
            command: vec!["a".to_owned()],
            cut_short: None,
            modules: vec![CountedModule {
                path: "/a".to_owned(),
                build_id: Some("ab".to_owned()),
                instructions: instructions.iter().map(|&one| one.into()).collect(),
            }],
            transfers,
            notes: Vec::new(),
            generated: Vec::new(),
            observation: None,
        }
    }

    fn jump(from: u64, to: u64, count: u64) -> Transfer {
        Transfer {
            kind: TransferKind::Jump,
            from: CodePoint {
                module: 0,
                address: from,
            },
            to: CodePoint {
                module: 0,
                address: to,
            },
            count,
        }
    }

    #[test]
    fn counts_of_all_processes_are_summed() {
        let one = process(&[(0x10, 3), (0x20, 1)], vec![jump(0x20, 0x10, 2)]);
        let two = process(&[(0x10, 4)], vec![jump(0x20, 0x10, 1)]);
        let index = CountIndex::new(&raw(vec![one, two]));
        let module = index.module("/a", Some("ab0000")).expect("the module");
        assert_eq!(index.module("/a", Some("cd")), None, "another build");
        assert_eq!(index.count(module, 0x10), 7);
        assert_eq!(index.count(module, 0x15), 0);
        assert_eq!(index.taken(module, 0x20), 3);
        // Seven executions of the head, three of them from the loop back to it.
        assert_eq!(index.entered(module, 0x10, 0x30), 4);
        assert_eq!(index.executed(module, 0x11, 0x30).len(), 1);
    }

    #[test]
    fn transfers_of_unknown_modules_are_skipped() {
        let mut bad = jump(1, 2, 3);
        bad.to.module = 9;
        let index = CountIndex::new(&raw(vec![process(&[(1, 1)], vec![bad])]));
        assert!(index.transfers().is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost(parts in prop::collection::vec(prop::collection::vec((0u64..50, 0u64..1000), 0..20), 1..4)) {
            let total: u64 = parts.iter().flatten().map(|one| one.1).sum();
            let index = CountIndex::new(&raw(parts.iter().map(|part| process(part, Vec::new())).collect()));
            let sum: u64 = index.modules[0].instructions.iter().map(|one| one.count).sum();
            prop_assert_eq!(sum, total);
            prop_assert!(index.modules[0].instructions.is_sorted_by(|a, b| a.address < b.address));
        }
    }
}
