//! Emits short loops, unrolled.

use iced_x86::Instruction;

use super::{
    BuildContext, Builder, Error, MAX_UNROLLED_INSTRUCTIONS, NextBlock, UNROLL_COPIES,
    condition_code,
};
use crate::basic_block::{Block, BlockEnd};

impl<W: BuildContext> Builder<'_, W> {
    /// Whether a block is a short loop by itself. Its counter would be incremented every few
    /// cycles, and each increment would wait for the one before; so several copies with counters of
    /// their own take turns.
    pub(super) fn is_short_loop(&self, block: &Block) -> bool {
        let jumps = block
            .instructions
            .last()
            .is_some_and(Instruction::is_jcc_short_or_near);
        block.end == BlockEnd::Branch(block.pc)
            && jumps
            && block.instructions.len() <= MAX_UNROLLED_INSTRUCTIONS
            && self.fragment.blocks.len() + UNROLL_COPIES <= usize::from(u8::MAX)
    }

    /// Emits the copies of a short loop. Each but the last leaves the loop or falls through into
    /// the next; the last jumps back to the second. So the first counts how often the loop was
    /// entered, the others how often it was repeated.
    pub(super) fn unroll(&mut self, block: &Block) -> Result<Option<NextBlock>, Error> {
        let last = block.instructions.last();
        let jump = last.and_then(|last| Some((last, condition_code(&self.raw(last))?)));
        let Some((last, condition)) = jump else {
            return self.block(block);
        };
        let mut second = None;
        for copy in 1..=UNROLL_COPIES {
            let counter = self.context.counter(block, copy > 1)?;
            self.open(block, counter, copy > 1);
            if copy == 2 {
                second = Some(self.fragment.emitter.here());
            }
            let _ = self.body(block, counter)?;
            self.emitter().keep_in_line(2, 4);
            if copy < UNROLL_COPIES {
                // The opposite condition has the neighbouring code.
                self.emitter().bytes(&[0x0F, 0x80 | (condition ^ 1)]);
                self.exit(last.next_ip());
            } else {
                self.emitter().bytes(&[0x0F, 0x80 | condition]);
                self.exit(block.pc);
                if let Some(exit) = self.fragment.exits.last_mut() {
                    exit.aimed = second;
                }
            }
        }
        Ok(Some(NextBlock {
            pc: block.next(),
            landing: false,
        }))
    }
}
