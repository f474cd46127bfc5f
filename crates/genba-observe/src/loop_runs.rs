//! The runs of loops in a burst: where each begins and ends, what is inside it.
//!
//! Calls in a loop belong to its run; loops of callees, and loops inside a loop, are runs of their own and
//! a part of the run around them. A run that began before its burst, that ends after it or that makes a
//! system call is not whole.

use genba_model::{BurstEvent, CodePoint, Observed};

use crate::call_stack::{CallStack, Change};
use crate::code_knowledge::CodeKnowledge;
use crate::open_calls::sign;

/// What an analysis keeps of a run.
pub(crate) trait Run: Default {
    /// An event inside the run that is in no run inside it; `own` if it is of the loop's own function, not of a
    /// callee, `head` if the loop's head is executed.
    fn event(&mut self, event: &BurstEvent, own: bool, head: bool, stack: &CallStack);

    /// The run has ended.
    fn end(&mut self);

    /// A run inside this one has ended; `own` if it is a loop of the same activation.
    fn inner(&mut self, inner: &Self, own: bool);
}

struct Open<R> {
    head: CodePoint,
    activation: u32,
    whole: bool,
    run: R,
}

/// Follows the runs of one burst.
pub(crate) struct LoopRuns<R> {
    stack: CallStack,
    open: Vec<Open<R>>,
    /// The last callee that was asked about, and whether it compares texts.
    comparison: Option<(CodePoint, bool)>,
    /// The last activation that was seen outside of its loops: a run that follows is whole.
    outside: Option<u32>,
}

impl<R: Run> LoopRuns<R> {
    pub(crate) fn new() -> Self {
        Self {
            stack: CallStack::default(),
            open: Vec::new(),
            comparison: None,
            outside: None,
        }
    }

    /// The next event; `ended` gets each whole run that ends with it, with the loop's head.
    pub(crate) fn event(
        &mut self,
        event: &BurstEvent,
        code: &dyn CodeKnowledge,
        ended: &mut dyn FnMut(CodePoint, R),
    ) {
        // A loop may begin within a block and call before it does anything else that is recorded.
        if matches!(event.what, Observed::Call { .. }) {
            self.enter_and_leave(code.loops_around(event.at), ended);
        }
        let event = &self.by_sign(event, code);
        match self.stack.event(event) {
            Change::Entered => self.outside = Some(self.stack.activation()),
            Change::Lost => {
                self.open.clear();
                self.outside = None;
            }
            Change::Left(_) => {
                while (self.open.last()).is_some_and(|top| !self.is_active(top.activation)) {
                    self.close(ended);
                }
            }
            Change::Retargeted | Change::None => {}
        }
        if matches!(
            event.what,
            Observed::Block { .. } | Observed::Branch { .. } | Observed::Load { .. }
        ) {
            self.enter_and_leave(code.loops_around(event.at), ended);
        }
        let here = self.stack.activation();
        if self.is_inside_of_comparison(event, code) {
            return;
        }
        if let Some(top) = self.open.last_mut() {
            if matches!(event.what, Observed::SystemCall { .. }) {
                top.whole = false;
            }
            let own = top.activation == here;
            let head = event.at == top.head && matches!(event.what, Observed::Block { .. });
            top.run.event(event, own, head, &self.stack);
        }
    }

    /// An event; of what a library's comparison returns only the sign.
    fn by_sign(&self, event: &BurstEvent, code: &dyn CodeKnowledge) -> BurstEvent {
        let mut event = *event;
        if let Observed::Return { value } = &mut event.what
            && (self.stack.frames().last()).is_some_and(|callee| code.compares(callee.target))
        {
            *value = sign(*value);
        }
        event
    }

    /// Whether an event is of the inside of a library's comparison that a loop calls.
    fn is_inside_of_comparison(&mut self, event: &BurstEvent, code: &dyn CodeKnowledge) -> bool {
        let is_detail = matches!(event.what, Observed::Load { .. } | Observed::Branch { .. });
        let Some(callee) = self.stack.frames().last().filter(|_| is_detail) else {
            return false;
        };
        let is_called = (self.open.last()).is_some_and(|top| top.activation != callee.activation);
        if !is_called || self.comparison.is_none_or(|known| known.0 != callee.target) {
            self.comparison = is_called.then(|| (callee.target, code.compares(callee.target)));
        }
        self.comparison.is_some_and(|known| known.1)
    }

    fn is_active(&self, activation: u32) -> bool {
        let frames = self.stack.frames();
        activation == self.stack.activation()
            || frames.iter().any(|frame| frame.activation == activation)
    }

    /// Execution is inside these loops of the innermost activation, which are given inside out.
    fn enter_and_leave(&mut self, around: &[CodePoint], ended: &mut dyn FnMut(CodePoint, R)) {
        let here = self.stack.activation();
        while let Some(top) = self.open.last()
            && top.activation == here
            && !around.contains(&top.head)
        {
            self.close(ended);
            self.outside = Some(here);
        }
        let inmost = self.open.last().filter(|top| top.activation == here);
        let known = inmost.and_then(|top| around.iter().position(|&head| head == top.head));
        let whole = inmost.is_some() || self.outside == Some(here);
        for &head in around[..known.unwrap_or(around.len())].iter().rev() {
            self.open.push(Open {
                head,
                activation: here,
                whole,
                run: R::default(),
            });
        }
        if around.is_empty() {
            self.outside = Some(here);
        }
    }

    fn close(&mut self, ended: &mut dyn FnMut(CodePoint, R)) {
        let Some(mut one) = self.open.pop() else {
            return;
        };
        one.run.end();
        if let Some(around) = self.open.last_mut() {
            around
                .run
                .inner(&one.run, around.activation == one.activation);
            around.whole &= one.whole;
        }
        if one.whole {
            ended(one.head, one.run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, call, load, ret};

    #[derive(Default)]
    struct Loads {
        own: u32,
        callees: u32,
        iterations: u32,
    }

    impl Run for Loads {
        fn event(&mut self, event: &BurstEvent, own: bool, head: bool, _: &CallStack) {
            self.iterations += u32::from(head);
            if matches!(event.what, Observed::Load { .. }) {
                *(if own {
                    &mut self.own
                } else {
                    &mut self.callees
                }) += 1;
            }
        }

        fn end(&mut self) {}

        fn inner(&mut self, inner: &Self, _: bool) {
            self.own += inner.own;
        }
    }

    fn ended(events: &[BurstEvent]) -> Vec<(CodePoint, u32, u32, u32)> {
        let mut runs = LoopRuns::<Loads>::new();
        let mut found = Vec::new();
        for event in events {
            runs.event(event, &AllOwn, &mut |head, run| {
                found.push((head, run.own, run.callees, run.iterations));
            });
        }
        found
    }

    #[test]
    fn nested_runs_end_inside_out_and_are_part_of_those_around() {
        let row = [
            block(0x300, 1),
            block(0x340, 1),
            load(0x344, 8, 8, 0),
            block(0x340, 1),
            load(0x344, 16, 8, 0),
            block(0x380, 1),
        ];
        let whole = [&[block(0x80, 1)][..], &row, &row, &[block(0x400, 1)]].concat();
        let (inner, outer) = ((at(0x340), 2, 0, 2), (at(0x300), 4, 0, 2));
        assert_eq!(ended(&whole), [inner, inner, outer]);
        // What began before the burst is not whole, but what begins inside it is.
        assert_eq!(ended(&whole[1..]), [inner, inner]);
    }

    #[test]
    fn callees_are_inside_and_system_calls_end_what_is_known() {
        let run = |system_call: bool| {
            let mut events = vec![
                block(0x80, 1),
                block(0x100, 1),
                call(0x104, at(0x900), [0; 6]),
                load(0x904, 8, 8, 0),
                ret(0x908, 0),
                block(0x109, 1),
            ];
            if system_call {
                let what = Observed::SystemCall { number: 1 };
                events.push(BurstEvent {
                    at: at(0x10a),
                    what,
                });
            }
            events.push(block(0x200, 1));
            ended(&events)
        };
        assert_eq!(run(false), [(at(0x100), 0, 1, 1)]);
        assert_eq!(run(true), []);
    }

    #[test]
    fn loop_that_begins_within_a_block_and_calls_first_is_whole() {
        let events = [
            block(0x80, 4),
            call(0x104, at(0x900), [0; 6]),
            block(0x900, 1),
            ret(0x908, 0),
            block(0x109, 1),
            load(0x10a, 8, 8, 0),
            block(0x100, 2),
            call(0x104, at(0x900), [0; 6]),
            block(0x900, 1),
            ret(0x908, 0),
            block(0x109, 1),
            block(0x200, 1),
        ];
        assert_eq!(ended(&events), [(at(0x100), 1, 0, 1)]);
    }
}
