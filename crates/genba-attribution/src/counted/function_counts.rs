//! The counts of one function.

use genba_code::{Flow, Instruction};
use genba_model::TransferKind;

use super::cost::Joined;
use super::counts_index::ModuleIndex;
use crate::skid_correction::AttributionInstruction;

/// The counts of one function of a module that was counted.
#[derive(Clone, Copy)]
pub struct FunctionCounts<'a> {
    joined: &'a Joined,
    module: ModuleIndex,
    begin: u64,
    end: u64,
}

impl<'a> FunctionCounts<'a> {
    /// The counts of the function at `begin..begin + size` of a module.
    pub fn new(joined: &'a Joined, module: ModuleIndex, begin: u64, size: u64) -> Self {
        Self {
            joined,
            module,
            begin,
            end: begin.saturating_add(size),
        }
    }

    /// How many times it was entered.
    pub fn calls(&self) -> u64 {
        let entered = self.joined.index.entered(self.module, self.begin, self.end);
        self.joined.scaled(entered)
    }

    /// Instructions executed in it.
    pub fn instructions(&self) -> u64 {
        let executed = self
            .joined
            .index
            .executed(self.module, self.begin, self.end);
        let sum = executed
            .iter()
            .fold(0u64, |sum, one| sum.saturating_add(one.count));
        self.joined.scaled(sum)
    }

    /// Executions of the instruction at an address.
    pub fn count(&self, address: u64) -> u64 {
        self.joined.count(self.module, address)
    }

    /// How many times the jump at an address was taken, where jumps were recorded.
    pub fn taken(&self, address: u64) -> Option<u64> {
        let index = &self.joined.index;
        (index.recorded(self.module, address))
            .then(|| self.joined.scaled(index.taken(self.module, address)))
    }

    /// Where the indirect jump at an address went inside the function, with counts.
    pub fn targets(&self, address: u64) -> impl Iterator<Item = (u64, u64)> + 'a {
        let here = *self;
        let list = self.joined.index.transfers_from(self.module, address);
        list.iter()
            .filter(move |one| {
                one.kind == TransferKind::Jump && here.holds(one.to.module, one.to.address)
            })
            .map(|one| (one.to.address, one.count))
    }

    fn holds(&self, module: ModuleIndex, address: u64) -> bool {
        module == self.module && (self.begin..self.end).contains(&address)
    }

    /// Fills in the executed edges into each instruction, those of indirect jumps among them.
    pub fn add_edge_counts(&self, code: &[Instruction], facts: &mut [AttributionInstruction]) {
        let index = &self.joined.index;
        if !index.recorded(self.module, self.begin) {
            return;
        }
        for (at, instruction) in code.iter().enumerate() {
            let arriving: Vec<(u32, u64)> = index
                .transfers_to(self.module, instruction.address)
                .iter()
                .filter(|one| {
                    one.kind == TransferKind::Jump && self.holds(one.from.module, one.from.address)
                })
                .filter_map(|one| {
                    let from = code.binary_search_by_key(&one.from.address, |i| i.address);
                    Some((from.ok()? as u32, one.count))
                })
                .collect();
            if arriving.is_empty() && facts[at].predecessors.len() < 2 {
                continue;
            }
            let mut leading = arriving;
            if let Some(before) = at
                .checked_sub(1)
                .filter(|&before| code[before].end() == instruction.address)
            {
                let count = self.fell_through(&code[before]);
                if count > 0 {
                    leading.push((before as u32, count));
                }
            }
            if leading.is_empty() {
                continue;
            }
            leading.sort_unstable();
            facts[at].predecessors = leading.iter().map(|one| one.0).collect();
            facts[at].counts = leading.iter().map(|one| one.1).collect();
        }
    }

    /// How often control went from an instruction to the one behind it.
    fn fell_through(&self, before: &Instruction) -> u64 {
        let index = &self.joined.index;
        let count = index.count(self.module, before.address);
        match before.flow {
            Flow::CondJump(_) => count.saturating_sub(index.taken(self.module, before.address)),
            flow if flow.falls_through() => count,
            _ => 0,
        }
    }
}
