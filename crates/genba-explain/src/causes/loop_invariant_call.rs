//! `loop-invariant-call`: the same call with the same argument in each iteration.
//!
//! **Signature.** A call in a loop, once per iteration, of a function whose result depends on its
//! arguments alone (string lengths, elementary functions, the environment, the place of the table of `toupper`), with the same
//! arguments in each iteration. Compilers keep such calls where a store in between might change what an
//! argument points to, or where the function may set `errno`.
//!
//! **Confirmation.** The values of the arguments.
//!
//! **Gain.** One call per entry of the loop instead of one per iteration.
//!
//! **Source.** A. Aho et al., "Compilers", 2nd edition, section 9.1 (code motion).

use genba_code::Location;
use genba_model::{CallFact, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_INSTRUCTIONS_OF_SMALL_LOOP, MIN_CALLS_HABITUAL, MIN_TRIPS_TO_HOIST_CALL,
};
use crate::constants::gains::{
    HOISTED_CYCLES_PER_INSTRUCTION, HOISTED_VECTOR_LOW, MAX_RESIDUAL, RESIDUAL_MARGIN,
    VECTOR_HOISTED_WEIGHT,
};
use crate::constants::registers::{RDI, XMM0};
use crate::constants::search_limits::{MAX_CALL_ARGUMENT_DEPTH, MAX_CTYPE_NAME};
use crate::constants::time_shares::MIN_SHARE_OF_CALLEE;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{Call, all_calls, cycles_of_all};
use crate::patterns::invariance::{is_same_each_iteration, value_at};
use crate::patterns::search_loops::stem;
use genba_loop_model::entries_by_edges;

/// Functions whose result is that of their arguments, with the registers of those.
pub(crate) fn arguments(name: &str) -> Option<&'static [Location]> {
    const NONE: &[Location] = &[];
    const STRING: &[Location] = &[RDI];
    const ONE: &[Location] = &[XMM0];
    const TWO: &[Location] = &[XMM0, XMM0 + 1];
    let bare = name
        .split('@')
        .next()
        .unwrap_or(name)
        .trim_start_matches('_');
    if matches!(
        bare,
        "ctype_b_loc" | "ctype_tolower_loc" | "ctype_toupper_loc"
    ) {
        return Some(NONE);
    }
    let bare = bare.strip_prefix("ieee754_").unwrap_or(bare);
    // Variants for processors: `strlen_avx2`, `exp_fma`.
    let bare = bare.split('_').next().unwrap_or(bare);
    Some(match bare {
        "strlen" | "wcslen" | "getenv" | "atoi" | "atol" | "atof" => STRING,
        "exp" | "exp2" | "exp10" | "expm1" | "log" | "log2" | "log10" | "log1p" | "sin" | "cos"
        | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "tanh" | "sqrt" | "cbrt" | "erf"
        | "erfc" | "tgamma" | "lgamma" | "expf" | "exp2f" | "logf" | "log2f" | "log10f"
        | "sinf" | "cosf" | "tanf" | "sqrtf" | "cbrtf" | "tanhf" | "atanf" | "ceil" | "floor"
        | "round" | "trunc" | "rint" | "ceilf" | "floorf" | "roundf" | "truncf" | "rintf" => ONE,
        "pow" | "powf" | "atan2" | "atan2f" | "fmod" | "fmodf" | "hypot" | "hypotf" => TWO,
        _ => return None,
    })
}

/// Finds calls in loops of functions that depend on their arguments alone, each argument the same
/// in every iteration.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found: Vec<(u32, Candidate)> = Vec::new();
    let all = cycles_of_all(input).unwrap_or(1.0);
    for (index, one) in all_calls(input).filter_map(|call| candidate(input, &call)) {
        let same =
            |before: &&mut (u32, Candidate)| before.0 == index && before.1.function == one.function;
        match found.iter_mut().find(same) {
            Some(before) => before.1 = together(before.1.clone(), one, all),
            None => found.push((index, one)),
        }
    }
    found.into_iter().map(|one| one.1).collect()
}

/// One candidate for two invariant calls of one loop, at the more expensive one.
fn together(one: Candidate, other: Candidate, all: f64) -> Candidate {
    let calls = |of: &Candidate| {
        let each = of.cycles.map_or(0.0, |cycles| cycles.value);
        each * of.executions.unwrap_or(0) as f64 / all
    };
    let (mut first, second) = match calls(&one) >= calls(&other) {
        true => (one, other),
        false => (other, one),
    };
    let whole = first.share.unwrap_or(0.0);
    let both = (whole + calls(&second)).min(1.0);
    let stays = |of: &dyn Fn(&Estimate) -> f64| {
        let part = |one: &Candidate| of(&one.residual_fraction) * one.share.unwrap_or(0.0);
        (part(&first), part(&second))
    };
    let least = |(a, b): (f64, f64)| a.min(b) / both.max(1e-9);
    let (value, low) = (least(stays(&|r| r.value)), least(stays(&|r| r.low)));
    let (a, b) = stays(&|r| r.high);
    first.residual_fraction = Estimate {
        value,
        low: low.min(value),
        high: (a.max(b) / both.max(1e-9)).clamp(value, 1.0),
    };
    first.share = Some(both);
    first.site.extend(second.site);
    if let (Fix::HoistCalls { functions }, Fix::HoistCalls { functions: more }) =
        (&mut first.fix, second.fix)
    {
        functions.extend(more);
        functions.dedup();
    }
    first.facts.extend(second.facts);
    first
}

fn candidate(input: &AnalysisInput, call: &Call<'_>) -> Option<(u32, Candidate)> {
    let function = &input.functions[call.caller];
    let at = call.site.at;
    let registers = arguments(&call.target.function)?;
    let times = call.target.count;
    if !function.own || times < MIN_CALLS_HABITUAL {
        return None;
    }
    let values: Option<Vec<_>> = registers
        .iter()
        .map(|&location| value_at(function, at, location))
        .collect();
    let values = values?;
    // The innermost loop that is long enough: further out more may change what it looks at.
    let long = |index: &u32| {
        let entries = entries(function, *index).unwrap_or(times);
        times as f64 >= MIN_TRIPS_TO_HOIST_CALL * entries as f64
    };
    let loops = function.flow.loops();
    // A tangle of loops that is entered in several places is a part of the one around it.
    let mut around = function
        .loops_around(at)
        .skip_while(|index| !long(index) || loops[*index as usize].irreducible);
    let index = around
        .next()
        .or_else(|| function.loops_around(at).find(long))?;
    let same = |&value| is_same_each_iteration(function, index, value);
    if !values.iter().all(same) || is_disturbed(input, function, index, at) {
        return None;
    }
    let entries = entries(function, index)?;
    if (times as f64) < MIN_TRIPS_TO_HOIST_CALL * entries as f64 {
        return None;
    }
    let (share, each) = cost(input, call)?;
    if share < MIN_SHARE_OF_CALLEE {
        return None;
    }
    // What makes the arguments goes with the calls; what is left of the loop has more room.
    let members = function.loop_instructions(index);
    let mut makers: Vec<usize> = Vec::new();
    for &value in &values {
        makers_of(
            function,
            &members,
            value,
            &mut makers,
            MAX_CALL_ARGUMENT_DEPTH,
        );
    }
    makers.retain(|&maker| maker != at && maker != at + 1);
    let arguments = function.heat_of(makers.iter().copied());
    let small = members.len() <= MAX_INSTRUCTIONS_OF_SMALL_LOOP;
    // What stands at the call and behind it is in the call's share already.
    let rest = members.iter().copied().filter(|&i| i != at && i != at + 1);
    let loop_heat = if small { function.heat_of(rest) } else { 0.0 };
    let whole = (share + loop_heat.max(arguments)).min(1.0);
    let gone = share + arguments;
    let once = entries as f64 / times as f64;
    let mut value = 1.0 - gone / whole * (1.0 - once);
    let executed = members
        .iter()
        .map(|&at| function.counts[at] as f64)
        .sum::<f64>()
        / times as f64;
    let least = if small {
        HOISTED_CYCLES_PER_INSTRUCTION * executed / (each * whole / share)
    } else {
        value
    };
    // Calls keep no vector register: what the loop carries in them goes through memory too.
    if registers.contains(&XMM0) {
        value = value.min(VECTOR_HOISTED_WEIGHT * (value + VECTOR_HOISTED_WEIGHT * least));
    }
    let name = match registers {
        [] => bare(&call.target.function),
        _ => stem(&call.target.function),
    };
    let fix = Fix::HoistCalls {
        functions: vec![name.to_owned()],
    };
    let mut one = Candidate::new(Cause::LoopInvariantCall, Some(call.caller), vec![at], fix);
    one.share = Some(whole);
    one.residual_fraction = Estimate {
        value: value.min(1.0),
        // Without calls such a loop may be done in vectors.
        low: (HOISTED_VECTOR_LOW * least).min(value).max(once.min(value)),
        high: (value + RESIDUAL_MARGIN).min(MAX_RESIDUAL).max(value),
    };
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(each));
    let argument = (!registers.is_empty()).then_some(CallFact::InvariantArgument);
    let one = one
        .fact(CallFact::InvariantCall {
            function: name.to_owned(),
            calls: times,
            per_entry: times as f64 / entries.max(1) as f64,
        })
        .facts(argument)
        .fact(CallFact::Time {
            function: Some(name.to_owned()),
            share,
            cycles: each,
        });
    Some((index, one))
}

/// Instructions of a loop that a value is made by.
fn makers_of(
    function: &FunctionInput,
    members: &[usize],
    value: Value,
    found: &mut Vec<usize>,
    depth: u32,
) {
    let (Some(depth), Origin::Instruction(at)) =
        (depth.checked_sub(1), function.values.origin(value))
    else {
        return;
    };
    let at = at as usize;
    if !members.contains(&at) || found.contains(&at) {
        return;
    }
    found.push(at);
    // Its time may stand at the next.
    if members.contains(&(at + 1)) && !found.contains(&(at + 1)) {
        found.push(at + 1);
    }
    for &(_, read) in function.values.reads(at) {
        makers_of(function, members, read, found, depth);
    }
}

/// Whether a loop makes other calls that might change what the argument points to.
fn is_disturbed(input: &AnalysisInput, function: &FunctionInput, index: u32, at: usize) -> bool {
    let members = function.loop_instructions(index);
    let others = function
        .call_sites
        .iter()
        .filter(|site| site.at != at && members.contains(&site.at));
    others.flat_map(|site| &site.targets).any(|target| {
        let callee = crate::patterns::calls::index_of(input, &target.function, &target.module);
        !is_harmless(&target.function)
            && !callee.is_some_and(|callee| stores_nothing(&input.functions[callee]))
    })
}

/// Functions of the C library that change nothing that a program hands them.
pub(crate) fn is_harmless(name: &str) -> bool {
    const WRITES: [&str; 7] = [
        "putchar", "putc", "fputc", "fputs", "puts", "printf", "fwrite",
    ];
    changes_nothing(name) || WRITES.contains(&bare(name)) || WRITES.contains(&stem(name))
}

/// Functions of the C library that only read and compute.
pub(crate) fn changes_nothing(name: &str) -> bool {
    const READS: [&str; 12] = [
        "toupper",
        "tolower",
        "strcmp",
        "strncmp",
        "strcasecmp",
        "strncasecmp",
        "strchr",
        "strrchr",
        "strstr",
        "memcmp",
        "memchr",
        "abs",
    ];
    let bare = bare(name);
    arguments(name).is_some()
        || READS.contains(&bare)
        || READS.contains(&stem(name))
        || (bare.starts_with("is")
            && bare.len() <= MAX_CTYPE_NAME
            && bare.bytes().all(|b| b.is_ascii_lowercase()))
}

/// Functions of the C library of one or two floating-point numbers.
pub(crate) fn is_mathematics(name: &str) -> bool {
    arguments(name).is_some_and(|taken| taken.contains(&XMM0))
}

/// A name without its version and leading underscores.
fn bare(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    name.trim_start_matches('_')
}

/// Whether a function stores to nothing but its own stack, and calls nothing.
fn stores_nothing(callee: &FunctionInput) -> bool {
    callee.call_sites.is_empty()
        && callee.data.iter().all(|data| {
            data.memory.iter().all(|access| {
                !access.writes || access.stack || access.base == Some(genba_code::STACK_POINTER)
            })
        })
}

/// How often a loop was entered.
pub(crate) fn entries(function: &FunctionInput, index: u32) -> Option<u64> {
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let entries = cost.entries.or_else(|| {
        let counts: Vec<Option<u64>> = function.counts.iter().copied().map(Some).collect();
        let taken = |at: usize| function.taken.get(at).copied().flatten();
        entries_by_edges(&function.flow, &function.code, &counts, &taken, index)
    });
    entries.filter(|&entries| entries > 0)
}

/// Share of all time in a call's callee with what that calls, and cycles each.
pub(crate) fn cost(input: &AnalysisInput, call: &Call<'_>) -> Option<(f64, f64)> {
    let all = cycles_of_all(input)?;
    let function = &input.functions[call.caller];
    let callee = &input.functions[call.callee?];
    let entered = callee.calls.unwrap_or(0).max(call.target.count).max(1) as f64;
    let mut inside = callee.share.value;
    // A wrapper's real work: callees that are only called from there.
    for site in &callee.call_sites {
        for target in &site.targets {
            let inner = crate::patterns::calls::index_of(input, &target.function, &target.module);
            if let Some(inner) = inner.map(|inner| &input.functions[inner]) {
                let part =
                    target.count as f64 / inner.calls.unwrap_or(1).max(target.count).max(1) as f64;
                inside += inner.share.value * part;
            }
        }
    }
    // The stub that the call goes through.
    let bare = callee.function.split('@').next().unwrap_or_default();
    let bare = bare.trim_start_matches('_');
    let stub = input.functions.iter().find(|one| {
        let name = one.function.strip_suffix("@plt");
        one.module == function.module
            && name.is_some_and(|name| name == bare || bare.split('_').next() == Some(name))
    });
    if let Some(stub) = stub {
        let all = stub.calls.unwrap_or(0).max(call.target.count).max(1) as f64;
        inside += stub.share.value
            * (call.target.count as f64 / all)
            * (entered / call.target.count as f64);
    }
    let at = call.site.at;
    let beside: f64 = [at, at + 1]
        .iter()
        .filter_map(|&i| function.heat.get(i))
        .sum();
    let share = (inside * call.target.count as f64 / entered + beside).min(1.0);
    Some((share, share * all / call.target.count.max(1) as f64))
}
