//! Bytes that a load passes while its innermost loop runs, where its address is made of positions:
//! `a[i]`, `bitmap[y * width + (x >> 6)]`.

use genba_code::BlockId;

use crate::constants::search_limits::MAX_DEPTH_OF_ADDRESS;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::positions::{Course, Handed};

/// Bytes that a load passes in all executions, if each iteration of its innermost loop goes on by at most so many.
pub(super) fn passed_bytes(
    function: &FunctionInput,
    at: usize,
    address: &Address,
    most_per_step: u64,
) -> Option<f64> {
    let index = function.flow.loop_of_instruction(at)?;
    let inner = Inner {
        function,
        index,
        body: function.flow.loop_blocks(index),
    };
    let of_base = inner.passed(address.base, MAX_DEPTH_OF_ADDRESS)?;
    let of_index = match address.index {
        Some((value, factor)) => f64::from(factor) * inner.passed(value, MAX_DEPTH_OF_ADDRESS)?,
        None => 0.0,
    };
    let (bytes, times) = (of_base + of_index, function.counts[at] as f64);
    (bytes > 0.0 && bytes <= most_per_step as f64 * times).then_some(bytes)
}

struct Inner<'a> {
    function: &'a FunctionInput,
    index: u32,
    body: &'a [BlockId],
}

impl Inner<'_> {
    /// Units that a value advances by in all: none where it is the same in each iteration.
    fn passed(&self, value: Value, depth: u32) -> Option<f64> {
        let (function, values) = (self.function, &self.function.values);
        if values.is_invariant(value, &function.flow, self.index) {
            return Some(0.0);
        }
        let depth = depth.checked_sub(1)?;
        let at = match values.origin(value) {
            Origin::Join(_) => {
                let handed = Handed::of(function, self.body, value);
                return match handed.course(u64::MAX) {
                    Course::Advances(units) => Some(units),
                    _ => None,
                };
            }
            Origin::Instruction(at) => at as usize,
            Origin::Constant | Origin::Entry => return Some(0.0),
        };
        let data = &function.data[at];
        if data.loads() {
            return None;
        }
        let read = values.reads(at).iter();
        let operands: Vec<Value> = read
            .filter(|one| data.data_reads & (1 << one.0) != 0)
            .map(|one| one.1)
            .collect();
        let of = |value: Value| self.passed(value, depth);
        match (function.code[at].mnemonic, operands.as_slice()) {
            ("mov" | "movsxd" | "movzx" | "cdqe", &[one]) => of(one),
            ("sar" | "shr", &[one]) => {
                let bits = u32::try_from(function.code[at].last_number()?).ok()?;
                Some(of(one)? / f64::from(1u32.checked_shl(bits)?))
            }
            ("add", &[one, other]) => Some(of(one)? + of(other)?),
            _ => None,
        }
    }
}
