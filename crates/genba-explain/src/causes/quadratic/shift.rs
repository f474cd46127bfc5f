//! Moves of an array onto itself, shifted: an element inserted or removed.

use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{EVICTING_MOVE_BYTES, MIN_CYCLES_PER_LONG_MOVE, MIN_SEARCHES};
use crate::constants::gains::{CYCLES_WITHOUT_SHIFT, REST_SAVED_WITHOUT_EVICTION};
use crate::constants::registers::{RDI, RSI};
use crate::constants::time_shares::{MIN_SHARE_OF_QUADRATIC_LOOP, MOST_OF_IT};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::copied_bytes::{bytes_of, length_of, part_of_copied_bytes};
use crate::input::runtime_services::{is_scan_function, plain};
use crate::input::user_lines::lines;
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{Call, cycles_of_all};
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::is_enough;

/// Elements put into, or taken out of, long arrays by functions of the language's library.
pub(crate) fn shifts(input: &AnalysisInput) -> Option<Candidate> {
    let copies = input.service("copy")?;
    let shifts = |name: &String| {
        let vector = name.contains("vector<") || name.contains("Vec<");
        let what = ["_M_insert_aux", "_M_insert_rval", "_M_erase", "::erase"];
        let rust =
            name.contains("Vec<") && (name.ends_with("::insert") || name.ends_with("::remove"));
        vector && (rust || what.iter().any(|part| name.contains(part)))
    };
    let users = copies
        .users
        .iter()
        .filter(|user| user.through.iter().any(shifts));
    let line = lines(users).into_iter().next()?;
    let part = (line.calls / copies.calls.max(1) as f64).min(1.0);
    let share = input.copy_share() * part;
    let each = share * cycles_of_all(input)? / line.calls.max(1.0);
    if line.calls < MIN_SEARCHES as f64
        || share < MIN_SHARE_OF_QUADRATIC_LOOP
        || each < MIN_CYCLES_PER_LONG_MOVE
    {
        return None;
    }
    let user = line.users.first()?;
    let through = user.through.iter().find(|name| shifts(name))?;
    let mut one = Candidate::new(Cause::Quadratic, None, Vec::new(), Fix::AvoidShifts);
    one.at = Some(line.site.clone());
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_SHIFT);
    one.executions = Some(line.calls as u64);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::ElementMoves {
            function: through.clone(),
            times: line.calls as u64,
        })
        .fact(QuadraticFact::MoveTime {
            share,
            cycles: each,
        }),
    )
}

/// A move onto itself.
pub(crate) fn onto_itself(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let function = &input.functions[call.caller];
    let name = call.target.function.split('@').next()?;
    let bare = name.trim_start_matches('_');
    let moves = bare.starts_with("memmove") || bare.starts_with("memcpy");
    if call.target.count < MIN_SEARCHES || !function.own || !moves {
        return None;
    }
    let (share, each) = match sampled_cost(input, call).or_else(|| cost_by_bytes(input, call)) {
        Some(known) => known,
        None => crate::causes::loop_invariant_call::cost(input, call)?,
    };
    if share < MIN_SHARE_OF_QUADRATIC_LOOP || each < MIN_CYCLES_PER_LONG_MOVE {
        return None;
    }
    let at = call.site.at;
    let Shift { bytes, removed } = by_code(function, at).or_else(|| by_bursts(input, call))?;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(call.caller),
        vec![at],
        Fix::AvoidShifts,
    );
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_WITHOUT_SHIFT);
    if bytes_of(input, call).is_some_and(|bytes| bytes >= EVICTING_MOVE_BYTES) {
        // Long moves take the caches from all that runs between them.
        let stays = one.residual_fraction;
        let rest = (1.0 - share).max(0.0);
        one.saves(&[
            SavedTime::of(
                share,
                (1.0 - stays.value, 1.0 - stays.high, 1.0 - stays.low),
            ),
            SavedTime::of(rest, REST_SAVED_WITHOUT_EVICTION),
        ]);
    }
    one.executions = Some(call.target.count);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::ArrayShift {
            function: name.to_owned(),
            times: call.target.count,
            bytes,
            removed,
        })
        .fact(QuadraticFact::MoveTime {
            share,
            cycles: each,
        }),
    )
}

/// How a move goes.
struct Shift {
    /// By how many bytes, where it is always the same.
    bytes: Option<u64>,
    /// Whether to the front: an element is removed.
    removed: bool,
}

/// What the arguments of a move are made of.
fn by_code(function: &FunctionInput, at: usize) -> Option<Shift> {
    let (to, from) = (value_at(function, at, RDI)?, value_at(function, at, RSI)?);
    let constant = crate::input::values::CONSTANT;
    let shift = match to.number == from.number {
        true if to.offset == from.offset || to.number == constant => return None,
        true => Some(from.offset.wrapping_sub(to.offset)),
        false => None,
    };
    // By how much is not known: one of the two is the other plus something.
    let removed = match shift {
        Some(shift) => shift > 0,
        None if is_sum_of(function, from, to) || is_found_in(function, from, to) => true,
        None if is_sum_of(function, to, from) => false,
        None => return None,
    };
    Some(Shift {
        bytes: shift.map(i64::unsigned_abs),
        removed,
    })
}

/// What bursts saw: most bytes go to a place less than their number away.
fn by_bursts(input: &AnalysisInput, call: &Call<'_>) -> Option<Shift> {
    let length = length_of(input, call)?;
    let seen = length.onto_itself?;
    (is_enough(&seen) && seen.share.low >= MOST_OF_IT).then_some(Shift {
        bytes: None,
        removed: length.moved_by < 0.0,
    })
}

/// Whether a value is made by adding something to another one.
fn is_sum_of(function: &FunctionInput, sum: Value, part: Value) -> bool {
    let Origin::Instruction(at) = function.values.origin(sum) else {
        return false;
    };
    let data = &function.data[at as usize];
    let adds = matches!(data.form.split(' ').next(), Some("add" | "lea"));
    adds && data.memory.is_empty()
        && (function.values.reads(at as usize).iter()).any(|(_, read)| *read == part)
}

/// Whether a value points to what a search found in the text where another one points.
fn is_found_in(function: &FunctionInput, found: Value, text: Value) -> bool {
    let Origin::Instruction(at) = function.values.origin(found) else {
        return false;
    };
    let call = (function.call_sites.iter()).find(|site| site.at == at as usize);
    call.is_some_and(|site| {
        site.targets.iter().all(|one| finds_place(&one.function))
            && value_at(function, site.at, RDI) == Some(text)
    })
}

/// Whether a function of the C library returns where in its first argument something is.
fn finds_place(name: &str) -> bool {
    let counts = ["strlen", "wcslen", "strspn", "strcspn"];
    is_scan_function(name) && !counts.iter().any(|one| plain(name).starts_with(one))
}

/// Share of all time in the copies that a call makes, and cycles for each, by the bytes that bursts saw
/// it copy.
fn cost_by_bytes(input: &AnalysisInput, call: &Call<'_>) -> Option<(f64, f64)> {
    let share = input.copy_share() * part_of_copied_bytes(input, call)?;
    let each = share * cycles_of_all(input)? / call.target.count.max(1) as f64;
    Some((share, each))
}

/// Share of all time in the copies that a call makes, and cycles for each, where stacks of copies were
/// sampled: by their number, many small copies elsewhere would get the time of the long ones.
fn sampled_cost(input: &AnalysisInput, call: &Call<'_>) -> Option<(f64, f64)> {
    let copies = &input.program.follow_up.copies;
    let function = &input.functions[call.caller];
    let code = function.code.get(call.site.at)?;
    if copies.is_empty() {
        return None;
    }
    let here = copies.iter().filter(|one| {
        one.module == function.module && (code.address..code.end()).contains(&one.address)
    });
    let share = input.copy_share() * here.map(|one| one.share).sum::<f64>().min(1.0);
    Some((
        share,
        share * cycles_of_all(input)? / call.target.count.max(1) as f64,
    ))
}
