//! Reductions: loop-carried chains that only accumulate, so that several accumulators could be
//! used.
//!
//! All that depends on what is carried must be of one kind of operation, and nothing else may
//! look at it inside of the loop: sums that are stored each iteration, compared or used as addresses
//! are results, not a reduction.

use genba_code::{Flow, Shortcut};

use genba_model::Reduction;

use crate::constants::counts::SELDOM_EXECUTIONS;
use crate::constants::registers::K0;
use crate::constants::search_limits::MAX_INSTRUCTIONS_OF_REDUCTION;
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::input::values::{CONSTANT, Origin, Value};
use crate::patterns::hot_loops::HotLoop;

/// What a loop gathers by some chain.
#[derive(Clone, Debug)]
pub struct ReductionChain {
    /// How.
    pub kind: Reduction,
    /// Its instructions.
    pub instructions: Vec<usize>,
    /// Those of them that take nothing in but what is carried.
    pub inner: Vec<usize>,
}

/// Whether the instructions of a chain gather, and how.
#[must_use]
pub fn reduction(one: &HotLoop<'_>, uses: &Uses, links: &[u32]) -> Option<ReductionChain> {
    let function = one.input;
    let body = function.flow.loop_blocks(one.index);
    let inside = |at: usize| {
        function
            .flow
            .block_of(at)
            .is_some_and(|block| body.contains(&block))
    };
    // Everything in the loop that depends on the chain.
    let mut all: Vec<usize> = links.iter().map(|&at| at as usize).collect();
    let mut carried: Vec<Value> = Vec::new();
    let mut next = 0;
    while let Some(&at) = all.get(next) {
        next += 1;
        for &(_, value) in function.values.writes(at) {
            if carried.iter().any(|known| known.number == value.number) {
                continue;
            }
            carried.push(value);
            for reader in uses.readers(value) {
                if inside(reader) && !all.contains(&reader) && one.times(reader) > SELDOM_EXECUTIONS
                {
                    all.push(reader);
                }
            }
        }
        if all.len() > MAX_INSTRUCTIONS_OF_REDUCTION {
            return None;
        }
    }
    all.sort_unstable();
    let kinds = [
        Reduction::FloatSum,
        Reduction::FloatProduct,
        Reduction::FloatExtreme,
        Reduction::Crc32,
        Reduction::Polynomial,
        Reduction::Mixing,
        Reduction::Remainder,
        Reduction::Table,
    ];
    let depends = |value: Value| depends(one, &carried, value);
    let kind = kinds.into_iter().find(|&kind| {
        all.iter().all(|&at| fits(one, kind, at, &depends)) && shows(one, kind, &all, &depends)
    })?;
    // By a constant, too: `imul`, `shr`.
    let invariant = |value: Value| {
        one.input
            .values
            .is_invariant(value, &one.input.flow, one.index)
    };
    let alone = |value: Value| depends(value) || invariant(value);
    let inner = all.iter().copied();
    let inner = inner.filter(|&at| of_carried_alone(one, at, &alone));
    Some(ReductionChain {
        kind,
        inner: inner.collect(),
        instructions: all,
    })
}

/// Whether a value is carried, or one that carried values meet in.
fn depends(one: &HotLoop<'_>, carried: &[Value], value: Value) -> bool {
    let is = |value: Value| carried.iter().any(|known| known.number == value.number);
    is(value)
        || matches!(one.input.values.origin(value), Origin::Join(_))
            && one.input.values.met(value).iter().any(|&input| is(input))
}

/// Whether an instruction that depends on what is carried is one of a kind's.
fn fits(one: &HotLoop<'_>, kind: Reduction, at: usize, depends: &dyn Fn(Value) -> bool) -> bool {
    let function = one.input;
    let data = &function.data[at];
    if data.stores() || data.opaque.is_some() || function.code[at].flow != Flow::Next {
        return false;
    }
    // Nothing carried may be a part of an address, but for look-ups.
    let addressed = function
        .values
        .reads(at)
        .iter()
        .any(|&(location, value)| data.address_reads & (1 << location) != 0 && depends(value));
    if data.shortcut == Shortcut::Copy {
        return true;
    }
    let name = data.form.split(' ').next().unwrap_or_default();
    let stem = name.strip_prefix('v').unwrap_or(name);
    if addressed {
        return kind == Reduction::Table && matches!(name, "mov" | "xor");
    }
    match kind {
        Reduction::FloatSum => {
            is_float(stem, "add")
                || is_float(stem, "sub") && subtracts_from(one, at, depends)
                || is_float(stem, "fmadd231")
                || is_float(stem, "fnmadd231")
        }
        Reduction::FloatProduct => is_float(stem, "mul"),
        Reduction::FloatExtreme => is_float(stem, "min") || is_float(stem, "max"),
        Reduction::Crc32 => name == "crc32",
        Reduction::Polynomial => match name {
            "add" | "sub" | "lea" | "inc" | "dec" | "shl" | "neg" => true,
            "imul" => by_invariant(one, at, depends),
            _ => false,
        },
        Reduction::Mixing => match name {
            // Also a multiplication by shifts and additions (`h + (h << 5)`).
            "xor" | "add" | "sub" | "lea" => true,
            "shl" | "rol" | "ror" => data.form.ends_with(" i"),
            "imul" => by_invariant(one, at, depends),
            _ => false,
        },
        Reduction::Remainder => match name {
            "add" | "sub" | "lea" | "mov" => true,
            "shr" => data.form.ends_with(" i"),
            "imul" => by_invariant(one, at, depends),
            _ => false,
        },
        Reduction::Table => matches!(name, "xor" | "shr" | "movzx" | "mov" | "and"),
    }
}

/// What must be among the instructions besides: a step that takes more than a cycle, and
/// something that comes in from outside (else it is a generator).
fn shows(
    one: &HotLoop<'_>,
    kind: Reduction,
    all: &[usize],
    depends: &dyn Fn(Value) -> bool,
) -> bool {
    let function = one.input;
    let name = |at: &usize| {
        function.data[*at]
            .form
            .split(' ')
            .next()
            .unwrap_or_default()
    };
    let takes_in = all.iter().any(|&at| {
        let data = &function.data[at];
        let operand = |&(location, value): &(u8, Value)| {
            let varies = !function
                .values
                .is_invariant(value, &function.flow, one.index);
            data.data_reads & (1 << location) != 0 && location < K0 && varies && !depends(value)
        };
        let loads = data.loads()
            && !function.values.reads(at).iter().any(|&(location, value)| {
                data.address_reads & (1 << location) != 0 && depends(value)
            });
        loads || function.values.reads(at).iter().any(operand)
    });
    let slow = match kind {
        Reduction::FloatSum
        | Reduction::FloatProduct
        | Reduction::FloatExtreme
        | Reduction::Crc32 => true,
        Reduction::Polynomial => all
            .iter()
            .any(|at| matches!(name(at), "imul" | "shl" | "lea")),
        Reduction::Mixing => {
            let spreads = |at| matches!(name(at), "imul" | "shl" | "lea" | "rol" | "ror");
            all.iter().any(spreads) && all.iter().any(|at| name(at) == "xor")
        }
        // The quotient by a multiplication and a shift, and what it makes of the divisor taken away.
        Reduction::Remainder => {
            let of = |mnemonic| all.iter().copied().filter(move |at| name(at) == mnemonic);
            let factors: Vec<u64> = of("imul").filter_map(|at| factor(function, at)).collect();
            let shifts = of("shr").filter_map(|at| function.code[at].last_number());
            let divides = |shift: u64| {
                let power = 1u64.checked_shl(shift as u32).unwrap_or(0);
                let is_reciprocal =
                    |&divisor: &u64| divisor > 1 && factors.contains(&power.div_ceil(divisor));
                power > 1 && factors.iter().any(is_reciprocal)
            };
            let is_rest = |at| of_carried_alone(one, at, depends);
            of("sub").any(is_rest) && shifts.into_iter().any(divides)
        }
        Reduction::Table => {
            all.iter().any(|at| function.data[*at].loads())
                && all.iter().any(|at| name(at) == "xor")
        }
    };
    takes_in && slow
}

fn is_float(stem: &str, operation: &str) -> bool {
    stem.strip_prefix(operation)
        .is_some_and(|rest| matches!(rest, "sd" | "ss" | "pd" | "ps"))
}

/// Whether what is carried is subtracted from, not subtracted.
fn subtracts_from(one: &HotLoop<'_>, at: usize, depends: &dyn Fn(Value) -> bool) -> bool {
    let function = one.input;
    let written = function.data[at].writes;
    let reads = function.values.reads(at);
    reads
        .iter()
        .all(|&(location, value)| !depends(value) || written & (1 << location) != 0)
}

/// The constant that a multiplication is by.
fn factor(function: &FunctionInput, at: usize) -> Option<u64> {
    let constants = || {
        let mut reads = function.values.reads(at).iter();
        reads.find(|(location, value)| *location < K0 && value.number == CONSTANT)
    };
    match function.data[at].form.ends_with(" i") {
        true => function.code[at].last_number(),
        false => constants().map(|one| one.1.offset as u64),
    }
}

/// Whether all operands of an instruction depend on what is carried.
fn of_carried_alone(one: &HotLoop<'_>, at: usize, depends: &dyn Fn(Value) -> bool) -> bool {
    let data = &one.input.data[at];
    let mut reads = one.input.values.reads(at).iter();
    !data.loads() && reads.all(|&(location, value)| location >= K0 || depends(value))
}

/// Whether a multiplication is by something that the loop does not change.
fn by_invariant(one: &HotLoop<'_>, at: usize, depends: &dyn Fn(Value) -> bool) -> bool {
    let function = one.input;
    let data = &function.data[at];
    if data.form.ends_with(" i") {
        return true;
    }
    let others: Vec<Value> = function
        .values
        .reads(at)
        .iter()
        .map(|read| read.1)
        .filter(|&value| !depends(value))
        .collect();
    !data.loads()
        && others.len() == 1
        && function
            .values
            .is_invariant(others[0], &function.flow, one.index)
}
