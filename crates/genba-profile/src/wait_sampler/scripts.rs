//! What an interpreter's own memory tells about the threads of a script: a seam, because only the readers of a
//! runtime's frames know its layout.

/// A function of a script that is being executed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScriptFrame {
    /// Name as the language has it.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line that is being executed; 0 if unknown.
    pub line: u32,
    /// Whether it is code that the user may change rather than the language's own library.
    pub own: bool,
}

/// What a thread of a script waits for on a word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptWait {
    /// A lock of the interpreter or the language.
    Lock {
        /// What the language calls it: `the GIL`.
        name: &'static str,
        /// Whether scripts run only under it, whatever they do.
        global: bool,
        /// The thread that holds it; `None` while nobody does, or where that cannot be read.
        holder: Option<i32>,
    },
    /// The end of another thread.
    Join(i32),
    /// A time that the script gives; nobody ends it.
    Sleep,
}

/// Looks into the memory of processes that run scripts; nothing is stopped.
pub trait Scripts: Send {
    /// What a thread waits for, if the interpreter's memory tells that. `word` is the address that it is blocked on;
    /// `None` where it polls a descriptor instead.
    fn wait(&mut self, pid: i32, tid: i32, word: Option<u64>) -> Option<ScriptWait>;

    /// The functions of a thread's script with their lines, innermost first; not all of a deep stack.
    fn stack(&mut self, pid: i32, tid: i32) -> Vec<ScriptFrame>;

    /// Whether a process is known to run an interpreter whose memory can be read.
    fn runs_in(&self, pid: i32) -> bool;

    /// A process has started another one, which runs the same program until it executes one.
    fn forked(&mut self, parent: i32, child: i32);

    /// The process executes another program.
    fn executed(&mut self, pid: i32);

    /// What could not be read, a sentence each.
    fn notes(&self) -> Vec<String>;
}

/// For targets whose scripts are of no interest.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScripts;

impl Scripts for NoScripts {
    fn wait(&mut self, _: i32, _: i32, _: Option<u64>) -> Option<ScriptWait> {
        None
    }

    fn stack(&mut self, _: i32, _: i32) -> Vec<ScriptFrame> {
        Vec::new()
    }

    fn runs_in(&self, _: i32) -> bool {
        false
    }

    fn forked(&mut self, _: i32, _: i32) {}

    fn executed(&mut self, _: i32) {}

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Distinct script stacks, and which samples have them.
#[derive(Clone, Debug, Default)]
pub struct ScriptStacks {
    stacks: Vec<Vec<ScriptFrame>>,
    ids: std::collections::HashMap<Vec<ScriptFrame>, u32>,
    by_sample: std::collections::HashMap<(i32, u64), u32>,
}

/// Most distinct script stacks; later ones are not kept.
const MAX_STACKS: usize = 100_000;

impl ScriptStacks {
    /// The number of a stack; `None` for an empty one, and when there are too many.
    pub fn intern(&mut self, stack: Vec<ScriptFrame>) -> Option<u32> {
        if stack.is_empty() {
            return None;
        }
        if let Some(id) = self.ids.get(&stack) {
            return Some(*id);
        }
        if self.stacks.len() >= MAX_STACKS {
            return None;
        }
        let id = self.stacks.len() as u32;
        self.stacks.push(stack.clone());
        self.ids.insert(stack, id);
        Some(id)
    }

    /// Says which stack a sample (thread and time) has.
    pub fn set(&mut self, sample: (i32, u64), stack: Option<u32>) {
        if let Some(stack) = stack {
            self.by_sample.insert(sample, stack);
        }
    }

    /// The number of a sample's stack.
    #[must_use]
    pub fn id(&self, sample: (i32, u64)) -> Option<u32> {
        self.by_sample.get(&sample).copied()
    }

    /// The frames of a stack, innermost first; none for a number that was not given.
    #[must_use]
    pub fn frames(&self, id: u32) -> &[ScriptFrame] {
        self.stacks.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether any sample has a stack.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_sample.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_stack_is_kept_once() {
        let frame = |line| ScriptFrame {
            function: "f".to_owned(),
            file: "a.py".to_owned(),
            line,
            own: true,
        };
        let mut stacks = ScriptStacks::default();
        assert_eq!(stacks.intern(Vec::new()), None);
        let one = stacks.intern(vec![frame(1)]);
        assert_eq!(stacks.intern(vec![frame(1)]), one);
        assert_ne!(stacks.intern(vec![frame(2)]), one);
        stacks.set((7, 8), one);
        stacks.set((7, 9), None);
        assert_eq!((stacks.id((7, 8)), stacks.id((7, 9))), (one, None));
        assert_eq!(stacks.frames(one.unwrap()), [frame(1)]);
    }
}
