//! Integer divisions of a function with their operands as values: what the causes about
//! divisions share.

use genba_code::Location;
use genba_loop_model::{Change, Instead};
use genba_model::{DivisionFact, Estimate};

use crate::constants::gains::{DIVISION_SAVED_OF_WAITING, RECIPROCAL_RESIDUAL_HIGH};
use crate::constants::model_fit::MIN_MODEL_OF_CYCLES;
use crate::constants::processor::{
    INSTRUCTIONS_AFTER_DIVISION, ISSUE_SLOTS_OF_RECIPROCAL, RECIPROCAL_CYCLES,
};
use crate::constants::registers::{RAX, RDX, XMM0};
use crate::gain::loop_gain::LoopGain;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Address, Origin, Value, bits};

/// An integer division.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// Index of the instruction.
    pub at: usize,
    /// Lower half of the dividend.
    pub dividend: Value,
    /// Its upper half.
    pub upper: Value,
    /// What it is divided by.
    pub divisor: Divisor,
    /// The quotient.
    pub quotient: Option<Value>,
    /// The remainder.
    pub remainder: Option<Value>,
}

/// The divisor of a division.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Divisor {
    /// In a register.
    Value(Location, Value),
    /// In memory.
    Memory(Address),
}

/// The integer divisions of 16 bits and more.
#[must_use]
pub fn divisions(function: &FunctionInput) -> Vec<Division> {
    let found = function.code.iter().enumerate().filter_map(|(at, code)| {
        let form = &function.data.get(at)?.form;
        if !matches!(code.mnemonic, "div" | "idiv") || form.ends_with("r8") || form.ends_with("m8")
        {
            return None;
        }
        let values = &function.values;
        let data = &function.data[at];
        let divisor = match values.addresses(at) {
            [] => {
                // What it reads beside the dividend.
                let mut others =
                    bits(data.data_reads).filter(|&l| l < XMM0 && l != RAX && l != RDX);
                let location = others.next()?;
                Divisor::Value(location, values.read(at, location)?)
            }
            [Some(address), ..] => Divisor::Memory(*address),
            _ => return None,
        };
        Some(Division {
            at,
            dividend: values.read(at, RAX)?,
            upper: values.read(at, RDX)?,
            divisor,
            quotient: values.written(at, RAX),
            remainder: values.written(at, RDX),
        })
    });
    found.collect()
}

/// How equal the operands of two divisions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equal {
    /// The same values.
    Values,
    /// Read from the same place again: the same unless something between changed it.
    Reloaded,
}

impl Division {
    /// Divisions one of which has divided the same by the same before, whichever way control came:
    /// of a loop `while (n % p == 0) n /= p` the remainders before it and in it for the quotient.
    #[must_use]
    pub fn done_before<'a>(
        &self,
        all: &'a [Self],
        function: &FunctionInput,
    ) -> Option<Vec<&'a Self>> {
        let ways = function.values.joined(self.dividend);
        if ways.len() < 2 {
            return None;
        }
        ways.iter()
            .map(|&way| {
                let brought = Self {
                    dividend: way,
                    ..self.clone()
                };
                all.iter()
                    .find(|one| one.at != self.at && brought.same_operands(one, function).is_some())
            })
            .collect()
    }

    /// Whether both divide the same by the same.
    #[must_use]
    pub fn same_operands(&self, other: &Self, function: &FunctionInput) -> Option<Equal> {
        let same = |a: Value, b: Value| {
            if a == b {
                return Some(Equal::Values);
            }
            let (a, b) = (
                function.values.loaded_from(a)?,
                function.values.loaded_from(b)?,
            );
            (a == b).then_some(Equal::Reloaded)
        };
        let divisor = match (self.divisor, other.divisor) {
            (Divisor::Value(_, a), Divisor::Value(_, b)) => same(a, b)?,
            (Divisor::Memory(a), Divisor::Memory(b)) => (a == b).then_some(Equal::Reloaded)?,
            (Divisor::Value(_, value), Divisor::Memory(address))
            | (Divisor::Memory(address), Divisor::Value(_, value)) => {
                let from = function.values.loaded_from(value)?;
                (from == address).then_some(Equal::Reloaded)?
            }
        };
        let dividend = same(self.dividend, other.dividend)?;
        // The upper half is zero, or the sign of the lower.
        let upper = same(self.upper, other.upper).or((dividend == Equal::Reloaded
            && signs(function, self.at, self.upper)
            && signs(function, other.at, other.upper))
        .then_some(Equal::Reloaded))?;
        let all = [divisor, dividend, upper];
        Some(if all.contains(&Equal::Reloaded) {
            Equal::Reloaded
        } else {
            Equal::Values
        })
    }
}

/// Whether the upper half of a dividend is made of the sign of its lower half.
fn signs(function: &FunctionInput, at: usize, upper: Value) -> bool {
    let Origin::Instruction(maker) = function.values.origin(upper) else {
        return false;
    };
    let form = function
        .data
        .get(maker as usize)
        .map(|data| data.form.as_str());
    (maker as usize) < at && matches!(form, Some("cqo" | "cdq" | "cwd"))
}

/// Instructions at which the time of divisions stands: they themselves and what follows in their
/// blocks, up to the next division. Where divisions wait for the divider and not for operands, one is done when its turn to
/// retire comes, and samples stand at what waits for its result.
pub(crate) fn with_waiting(
    function: &FunctionInput,
    divisions: impl IntoIterator<Item = usize>,
) -> Vec<usize> {
    let mut found: Vec<usize> = divisions
        .into_iter()
        .flat_map(|at| {
            let block = function.flow.block_of(at);
            let waits = move |&behind: &usize| {
                let divides = || matches!(function.code[behind].mnemonic, "div" | "idiv");
                function.flow.block_of(behind) == block && !divides()
            };
            let behind = (at + 1..=at + INSTRUCTIONS_AFTER_DIVISION).take_while(waits);
            std::iter::once(at).chain(behind)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A loop in which multiplications by a reciprocal are in the place of these divisions; masks if the divisor is known
/// to be a power of two.
pub(crate) fn by_reciprocal(divisions: &[usize], known: Option<u64>) -> Change {
    let (latency, slots) = match known.is_some_and(u64::is_power_of_two) {
        true => (Estimate::exact(1.0), 1.0),
        false => (RECIPROCAL_CYCLES, ISSUE_SLOTS_OF_RECIPROCAL),
    };
    let instead = divisions.iter().map(|&at| Instead { at, latency, slots });
    Change {
        instead: instead.collect(),
        ..Change::default()
    }
}

/// Residual fraction of a loop with that change: what comes in the place of divisions is not known (compares, shifts,
/// more moves), and no more goes than some times what is measured at them, unless the model says where all of the
/// loop's time goes and is trusted.
pub(crate) fn left_without(
    function: &FunctionInput,
    index: u32,
    divisions: &[usize],
    gain: &LoopGain,
    trusts_model: bool,
) -> Estimate {
    let mut left = gain.residual_fraction;
    let doubled =
        (RECIPROCAL_RESIDUAL_HIGH * left.value).min((1.0 + left.value) / RECIPROCAL_RESIDUAL_HIGH);
    left.high = left.high.max(doubled);
    let modelled = gain.before.cycles().map_or(0.0, |cycles| cycles.value);
    if trusts_model && modelled >= MIN_MODEL_OF_CYCLES * gain.measured.value {
        return left;
    }
    let waited = function.heat_of(with_waiting(function, divisions.iter().copied()));
    let waited = waited / function.loop_heat(index).max(f64::MIN_POSITIVE);
    let least = |factor: f64| (1.0 - factor * waited).max(0.0);
    let [likely, most] = DIVISION_SAVED_OF_WAITING;
    left.value = left.value.max(least(likely));
    left.low = left.low.max(least(most));
    left.high = left.high.max(left.value);
    left
}

/// Measured cycles for each execution of a division and of what waits for it.
pub(crate) fn cycles_of(function: &FunctionInput, at: usize) -> Option<Estimate> {
    with_waiting(function, [at])
        .into_iter()
        .filter_map(|at| function.cycles.get(at).copied().flatten())
        .reduce(|sum, one| Estimate {
            value: sum.value + one.value,
            low: sum.low + one.low,
            high: sum.high + one.high,
        })
}

/// The time at divisions and what waits for them: `share` of all time, and what the one at `at`
/// costs, measured and by the host's table.
pub(crate) fn time_fact(
    function: &FunctionInput,
    at: usize,
    share: f64,
    host_cycles: Option<Estimate>,
) -> DivisionFact {
    DivisionFact::Time {
        share,
        cycles: cycles_of(function, at).map(|cycles| cycles.value),
        form: function.data[at].form.clone(),
        host_cycles,
    }
}
