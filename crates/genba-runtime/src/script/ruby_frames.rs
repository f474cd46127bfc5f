//! The frames of CRuby 2.7 to 4.0.
//!
//! Offsets that all these versions have in common are here (vm_core.h, iseq.h, method.h and internal/imemo.h on
//! 64-bit machines), those that differ in [`RubyLayout`]. Every object that is read must have the type that it should
//! have, or the stack is not used. Of methods written in C only the one that the innermost line of Ruby calls is in the
//! stack: further C functions are in the native one.

mod c_methods;
mod lines;
mod objects;
mod variables;

use std::collections::{HashMap, HashSet};

use c_methods::CMethods;
use lines::Lines;
use objects::{IMEMO_ISEQ, IMEMO_SHIFT, T_IMEMO, TYPE, path, string};
pub use variables::Variable;

use super::ruby_layout::{RubyLayout, ThreadLayout};
use super::script_stacks::{Function, Stacks, WRITTEN_IN_C};
use super::stack_nodes::StackNodeCache;
use super::thread_memory::{Memory, word_at};

mod context {
    pub const STACK: usize = 0;
    pub const STACK_SIZE: usize = 8;
    pub const CONTROL_FRAME: usize = 16;
    pub const SIZE: usize = 24;
    /// Its thread, before 3.1.
    pub const THREAD: u64 = 56;
}
/// `rb_thread_t.thread_id` of 2.7: the thread pointer.
const THREAD_ID: u64 = 72;
mod control {
    pub const PC: usize = 0;
    pub const ISEQ: usize = 16;
    pub const ENVIRONMENT: usize = 32;
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
    pub const SIZE: usize = 152;
}

/// Frames of one stack at most.
const MAX_FRAMES: usize = 50_000;
/// Frames without Ruby's code inside of the innermost line of Ruby: methods written in C call one another.
const MAX_C_FRAMES: usize = 64;

/// Where the context of a thread is found.
#[derive(Clone, Debug)]
pub enum ContextPlace {
    /// `ruby_current_ec`, one for each thread.
    PerThread {
        /// Which module's variables it is among.
        module: ThreadModule,
        /// Its offset there; several where the symbol was stripped: the first that has a context counts.
        offsets: Vec<u64>,
    },
    /// `ruby_current_execution_context_ptr`, that of the thread which has the lock.
    OfLockHolder(u64),
}

/// The number of a module among those with thread variables.
#[derive(Clone, Copy, Debug)]
pub enum ThreadModule {
    /// The program itself.
    Program,
    /// A library: the number is at this address (`DTPMOD64`).
    NumberAt(u64),
}

/// The interpreter's variables in a process.
#[derive(Default)]
pub struct Variables {
    /// `ruby_current_vm_ptr`.
    pub vm: Variable,
    /// `ruby_global_symbols`.
    pub identifiers: Variable,
    /// Addresses and bytes of all of them.
    pub all: Vec<(u64, u64)>,
}

/// Reads stacks of one process.
pub struct Ruby {
    layout: &'static RubyLayout,
    context: ContextPlace,
    vm: Variable,
    variables: Vec<(u64, u64)>,
    c_methods: CMethods,
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
    /// The same interpreter in a process that was forked and executed nothing else: its variables are where they were.
    #[must_use]
    pub fn of_fork(&self) -> Self {
        let variables = Variables {
            vm: self.vm.clone(),
            identifiers: self.c_methods.table.clone(),
            all: self.variables.clone(),
        };
        Self::new(self.layout, self.context.clone(), variables)
    }

    #[must_use]
    pub fn new(layout: &'static RubyLayout, context: ContextPlace, variables: Variables) -> Self {
        Self {
            layout,
            context,
            vm: variables.vm,
            c_methods: CMethods::new(variables.identifiers),
            variables: variables.all,
            iseqs: HashMap::new(),
            node_cache: StackNodeCache::default(),
        }
    }

    /// Where `ruby_current_vm_ptr` is, and the threads that it leads to, of a version whose GVL is known.
    pub(super) fn vm_with_known_gvl(&self) -> Option<(u64, &'static ThreadLayout)> {
        self.vm.at.zip(self.layout.threads)
    }

    /// Looks for `ruby_current_vm_ptr` where it has no symbol.
    pub(super) fn locate_vm(
        &mut self,
        is_vm: impl Fn(&ThreadLayout, u64) -> bool,
        memory: &impl Memory,
    ) {
        let Some(layout) = self.layout.threads else {
            return;
        };
        let is_vm = |bytes: &[u8], _| is_vm(layout, word_at(bytes, 0));
        self.vm.locate(memory, &self.variables, is_vm);
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
        let Some((frame, used)) = self.frames(memory, pointer)? else {
            return Ok(None);
        };
        let frame_size = self.layout.frame_size;
        let mut frames = vec![0; used];
        memory.fill(frame, &mut frames).ok_or(())?;
        let mut checked: HashSet<u64> = HashSet::new();
        let c_method = self.c_method(memory, &frames);
        let frames: Vec<(u64, u64)> = frames
            .chunks_exact(frame_size)
            .rev()
            .filter_map(sequence)
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
        if let Some(name) = c_method.filter(|_| !frames.is_empty()) {
            let file = WRITTEN_IN_C.to_owned();
            let function = stacks.function(Function {
                name,
                file,
                line: 0,
            });
            nodes.step(function, 0, stacks);
        }
        Ok(self.node_cache.end(pointer, nodes))
    }

    /// Whether the thread with this thread pointer is in `sleep`.
    pub(super) fn sleeps(&mut self, memory: &impl Memory, pointer: u64) -> bool {
        let Ok(Some((frame, used))) = self.frames(memory, pointer) else {
            return false;
        };
        let mut frames = vec![0; used.min(MAX_C_FRAMES * self.layout.frame_size)];
        memory.fill(frame, &mut frames).is_some()
            && self.c_method(memory, &frames).as_deref() == Some("sleep")
    }

    /// The method written in C that the innermost line of Ruby calls.
    fn c_method(&mut self, memory: &impl Memory, frames: &[u8]) -> Option<String> {
        let frames = frames.chunks_exact(self.layout.frame_size);
        let environment = frames
            .take(MAX_C_FRAMES)
            .take_while(|bytes| sequence(bytes).is_none())
            .map(|bytes| word_at(bytes, control::ENVIRONMENT))
            .last()?;
        self.c_methods
            .name(memory, self.layout, &self.variables, environment)
            .map(str::to_owned)
    }

    /// Where the frames of a thread begin, innermost first, and their bytes; `None` if it does not run Ruby.
    fn frames(&self, memory: &impl Memory, pointer: u64) -> Result<Option<(u64, usize)>, ()> {
        match self.contexts(memory, pointer).as_slice() {
            &[context] => self.frames_of(memory, context),
            // Of several words one at most is a context.
            several => {
                let mut found = several.iter().map(|&one| self.frames_of(memory, one));
                Ok(found.find_map(|one| one.ok().flatten()))
            }
        }
    }

    fn frames_of(&self, memory: &impl Memory, context: u64) -> Result<Option<(u64, usize)>, ()> {
        let context: [u8; context::SIZE] = memory.bytes(context).ok_or(())?;
        let stack = word_at(&context, context::STACK);
        let size = word_at(&context, context::STACK_SIZE);
        let frame = word_at(&context, context::CONTROL_FRAME);
        if stack == 0 || frame == 0 {
            return Ok(None);
        }
        let bytes = size.checked_mul(8).ok_or(())?;
        let end = stack.checked_add(bytes).ok_or(())?;
        let used = end.checked_sub(frame).ok_or(())? as usize;
        let frame_size = self.layout.frame_size;
        if frame < stack || !used.is_multiple_of(frame_size) || used > MAX_FRAMES * frame_size {
            return Err(());
        }
        Ok(Some((frame, used)))
    }

    /// What may be the context of a thread.
    fn contexts(&self, memory: &impl Memory, pointer: u64) -> Vec<u64> {
        match &self.context {
            ContextPlace::OfLockHolder(variable) => {
                let context = memory.word(*variable).filter(|context| *context != 0);
                let thread = |context: u64| {
                    let thread = memory.word(context.checked_add(context::THREAD)?)?;
                    memory.word(thread.checked_add(THREAD_ID)?)
                };
                let is_this = |context: &u64| thread(*context) == Some(pointer);
                context.filter(is_this).into_iter().collect()
            }
            ContextPlace::PerThread { module, offsets } => {
                let Some(block) = thread_variables(memory, *module, pointer) else {
                    return Vec::new();
                };
                let words = (offsets.iter()).filter_map(|offset| {
                    let at = block.checked_add(*offset)?;
                    memory.word(at)
                });
                words.filter(|context| *context != 0).collect()
            }
        }
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
        let name = string(memory, self.layout, word_at(&bytes, body::LABEL))?;
        let file = path(memory, self.layout, word_at(&bytes, body::PATH))?;
        let line = word_at(&bytes, body::FIRST_LINE);
        let line = match (self.layout.line_is_object, line & 1) {
            (false, _) => line as u32,
            // A small integer as Ruby has it.
            (true, 1) => (line >> 1) as u32,
            (true, _) => 0,
        };
        let main = name == "<main>";
        let function = stacks.function(Function { name, file, line });
        let lines = Lines::read(memory, self.layout, &bytes).unwrap_or_default();
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

/// Position and instruction sequence of a control frame; `None` for the end of a stack and methods written in C.
fn sequence(frame: &[u8]) -> Option<(u64, u64)> {
    let (pc, object) = (word_at(frame, control::PC), word_at(frame, control::ISEQ));
    (pc != 0 && object != 0).then_some((pc, object))
}

/// A thread's variables of a module: glibc's dynamic thread vector has a pair of words for each module, and its
/// address is in the second word behind the thread pointer.
fn thread_variables(memory: &impl Memory, module: ThreadModule, pointer: u64) -> Option<u64> {
    let vector = memory.word(pointer.checked_add(8)?)?;
    let module = match module {
        ThreadModule::Program => 1,
        ThreadModule::NumberAt(address) => memory.word(address)?,
    };
    // As many modules as no process has.
    if module == 0 || module > 1 << 20 {
        return None;
    }
    let block = memory.word(vector.checked_add(module * 16)?)?;
    // All ones for a block that was never used by this thread.
    (block != u64::MAX && block != 0).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::super::thread_memory::tests::SyntheticMemory;
    use super::lines::IMMEDIATE_BYTES;
    use super::objects::{T_ARRAY, T_STRING, USER1};
    use super::*;
    use proptest::prelude::*;

    fn layout() -> &'static RubyLayout {
        RubyLayout::of("3.1.2").expect("known")
    }

    fn reader(module: u64) -> Ruby {
        reader_with(module, vec![8])
    }

    fn reader_with(module: u64, offsets: Vec<u64>) -> Ruby {
        let module = ThreadModule::NumberAt(module);
        let place = ContextPlace::PerThread { module, offsets };
        Ruby::new(layout(), place, Variables::default())
    }

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
        let mut ruby = reader(0x7080);
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
    fn context_is_found_among_a_stripped_librarys_variables() {
        let mut memory = process();
        // The other variable points to something else.
        memory.object(0x7400, 24, &[(0, 1), (8, 2), (16, 0x9000)]);
        // And an empty object may be in front.
        memory.object(0x7200, 24, &[(0, 0x7400), (8, 0x7300), (16, 0x7500)]);
        memory.object(0x7500, 24, &[(0, 0)]);
        let mut stacks = Stacks::default();
        let mut stack = |offsets| reader_with(0x7080, offsets).stack(&memory, 0x7000, &mut stacks);
        assert!(matches!(stack(vec![0, 8]), Ok(Some(_))));
        assert!(matches!(stack(vec![16, 8]), Ok(Some(_))));
        assert_eq!(stack(vec![0]), Err(()));
    }

    #[test]
    fn objects_of_another_type_give_no_stack() {
        let mut memory = process();
        memory.object(0x10_0000, 40, &[(0, T_STRING), (16, 0x10_0100)]);
        let mut ruby = reader(0x7080);
        assert_eq!(ruby.stack(&memory, 0x7000, &mut Stacks::default()), Err(()));
        assert_eq!(
            reader(0x1).stack(&memory, 0x7000, &mut Stacks::default()),
            Ok(None)
        );
    }

    proptest! {
        #[test]
        fn arbitrary_memory_does_not_panic(changes in prop::collection::vec((0u64..0x20_0900, any::<u64>()), 0..6)) {
            let mut memory = process();
            memory.overwrite(changes);
            let mut ruby = reader(0x7080);
            let _ = ruby.stack(&memory, 0x7000, &mut Stacks::default());
        }
    }
}
