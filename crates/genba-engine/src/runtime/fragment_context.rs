//! What the code that is laid down asks of the [`CodeMap`]: bytes, counters, records of jumps, edits.

use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use crate::basic_block::Block;
use crate::count_file_layout::{
    KIND_BLOCK, KIND_TRANSFER, Record, TRANSFERS_ALL, TRANSFERS_NONE, TRANSFERS_WITHIN,
};
use crate::duet_layout::Edit;
use crate::fragment::{BuildContext, Error};
use crate::liveness::ProgramCode;

use super::code_map::{CodeMap, NONE};

impl ProgramCode for CodeMap {
    fn bytes(&self, pc: u64) -> &[u8] {
        match self.region(pc) {
            Some(region) if region.writable => self.writable_bytes(region, pc),
            // SAFETY: executable, so readable, until the program unmaps it, which we see.
            Some(region) => unsafe {
                core::slice::from_raw_parts(pc as *const u8, (region.end - pc) as usize)
            },
            None => &[],
        }
    }
}

impl BuildContext for CodeMap {
    fn known(&self, pc: u64) -> Option<u64> {
        let index = self.by_pc.block(pc)?;
        self.blocks.get(index as usize).map(|block| block.code)
    }

    fn call_site(&self, returns_to: u64) -> Option<u64> {
        self.calls.get(returns_to)
    }

    fn expect(&self, pc: u64, returns_to: Option<u64>) {
        self.by_pc.prefetch(pc);
        if let Some(returns_to) = returns_to {
            self.calls.prefetch(returns_to);
            self.returns.prefetch(returns_to);
        }
    }

    fn counter(&mut self, block: &Block, copy: bool) -> Result<u32, Error> {
        let full = Error::Full("it has more code than the count file has room for");
        let lengths: Vec<u8> = block
            .instructions
            .iter()
            .map(|instruction| instruction.len() as u8)
            .collect();
        let module = self.region(block.pc).map_or(NONE, |region| region.module);
        let to = if copy { block.pc } else { 0 };
        if let Some(number) = self.former_counter(block.pc, to, module, &lengths) {
            self.new_counters.push(number);
            return Ok(number);
        }
        let at = self.shared.lengths(&lengths).ok_or(full)?;
        let number = self
            .shared
            .record(Record {
                pc: block.pc,
                to,
                lengths: at,
                module,
                to_module: NONE,
                instructions: lengths.len() as u16,
                kind: KIND_BLOCK,
            })
            .ok_or(full)?;
        self.new_counters.push(number);
        Ok(number)
    }

    fn records(&self, from: u64, to: Option<u64>) -> bool {
        match self.transfers {
            TRANSFERS_NONE => false,
            TRANSFERS_ALL => true,
            within => {
                let back = |to: u64| to <= from && self.entries.get(to).is_some();
                (within == TRANSFERS_WITHIN && self.within(from, to)) || to.is_some_and(back)
            }
        }
    }

    fn enters(&mut self, pc: u64) {
        if self.transfers != TRANSFERS_NONE && self.transfers != TRANSFERS_ALL {
            self.entries.insert(pc, 1);
        }
    }

    fn transfer(&mut self, from: u64, to: u64) -> Result<u32, Error> {
        if let Some(number) = self.former_transfer(from, to) {
            return Ok(number);
        }
        let number = self.recorded(KIND_TRANSFER, from, to)?;
        self.keep_transfer(from, to, number);
        Ok(number)
    }

    fn site(&mut self, from: u64) -> u32 {
        if let Some(site) = self.sites.get(from) {
            return site;
        }
        let site = self.site_pcs.len() as u32;
        self.site_pcs.push(from);
        self.sites.insert(from, site);
        site
    }

    fn table(&self) -> u32 {
        self.table
    }

    fn is_plain(&self) -> bool {
        self.duet.is_plain()
    }

    fn edits_within(&self, begin: u64, end: u64) -> bool {
        self.duet.edits_within(begin, end)
    }

    fn makes_edits(&self) -> bool {
        self.duet.makes_edits()
    }

    fn edit(&self, pc: u64, side: u8) -> Option<&Edit> {
        self.duet.edit(pc, side)
    }

    fn new_duet_block(&mut self) -> Option<u32> {
        self.duet.new_block()
    }

    fn note_foreign_edit(&self) {
        let foreign = &self.shared.control().foreign_edits;
        foreign.fetch_add(1, Ordering::Relaxed);
    }
}
