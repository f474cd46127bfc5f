//! From what an engine saw to counts: modules put in order, edges told apart by the
//! instruction that they leave from, PLT stubs seen through.
//!
//! What must hold: no edge is given a kind that its instruction has not; a call's target is
//! the callee's own entry, or the stub with a note that says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use genba_model::{
    CodePoint, CountedModule, InstructionCount, ProcessCounts, Transfer, TransferKind,
};

use crate::image::Image;
use crate::x86_64::{self, Flow};

/// Path that stands for code made at run time.
pub const GENERATED: &str = "[generated]";

/// Stubs are this long, and begin at multiples of it (the x86-64 psABI; `.plt.got` has
/// half as long ones).
const PLT_STUB_BYTES: u64 = 16;

/// One module.
#[derive(Debug)]
pub struct ModuleBuilder {
    /// Path as mapped.
    pub path: String,
    /// Its file, where there is one.
    pub image: Option<Image>,
    /// Executions.
    pub counts: HashMap<u64, u64>,
}

/// Counts of one process in the making.
#[derive(Debug, Default)]
pub struct ProcessCountsBuilder {
    /// Modules.
    pub modules: Vec<ModuleBuilder>,
    index: HashMap<String, u32>,
    /// How often control went from one instruction to another, fall-through included or not.
    pub edges: HashMap<(CodePoint, CodePoint), u64>,
    /// What the engine itself takes edges for that leave code which is not in a file.
    pub kinds: HashMap<CodePoint, TransferKind>,
    /// Where stubs led when they were called for the first time and ld.so looked for the
    /// function, as far as the engine knows.
    pub stubs: HashMap<CodePoint, BTreeSet<CodePoint>>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl ProcessCountsBuilder {
    /// The module of this path; its file is read when it is new.
    pub fn module(&mut self, path: &str) -> u32 {
        if let Some(index) = self.index.get(path) {
            return *index;
        }
        let image = (path.starts_with('/'))
            .then(|| Image::read(Path::new(path)))
            .flatten();
        let index = u32::try_from(self.modules.len()).unwrap_or(u32::MAX);
        self.modules.push(ModuleBuilder {
            path: path.to_owned(),
            image,
            counts: HashMap::new(),
        });
        self.index.insert(path.to_owned(), index);
        index
    }

    /// The file of a module.
    #[must_use]
    pub fn image(&self, module: u32) -> Option<&Image> {
        self.modules.get(module as usize)?.image.as_ref()
    }

    /// Adds executions.
    pub fn count(&mut self, at: CodePoint, count: u64) {
        if let Some(module) = self.modules.get_mut(at.module as usize) {
            let sum = module.counts.entry(at.address).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds passages from one instruction to another.
    pub fn edge(&mut self, from: CodePoint, to: CodePoint, count: u64) {
        let sum = self.edges.entry((from, to)).or_default();
        *sum = sum.saturating_add(count);
    }

    /// The instruction there, if the file is at hand.
    #[must_use]
    pub fn decode(&self, at: CodePoint) -> Option<x86_64::Decoded> {
        let code = self.image(at.module)?.code_at(at.address)?;
        x86_64::decode(code, at.address)
    }

    fn is_stub(&self, at: CodePoint) -> bool {
        (self.image(at.module)).is_some_and(|image| image.is_stub(at.address))
    }

    /// Puts everything in order.
    #[must_use]
    pub fn finish(mut self, pid: i32, command: Vec<String>) -> ProcessCounts {
        let transfers = self.transfers();
        // Modules in which nothing ran are dropped, unless a transfer names them.
        let named: BTreeSet<u32> = (transfers.iter())
            .flat_map(|transfer| [transfer.from.module, transfer.to.module])
            .collect();
        let mut order: Vec<u32> = (0..self.modules.len() as u32)
            .filter(|index| {
                named.contains(index) || !self.modules[*index as usize].counts.is_empty()
            })
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
        let modules = (order.iter())
            .map(|index| self.modules[*index as usize].counted())
            .collect();
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
            notes: self.notes,
        }
    }

    /// Jumps as they are, calls with the callee's own entry.
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
        let mut unclear = 0u64;
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
                        unclear = unclear.saturating_add(count);
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
        if unclear > 0 {
            self.notes.push(format!(
                "{unclear} calls through the PLT end at their stub: which function the stub led to \
                 could not be told"
            ));
        }
        transfers
    }

    /// What an edge is; `None` for returns, fall-through and what no instruction explains.
    fn kind(&self, from: CodePoint, to: CodePoint) -> Option<TransferKind> {
        let Some(decoded) = self.decode(from) else {
            return self.kinds.get(&from).copied();
        };
        let lands = |target: u64| to.module == from.module && to.address == target;
        match decoded.flow {
            Flow::Call(None) => Some(TransferKind::Call),
            Flow::Jump(None) => Some(TransferKind::Jump),
            // `call` of the next instruction reads the instruction pointer, and is a call still.
            Flow::Call(Some(target)) => lands(target).then_some(TransferKind::Call),
            Flow::Jump(Some(target)) => lands(target).then_some(TransferKind::Jump),
            Flow::Branch(target) => lands(target).then_some(TransferKind::Jump),
            Flow::Repeat | Flow::Other => None,
        }
    }

    /// Where each stub that was called led.
    fn stub_targets(&self) -> HashMap<CodePoint, BTreeSet<CodePoint>> {
        let mut led = self.stubs.clone();
        // Stubs' own jumps.
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

    /// Address of the indirect jump of the stub that begins here.
    fn jump_of(&self, stub: CodePoint) -> Option<u64> {
        let image = self.image(stub.module)?;
        let code = image.code_at(stub.address)?;
        x86_64::stub(code, stub.address)
    }
}

impl ModuleBuilder {
    fn counted(&self) -> CountedModule {
        let mut instructions: Vec<InstructionCount> = (self.counts.iter())
            .filter(|(_, count)| **count > 0)
            .map(|(address, count)| InstructionCount {
                address: *address,
                count: *count,
            })
            .collect();
        instructions.sort_unstable();
        CountedModule {
            path: self.path.clone(),
            build_id: self.image.as_ref().and_then(|image| image.build_id.clone()),
            instructions,
        }
    }
}
