//! The frames of CRuby 3.1.
//!
//! Offsets are those of vm_core.h, iseq.h, method.h and internal/imemo.h of 3.1 on 64-bit
//! machines (printed by a program that was compiled with `rb_mjit_min_header-3.1.2.h`; bug-fix
//! releases do not change them). Every object that is read must have the type that it should
//! have, or the stack is not used. Frames of methods written in C are not in the stack: their C
//! functions are in the native one.

mod lines;
mod objects;

use std::collections::{HashMap, HashSet};

use lines::Lines;
use objects::{IMEMO_ISEQ, IMEMO_SHIFT, T_IMEMO, TYPE, path, string};

use super::script_stacks::{Function, Stacks};
use super::stack_nodes::StackNodeCache;
use super::thread_memory::{Memory, word_at};

mod context {
    pub const STACK: usize = 0;
    pub const STACK_SIZE: usize = 8;
    pub const CONTROL_FRAME: usize = 16;
    pub const SIZE: usize = 24;
}
mod control {
    pub const PC: usize = 0;
    pub const ISEQ: usize = 16;
    pub const SIZE: usize = 64;
}
mod iseq {
    pub const FLAGS: usize = 0;
    pub const BODY: usize = 16;
    pub const SIZE: usize = 24;
}
mod body {
    pub const ENCODED: usize = 8;
    pub const PATH: usize = 64;
    pub const LABEL: usize = 80;
    pub const FIRST_LINE: usize = 88;
    pub const INSNS: usize = 120;
    pub const INSNS_SIZE: usize = 136;
    pub const SUCCINCT: usize = 144;
    pub const SIZE: usize = 152;
}

/// Frames of one stack at most.
const MAX_FRAMES: usize = 50_000;

/// Reads stacks of one process.
pub struct Ruby {
    /// Where the number of libruby among the modules with thread variables is.
    module: u64,
    /// Offset of `ruby_current_ec` among its variables.
    offset: u64,
    /// Where `ruby_current_vm_ptr` is.
    vm: u64,
    iseqs: HashMap<u64, Iseq>,
    node_cache: StackNodeCache,
}

/// An instruction sequence that was read.
struct Iseq {
    /// Its body: the same object as long as it is.
    seen: (u64, [u8; body::SIZE]),
    function: u32,
    /// It is the program itself.
    main: bool,
    lines: Lines,
}

impl Ruby {
    /// `module` is where the module number is (`DTPMOD64`), `offset` that of `ruby_current_ec`, `vm` where
    /// `ruby_current_vm_ptr` is.
    #[must_use]
    pub fn new((module, offset): (u64, u64), vm: u64) -> Self {
        Self {
            module,
            offset,
            vm,
            iseqs: HashMap::new(),
            node_cache: StackNodeCache::default(),
        }
    }

    /// Where `ruby_current_vm_ptr` is.
    pub(super) fn vm(&self) -> u64 {
        self.vm
    }

    /// The stack of the thread with this thread pointer. `Ok(None)` where it has no Ruby frame.
    ///
    /// # Errors
    /// `Err(())` when an object does not have the type that it must have.
    pub fn stack(
        &mut self,
        memory: &impl Memory,
        pointer: u64,
        stacks: &mut Stacks,
    ) -> Result<Option<u32>, ()> {
        let Some(context) = self.context(memory, pointer) else {
            return Ok(None);
        };
        let context: [u8; context::SIZE] = memory.bytes(context).ok_or(())?;
        let stack = word_at(&context, context::STACK);
        let size = word_at(&context, context::STACK_SIZE);
        let frame = word_at(&context, context::CONTROL_FRAME);
        if stack == 0 || frame == 0 {
            return Ok(None);
        }
        let end = size
            .checked_mul(8)
            .and_then(|b| stack.checked_add(b))
            .ok_or(())?;
        let used = end.checked_sub(frame).ok_or(())? as usize;
        if frame < stack || !used.is_multiple_of(control::SIZE) || used > MAX_FRAMES * control::SIZE
        {
            return Err(());
        }
        let mut frames = vec![0; used];
        memory.fill(frame, &mut frames).ok_or(())?;
        let mut checked: HashSet<u64> = HashSet::new();
        let frames: Vec<(u64, u64)> = frames
            .chunks_exact(control::SIZE)
            .rev()
            .map(|bytes| (word_at(bytes, control::PC), word_at(bytes, control::ISEQ)))
            // The ends of the stack, and methods written in C.
            .filter(|(pc, object)| *pc != 0 && *object != 0)
            .collect();
        for &(_, object) in &frames {
            if checked.insert(object) {
                self.check(memory, object, stacks).ok_or(())?;
            }
        }
        let is_main = |(_, object): &(u64, u64)| self.iseqs[object].main;
        let program = frames.iter().rposition(is_main);
        let mut nodes = self.node_cache.begin(pointer);
        for (at, &(pc, object)) in frames.iter().enumerate() {
            let known = &self.iseqs[&object];
            // A frame of its own, outside, stands for the program before it begins.
            if known.main && program != Some(at) {
                continue;
            }
            nodes.step(known.function, known.lines.at(pc), stacks);
        }
        Ok(self.node_cache.end(pointer, nodes))
    }

    /// The thread's `ruby_current_ec`: glibc's dynamic thread vector has a pair of words for
    /// each module, and its address is in the second word behind the thread pointer.
    fn context(&self, memory: &impl Memory, pointer: u64) -> Option<u64> {
        let vector = memory.word(pointer.checked_add(8)?)?;
        let module = memory.word(self.module)?;
        // As many modules as no process has.
        if module == 0 || module > 1 << 20 {
            return None;
        }
        let block = memory.word(vector.checked_add(module * 16)?)?;
        // All ones for a block that was never used by this thread.
        if block == u64::MAX || block == 0 {
            return None;
        }
        let context = memory.word(block.checked_add(self.offset)?)?;
        (context != 0).then_some(context)
    }

    fn check(&mut self, memory: &impl Memory, object: u64, stacks: &mut Stacks) -> Option<()> {
        let head: [u8; iseq::SIZE] = memory.bytes(object)?;
        let flags = word_at(&head, iseq::FLAGS);
        if flags & TYPE != T_IMEMO || flags >> IMEMO_SHIFT & 15 != IMEMO_ISEQ {
            return None;
        }
        let at = word_at(&head, iseq::BODY);
        let bytes: [u8; body::SIZE] = memory.bytes(at)?;
        let same = |known: &Iseq| {
            let (was, seen) = &known.seen;
            *was == at && seen[body::PATH..] == bytes[body::PATH..]
        };
        if self.iseqs.get(&object).is_some_and(same) {
            return Some(());
        }
        let name = string(memory, word_at(&bytes, body::LABEL))?;
        let file = path(memory, word_at(&bytes, body::PATH))?;
        // A small integer as Ruby has it.
        let line = word_at(&bytes, body::FIRST_LINE);
        let line = if line & 1 == 1 { (line >> 1) as u32 } else { 0 };
        let main = name == "<main>";
        let function = stacks.function(Function { name, file, line });
        let lines = Lines::read(memory, &bytes).unwrap_or_default();
        self.iseqs.insert(
            object,
            Iseq {
                seen: (at, bytes),
                function,
                main,
                lines,
            },
        );
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::lines::IMMEDIATE_BYTES;
    use super::objects::{T_ARRAY, T_STRING, USER1};
    use super::*;
    use proptest::prelude::*;

    fn embedded(memory: &mut SyntheticMemory, at: u64, text: &str) {
        let mut bytes = vec![0; 40];
        let flags = T_STRING | (text.len() as u64) << 14;
        bytes[..8].copy_from_slice(&flags.to_le_bytes());
        bytes[16..16 + text.len()].copy_from_slice(text.as_bytes());
        memory.put(at, bytes);
    }

    fn sequence(memory: &mut SyntheticMemory, at: u64, name: &str, line: u64) {
        let flags = T_IMEMO | IMEMO_ISEQ << IMEMO_SHIFT;
        memory.object(at, 40, &[(0, flags), (16, at + 0x100)]);
        embedded(memory, at + 0x300, name);
        embedded(memory, at + 0x400, "a.rb");
        let path = T_ARRAY | USER1;
        memory.object(
            at + 0x500,
            40,
            &[(0, path), (16, at + 0x400), (24, at + 0x400)],
        );
        memory.object(
            at + 0x100,
            body::SIZE,
            &[
                (0, 8 << 32),
                (8, at + 0x800),
                (64, at + 0x500),
                (80, at + 0x300),
                (88, line << 1 | 1),
                (120, at + 0x600),
                (136, 2),
                (144, at + 0x700),
            ],
        );
        let mut entries = vec![0; 24];
        entries[..4].copy_from_slice(&(line as u32).to_le_bytes());
        entries[12..16].copy_from_slice(&(line as u32 + 1).to_le_bytes());
        memory.put(at + 0x600, entries);
        // Ranks of the first nine positions: 1 1 1 2 2 2 2 2 2.
        let ranks = [1u64, 1, 1, 2, 2, 2, 2, 2, 2];
        let part = ranks
            .iter()
            .enumerate()
            .fold(0, |n, (i, r)| n | r << (i * 7));
        let mut table = part.to_le_bytes().to_vec();
        table.resize(IMMEDIATE_BYTES, 0);
        memory.put(at + 0x700, table);
    }

    fn process() -> SyntheticMemory {
        let mut memory = SyntheticMemory::default();
        memory.object(0x7000, 16, &[(8, 0x7100)]);
        memory.object(0x7080, 8, &[(0, 3)]);
        memory.object(0x7100, 64, &[(48, 0x7200)]);
        memory.object(0x7200, 16, &[(8, 0x7300)]);
        memory.object(
            0x7300,
            24,
            &[(0, 0x8000), (8, 64), (16, 0x8000 + 512 - 4 * 64)],
        );
        let (outer, inner) = (0x10_0000u64, 0x20_0000u64);
        memory.object(
            0x8000,
            512,
            &[
                (256, inner + 0x800 + 5 * 8),
                (256 + 16, inner),
                // A method written in C.
                (320, 0),
                (384, outer + 0x800 + 8),
                (384 + 16, outer),
            ],
        );
        sequence(&mut memory, outer, "outer", 1);
        sequence(&mut memory, inner, "block in outer", 7);
        memory
    }

    #[test]
    fn stack_is_read_innermost_first() {
        let memory = process();
        let mut ruby = Ruby::new((0x7080, 8), 0);
        let mut stacks = Stacks::default();
        let node = ruby.stack(&memory, 0x7000, &mut stacks).unwrap().unwrap();
        let frames: Vec<(String, u32)> = stacks
            .frames(node)
            .map(|n| (stacks.functions[n.function as usize].name.clone(), n.line))
            .collect();
        assert_eq!(
            frames,
            [("block in outer".to_owned(), 8), ("outer".to_owned(), 1)]
        );
        assert_eq!(stacks.functions[0].file, "a.rb");
        assert_eq!(ruby.stack(&memory, 0x7000, &mut stacks), Ok(Some(node)));
    }

    #[test]
    fn objects_of_another_type_give_no_stack() {
        let mut memory = process();
        memory.object(0x10_0000, 40, &[(0, T_STRING), (16, 0x10_0100)]);
        let mut ruby = Ruby::new((0x7080, 8), 0);
        assert_eq!(ruby.stack(&memory, 0x7000, &mut Stacks::default()), Err(()));
        assert_eq!(
            Ruby::new((0x1, 8), 0).stack(&memory, 0x7000, &mut Stacks::default()),
            Ok(None)
        );
    }

    proptest! {
        #[test]
        fn arbitrary_memory_does_not_panic(changes in prop::collection::vec((0u64..0x20_0900, any::<u64>()), 0..6)) {
            let mut memory = process();
            memory.overwrite(changes);
            let mut ruby = Ruby::new((0x7080, 8), 0);
            let _ = ruby.stack(&memory, 0x7000, &mut Stacks::default());
        }
    }
}
