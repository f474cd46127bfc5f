//! Part of `costly-conversion`: a program's own routine for floating-point numbers writes whole numbers only.
//!
//! **Signature.** A function of the user's own takes a number in a vector register and, with all that it calls, takes a
//! good part of the time; bursts saw that what it writes is digits alone in most calls
//! ([`genba_observe::NumberText`]), and a call takes several times as long as the digits of an integer.
//!
//! **Confirmation.** A test for whole numbers in front.
//!
//! **Near misses.** Functions with an open list of arguments save vector registers, too; numbers with a point; routines that
//! convert whole numbers as integers already.
//!
//! **Source.** redis 7.2 (f3c6f9c2f44a).

use genba_model::{CallFact, Cause, CodePoint, ConversionFact, ConversionKind, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::MIN_CALLS_HABITUAL;
use crate::constants::gains::{MAX_CONVERSION_RESIDUAL, MAX_RESIDUAL, direct_conversion};
use crate::constants::observations::{MIN_SEEN, MIN_USUAL_VALUE};
use crate::constants::registers::{XMM0, XMM7};
use crate::constants::time_shares::MIN_SHARE_OF_CONVERSION;
use crate::input::analysis_input::{AnalysisInput, FunctionInput, FunctionWithCallees};
use crate::input::user_lines::site_of;
use crate::patterns::calls::index_of;

/// Functions for any number that meet whole ones, the innermost of those that call one another.
pub(super) fn whole_numbers(input: &AnalysisInput, all: f64) -> Vec<Candidate> {
    let writers: Vec<(&FunctionWithCallees, f64)> = (input.program.with_callees.iter())
        .filter_map(|function| Some((function, part_of_whole_numbers(input, function)?)))
        .collect();
    let is_writer = |name: &str, module: &str| {
        let mut others = writers.iter().map(|one| one.0);
        others.any(|one| one.function == name && one.module == module)
    };
    let innermost = writers.iter().filter(|(one, _)| {
        let mut callees = one.callees.iter();
        !callees.any(|callee| is_writer(&callee.0, &callee.1))
    });
    (innermost.filter_map(|&(one, part)| candidate(input, one, part, all))).collect()
}

/// The part of a function's calls that write whole numbers, if those are usual.
fn part_of_whole_numbers(input: &AnalysisInput, function: &FunctionWithCallees) -> Option<f64> {
    let observed = input.observed.as_ref()?;
    let entry = observed.module(&function.module).map(|module| CodePoint {
        module,
        address: function.address,
    });
    let mut texts = observed.number_texts.iter();
    let text = texts.find(|one| Some(one.target) == entry)?;
    let part = text.whole.share.value;
    let known = index_of(input, &function.function, &function.module)?;
    let seen = text.whole.executions >= MIN_SEEN && part >= MIN_USUAL_VALUE;
    (seen && takes_numbers(&input.functions[known])).then_some(part)
}

/// Whether a function reads vector registers of arguments, but not the last of them, as an open list of arguments begins,
/// and does not convert to an integer itself.
fn takes_numbers(function: &FunctionInput) -> bool {
    let executed = (0..function.code.len()).filter(|&at| function.counts.get(at) > Some(&0));
    let (mut takes, mut all, mut converts) = (false, false, false);
    for at in executed {
        for &(_, value) in function.values.reads(at) {
            let entered = function.values.location_at_entry(value);
            takes |= entered.is_some_and(|location| (XMM0..=XMM7).contains(&location));
            all |= entered == Some(XMM7);
        }
        // Exponents are estimated in half a register.
        let form = function.data[at].form.trim_start_matches('v');
        converts |= form.starts_with("cvttsd2si r64");
    }
    takes && !all && !converts
}

fn candidate(
    input: &AnalysisInput,
    function: &FunctionWithCallees,
    part: f64,
    all: f64,
) -> Option<Candidate> {
    let share = function.share * part;
    let calls = (function.calls as f64 * part) as u64;
    if share < MIN_SHARE_OF_CONVERSION || calls < MIN_CALLS_HABITUAL {
        return None;
    }
    let kind = ConversionKind::FormatWhole;
    let each = share * all / calls as f64;
    let direct = direct_conversion(kind);
    let residual = direct.scaled(1.0 / each);
    if residual.value > MAX_CONVERSION_RESIDUAL {
        return None;
    }
    let known = index_of(input, &function.function, &function.module);
    let fix = Fix::ConvertDirectly(kind);
    let site = if known.is_some() { vec![0] } else { Vec::new() };
    let mut one = Candidate::new(Cause::CostlyConversion, known, site, fix);
    let FunctionWithCallees {
        function: name,
        module,
        address,
        place,
        ..
    } = function;
    one.at = Some(site_of(name, module, *address, place));
    one.share = Some(share);
    one.residual_fraction = Estimate {
        high: residual.high.min(MAX_RESIDUAL),
        ..residual
    };
    one.executions = Some(calls);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(ConversionFact::WholeNumbers { calls })
            .fact(CallFact::Time {
                function: Some(name.clone()),
                share,
                cycles: each,
            })
            .fact(ConversionFact::DirectCost {
                kind,
                cycles: direct,
            }),
    )
}
