//! Invalidates fragments whose code has changed or was unmapped.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::emitter::Emitter;
use crate::fragment::{EXIT_STUB_BYTES, LandingPad};
use crate::recovery_marks::{Mark, Marked};

use super::code_map::{BlockInfo, NONE, Span};
use super::engine::{Engine, PlacedFragment, aim};
use super::indirect_branch_tables::{miss, table_entry};

impl Engine {
    /// Invalidates all fragments of code in a range, which has changed or was unmapped.
    pub fn invalidate(&mut self, start: u64, end: u64) {
        self.note_new_spans();
        let mut retired = false;
        for at in 0..self.code_map.spans.len() {
            let span = self.code_map.spans[at];
            let index = span.fragment as usize;
            if span.start < end && start < span.end && self.touches(index, start, end) {
                self.retire(index);
                retired = true;
            }
        }
        if retired {
            let fragments = &self.fragments;
            let valid = |span: &Span| fragments[span.fragment as usize].valid;
            self.code_map.spans.retain(valid);
        }
    }

    /// Notes the code ranges of fragments that were added since the last call.
    fn note_new_spans(&mut self) {
        for index in self.code_map.spanned..self.fragments.len() {
            if !self.fragments[index].valid {
                continue;
            }
            let start = self.code_ranges_of(index).map(|(start, _)| start).min();
            let end = self.code_ranges_of(index).map(|(_, end)| end).max();
            let (Some(start), Some(end)) = (start, end) else {
                continue;
            };
            self.code_map.spans.push(Span {
                start,
                end,
                fragment: index as u32,
            });
        }
        self.code_map.spanned = self.fragments.len();
    }

    /// Returns start and end of the code of each of a fragment's blocks.
    fn code_ranges_of(&self, index: usize) -> impl Iterator<Item = (u64, u64)> {
        let fragment = &self.fragments[index];
        let first = fragment.first_block as usize;
        let code_map = &self.code_map;
        let blocks = &code_map.blocks[first..first + usize::from(fragment.blocks)];
        blocks.iter().map(|block| {
            let lengths = code_map.lengths(block);
            let size: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
            (block.pc, block.pc + size.max(1))
        })
    }

    /// Whether a fragment has code in a range.
    fn touches(&self, index: usize, start: u64, end: u64) -> bool {
        self.code_ranges_of(index)
            .any(|(first, after)| first < end && start < after)
    }

    /// Invalidates a fragment unless that was done before.
    pub(super) fn retire_if_valid(&mut self, index: usize) {
        if self.fragments[index].valid {
            self.retire(index);
        }
    }

    /// Invalidates a fragment: nothing leads to it any more but jumps of others to one of its calls.
    /// Its code stays for those, and for threads that are in it, and its exits are still unlinked
    /// when what they lead to is invalidated.
    fn retire(&mut self, index: usize) {
        self.fragments[index].valid = false;
        let fragment = &self.fragments[index];
        close_landing_pads(fragment, &self.marks_of(fragment));
        let (start, end) = (fragment.start, fragment.start + u64::from(fragment.size));
        let inside = |code: u64| start <= code && code < end;
        let blocks = fragment.first_block..fragment.first_block + u32::from(fragment.blocks);
        self.code_map.keep_counters(blocks.clone());
        for block in blocks {
            let BlockInfo { pc, incoming, .. } = self.code_map.blocks[block as usize];
            if self.code_map.block(pc) == Some(block) {
                self.code_map.by_pc.remove_block(pc);
            }
            if self.code_map.observing.get(pc) == Some(block) {
                self.code_map.observing.remove(pc);
            }
            self.code_map.blocks[block as usize].incoming = NONE;
            self.unlink(incoming);
            self.forget_landing_pads(pc, start, end);
        }
        // Calls are known by their return address, whose landing pad is in this fragment.
        let fragment = &self.fragments[index];
        let first = fragment.first_block as usize;
        for block in first..first + usize::from(fragment.blocks) {
            let BlockInfo { pc, .. } = self.code_map.blocks[block];
            let lengths = self.code_map.lengths(&self.code_map.blocks[block]);
            let after = pc + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
            if self.code_map.calls.get(after).is_some_and(inside) {
                self.code_map.calls.remove(after);
            }
            // A landing pad without a block after it.
            self.forget_landing_pads(after, start, end);
        }
    }

    /// Leads linked exits back to their exit stubs.
    fn unlink(&mut self, mut number: u32) {
        while number != NONE {
            let exit = self.exits[number as usize];
            let stub = match exit.stub() {
                0 => self.late_stub(number, exit.site),
                stub => stub,
            };
            aim(exit.site, stub);
            let changed = &mut self.exits[number as usize];
            changed.set_stub(stub);
            changed.set_next(NONE);
            changed.set_linked(false);
            number = exit.next();
        }
    }

    /// Emits an exit stub for an exit that was linked from the beginning.
    fn late_stub(&mut self, number: u32, site: u64) -> u64 {
        let base = self.next_fragment_address(site);
        let mut emitter = Emitter {
            base,
            code: Vec::with_capacity(EXIT_STUB_BYTES),
        };
        emitter.store_number(crate::thread_state::EXIT, number);
        emitter.jump_vector(crate::thread_state::DISPATCH);
        let zone = self.cache.put(base, &emitter.code);
        let marks = [Marked {
            offset: 0,
            mark: Mark::ExitStub,
            block: 0,
        }];
        let first_mark = self.keep_marks(&marks);
        self.remember(
            zone,
            PlacedFragment {
                start: base,
                size: emitter.code.len() as u32,
                first_block: 0,
                blocks: 0,
                first_exit: number,
                exits: 1,
                valid: false,
                marks: marks.len() as u16,
                first_mark,
            },
        );
        base
    }

    /// Forgets the landing pads for `pc` that are in a range of the code cache.
    fn forget_landing_pads(&mut self, pc: u64, start: u64, end: u64) {
        let inside = |code: u64| start <= code && code < end;
        if self.code_map.landing_pads.get(pc).is_some_and(inside) {
            self.code_map.landing_pads.remove(pc);
        }
        if self.code_map.returns.get(pc).is_some_and(inside) {
            self.code_map.returns.remove(pc);
        }
        // The tables may have another pad than the maps, which know the newest.
        self.forget_indirect(pc, LandingPad::Jump, inside);
        self.forget_indirect(pc, LandingPad::Return, inside);
    }

    fn forget_indirect(&mut self, pc: u64, kind: LandingPad, inside: impl Fn(u64) -> bool) {
        let entry = table_entry(pc, kind);
        if inside(entry.load(Ordering::Relaxed)) {
            entry.store(miss(kind), Ordering::Release);
        }
        if self.looked_up(pc, kind).is_some_and(inside) {
            self.enter_lookup(pc, kind, 0);
        }
    }
}

/// Makes the landing pads of a fragment match no target. A thread that found one in a table before
/// it was removed there may enter it in the table again.
fn close_landing_pads(fragment: &PlacedFragment, marks: &[Marked]) {
    /// From the displacement of `jrcxz` to where it leads: itself and a jump with 32 bits.
    const DISPLACEMENT_TO_MATCH: u64 = 6;
    for pair in marks.windows(2) {
        let [before, marked] = pair else { continue };
        // Observing code has the mark elsewhere, too.
        let pad = matches!(before.mark, Mark::JumpPad | Mark::ReturnPadPopped);
        if pad && marked.mark == Mark::PadMatched {
            let match_at = fragment.start + u64::from(marked.offset);
            let displacement = (match_at - DISPLACEMENT_TO_MATCH) as *const AtomicU8;
            // SAFETY: a byte in the code cache, which other threads see as 5 or 0.
            unsafe { &*displacement }.store(0, Ordering::Release);
        }
    }
}
