//! An elementary function of one byte that is computed for each byte anew: its 256 results are a table.
//!
//! **Signature.** A call of an elementary function of floating-point numbers, many times as often as there are bytes,
//! whose arguments follow from one byte, of memory or handed in, and from what stays while the loop runs.
//!
//! **Near misses.** Numbers of more than a byte; two bytes together; a factor that changes.
//!
//! **Gain.** The measured time of the calls, less a load from the table.

use genba_model::{CallFact, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::{arguments, cost};
use crate::constants::counts::MIN_CALLS_FOR_TABLE_OF_BYTES;
use crate::constants::gains::{CYCLES_OF_TABLE_OF_BYTES, LOOP_AROUND_TABLE_SAVED};
use crate::constants::registers::{FLAGS, XMM0};
use crate::constants::search_limits::MAX_EXPRESSION_DEPTH;
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Address, Origin, Value};
use crate::patterns::calls::{Call, all_calls};
use crate::patterns::invariance::{is_same_each_iteration, is_stored, value_at};
use crate::patterns::search_loops::stem;

/// Calls whose results are functions of a byte.
pub(super) fn results_of_bytes(input: &AnalysisInput) -> Vec<Candidate> {
    all_calls(input)
        .filter_map(|call| candidate(input, &call))
        .collect()
}

fn candidate(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let function = &input.functions[call.caller];
    let at = call.site.at;
    let times = call.target.count;
    let registers = arguments(&call.target.function).filter(|taken| taken.contains(&XMM0))?;
    if !function.can_be_changed() || times < MIN_CALLS_FOR_TABLE_OF_BYTES {
        return None;
    }
    let mut of = OfByte {
        function,
        around: function.loops_around(at).next(),
        byte: None,
    };
    let follows = registers.iter().all(|&register| {
        let value = value_at(function, at, register);
        value.is_some_and(|value| of.follows(value, MAX_EXPRESSION_DEPTH))
    });
    of.byte.filter(|_| follows)?;
    let (share, each) = cost(input, call)?;
    if share < MIN_SHARE_OF_CALLEE {
        return None;
    }
    let name = stem(&call.target.function).to_owned();
    let fix = Fix::TableOfBytes {
        function: name.clone(),
    };
    let mut found = Candidate::new(
        Cause::RedundantComputation,
        Some(call.caller),
        vec![at],
        fix,
    );
    // What makes the argument, and what rounds the result, may be in the table as well.
    let beside = of.around.map_or(0.0, |index| {
        let members = function.loop_instructions(index).into_iter();
        function.heat_of(members.filter(|&one| one != at && one != at + 1))
    });
    let [value, low, high] = CYCLES_OF_TABLE_OF_BYTES.map(|cycles| (cycles / each).min(1.0));
    found.saves(&[
        SavedTime::of(share, (1.0 - value, 1.0 - high, 1.0 - low)),
        SavedTime::of(beside.min(1.0 - share), LOOP_AROUND_TABLE_SAVED),
    ]);
    found.executions = Some(times);
    found.cycles = Some(Estimate::exact(each));
    Some(
        found
            .fact(CallFact::OfOneByte {
                function: name.clone(),
                calls: times,
            })
            .fact(CallFact::Time {
                function: Some(name),
                share,
                cycles: each,
            }),
    )
}

/// What follows from one byte.
struct OfByte<'a> {
    function: &'a FunctionInput,
    /// The innermost loop around the call.
    around: Option<u32>,
    /// The byte.
    byte: Option<Value>,
}

impl OfByte<'_> {
    /// Whether a value follows from the byte and from what stays.
    fn follows(&mut self, value: Value, depth: u32) -> bool {
        let function = self.function;
        if self.stays(value) {
            return true;
        }
        let (Some(depth), Origin::Instruction(at)) =
            (depth.checked_sub(1), function.values.origin(value))
        else {
            return false;
        };
        let at = at as usize;
        let data = &function.data[at];
        if data.opaque.is_some() || data.stores() {
            return false;
        }
        if is_byte(function, at) {
            let byte = Value { offset: 0, ..value };
            return *self.byte.get_or_insert(byte) == byte;
        }
        let from_memory = data.memory.iter().any(|one| one.reads);
        let addresses = function.values.addresses(at);
        if from_memory && !addresses.iter().all(|one| self.stays_there(one.as_ref())) {
            return false;
        }
        let reads = function.values.reads(at).iter();
        let reads: Vec<Value> = (reads.filter(|one| one.0 < FLAGS))
            .map(|one| one.1)
            .collect();
        reads.into_iter().all(|one| self.follows(one, depth))
    }

    fn stays(&self, value: Value) -> bool {
        match self.around {
            Some(index) => is_same_each_iteration(self.function, index, value),
            None => self.function.values.origin(value) == Origin::Constant,
        }
    }

    /// Whether memory at an address holds the same all the time.
    fn stays_there(&self, address: Option<&Address>) -> bool {
        let Some(address) = address else { return false };
        let stays = self.stays(address.base) && address.index.is_none_or(|one| self.stays(one.0));
        let stored = self
            .around
            .is_some_and(|index| is_stored(self.function, index, address));
        stays && !stored
    }
}

/// Whether an instruction makes a number of a byte: of memory, or of a part of a register.
fn is_byte(function: &FunctionInput, at: usize) -> bool {
    let (code, data) = (&function.code[at], &function.data[at]);
    if !matches!(code.mnemonic, "movzx" | "movsx") {
        return false;
    }
    match data.memory.as_slice() {
        [] => data.form.ends_with("r8"),
        [one] => one.bytes == 1,
        _ => false,
    }
}
