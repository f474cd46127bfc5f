//! A move of memory onto itself, shifted: an element taken out of, or put into, a long array.

use genba_model::Estimate;

use super::{ID, LEAST, LONG_MOVE_CYCLES, MANY, RDI, RSI, residual_fraction};
use crate::candidate::Candidate;
use crate::input::analysis_input::AnalysisInput;
use crate::input::user_lines::lines;
use crate::patterns::calls::{Call, cycles_of_all};
use crate::patterns::invariance::value_at;
use crate::words::{count, cycles, percent};

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
    if line.calls < MANY as f64 || share < LEAST || each < LONG_MOVE_CYCLES {
        return None;
    }
    let user = line.users.first()?;
    let through = user.through.iter().find(|name| shifts(name))?;
    let mut one = Candidate::new(ID, None, Vec::new());
    one.at = Some(line.site.clone());
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, 15.0, 0.0, 60.0);
    one.executions = Some(line.calls as u64);
    one.cycles = Some(Estimate::exact(each));
    one.fix = SHIFT_FIX.to_owned();
    one.example = SHIFT_EXAMPLE;
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    Some(
        one.counted(format!(
            "`{through}` moves all elements behind the place, {} times",
            count(line.calls as u64)
        ))
        .measured(format!(
            "the moves take {} of the time, {} cycles each: the array is long",
            percent(share),
            cycles(each)
        )),
    )
}

const SHIFT_FIX: &str = "Put in and take out at the end, or use a ring or deque (std::deque, VecDeque), or keep an \
    index of the first one: then nothing is moved. If order does not matter, swap with the last.";

const SHIFT_EXAMPLE: Option<(&str, &str)> = Some((
    "job = jobs.front();\njobs.erase(jobs.begin());",
    "job = jobs.front();   // std::deque\njobs.pop_front();",
));

/// A move onto itself.
pub(crate) fn onto_itself(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let function = &input.functions[call.caller];
    let name = call.target.function.split('@').next()?;
    let bare = name.trim_start_matches('_');
    let moves = bare.starts_with("memmove") || bare.starts_with("memcpy");
    if call.target.count < MANY || !function.own || !moves {
        return None;
    }
    let (share, each) = crate::causes::loop_invariant_call::cost(input, call)?;
    if share < LEAST || each < LONG_MOVE_CYCLES {
        return None;
    }
    let at = call.site.at;
    let (to, from) = (value_at(function, at, RDI)?, value_at(function, at, RSI)?);
    let constant = crate::input::values::CONSTANT;
    if to.number != from.number || to.offset == from.offset || to.number == constant {
        return None;
    }
    let shift = from.offset.wrapping_sub(to.offset);
    let mut one = Candidate::new(ID, Some(call.caller), vec![at]);
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, 15.0, 0.0, 60.0);
    one.executions = Some(call.target.count);
    one.cycles = Some(Estimate::exact(each));
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    one.fix = SHIFT_FIX.to_owned();
    one.example = SHIFT_EXAMPLE;
    one = one.counted(format!(
        "`{name}` is called {} times to move an array onto itself by {} bytes: an element is {} and all behind it move",
        count(call.target.count),
        shift.unsigned_abs(),
        if shift > 0 { "taken out" } else { "put in" }
    ));
    Some(one.measured(format!(
        "the calls take {} of the time, {} cycles each",
        percent(share),
        cycles(each)
    )))
}
