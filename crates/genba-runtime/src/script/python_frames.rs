//! The frames of CPython. Offsets are those of [`super::python_layout`].

mod chunks;
mod lines;
mod objects;

use std::collections::{HashMap, HashSet};

use chunks::Chunks;
use objects::{bytes_object, text};

use super::python_layout::{
    ADDRESS, CODE_SIZE, CurrentFrame, FRAME_SIZE, Layout, NOT_OF_SCRIPT, Position, TYPE,
};
use super::script_stacks::{Function, Stacks};
use super::stack_nodes::StackNodeCache;
use super::thread_memory::{Memory, word_at};

/// Threads and interpreters that are searched at most.
const MAX_THREADS: usize = 10_000;
const MAX_INTERPRETERS: usize = 1_000;
/// Frames of one stack at most.
const MAX_FRAMES: usize = 50_000;
/// Samples after which a thread without a Python thread state is searched for one again.
const SAMPLES_UNTIL_RETRY: u32 = 50;

/// A code object that was read.
struct Code {
    /// Its bytes from the first line to the line table: the same object as long as they are.
    seen: [u8; CODE_SIZE],
    function: u32,
    /// Ends of stretches of instructions (in code units) and their lines.
    lines: Vec<(u32, u32)>,
}

/// Reads stacks of one process.
pub struct Python {
    pub(super) layout: &'static Layout,
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
    /// The same interpreter in a process that was forked and executed nothing else: its variables are where they were.
    #[must_use]
    pub fn of_fork(&self) -> Self {
        Self::new(self.layout, self.runtime, self.code_type)
    }

    /// `runtime` is where `_PyRuntime` is, `code_type` where `PyCode_Type`.
    #[must_use]
    pub fn new(layout: &'static Layout, runtime: u64, code_type: u64) -> Self {
        Self {
            layout,
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
        let layout = self.layout;
        let Some(state) = self.state(memory, pointer) else {
            return Ok(None);
        };
        let field = |offset: u64| memory.word(state.wrapping_add(offset)).ok_or(());
        let mut at = match layout.thread.current {
            CurrentFrame::Field(offset) => field(offset)?,
            CurrentFrame::CFrame(offset, frame) => {
                let cframe = field(offset)?;
                memory.word(cframe.wrapping_add(frame)).ok_or(())?
            }
        };
        let mut chunks = match layout.thread.chunk_and_top {
            Some([newest, top]) => Chunks::new(memory, field(newest)?, field(top)?),
            None => Chunks::new(memory, 0, 0),
        };
        // Innermost first: code object, and offset of the instruction in bytes.
        let mut frames: Vec<(u64, u64)> = Vec::new();
        let mut passed = 0;
        while at != 0 {
            if passed >= MAX_FRAMES {
                return Err(());
            }
            passed += 1;
            let bytes = chunks.frame(at).ok_or(())?;
            let owner = layout.frame.owner.map(|offset| bytes[offset]);
            if owner.is_none_or(|owner| owner < NOT_OF_SCRIPT) {
                let object = word_at(&bytes, layout.frame.code) & ADDRESS;
                frames.push((object, layout.offset(&bytes, object)));
            }
            at = word_at(&bytes, layout.frame.previous);
        }
        let Some(&(innermost, offset)) = frames.first() else {
            return Ok(None);
        };
        let mut checked: HashSet<u64> = HashSet::new();
        let mut nodes = self.node_cache.begin(pointer);
        for &(object, offset) in frames.iter().rev() {
            if checked.insert(object) {
                self.check(memory, object, stacks).ok_or(())?;
            }
            let code = &self.codes[&object];
            nodes.step(code.function, code.line(offset), stacks);
        }
        let node = self.node_cache.end(pointer, nodes);
        let opcode = layout.code.has_opcode_names.then(|| {
            let first = innermost.wrapping_add(layout.code.instructions);
            memory.bytes::<2>(first.wrapping_add(offset))
        });
        let opcode = opcode.flatten().map(|unit| unit[0]);
        Ok(node.map(|node| Read { node, opcode }))
    }

    /// The address of a thread's state.
    fn state(&mut self, memory: &impl Memory, pointer: u64) -> Option<u64> {
        let is_of = |state: u64| self.pointer_of(memory, state) == Some(pointer);
        if let Some(&at) = self.threads.get(&pointer) {
            if is_of(at) {
                return Some(at);
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

    /// The thread pointer of a thread state.
    pub(super) fn pointer_of(&self, memory: &impl Memory, state: u64) -> Option<u64> {
        memory.word(state.wrapping_add(self.layout.thread.pointer))
    }

    /// The addresses of all interpreters.
    pub(super) fn interpreters(&self, memory: &impl Memory) -> Vec<u64> {
        let mut found = Vec::new();
        let mut next = self.runtime.wrapping_add(self.layout.interpreters_head);
        while found.len() < MAX_INTERPRETERS
            && let Some(at) = memory.word(next).filter(|at| *at != 0)
        {
            found.push(at);
            next = at.wrapping_add(self.layout.next_interpreter);
        }
        found
    }

    /// Calls a function with the address of each thread state.
    pub(super) fn each_thread(&self, memory: &impl Memory, found: &mut dyn FnMut(u64)) {
        let mut left = MAX_THREADS;
        for interpreter in self.interpreters(memory) {
            let mut next = interpreter.wrapping_add(self.layout.threads_head);
            while left > 0
                && let Some(at) = memory.word(next).filter(|at| *at != 0)
            {
                left -= 1;
                found(at);
                next = at.wrapping_add(self.layout.thread.next);
            }
        }
    }

    fn search(&mut self, memory: &impl Memory, pointer: u64) -> Option<u64> {
        let mut states = Vec::new();
        self.each_thread(memory, &mut |at| states.push(at));
        for at in states {
            let found = self.pointer_of(memory, at)?;
            self.threads.insert(found, at);
            if found == pointer {
                self.foreign_threads.remove(&pointer);
                return Some(at);
            }
        }
        None
    }

    /// Reads a code object unless it is known and unchanged; `None` if it is not one.
    fn check(&mut self, memory: &impl Memory, object: u64, stacks: &mut Stacks) -> Option<()> {
        let layout = &self.layout.code;
        let seen: [u8; CODE_SIZE] = memory.bytes(object)?;
        if word_at(&seen, TYPE) != self.code_type {
            return None;
        }
        // What follows the line table changes, and is not read.
        let identity = layout.first_line..layout.lines + 8;
        let known = self.codes.get(&object);
        if known.is_some_and(|code| code.seen[identity.clone()] == seen[identity.clone()]) {
            return Some(());
        }
        let first_line = word_at(&seen, layout.first_line) as u32;
        let name = text(memory, word_at(&seen, layout.name), self.layout.text)?;
        let file = text(memory, word_at(&seen, layout.file), self.layout.text)?;
        let table = bytes_object(memory, word_at(&seen, layout.lines))?;
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
                lines: lines::decode(layout.format, &table, first_line),
            },
        );
        Some(())
    }
}

impl Layout {
    /// The offset of the instruction of a frame in the instructions of its code object, bytes.
    fn offset(&self, frame: &[u8; FRAME_SIZE], object: u64) -> u64 {
        match self.frame.position {
            Position::Pointer(at) => {
                let first = object.wrapping_add(self.code.instructions);
                word_at(frame, at).wrapping_sub(first)
            }
            // Below zero before the first instruction.
            Position::Index(at, unit) => {
                let index = word_at(frame, at) as u32 as i32;
                index.max(0) as u64 * unit
            }
        }
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

    fn python(code_type: u64) -> Python {
        Python::new(Layout::of(11).unwrap(), 0x1000, code_type)
    }
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
            312,
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
        let mut python = python(CODE_TYPE);
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
        let mut python = python(CODE_TYPE);
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
        let mut python = python(CODE_TYPE + 1);
        assert_eq!(python.stack(&memory, 0x77, &mut Stacks::default()), Err(()));
    }

    #[test]
    fn circular_frames_give_no_stack() {
        let mut memory = process();
        memory.object(0x5000, 24, &[(8, 0x9000)]);
        memory.object(0x9000, FRAME_SIZE, &[(32, 0x10_0000), (48, 0x9000)]);
        let mut python = python(CODE_TYPE);
        assert_eq!(python.stack(&memory, 0x77, &mut Stacks::default()), Err(()));
    }

    proptest! {
        #[test]
        fn arbitrary_memory_does_not_panic(changes in prop::collection::vec((0u64..0x20_0100, any::<u64>()), 0..6)) {
            let mut memory = process();
            memory.overwrite(changes);
            let mut python = python(CODE_TYPE);
            let _ = python.stack(&memory, 0x77, &mut Stacks::default());
        }

    }
}
