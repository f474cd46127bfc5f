//! Lines of an instruction sequence's instructions.

use super::super::ruby_layout::RubyLayout;
use super::super::thread_memory::{Memory, word_at};
use super::body;

/// Instructions with lines of their own in one method.
const MAX_INSNS: usize = 1 << 18;

/// Lines of instructions.
#[derive(Debug, Default)]
pub struct Lines {
    first: u64,
    lines: Vec<u32>,
    /// Ranks by position (`succ_index_table`, iseq.c).
    table: Vec<u8>,
}

const IMMEDIATE: usize = 54;
pub const IMMEDIATE_BYTES: usize = IMMEDIATE / 9 * 8;
/// Rank, ranks of its eighths, and 512 bits.
const BLOCK_BYTES: usize = 8 + 8 + 64;

impl Lines {
    /// Those of a body (`rb_iseq_constant_body`); `None` if it has none that make sense.
    pub fn read(memory: &impl Memory, layout: &RubyLayout, bytes: &[u8]) -> Option<Self> {
        /// Behind the address of the entries, and that of the table of their positions.
        const COUNT: usize = 16;
        const SUCCINCT: usize = 24;
        let count = word_at(bytes, layout.entries + COUNT) as u32 as usize;
        let instructions = word_at(bytes, 0) >> 32;
        if count == 0 || count > MAX_INSNS {
            return None;
        }
        let mut entries = vec![0; count * layout.entry_size];
        memory.fill(word_at(bytes, layout.entries), &mut entries)?;
        let lines = entries.chunks_exact(layout.entry_size);
        let line = |e: &[u8]| word_at(&[&e[..4], &[0; 4]].concat(), 0) as u32;
        let size = instructions as usize;
        let blocks = size
            .saturating_sub(IMMEDIATE)
            .div_ceil(512)
            .min(MAX_INSNS / 512);
        let table = word_at(bytes, layout.entries + SUCCINCT);
        let table = if count == 1 || table == 0 {
            Vec::new()
        } else {
            memory.some(table, IMMEDIATE_BYTES + blocks * BLOCK_BYTES)
        };
        Some(Self {
            first: word_at(bytes, body::ENCODED),
            lines: lines.map(line).collect(),
            table,
        })
    }

    /// The line at a program counter, which is behind the instruction; 0 if it is not known.
    pub fn at(&self, pc: u64) -> u32 {
        if self.lines.len() == 1 {
            return self.lines[0];
        }
        let words = pc.wrapping_sub(self.first) / 8;
        let Ok(position) = usize::try_from(words.saturating_sub(1)) else {
            return 0;
        };
        let rank = self.rank(position).unwrap_or(0);
        let index = rank.checked_sub(1);
        index.and_then(|i| self.lines.get(i)).copied().unwrap_or(0)
    }

    /// How many entries begin at or before a position.
    fn rank(&self, position: usize) -> Option<usize> {
        let word = |at: usize| (at + 8 <= self.table.len()).then(|| word_at(&self.table, at));
        if position < IMMEDIATE {
            let part = word(position / 9 * 8)?;
            return Some((part >> (position % 9 * 7) & 0x7f) as usize);
        }
        let (block, bit) = ((position - IMMEDIATE) / 512, (position - IMMEDIATE) % 512);
        let at = IMMEDIATE_BYTES.checked_add(block.checked_mul(BLOCK_BYTES)?)?;
        let rank = word(at)? as u32 as usize;
        let eighths = word(at + 8)?;
        let eighth = bit / 64;
        let before = match eighth {
            0 => 0,
            n => (eighths >> ((n - 1) * 9) & 0x1ff) as usize,
        };
        let bits = word(at + 16 + eighth * 8)? << (63 - bit % 64);
        Some(rank + before + bits.count_ones() as usize)
    }
}
