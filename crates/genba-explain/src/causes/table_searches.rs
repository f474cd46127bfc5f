//! Keys looked up by halves in a table that never changes: part of `integer-latency-chain`.
//!
//! **Signature.** A binary search, unrolled by the compiler ([`crate::patterns::halving_steps`]), in a table at a fixed
//! address: classes of letters, ranges, constants.
//!
//! **Near misses.** Tables that the program fills; short searches; searches that branch, whose cost is mispredictions
//! ([`super::unpredictable_branch`]).
//!
//! **Confirmation.** A table by the key's bits.
//!
//! **Gain.** The measured time from the first step to the last, less two or three loads.
//!
//! **Source.** The Unicode Standard, section 5.1 ("Multistage tables"); P. Khuong, P. Morin, "Array layouts for
//! comparison-based searching", 2017.

use genba_model::{Cause, Estimate, Fix, LoopFact, PathFact};

use crate::candidate::Candidate;
use crate::causes::quadratic::residual_fraction;
use crate::constants::counts::{MIN_CALLS_IN_HOT_CODE, MIN_HALVING_STEPS};
use crate::constants::gains::CYCLES_OF_MULTISTAGE_TABLE;
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::halving_steps::{Halving, halving_steps};

/// Finds unrolled binary searches in constant tables.
pub(crate) fn table_searches(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(all) = cycles_of_all(input) else {
        return Vec::new();
    };
    let functions = input.functions.iter().enumerate();
    let hot = functions.filter(|(_, function)| {
        let counted = function.counted && function.counts.len() == function.code.len();
        counted && function.can_be_changed() && function.share.value >= MIN_SHARE_OF_CHAIN_LOOP
    });
    hot.flat_map(|(number, function)| {
        let searches = halving_steps(function, MIN_HALVING_STEPS).into_iter();
        searches.filter_map(move |one| candidate((number, function), &one, all))
    })
    .collect()
}

fn candidate(
    (number, function): (usize, &FunctionInput),
    search: &Halving,
    all: f64,
) -> Option<Candidate> {
    let (&first, &last) = (search.loads.first()?, search.loads.last()?);
    let searches = function.counts[first];
    // What waits for the last step stands behind it, up to the next jump.
    let block = function.flow.block_of(last)?;
    let end = function.flow.blocks()[block as usize].instructions.end as usize;
    let affected: Vec<usize> = (first..end).collect();
    let share = function.heat_of(affected.iter().copied());
    if share < MIN_SHARE_OF_CHAIN_LOOP || searches < MIN_CALLS_IN_HOT_CODE {
        return None;
    }
    let each = share * all / searches as f64;
    let mut one = Candidate::new(
        Cause::IntegerLatencyChain,
        Some(number),
        search.loads.clone(),
        Fix::TableByKey,
    );
    one.affected = affected;
    one.residual_fraction = residual_fraction(each, CYCLES_OF_MULTISTAGE_TABLE);
    one.executions = Some(searches);
    one.cycles = Some(Estimate::exact(each));
    let steps = search.loads.len() as u32;
    Some(
        one.fact(LoopFact::HalvingSteps { searches, steps })
            .fact(PathFact::DecisionTime {
                share,
                cycles: each,
            }),
    )
}
