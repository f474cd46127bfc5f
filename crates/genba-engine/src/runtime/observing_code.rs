//! The second translation of a block, which records what the block does: made on demand, for threads
//! in bursts ([`super::bursts`]).

use core::sync::atomic::Ordering;

use crate::basic_block::Block;
use crate::burst_layout::NOTE_FULL;
use crate::fragment::{self, BuildContext, Error, ObserveContext};
use crate::liveness::ProgramCode;

use super::burst_recording;
use super::code_map::{CodeLookup, CodeMap};
use super::engine::Engine;
use super::writable_code::{own_state, stands_on};

/// The code map, for observing code: blocks that count are not known.
struct ObservingContext<'a>(&'a mut CodeMap);

impl ProgramCode for ObservingContext<'_> {
    fn bytes(&self, pc: u64) -> &[u8] {
        self.0.bytes(pc)
    }
}

impl BuildContext for ObservingContext<'_> {
    fn known(&self, pc: u64) -> Option<u64> {
        let index = self.0.observing.get(pc)?;
        self.0.blocks.get(index as usize).map(|block| block.code)
    }

    fn call_site(&self, _: u64) -> Option<u64> {
        None
    }

    fn counter(&mut self, block: &Block, unrolled: bool) -> Result<u32, Error> {
        self.0.observed_counter(block, unrolled)
    }

    fn records(&self, from: u64, to: Option<u64>) -> bool {
        self.0.records(from, to)
    }

    fn enters(&mut self, pc: u64) {
        self.0.enters(pc);
    }

    fn transfer(&mut self, from: u64, to: u64) -> Result<u32, Error> {
        self.0.transfer(from, to)
    }

    fn site(&mut self, from: u64) -> u32 {
        self.0.site(from)
    }

    fn table(&self) -> u32 {
        self.0.table()
    }
}

impl ObserveContext for ObservingContext<'_> {
    fn describe(&mut self, descriptor: &[u32]) -> Result<u32, Error> {
        if let Some(at) = self.0.former_descriptor(descriptor) {
            return Ok(at);
        }
        let full = Error::Full("the table of observed blocks is full");
        let at = burst_recording::add_descriptor(self.0.shared, descriptor).ok_or(full)?;
        self.0.keep_descriptor(descriptor, at);
        Ok(at)
    }
}

impl Engine {
    /// Returns the observing code for `pc`; translates it if necessary. `None` where a burst cannot
    /// go on, and counting code must.
    pub(super) fn observing_code(&mut self, pc: u64) -> Option<u64> {
        if let Some(index) = self.code_map.observing.get(pc) {
            return Some(self.code_map.blocks[index as usize].code);
        }
        match self.code_map.find(pc) {
            CodeLookup::Code(region) if !self.in_cache(pc) => {
                // Counting code refuses what is executed on the stack.
                // SAFETY: on the engine's stack, like all of the engine.
                if region.writable && unsafe { stands_on(own_state(), &region) } {
                    return None;
                }
            }
            _ => return None,
        }
        let base = self.next_fragment_address(pc);
        let first_exit = self.exits.len() as u32;
        let mut context = ObservingContext(&mut self.code_map);
        let built =
            fragment::build_observing(&mut context, &mut self.factory, pc, base, first_exit);
        match built {
            Ok(Some(fragment)) => self.adopt(fragment, true),
            // The pages that were read are protected already: the counting code that is executed
            // instead is made from them.
            Ok(None) => return None,
            Err(_) => {
                // Counters of a block that is not adopted stay 0.
                self.code_map.new_counters.clear();
                let notes = &self.code_map.shared.control().burst_notes;
                notes.fetch_or(NOTE_FULL, Ordering::Relaxed);
                return None;
            }
        }
        let index = self.code_map.observing.get(pc)?;
        Some(self.code_map.blocks[index as usize].code)
    }
}
