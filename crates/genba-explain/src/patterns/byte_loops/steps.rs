//! How values change from iteration to iteration along the usual path of a loop over bytes.

use genba_code::BlockId;

use super::Path;
use crate::constants::counts::MIN_MASK;
use crate::constants::registers::XMM0;
use crate::constants::search_limits::MAX_STEP_DEPTH;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Address, CONSTANT, Origin, Value};
use crate::patterns::value_steps::is_reloaded;

impl Path {
    /// Whether a value comes into the path from elsewhere.
    pub(super) fn is_outside(&self, function: &FunctionInput, value: Value) -> bool {
        match function.values.origin(value) {
            Origin::Constant | Origin::Entry => true,
            Origin::Join(block) => !self.blocks.contains(&block),
            Origin::Instruction(at) => !self.members.contains(&(at as usize)),
        }
    }

    /// What a value gains from iteration to iteration on the path.
    fn step(&self, function: &FunctionInput, value: Value) -> Option<i64> {
        self.step_within(function, value, MAX_STEP_DEPTH)
    }

    fn step_within(&self, function: &FunctionInput, value: Value, depth: u32) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        if self.is_outside(function, value) {
            return Some(0);
        }
        match function.values.origin(value) {
            Origin::Join(block) if block == self.head => {
                let before = &function.flow.blocks()[block as usize].predecessors;
                let met = function.values.met(value);
                let mut step = None;
                for (before, input) in before.iter().zip(met) {
                    if !self.blocks.contains(before) {
                        continue;
                    }
                    let one = self.gained(function, *input, value.number, MAX_STEP_DEPTH)?;
                    if step.is_some_and(|step| step != one) {
                        return None;
                    }
                    step = Some(one);
                }
                step
            }
            Origin::Join(block) => {
                let mut steps = (self.usually_met(function, block, value))
                    .map(|one| self.step_within(function, one, depth));
                let first = steps.next()??;
                steps.all(|one| one == Some(first)).then_some(first)
            }
            // A pointer for which there was no register left.
            Origin::Instruction(_) if self.is_reloaded(function, value) => Some(0),
            Origin::Instruction(at) if function.data[at as usize].loads() => {
                self.step_in_memory(function, value, depth)
            }
            // The index of a ring buffer: a step with a rare wrap-around is still a step.
            Origin::Instruction(at) => {
                let index = wrapped(function, at as usize)?;
                self.step_within(function, index, depth)
            }
            _ => None,
        }
    }

    /// What usual ways bring where values meet: rare ways into the middle of the path bring others. All of
    /// them where they meet elsewhere.
    pub(super) fn usually_met<'a>(
        &'a self,
        function: &'a FunctionInput,
        block: BlockId,
        value: Value,
    ) -> impl Iterator<Item = Value> + 'a {
        let before = &function.flow.blocks()[block as usize].predecessors;
        let inside = self.blocks.contains(&block);
        (before.iter().zip(function.values.met(value)))
            .filter(move |one| !inside || self.blocks.contains(one.0))
            .map(|one| *one.1)
    }

    /// What a position gains that each iteration loads from a fixed place and stores there again, as those of
    /// stdio's buffers and of parsers' states; or one for which there was no register left, and which is stored there.
    fn step_in_memory(&self, function: &FunctionInput, value: Value, depth: u32) -> Option<i64> {
        let values = &function.values;
        let place = values.loaded_from(value)?;
        // Behind a rare call that leaves the path for a while, the same pointer is another value.
        if place.index.is_some() || self.step(function, place.base) != Some(0) {
            return None;
        }
        let mut written = self.members.iter().filter(|&&at| {
            let accesses = function.data[at].memory.iter();
            let mut both = accesses.zip(values.addresses(at));
            both.any(|(access, to)| access.writes && *to == Some(place))
        });
        let (&store, other) = (written.next()?, written.next());
        let data = &function.data[store];
        let stored = |location: u8| {
            data.data_reads & (1 << location) != 0 && data.address_reads & (1 << location) == 0
        };
        let mut sources = values.reads(store).iter().filter(|one| stored(one.0));
        let (_, next) = sources.next().filter(|_| other.is_none())?;
        match next.number == value.number {
            true => Some(next.offset),
            false => self.step_within(function, *next, depth),
        }
    }

    /// Whether a value is loaded again in each iteration from a place that the path does not write.
    fn is_reloaded(&self, function: &FunctionInput, value: Value) -> bool {
        let writes = |place: Address| {
            self.members.iter().any(|&at| {
                let accesses = function.data[at].memory.iter();
                let mut written = accesses
                    .zip(function.values.addresses(at))
                    .filter(|one| one.0.writes);
                written.any(|(_, to)| *to == Some(place))
            })
        };
        let place = function.values.loaded_from(value);
        is_reloaded(function, self.index, value) && place.is_some_and(|place| !writes(place))
    }

    /// By how much a value is more than the value of that number at the head, along the path.
    fn gained(&self, function: &FunctionInput, value: Value, head: u32, depth: u32) -> Option<i64> {
        if value.number == head {
            return Some(value.offset);
        }
        let depth = depth.checked_sub(1)?;
        let block = match function.values.origin(value) {
            Origin::Join(block) => block,
            Origin::Instruction(at) => {
                let (from, more) = self.sum_with_usual_constant(function, at as usize)?;
                let gained = self.gained(function, from, head, depth)?;
                return gained.checked_add(more)?.checked_add(value.offset);
            }
            _ => return None,
        };
        if block == self.head || !self.blocks.contains(&block) {
            return None;
        }
        let mut usual = self.usually_met(function, block, value);
        let first = self.gained(function, usual.next()?, head, depth)?;
        for other in usual {
            if self.gained(function, other, head, depth)? != first {
                return None;
            }
        }
        first.checked_add(value.offset)
    }

    /// What an instruction of the path adds to a value, where the usual ways bring a constant for it: the size of a letter
    /// that is nearly always one byte.
    fn sum_with_usual_constant(&self, function: &FunctionInput, at: usize) -> Option<(Value, i64)> {
        let data = &function.data[at];
        if function.code[at].mnemonic != "add" || !data.memory.is_empty() {
            return None;
        }
        let taken = (function.values.reads(at).iter())
            .filter(|one| one.0 < XMM0 && data.data_reads >> one.0 & 1 == 1);
        let operands: Vec<Value> = taken.map(|one| one.1).collect();
        let &[one, other] = operands.as_slice() else {
            return None;
        };
        match self.usual_constant(function, other) {
            Some(constant) => Some((one, constant)),
            None => self
                .usual_constant(function, one)
                .map(|constant| (other, constant)),
        }
    }

    /// The constant that all usual ways bring where values meet.
    fn usual_constant(&self, function: &FunctionInput, value: Value) -> Option<i64> {
        if value.number == CONSTANT {
            return Some(value.offset);
        }
        let Origin::Join(block) = function.values.origin(value) else {
            return None;
        };
        let mut met = self.usually_met(function, block, value);
        let first = met.next().filter(|one| one.number == CONSTANT)?;
        (met.all(|one| one == first)).then(|| first.offset + value.offset)
    }

    pub(super) fn address_step(&self, function: &FunctionInput, address: &Address) -> Option<i64> {
        let base = self.step(function, address.base)?;
        match address.index {
            None => Some(base),
            Some((index, scale)) => {
                Some(base + self.step(function, index)?.checked_mul(i64::from(scale))?)
            }
        }
    }
}

/// What a mask of the lower bits, a move that leaves the upper ones out, or one that extends a sign takes in.
fn wrapped(function: &FunctionInput, at: usize) -> Option<Value> {
    let data = function
        .data
        .get(at)
        .filter(|data| data.memory.is_empty())?;
    let code = &function.code[at];
    let keeps = match code.mnemonic {
        "movzx" => data.form.ends_with("r16"),
        "movsxd" | "cdqe" => true,
        "and" => {
            let mask = code.last_number()?;
            mask >= MIN_MASK - 1 && (mask.wrapping_add(1)) & mask == 0
        }
        _ => false,
    };
    let mut reads = function.values.reads(at).iter().filter(|one| one.0 < XMM0);
    let first = reads.next()?;
    (keeps && reads.next().is_none()).then_some(first.1)
}
