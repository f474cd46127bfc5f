//! The frames of CPython 3.11.
//!
//! Offsets are those of Include/internal/pycore_runtime.h, pycore_frame.h, pycore_code.h,
//! cpython/pystate.h, cpython/code.h and cpython/unicodeobject.h of 3.11 on 64-bit machines
//! (printed by a program that was compiled with 3.11.7's headers; bug-fix releases do not change
//! them). Every object that is read must have the type that it should have, or the stack is not
//! used: a wrong offset gives no stack, never a wrong one.

mod chunks;
mod objects;

use std::collections::{HashMap, HashSet};

use chunks::{Chunks, frame};
use objects::{bytes_object, decode_lines, text};

use super::script_stacks::{Function, Stacks};
use super::stack_nodes::StackNodeCache;
use super::thread_memory::{Memory, word_at};

mod runtime {
    pub const INTERPRETERS_HEAD: u64 = 40;
}
mod interpreter {
    pub const NEXT: u64 = 0;
    pub const THREADS_HEAD: u64 = 16;
}
mod thread {
    pub const NEXT: usize = 8;
    pub const CFRAME: usize = 56;
    pub const THREAD_ID: usize = 152;
    pub const CHUNK: usize = 296;
    pub const TOP: usize = 304;
    pub const SIZE: usize = 312;
}
mod cframe {
    pub const CURRENT_FRAME: u64 = 8;
}
mod code {
    pub const TYPE: usize = 8;
    pub const FIRST_LINE: usize = 72;
    pub const FILENAME: usize = 112;
    pub const QUALNAME: usize = 128;
    pub const LINETABLE: usize = 136;
    pub const SIZE: usize = 144;
    pub const INSTRUCTIONS: u64 = 184;
}
/// Threads and interpreters that are searched at most.
const MAX_THREADS: usize = 10_000;
/// Frames of one stack at most.
const MAX_FRAMES: usize = 50_000;
/// Samples after which a thread without a Python thread state is searched for one again.
const SAMPLES_UNTIL_RETRY: u32 = 50;

/// A code object that was read.
struct Code {
    /// Its bytes from the first line to the line table: the same object as long as they are.
    seen: [u8; code::SIZE],
    function: u32,
    /// Ends of stretches of instructions (in code units) and their lines.
    lines: Vec<(u32, u32)>,
}

/// Reads stacks of one process.
pub struct Python {
    runtime: u64,
    code_type: u64,
    /// Thread states by thread pointer.
    threads: HashMap<u64, u64>,
    /// Threads without a Python thread state, and their samples since the last search.
    foreign_threads: HashMap<u64, u32>,
    codes: HashMap<u64, Code>,
    node_cache: StackNodeCache,
}

/// A stack that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The innermost frame.
    pub node: u32,
    /// The opcode being executed.
    pub opcode: Option<u8>,
}

impl Python {
    /// `runtime` is where `_PyRuntime` is, `code_type` where `PyCode_Type`.
    #[must_use]
    pub fn new(runtime: u64, code_type: u64) -> Self {
        Self {
            runtime,
            code_type,
            threads: HashMap::new(),
            foreign_threads: HashMap::new(),
            codes: HashMap::new(),
            node_cache: StackNodeCache::default(),
        }
    }

    /// The stack of the thread with this thread pointer. `Ok(None)` where it has no Python frame.
    ///
    /// # Errors
    /// `Err(())` when an object does not have the type that it must have.
    pub fn stack(
        &mut self,
        memory: &impl Memory,
        pointer: u64,
        stacks: &mut Stacks,
    ) -> Result<Option<Read>, ()> {
        let Some(state) = self.state(memory, pointer) else {
            return Ok(None);
        };
        let cframe = word_at(&state, thread::CFRAME);
        let current = memory.word(cframe.wrapping_add(cframe::CURRENT_FRAME));
        let mut at = current.ok_or(())?;
        let (newest, top) = (word_at(&state, thread::CHUNK), word_at(&state, thread::TOP));
        let mut chunks = Chunks::new(memory, newest, top);
        // Innermost first: code object and next instruction.
        let mut frames: Vec<(u64, u64)> = Vec::new();
        while at != 0 {
            if frames.len() >= MAX_FRAMES {
                return Err(());
            }
            let bytes = chunks.frame(at).ok_or(())?;
            frames.push((
                word_at(&bytes, frame::CODE),
                word_at(&bytes, frame::PREV_INSTR),
            ));
            at = word_at(&bytes, frame::PREVIOUS);
        }
        let Some(&(_, instruction)) = frames.first() else {
            return Ok(None);
        };
        let mut checked: HashSet<u64> = HashSet::new();
        let mut nodes = self.node_cache.begin(pointer);
        for &(object, instruction) in frames.iter().rev() {
            if checked.insert(object) {
                self.check(memory, object, stacks).ok_or(())?;
            }
            let code = &self.codes[&object];
            let first = object.wrapping_add(code::INSTRUCTIONS);
            let line = code.line(instruction.wrapping_sub(first));
            nodes.step(code.function, line, stacks);
        }
        let node = self.node_cache.end(pointer, nodes);
        let opcode = memory.bytes::<2>(instruction).map(|unit| unit[0]);
        Ok(node.map(|node| Read { node, opcode }))
    }

    /// The bytes of a thread's state.
    fn state(&mut self, memory: &impl Memory, pointer: u64) -> Option<[u8; thread::SIZE]> {
        let is_of = |state: &[u8; thread::SIZE]| word_at(state, thread::THREAD_ID) == pointer;
        if let Some(&at) = self.threads.get(&pointer) {
            if let Some(state) = memory.bytes(at).filter(is_of) {
                return Some(state);
            }
            self.threads.remove(&pointer);
        }
        let seen = self
            .foreign_threads
            .entry(pointer)
            .or_insert(SAMPLES_UNTIL_RETRY);
        *seen += 1;
        if *seen < SAMPLES_UNTIL_RETRY {
            return None;
        }
        *seen = 0;
        self.search(memory, pointer)
    }

    /// Where `_PyRuntime` is.
    pub(super) fn runtime(&self) -> u64 {
        self.runtime
    }

    /// Calls a function with the address of each thread state.
    pub(super) fn each_thread(&self, memory: &impl Memory, found: &mut dyn FnMut(u64)) {
        let mut left = MAX_THREADS;
        let first = self.runtime.wrapping_add(runtime::INTERPRETERS_HEAD);
        let mut interpreter = memory.word(first).unwrap_or(0);
        while interpreter != 0 && left > 0 {
            let head = interpreter.wrapping_add(interpreter::THREADS_HEAD);
            let mut at = memory.word(head).unwrap_or(0);
            while at != 0 && left > 0 {
                left -= 1;
                found(at);
                at = memory
                    .word(at.wrapping_add(thread::NEXT as u64))
                    .unwrap_or(0);
            }
            left = left.saturating_sub(1);
            let next = memory.word(interpreter.wrapping_add(interpreter::NEXT));
            interpreter = next.unwrap_or(0);
        }
    }

    fn search(&mut self, memory: &impl Memory, pointer: u64) -> Option<[u8; thread::SIZE]> {
        let mut states = Vec::new();
        self.each_thread(memory, &mut |at| states.push(at));
        for at in states {
            let state: [u8; thread::SIZE] = memory.bytes(at)?;
            self.threads.insert(word_at(&state, thread::THREAD_ID), at);
            if word_at(&state, thread::THREAD_ID) == pointer {
                self.foreign_threads.remove(&pointer);
                return Some(state);
            }
        }
        None
    }

    /// Reads a code object unless it is known and unchanged; `None` if it is not one.
    fn check(&mut self, memory: &impl Memory, object: u64, stacks: &mut Stacks) -> Option<()> {
        let seen: [u8; code::SIZE] = memory.bytes(object)?;
        if word_at(&seen, code::TYPE) != self.code_type {
            return None;
        }
        let known = self.codes.get(&object);
        if known.is_some_and(|c| c.seen[code::FIRST_LINE..] == seen[code::FIRST_LINE..]) {
            return Some(());
        }
        let first_line = word_at(&seen, code::FIRST_LINE) as u32;
        let name = text(memory, word_at(&seen, code::QUALNAME))?;
        let file = text(memory, word_at(&seen, code::FILENAME))?;
        let table = bytes_object(memory, word_at(&seen, code::LINETABLE))?;
        let function = stacks.function(Function {
            name,
            file,
            line: first_line,
        });
        self.codes.insert(
            object,
            Code {
                seen,
                function,
                lines: decode_lines(&table, first_line),
            },
        );
        Some(())
    }
}

impl Code {
    /// The line of an instruction, by its offset in bytes; 0 if it has none.
    fn line(&self, offset: u64) -> u32 {
        let unit = (offset / 2) as u32;
        let index = self.lines.partition_point(|&(end, _)| end <= unit);
        self.lines.get(index).map_or(0, |&(_, line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::*;
    use proptest::prelude::*;

    const CODE_TYPE: u64 = 0xc0de;

    fn string(memory: &mut SyntheticMemory, at: u64, text: &str) {
        let mut bytes = vec![0; 48];
        bytes[16..24].copy_from_slice(&(text.len() as u64).to_le_bytes());
        // Kind 1, compact, ascii.
        bytes[32] = 1 << 2 | 1 << 5 | 1 << 6;
        bytes.extend(text.bytes());
        memory.put(at, bytes);
    }

    fn code_object(memory: &mut SyntheticMemory, at: u64, name: &str, line: u64) {
        string(memory, at + 0x1000, name);
        string(memory, at + 0x2000, "x.py");
        let mut table = vec![0; 32];
        // Two units at the first line; two more one line on.
        let entries = [0x80 | 10 << 3 | 1, 0, 0, 0x80 | 11 << 3 | 1, 0, 0];
        table[16..24].copy_from_slice(&(entries.len() as u64).to_le_bytes());
        table.extend(entries);
        memory.put(at + 0x3000, table);
        memory.object(
            at,
            200,
            &[
                (8, CODE_TYPE),
                (72, line),
                (112, at + 0x2000),
                (128, at + 0x1000),
                (136, at + 0x3000),
                (184, 0x7a_0064),
            ],
        );
    }

    /// Thread 0x77 is in g (line 21), which f called; both frames are in one chunk.
    fn process() -> SyntheticMemory {
        let mut memory = SyntheticMemory::default();
        memory.object(0x1000, 48, &[(40, 0x2000)]);
        memory.object(0x2000, 24, &[(16, 0x3000)]);
        let (chunk, f, g) = (0x6000u64, 0x6018u64, 0x6080u64);
        memory.object(
            0x3000,
            thread::SIZE,
            &[(56, 0x5000), (152, 0x77), (296, chunk), (304, g + 100)],
        );
        memory.object(0x5000, 24, &[(8, g)]);
        let (code_f, code_g) = (0x10_0000u64, 0x20_0000u64);
        let word = |base: u64, at: usize, value: u64| ((base - chunk) as usize + at, value);
        memory.object(
            chunk,
            0x1000,
            &[
                (8, 0x1000),
                word(f, 32, code_f),
                word(f, 56, code_f + 184),
                word(g, 32, code_g),
                word(g, 48, f),
                word(g, 56, code_g + 184 + 4),
            ],
        );
        code_object(&mut memory, code_f, "f", 10);
        code_object(&mut memory, code_g, "g.<locals>.h", 20);
        memory
    }

    #[test]
    fn stack_is_read_innermost_first() {
        let memory = process();
        let mut python = Python::new(0x1000, CODE_TYPE);
        let mut stacks = Stacks::default();
        let read = python.stack(&memory, 0x77, &mut stacks).unwrap().unwrap();
        let frames: Vec<(String, u32)> = stacks
            .frames(read.node)
            .map(|n| (stacks.functions[n.function as usize].name.clone(), n.line))
            .collect();
        let wanted = [("g.<locals>.h".to_owned(), 21), ("f".to_owned(), 10)];
        assert_eq!(frames, wanted);
        let again = python.stack(&memory, 0x77, &mut stacks).unwrap().unwrap();
        assert_eq!((again, stacks.nodes.len()), (read, 2));
        assert_eq!(python.stack(&memory, 0x78, &mut stacks), Ok(None));
    }

    #[test]
    fn function_that_replaces_another_at_its_address_is_read_again() {
        let mut memory = process();
        let mut python = Python::new(0x1000, CODE_TYPE);
        let mut stacks = Stacks::default();
        python.stack(&memory, 0x77, &mut stacks).unwrap().unwrap();
        // The code object was freed, and one of the same lines is there now.
        code_object(&mut memory, 0x20_0000, "other", 20);
        string(&mut memory, 0x20_5000, "other");
        let mut bytes = memory.0[&0x20_0000].clone();
        bytes[128..136].copy_from_slice(&0x20_5000u64.to_le_bytes());
        memory.put(0x20_0000, bytes);
        let read = python.stack(&memory, 0x77, &mut stacks).unwrap().unwrap();
        let inner = stacks.frames(read.node).next().unwrap();
        assert_eq!(stacks.functions[inner.function as usize].name, "other");
    }

    #[test]
    fn objects_of_another_type_give_no_stack() {
        let memory = process();
        let mut python = Python::new(0x1000, CODE_TYPE + 1);
        assert_eq!(python.stack(&memory, 0x77, &mut Stacks::default()), Err(()));
    }

    #[test]
    fn circular_frames_give_no_stack() {
        let mut memory = process();
        memory.object(0x5000, 24, &[(8, 0x9000)]);
        memory.object(0x9000, frame::SIZE, &[(32, 0x10_0000), (48, 0x9000)]);
        let mut python = Python::new(0x1000, CODE_TYPE);
        assert_eq!(python.stack(&memory, 0x77, &mut Stacks::default()), Err(()));
    }

    proptest! {
        #[test]
        fn arbitrary_memory_does_not_panic(changes in prop::collection::vec((0u64..0x20_0100, any::<u64>()), 0..6)) {
            let mut memory = process();
            for (at, word) in changes {
                if let Some((start, bytes)) = memory.0.range_mut(..=at).next_back() {
                    let from = (at - start) as usize & !7;
                    if let Some(place) = bytes.get_mut(from..from + 8) {
                        place.copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
            let mut python = Python::new(0x1000, CODE_TYPE);
            let _ = python.stack(&memory, 0x77, &mut Stacks::default());
        }

    }
}
