//! Taking translations out of use: their code has changed or gone.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use crate::emit::Emitter;
use crate::fragment::{Landing, STUB_BYTES};
use crate::marks::{Mark, Marked};

use super::book::{BlockInfo, NONE, Span};
use super::engine::{Engine, Exit, Placed, aim};
use super::tables::{miss, table_entry};

impl Engine {
    /// Takes out of use all translations of code in a range: it has changed or gone.
    pub fn invalidate(&mut self, start: u64, end: u64) {
        self.look_at_new_fragments();
        let mut retired = false;
        for at in 0..self.book.spans.len() {
            let span = self.book.spans[at];
            let index = span.fragment as usize;
            if span.start < end && start < span.end && self.touches(index, start, end) {
                self.retire(index);
                retired = true;
            }
        }
        if retired {
            let fragments = &self.fragments;
            let valid = |span: &Span| fragments[span.fragment as usize].valid;
            self.book.spans.retain(valid);
        }
    }

    /// Notes where the code of fragments is that have come since.
    fn look_at_new_fragments(&mut self) {
        for index in self.book.spanned..self.fragments.len() {
            if !self.fragments[index].valid {
                continue;
            }
            let start = self.code_of(index).map(|(start, _)| start).min();
            let end = self.code_of(index).map(|(_, end)| end).max();
            let (Some(start), Some(end)) = (start, end) else {
                continue;
            };
            self.book.spans.push(Span {
                start,
                end,
                fragment: index as u32,
            });
        }
        self.book.spanned = self.fragments.len();
    }

    /// Beginning and end of the code of each of a fragment's blocks.
    fn code_of(&self, index: usize) -> impl Iterator<Item = (u64, u64)> {
        let fragment = &self.fragments[index];
        let first = fragment.first_block as usize;
        let book = &self.book;
        let blocks = &book.blocks[first..first + usize::from(fragment.blocks)];
        blocks.iter().map(|block| {
            let lengths = book
                .shared
                .read_lengths(block.lengths, usize::from(block.instructions));
            let size: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
            (block.pc, block.pc + size.max(1))
        })
    }

    /// Whether code of a fragment is in a range.
    fn touches(&self, index: usize, start: u64, end: u64) -> bool {
        self.code_of(index)
            .any(|(first, after)| first < end && start < after)
    }

    /// Takes a fragment out of use: nothing leads to it any more. Its code stays for threads
    /// that are in it.
    fn retire(&mut self, index: usize) {
        let fragment = &mut self.fragments[index];
        fragment.valid = false;
        let (start, end) = (fragment.start, fragment.start + u64::from(fragment.size));
        let inside = |code: u64| start <= code && code < end;
        let blocks = fragment.first_block..fragment.first_block + u32::from(fragment.blocks);
        let exits = fragment.first_exit..fragment.first_exit + u32::from(fragment.exits);
        for block in blocks {
            let BlockInfo { pc, incoming, .. } = self.book.blocks[block as usize];
            if self.book.block(pc) == Some(block) {
                self.book.by_pc.remove(pc);
            }
            self.book.blocks[block as usize].incoming = NONE;
            self.unlink(incoming);
            self.forget_landings(pc, start, end);
        }
        // Calls are found by where they return to: the landing behind them, in this fragment.
        let marks = &self.fragments[index];
        let first = marks.first_block as usize;
        for block in first..first + usize::from(marks.blocks) {
            let BlockInfo {
                pc,
                lengths,
                instructions,
                ..
            } = self.book.blocks[block];
            let lengths = self
                .book
                .shared
                .read_lengths(lengths, usize::from(instructions));
            let after = pc + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
            if self.book.calls.get(after).is_some_and(inside) {
                self.book.calls.remove(after);
            }
            // A landing whose block was never put behind it.
            self.forget_landings(after, start, end);
        }
        for exit in exits {
            self.exits[exit as usize].target = match self.exits[exit as usize].stub {
                // Threads may still come out through the stub.
                0 => 0,
                _ => self.exits[exit as usize].target,
            };
        }
    }

    /// Leads linked exits back to their stubs.
    fn unlink(&mut self, mut number: u32) {
        while number != NONE {
            let Exit {
                target,
                site,
                mut stub,
                next,
                ..
            } = self.exits[number as usize];
            if target != 0 {
                if stub == 0 {
                    stub = self.late_stub(number, site);
                    self.exits[number as usize].stub = stub;
                }
                aim(site, stub);
            }
            self.exits[number as usize].next = NONE;
            self.exits[number as usize].linked = false;
            number = next;
        }
    }

    /// A stub for an exit that was linked from the beginning.
    fn late_stub(&mut self, number: u32, site: u64) -> u64 {
        let base = self.room(site);
        let mut emitter = Emitter {
            base,
            code: Vec::with_capacity(STUB_BYTES),
        };
        emitter.store_number(crate::state::EXIT, number);
        emitter.jump_vector(crate::state::DISPATCH);
        let zone = self.cache.put(base, &emitter.code);
        let marks = [Marked {
            offset: 0,
            mark: Mark::Stub,
            block: 0,
        }];
        self.remember(
            zone,
            Placed {
                start: base,
                size: emitter.code.len() as u32,
                first_block: 0,
                blocks: 0,
                first_exit: number,
                exits: 1,
                valid: false,
                marks: Box::new(marks),
            },
        );
        base
    }

    /// Forgets the landings for `pc` that are in a range of the cache.
    fn forget_landings(&mut self, pc: u64, start: u64, end: u64) {
        let inside = |code: u64| start <= code && code < end;
        if self.book.landings.get(pc).is_some_and(inside) {
            self.book.landings.remove(pc);
            self.forget_indirect(pc, Landing::Jump, inside);
        }
        if self.book.returns.get(pc).is_some_and(inside) {
            self.book.returns.remove(pc);
            self.forget_indirect(pc, Landing::Return, inside);
        }
    }

    fn forget_indirect(&mut self, pc: u64, kind: Landing, inside: impl Fn(u64) -> bool) {
        let entry = table_entry(pc, kind);
        if inside(entry.load(Ordering::Relaxed)) {
            entry.store(miss(kind), Ordering::Release);
        }
        self.enter_lookup(pc, kind, 0);
    }
}
