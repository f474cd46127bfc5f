//! `unoptimised-build`: hot code compiled without optimisation.
//!
//! **Signature.** The compiler's record of its options (`DW_AT_producer`; GNU compilers list them
//! all) has no `-O` or has `-O0`. For compilers without such a record (clang, rustc): most executed
//! instructions of the module access fixed places of the stack frame, as optimised code does for
//! spilled values only.
//!
//! **Confirmation.** Build with optimisation and compare.
//!
//! **Gain.** Not modelled: a third to a factor of five is usual. Nothing else is reported about
//! such code, since the compiler would remove most of it.
//!
//! **Source.** DWARF 5, section 3.1.1 (`DW_AT_producer`).

use genba_model::{BuildFact, Cause, Confirmation, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::{MAX_INSTRUCTIONS_PER_CALL_UNOPTIMISED, MIN_CALLS_IN_HOT_CODE};
use crate::constants::gains::{RESIDUAL_OF_UNOPTIMISED, RESIDUAL_OF_UNOPTIMISED_CALLS};
use crate::constants::search_limits::MAX_PRODUCER_CHARS;
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::unoptimised_code::unoptimised_functions;

/// Finds modules compiled without optimisation, from the compiler's record of its options or from
/// accesses to the stack; one candidate for each module.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut modules: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let unoptimised = unoptimised_functions(input);
    for (function, &is) in input.functions.iter().zip(&unoptimised) {
        if !is || modules.contains(&function.module.as_str()) {
            continue;
        }
        modules.push(&function.module);
        found.extend(candidate(input, &unoptimised, &function.module));
    }
    found
}

fn candidate(input: &AnalysisInput, unoptimised: &[bool], module: &str) -> Option<Candidate> {
    let all = || {
        let list = input.functions.iter().enumerate();
        list.filter(|(index, f)| f.module == module && unoptimised[*index])
    };
    // The user's own code before what it instantiates of a library.
    let users = |function: &FunctionInput| {
        let lines = function.of_library.iter().zip(&function.heat);
        let library: f64 = lines.filter(|(of, _)| **of).map(|(_, heat)| heat).sum();
        library < MOST_OF_IT * function.share.value
    };
    let (index, function) = all().find(|(_, f)| users(f)).or_else(|| all().next())?;
    let share: f64 = all().map(|(_, f)| f.share.value).sum();
    let instructions: f64 = all()
        .flat_map(|(_, f)| f.counts.iter())
        .map(|&n| n as f64)
        .sum();
    let calls: f64 = all().map(|(_, f)| f.calls.unwrap_or(0) as f64).sum();
    let of_calls = calls > MIN_CALLS_IN_HOT_CODE as f64
        && instructions < MAX_INSTRUCTIONS_PER_CALL_UNOPTIMISED * calls;
    let mut one = Candidate::new(
        Cause::UnoptimisedBuild,
        Some(index),
        hottest_line(function),
        Fix::Optimise,
    );
    one.share = Some(share.min(1.0));
    one.residual_fraction = if of_calls {
        RESIDUAL_OF_UNOPTIMISED_CALLS
    } else {
        RESIDUAL_OF_UNOPTIMISED
    };
    one.unoptimised_too = true;
    one.confirmation = Confirmation::OptimisedBuild;
    one = one.fact(BuildFact::UnoptimisedTime {
        share,
        functions: all().count(),
    });
    if of_calls {
        one = one.fact(BuildFact::InstructionsPerCall {
            instructions: instructions / calls,
        });
    }
    let gnu = |p: &str| p.starts_with("GNU ");
    if !function.producer.as_deref().is_some_and(gnu) {
        one = one.fact(BuildFact::StackAccesses);
    }
    if let Some(producer) = &function.producer {
        one = one.fact(BuildFact::Producer {
            text: producer.chars().take(MAX_PRODUCER_CHARS).collect(),
        });
    }
    Some(one)
}

/// The instructions of the line that takes most time.
fn hottest_line(function: &crate::input::analysis_input::FunctionInput) -> Vec<usize> {
    let hottest =
        (0..function.heat.len()).max_by(|&a, &b| function.heat[a].total_cmp(&function.heat[b]));
    let Some(place) = hottest.and_then(|at| function.places.get(at)) else {
        return Vec::new();
    };
    (0..function.places.len())
        .filter(|&at| {
            function.places[at].line == place.line && function.places[at].file == place.file
        })
        .collect()
}
