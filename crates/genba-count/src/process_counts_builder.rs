//! Builds the counts of a process from what an engine saw: orders modules, tells the kinds of edges
//! by the instruction that they leave, follows calls through PLT stubs.
//!
//! What must hold: no edge has a kind that its instruction does not have; a call's target is the
//! callee's own entry, or the stub, with a note.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use genba_model::{
    CodePoint, CountedModule, InstructionCount, ProcessCounts, Transfer, TransferKind,
};

use crate::elf_code::ElfCode;
use crate::generated_functions;
use crate::x86_64::{self, Flow};

/// Path that stands for code generated at run time.
pub const GENERATED: &str = "[generated]";

/// Bytes of a PLT stub, which is aligned to its size (the x86-64 psABI; those of `.plt.got` have
/// half the size).
const PLT_STUB_BYTES: u64 = 16;

/// A module of the process.
#[derive(Debug)]
pub struct ModuleBuilder {
    /// Path as mapped.
    pub path: String,
    /// Its file, if there is one.
    pub code: Option<ElfCode>,
    /// Executions by address.
    pub counts: HashMap<u64, u64>,
    /// More executions, in the order of their addresses and each address once: for engines that have
    /// them all at once, as a hash table of millions of entries takes longer than the run.
    pub ordered: Vec<InstructionCount>,
}

/// The counts of a process, under construction.
#[derive(Debug, Default)]
pub struct ProcessCountsBuilder {
    /// The modules, in the order in which they were added.
    pub modules: Vec<ModuleBuilder>,
    index: HashMap<String, u32>,
    /// How often control went from one instruction to another; may include fall-through.
    pub edges: HashMap<(CodePoint, CodePoint), u64>,
    /// Kinds of edges from code that is in no file, as the engine saw them.
    pub kinds: HashMap<CodePoint, TransferKind>,
    /// Targets of PLT stubs when they were first called and ld.so bound them, as far as the engine
    /// knows.
    pub stubs: HashMap<CodePoint, BTreeSet<CodePoint>>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl ProcessCountsBuilder {
    /// Returns the module of a path; reads its file when it is new.
    pub fn module(&mut self, path: &str) -> u32 {
        if let Some(index) = self.index.get(path) {
            return *index;
        }
        let code = (path.starts_with('/'))
            .then(|| ElfCode::read(Path::new(path)))
            .flatten();
        let index = u32::try_from(self.modules.len()).unwrap_or(u32::MAX);
        self.modules.push(ModuleBuilder {
            path: path.to_owned(),
            code,
            counts: HashMap::new(),
            ordered: Vec::new(),
        });
        self.index.insert(path.to_owned(), index);
        index
    }

    /// Returns the file of a module.
    #[must_use]
    pub fn code(&self, module: u32) -> Option<&ElfCode> {
        self.modules.get(module as usize)?.code.as_ref()
    }

    /// Adds executions.
    pub fn count(&mut self, at: CodePoint, count: u64) {
        if let Some(module) = self.modules.get_mut(at.module as usize) {
            let sum = module.counts.entry(at.address).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds executions of a module that has none yet, in the order of their addresses and each address
    /// once.
    pub fn count_ordered(&mut self, module: u32, counts: Vec<InstructionCount>) {
        if let Some(module) = self.modules.get_mut(module as usize) {
            module.ordered = counts;
        }
    }

    /// Returns the code from an address on, if its file is there.
    #[must_use]
    pub fn bytes(&self, at: CodePoint) -> Option<&[u8]> {
        self.code(at.module)?.code_at(at.address)
    }

    /// Adds executions of an edge.
    pub fn edge(&mut self, from: CodePoint, to: CodePoint, count: u64) {
        let sum = self.edges.entry((from, to)).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Decodes the instruction at an address, if its file is there.
    #[must_use]
    pub fn decode(&self, at: CodePoint) -> Option<x86_64::Decoded> {
        let code = self.code(at.module)?.code_at(at.address)?;
        x86_64::decode(code, at.address)
    }

    fn is_stub(&self, at: CodePoint) -> bool {
        (self.code(at.module)).is_some_and(|code| code.is_stub(at.address))
    }

    /// Builds the counts, in a canonical order.
    #[must_use]
    pub fn finish(mut self, pid: i32, command: Vec<String>) -> ProcessCounts {
        let transfers = self.transfers();
        // Modules without executions are dropped unless an edge names them.
        let named: BTreeSet<u32> = (transfers.iter())
            .flat_map(|transfer| [transfer.from.module, transfer.to.module])
            .collect();
        let mut order: Vec<u32> = (0..self.modules.len() as u32)
            .filter(|index| named.contains(index) || self.modules[*index as usize].has_counts())
            .collect();
        order.sort_by(|a, b| {
            let path = |index: &u32| &self.modules[*index as usize].path;
            path(a).cmp(path(b))
        });
        let place: HashMap<u32, u32> = (order.iter().enumerate())
            .map(|(new, old)| (*old, new as u32))
            .collect();
        let moved = |point: CodePoint| CodePoint {
            module: place.get(&point.module).copied().unwrap_or(u32::MAX),
            address: point.address,
        };
        let modules: Vec<CountedModule> = (order.iter())
            .map(|index| self.modules[*index as usize].take_counted())
            .collect();
        let generated = (modules.iter().find(|module| module.path == GENERATED))
            .and_then(|module| generated_functions::of_process(pid, &module.instructions))
            .unwrap_or_default();
        self.notes.extend(generated.note());
        let mut transfers: Vec<Transfer> = (transfers.into_iter())
            .map(|transfer| Transfer {
                from: moved(transfer.from),
                to: moved(transfer.to),
                ..transfer
            })
            .collect();
        transfers.sort_unstable_by_key(|transfer| (transfer.from, transfer.to));
        ProcessCounts {
            pid,
            command,
            cut_short: None,
            modules,
            transfers,
            generated: generated.functions,
            notes: self.notes,
            observation: None,
        }
    }

    /// Returns jumps as they are, and calls with the callee's own entry as their target.
    fn transfers(&mut self) -> Vec<Transfer> {
        let mut sums: BTreeMap<(CodePoint, CodePoint, bool), u64> = BTreeMap::new();
        for ((from, to), count) in &self.edges {
            if let Some(kind) = self.kind(*from, *to) {
                let key = (*from, *to, kind == TransferKind::Call);
                let sum = sums.entry(key).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        let led = self.stub_targets();
        let mut transfers = Vec::new();
        let mut resolved: BTreeMap<(CodePoint, CodePoint), u64> = BTreeMap::new();
        let mut unresolved = 0u64;
        for ((from, to, call), count) in sums {
            let kind = if call {
                TransferKind::Call
            } else {
                TransferKind::Jump
            };
            if call {
                let target = match led.get(&to) {
                    Some(targets) if targets.len() == 1 => targets.first().copied(),
                    _ if self.is_stub(to) => {
                        unresolved = unresolved.saturating_add(count);
                        None
                    }
                    _ => None,
                };
                *resolved.entry((from, target.unwrap_or(to))).or_default() += count;
            } else {
                transfers.push(Transfer {
                    kind,
                    from,
                    to,
                    count,
                });
            }
        }
        transfers.extend(resolved.into_iter().map(|((from, to), count)| Transfer {
            kind: TransferKind::Call,
            from,
            to,
            count,
        }));
        if unresolved > 0 {
            self.notes.push(format!(
                "{unresolved} calls through the PLT are attributed to the stub: its target is not known"
            ));
        }
        transfers
    }

    /// Returns the kind of an edge; `None` for returns, fall-through and edges that their
    /// instruction does not explain.
    fn kind(&self, from: CodePoint, to: CodePoint) -> Option<TransferKind> {
        let Some(decoded) = self.decode(from) else {
            return self.kinds.get(&from).copied();
        };
        let leads_to = |target: u64| to.module == from.module && to.address == target;
        match decoded.flow {
            Flow::Call(None) => Some(TransferKind::Call),
            Flow::Jump(None) => Some(TransferKind::Jump),
            // A `call` of the next instruction reads the instruction pointer, but is a call.
            Flow::Call(Some(target)) => leads_to(target).then_some(TransferKind::Call),
            Flow::Jump(Some(target)) => leads_to(target).then_some(TransferKind::Jump),
            Flow::Branch(target) => leads_to(target).then_some(TransferKind::Jump),
            Flow::Repeat | Flow::Other => None,
        }
    }

    /// Returns the targets of each PLT stub that was called.
    fn stub_targets(&self) -> HashMap<CodePoint, BTreeSet<CodePoint>> {
        let mut led = self.stubs.clone();
        // Targets of the stubs' own jumps.
        for (from, to) in self.edges.keys() {
            if self.is_stub(*from) && !self.is_stub(*to) {
                for start in [
                    from.address & !(PLT_STUB_BYTES - 1),
                    from.address & !(PLT_STUB_BYTES / 2 - 1),
                ] {
                    let stub = CodePoint {
                        module: from.module,
                        address: start,
                    };
                    if self.jump_of(stub) == Some(from.address) {
                        led.entry(stub).or_default().insert(*to);
                    }
                }
            }
        }
        led
    }

    /// Returns the address of the indirect jump of the stub that begins at an address.
    fn jump_of(&self, stub: CodePoint) -> Option<u64> {
        let code = self.code(stub.module)?.code_at(stub.address)?;
        x86_64::stub(code, stub.address)
    }
}

impl ModuleBuilder {
    fn has_counts(&self) -> bool {
        !self.counts.is_empty() || !self.ordered.is_empty()
    }

    fn take_counted(&mut self) -> CountedModule {
        let mut instructions = std::mem::take(&mut self.ordered);
        if !self.counts.is_empty() {
            let counts = self.counts.iter().filter(|(_, count)| **count > 0);
            instructions.extend(counts.map(|(address, count)| InstructionCount {
                address: *address,
                count: *count,
            }));
            instructions.sort_unstable();
        }
        CountedModule {
            path: self.path.clone(),
            build_id: self.code.as_ref().and_then(ElfCode::build_id),
            instructions,
        }
    }
}
