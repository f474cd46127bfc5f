//! The work behind a test: calls that change nothing and instructions, of which only the test needs what they make.

use genba_code::{Flow, Locations, MemoryAccess, STACK_POINTER, entry_reads};

use crate::causes::loop_invariant_call::is_mathematics;
use crate::constants::registers::{ARGUMENTS, FLAGS, RESULTS, XMM0};
use crate::constants::search_limits::MAX_INSTRUCTIONS_OF_WORK;
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::{Origin, Value, bits};
use crate::patterns::calls::index_of;
use crate::patterns::invariance::value_at;

/// A function whose tests are looked at.
pub(crate) struct TestedFunction<'a> {
    function: &'a FunctionInput,
    uses: Uses,
    /// What calls get, by call.
    handed: Vec<(usize, Value)>,
}

impl<'a> TestedFunction<'a> {
    pub(crate) fn of(input: &'a AnalysisInput, function: &'a FunctionInput) -> Self {
        let mut handed = Vec::new();
        for (at, code) in function.code.iter().enumerate() {
            if matches!(code.flow, Flow::Call(_) | Flow::IndirectCall) {
                let taken = taken_by(input, function, at);
                let values = bits(taken).filter_map(|one| value_at(function, at, one));
                handed.extend(values.map(|value| (at, value)));
            }
        }
        Self {
            function,
            uses: Uses::of(function),
            handed,
        }
    }

    /// Instructions of which only the test needs what they make, with the test; calls where `changes_nothing` says so.
    /// Places of the frame that only these write and read are followed.
    pub(crate) fn work(&self, test: usize, changes_nothing: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let function = self.function;
        let mut found = vec![test];
        let mut next = 0;
        while let Some(&reader) = found.get(next) {
            next += 1;
            for maker in self.makers(reader) {
                let data = &function.data[maker];
                let call = data.opaque.is_some();
                if found.contains(&maker) || found.len() >= MAX_INSTRUCTIONS_OF_WORK {
                    continue;
                }
                let allowed = match call {
                    true => changes_nothing(maker),
                    false => !data.stores() || frame_slot(function, maker).is_some(),
                };
                if allowed && self.is_only_for(maker, &found) {
                    found.push(maker);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The instructions that make what one reads.
    fn makers(&self, reader: usize) -> Vec<usize> {
        let function = self.function;
        let is_call = function.data[reader].opaque.is_some();
        let mut values: Vec<Value> = match is_call {
            true => (self.handed.iter())
                .filter(|handed| handed.0 == reader)
                .map(|handed| handed.1)
                .collect(),
            false => function
                .values
                .reads(reader)
                .iter()
                .map(|one| one.1)
                .collect(),
        };
        let mut found = Vec::new();
        let mut next = 0;
        while let Some(&value) = values.get(next) {
            next += 1;
            match function.values.origin(value) {
                Origin::Instruction(at) => found.push(at as usize),
                Origin::Join(_) if values.len() < MAX_INSTRUCTIONS_OF_WORK => {
                    let met = function.values.met(value).iter();
                    let new: Vec<Value> =
                        met.filter(|one| !values.contains(one)).copied().collect();
                    values.extend(new);
                }
                _ => {}
            }
        }
        // What a load brings from the frame was put there.
        if let Some(slot) = frame_slot(function, reader).filter(|slot| slot.reads) {
            found.extend(accesses_of(function, &slot).filter(|&at| function.data[at].stores()));
        }
        found
    }

    /// Whether nobody but those found needs what an instruction makes.
    fn is_only_for(&self, maker: usize, found: &[usize]) -> bool {
        let function = self.function;
        if let Some(slot) = frame_slot(function, maker).filter(|slot| slot.writes) {
            return accesses_of(function, &slot)
                .filter(|&at| !function.data[at].stores())
                .all(|at| found.contains(&at));
        }
        let call = function.data[maker].opaque.is_some();
        let results = function.values.writes(maker).iter();
        // What a call leaves in the registers that it may change is not a result.
        let results = results.filter(|one| !call || RESULTS.contains(&one.0));
        results.filter(|one| one.0 < FLAGS).all(|one| {
            let handed = (self.handed.iter())
                .filter(|handed| handed.1.number == one.1.number)
                .all(|handed| found.contains(&handed.0));
            handed && (self.uses.readers(one.1).iter()).all(|at| found.contains(at))
        })
    }
}

/// Registers from which a call's targets take arguments: as their code reads them; where that is not known, those of
/// numbers for functions of mathematics, else those of integers.
fn taken_by(input: &AnalysisInput, function: &FunctionInput, call: usize) -> Locations {
    let of = |target: &CallTarget| {
        let callee = index_of(input, &target.function, &target.module);
        let callee = callee.map(|index| &input.functions[index]);
        match callee.filter(|callee| !callee.code.is_empty()) {
            Some(callee) => entry_reads(&callee.code, &callee.data, &callee.flow, &|_| false).reads,
            None if is_mathematics(&target.function) => 0b11 << XMM0,
            None => (ARGUMENTS.iter())
                .filter(|&&one| one < XMM0)
                .fold(0, |all, one| all | 1 << one),
        }
    };
    let site = function.call_sites.iter().find(|site| site.at == call);
    let targets = site.into_iter().flat_map(|site| &site.targets);
    let arguments = ARGUMENTS.iter().fold(0, |all, one| all | 1 << one);
    targets.fold(0, |all, target| all | of(target)) & arguments
}

/// The place of the function's frame that a plain move writes or reads.
fn frame_slot(function: &FunctionInput, at: usize) -> Option<MemoryAccess> {
    let data = &function.data[at];
    let [one] = data.memory.as_slice() else {
        return None;
    };
    let plain = data.opaque.is_none() && one.index.is_none() && one.reads != one.writes;
    (plain && one.base == Some(STACK_POINTER)).then_some(*one)
}

/// Instructions that access a place of the frame.
fn accesses_of<'a>(
    function: &'a FunctionInput,
    slot: &'a MemoryAccess,
) -> impl Iterator<Item = usize> + 'a {
    (0..function.code.len()).filter(move |&at| {
        function.data[at].memory.iter().any(|one| {
            one.base == slot.base && one.displacement == slot.displacement && one.index.is_none()
        })
    })
}
