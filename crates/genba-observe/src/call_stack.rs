//! Who called whom within a burst, followed by its calls and returns.

use genba_model::{BurstEvent, CodePoint, Observed};

use crate::code_knowledge::CodeKnowledge;

/// A call that has not returned yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The call instruction, or a jump to another function.
    pub(crate) call: CodePoint,
    /// The callee's entry; that behind a stub of the procedure linkage table.
    pub(crate) target: CodePoint,
    /// Integer arguments.
    pub(crate) arguments: [u64; 6],
    /// Where the return address is in memory, if the call's store was seen.
    pub(crate) stack: Option<u64>,
    /// Number of this activation in the burst.
    pub(crate) activation: u32,
}

impl Frame {
    /// Whether an address is in the call's own stack frame or below.
    pub(crate) fn holds(&self, address: u64) -> bool {
        let own = |stack: u64| address <= stack && stack - address <= MAX_FRAME_BYTES;
        self.stack.is_some_and(own)
    }
}

/// What an event changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// There is one frame more.
    Entered,
    /// The innermost frame goes to another function: its target was a stub.
    Retargeted,
    /// So many innermost frames returned.
    Left(usize),
    /// The burst is in a function now whose call it did not see.
    Lost,
}

/// The deepest stack frame.
const MAX_FRAME_BYTES: u64 = 1 << 16;

/// Calls deeper than this are not followed.
const MAX_DEPTH: usize = 1 << 14;

/// Bytes of a linkage stub, from its start to the jump at its end.
const MAX_STUB_BYTES: u64 = 16;

/// The longest call instruction, with its prefixes.
const MAX_CALL_BYTES: u64 = 15;

#[derive(Default)]
pub(crate) struct CallStack {
    frames: Vec<Frame>,
    /// The activation at the bottom, whose call was not seen.
    bottom: u32,
    activations: u32,
    returning: bool,
    last_store: Option<(CodePoint, u64)>,
}

impl CallStack {
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Number of the innermost activation.
    pub(crate) fn activation(&self) -> u32 {
        (self.frames.last()).map_or(self.bottom, |frame| frame.activation)
    }

    /// Whether an address is in the stack frame of the innermost function or of one that it called; not known
    /// of a function whose call was not seen.
    pub(crate) fn is_in_frame(&self, address: u64) -> bool {
        self.frames.last().is_some_and(|frame| frame.holds(address))
    }

    pub(crate) fn event(&mut self, event: &BurstEvent) -> Change {
        match event.what {
            Observed::Store { address, .. } => {
                // A call stores its return address before or after it is recorded itself.
                if let Some(top) = self.frames.last_mut()
                    && top.stack.is_none()
                    && top.call == event.at
                {
                    top.stack = Some(address);
                }
                self.last_store = Some((event.at, address));
                Change::None
            }
            Observed::Call { target, arguments } => self.enter(event.at, target, arguments),
            Observed::Jump { target } if self.is_stub(event.at) => self.retarget(target),
            Observed::Return { .. } => {
                self.returning = true;
                Change::None
            }
            Observed::Block { .. } if self.returning => {
                self.returning = false;
                self.leave(event.at)
            }
            _ => Change::None,
        }
    }

    fn is_stub(&self, at: CodePoint) -> bool {
        self.frames.last().is_some_and(|top| {
            top.target.module == at.module
                && at.address.wrapping_sub(top.target.address) <= MAX_STUB_BYTES
        })
    }

    fn retarget(&mut self, target: CodePoint) -> Change {
        match self.frames.last_mut() {
            Some(top) if top.target.module != target.module => {
                top.target = target;
                Change::Retargeted
            }
            _ => Change::None,
        }
    }

    fn enter(&mut self, at: CodePoint, target: CodePoint, arguments: [u64; 6]) -> Change {
        self.returning = false;
        if self.frames.len() >= MAX_DEPTH {
            self.frames.clear();
            self.activations += 1;
            self.bottom = self.activations;
            return Change::Lost;
        }
        self.activations += 1;
        let stack = self.last_store.filter(|store| store.0 == at);
        self.frames.push(Frame {
            call: at,
            target,
            arguments,
            stack: stack.map(|store| store.1),
            activation: self.activations,
        });
        Change::Entered
    }

    /// Control came to `at` by a return: right behind the call that it is the return of.
    fn leave(&mut self, at: CodePoint) -> Change {
        let behind = |frame: &Frame| {
            let bytes = at.address.wrapping_sub(frame.call.address);
            frame.call.module == at.module && (1..=MAX_CALL_BYTES).contains(&bytes)
        };
        match self.frames.iter().rposition(behind) {
            Some(index) => {
                let left = self.frames.len() - index;
                self.frames.truncate(index);
                Change::Left(left)
            }
            None => {
                self.frames.clear();
                self.activations += 1;
                self.bottom = self.activations;
                Change::Lost
            }
        }
    }

    /// The instruction in code of the user's that is responsible for what happens at `at`: itself,
    /// or the innermost call from such code, with the function that was called.
    pub(crate) fn user_site(
        &self,
        at: CodePoint,
        code: &dyn CodeKnowledge,
    ) -> Option<(CodePoint, Option<CodePoint>)> {
        if code.is_own(at.module) {
            return Some((at, None));
        }
        let own = |frame: &&Frame| code.is_own(frame.call.module);
        let frame = self.frames.iter().rev().find(own)?;
        Some((frame.call, Some(frame.target)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, call, ret};

    #[test]
    fn frames_are_followed_through_stubs_and_tail_jumps() {
        let mut stack = CallStack::default();
        let lib = |address| CodePoint { module: 1, address };
        assert_eq!(stack.event(&call(0x100, at(0x20), [0; 6])), Change::Entered);
        let stub = BurstEvent {
            at: at(0x24),
            what: Observed::Jump { target: lib(0x900) },
        };
        assert_eq!(stack.event(&stub), Change::Retargeted);
        assert_eq!(stack.frames()[0].target, lib(0x900));
        let tail = BurstEvent {
            at: lib(0x950),
            what: Observed::Call {
                target: lib(0xa00),
                arguments: [0; 6],
            },
        };
        assert_eq!(stack.event(&tail), Change::Entered);
        stack.event(&ret(0xa10, 0));
        assert_eq!(stack.event(&block(0x105, 1)), Change::Left(2));
        assert!(stack.frames().is_empty());
        assert_eq!(stack.user_site(at(0x105), &AllOwn), Some((at(0x105), None)));
    }

    #[test]
    fn calls_right_at_the_beginning_of_a_function_are_its_own() {
        let mut stack = CallStack::default();
        let allocator = CodePoint {
            module: 1,
            address: 0x900,
        };
        stack.event(&call(0x100, at(0x200), [0; 6]));
        let first = BurstEvent {
            at: at(0x204),
            what: Observed::Call {
                target: allocator,
                arguments: [0; 6],
            },
        };
        assert_eq!(stack.event(&first), Change::Entered);
        assert_eq!(stack.frames().len(), 2);
        assert_eq!(stack.frames()[1].call, at(0x204));
        stack.event(&ret(0x910, 0));
        assert_eq!(stack.event(&block(0x209, 1)), Change::Left(1));
    }

    #[test]
    fn return_to_a_caller_whose_call_was_not_seen_starts_anew() {
        let mut stack = CallStack::default();
        stack.event(&call(0x100, at(0x200), [0; 6]));
        let before = stack.activation();
        stack.event(&ret(0x210, 0));
        assert_eq!(stack.event(&block(0x700, 1)), Change::Lost);
        assert_ne!(stack.activation(), before);
    }
}
