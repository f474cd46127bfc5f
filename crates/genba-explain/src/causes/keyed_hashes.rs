//! Part of `costly-conversion`: keys hashed by SipHash, which Rust's `HashMap` does unless another hasher is named.
//!
//! **Signature.** A good part of the time is in rounds of SipHash ([`crate::patterns::sip_rounds`]), inlined or in functions of
//! the library, and a hash takes several times as long as a cheap one. Its last rounds follow one another
//! without a jump: that is how often a hash is finished.
//!
//! **Gain.** The measured cycles of the rounds become those of a multiplication. The look-up behind waits for less as well,
//! which is not counted.
//!
//! **Source.** As [`crate::patterns::sip_rounds`]; the Rust Performance Book, "Hashing"; rustc's and Firefox's FxHash.

use genba_model::{CallFact, Cause, ConversionFact, ConversionKind, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::{MIN_CALLS_HABITUAL, MIN_LAST_SIP_ROUNDS};
use crate::constants::gains::{MAX_CONVERSION_RESIDUAL, MAX_RESIDUAL, direct_conversion};
use crate::constants::time_shares::MIN_SHARE_OF_CONVERSION;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::user_lines::site_of;
use crate::patterns::sip_rounds::{SipRounds, sip_rounds};

/// What the functions of a program hash: one candidate, since one hasher is exchanged.
pub(super) fn keyed_hashes(input: &AnalysisInput, all: f64) -> Option<Candidate> {
    let of_function = |(number, function): (usize, &FunctionInput)| {
        let countable = function.own && function.counted;
        let rounds = sip_rounds(function).into_iter().filter(move |_| countable);
        rounds
            .map(move |rounds| (number, rounds))
            .collect::<Vec<_>>()
    };
    let functions = input.functions.iter().enumerate();
    let rounds: Vec<_> = functions.flat_map(of_function).collect();
    let finishing = || {
        rounds
            .iter()
            .filter(|one| one.1.rounds >= MIN_LAST_SIP_ROUNDS)
    };
    let times = |(number, at): (usize, usize)| input.functions[number].counts[at];
    let hashes: u64 = (finishing())
        .map(|(number, one)| times((*number, one.instructions.start)))
        .sum();
    let affected: Vec<(usize, Vec<usize>)> = (rounds.chunk_by(|a, b| a.0 == b.0))
        .map(|list| (list[0].0, hashing(&input.functions[list[0].0], list)))
        .collect();
    let share: f64 = (affected.iter())
        .map(|(number, at)| input.functions[*number].heat_of(at.iter().copied()))
        .sum();
    if hashes < MIN_CALLS_HABITUAL || share < MIN_SHARE_OF_CONVERSION {
        return None;
    }
    let each = share * all / hashes as f64;
    let direct = direct_conversion(ConversionKind::KeyHash);
    let residual = direct.scaled(1.0 / each);
    if residual.value > MAX_CONVERSION_RESIDUAL {
        return None;
    }
    let (number, most) =
        finishing().max_by_key(|(number, one)| times((*number, one.instructions.start)))?;
    let function = &input.functions[*number];
    let fix = Fix::ConvertDirectly(ConversionKind::KeyHash);
    let site = vec![most.instructions.start];
    let mut one = Candidate::new(Cause::CostlyConversion, Some(*number), site, fix);
    if function.is_library_template() {
        let user = function.user_callers.first()?;
        one.at = Some(site_of(
            &user.function,
            &user.module,
            user.address,
            &user.place,
        ));
    }
    for (of, at) in affected {
        match of == *number {
            true => one.affected = at,
            false => one.copies.push((of, at)),
        }
    }
    one.share = Some(share);
    one.residual_fraction = Estimate {
        high: residual.high.min(MAX_RESIDUAL),
        ..residual
    };
    one.executions = Some(hashes);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(ConversionFact::Calls {
            routine: ROUTINE.to_owned(),
            format: None,
            calls: hashes,
            places: 1,
        })
        .fact(CallFact::Time {
            function: Some(ROUTINE.to_owned()),
            share,
            cycles: each,
        })
        .fact(ConversionFact::DirectCost {
            kind: ConversionKind::KeyHash,
            cycles: direct,
        }),
    )
}

/// Instructions of a function that hash: all of the library's own hasher, else its rounds.
fn hashing(function: &FunctionInput, rounds: &[(usize, SipRounds)]) -> Vec<usize> {
    match function.is_library_template() && function.function.contains("core::hash::") {
        true => (0..function.code.len()).collect(),
        false => (rounds.iter())
            .flat_map(|one| one.1.instructions.clone())
            .collect(),
    }
}

/// What the routine is called.
const ROUTINE: &str = "SipHash";
