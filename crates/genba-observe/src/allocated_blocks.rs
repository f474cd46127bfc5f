//! The blocks of memory that a burst saw being allocated, each with a mark.

use std::collections::BTreeMap;

use genba_model::{BurstEvent, Observed};

use crate::call_stack::{CallStack, Change, Frame};
use crate::code_knowledge::{Allocation, CodeKnowledge};

/// Blocks that are kept of one burst.
const MAX_BLOCKS: usize = 1 << 16;

/// Blocks by address. What lies where a newer block begins was freed.
pub(crate) struct AllocatedBlocks<T> {
    /// End and mark by begin.
    list: BTreeMap<u64, (u64, T)>,
    /// Allocations that have not returned: activation, size, mark.
    open: Vec<(u32, u64, T)>,
    /// What the last function returned.
    result: u64,
}

impl<T> Default for AllocatedBlocks<T> {
    fn default() -> Self {
        Self {
            list: BTreeMap::new(),
            open: Vec::new(),
            result: 0,
        }
    }
}

impl<T: Copy> AllocatedBlocks<T> {
    /// The mark of the block that holds an address.
    pub(crate) fn mark(&self, address: u64) -> Option<T> {
        let (_, &(end, mark)) = self.list.range(..=address).next_back()?;
        (address < end).then_some(mark)
    }

    /// Follows calls, and remembers what allocators return; `mark` says what is to be known of a block, by the call of
    /// the allocator.
    pub(crate) fn event(
        &mut self,
        stack: &mut CallStack,
        event: &BurstEvent,
        code: &dyn CodeKnowledge,
        mark: impl FnOnce(&CallStack, &Frame) -> Option<T>,
    ) {
        match stack.event(event) {
            Change::Entered | Change::Retargeted => {
                if let Some(frame) = stack.frames().last()
                    && let Some(allocation) = code.allocation(frame.target)
                    && let Some(mark) = mark(stack, frame)
                {
                    let bytes = size_of(allocation, &frame.arguments);
                    self.open.push((frame.activation, bytes, mark));
                }
            }
            Change::Left(_) => self.close(stack),
            Change::Lost => self.open.clear(),
            Change::None => {}
        }
        if let Observed::Return { value } = event.what {
            self.result = value;
        }
    }

    fn close(&mut self, stack: &CallStack) {
        let is_open = |activation: u32| {
            let mut frames = stack.frames().iter();
            frames.any(|frame| frame.activation == activation)
        };
        while let Some(&(activation, bytes, mark)) = self.open.last() {
            if is_open(activation) {
                break;
            }
            self.open.pop();
            self.add(self.result, bytes, mark);
        }
    }

    fn add(&mut self, begin: u64, bytes: u64, mark: T) {
        if self.list.len() < MAX_BLOCKS && begin != 0 {
            let end = begin.saturating_add(bytes);
            let old: Vec<u64> = self.list.range(begin..end).map(|one| *one.0).collect();
            old.iter().for_each(|begin| {
                self.list.remove(begin);
            });
            self.list.insert(begin, (end, mark));
        }
    }
}

/// Bytes that a call of an allocator asks for.
pub(crate) fn size_of(allocation: Allocation, arguments: &[u64; 6]) -> u64 {
    let argument = |index: u8| arguments.get(usize::from(index)).copied().unwrap_or(0);
    match allocation {
        Allocation::Size(index) => argument(index),
        Allocation::Product(one, other) => argument(one).saturating_mul(argument(other)),
    }
}
