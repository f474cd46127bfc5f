//! `no-symbols`: much of the time is in code without names; advice only, nothing to gain by it.
//!
//! **Signature.** Functions that carry time have no symbol, in a module that is the user's.
//!
//! **Confirmation.** `file` says `stripped`.
//!
//! **Gain.** None: with names, genba can say more.

use genba_model::Estimate;

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::words::percent;

/// Identifier.
pub const ID: &str = "no-symbols";

/// Share of the time without names from which it is worth a word.
const LEAST_SHARE: f64 = 0.1;

/// Looks for it: one note for each module.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut modules: Vec<(&str, usize, f64)> = Vec::new();
    for (index, function) in input.functions.iter().enumerate() {
        if !is_nameless(function) {
            continue;
        }
        match modules.iter_mut().find(|one| one.0 == function.module) {
            Some(one) => one.2 += function.share.value,
            None => modules.push((&function.module, index, function.share.value)),
        }
    }
    let much = modules.into_iter().filter(|one| one.2 >= LEAST_SHARE);
    much.map(|(module, index, share)| {
        let mut one = Candidate::new(ID, Some(index), Vec::new());
        one.advice = true;
        one.share = Some(share);
        one.residual_fraction = Estimate::exact(1.0);
        one.fix = "Install the package's debug symbols, or set DEBUGINFOD_URLS; of a program of your own, build \
                   with -g and do not strip it."
            .to_owned();
        one.confirm = "file says whether it is stripped".to_owned();
        one.measured(format!("{} of the time is in code of {module} without names", percent(share)))
    })
    .collect()
}

fn is_nameless(function: &FunctionInput) -> bool {
    let nameless =
        function.function.starts_with("[0x") || function.function.starts_with("[unknown");
    nameless && function.own
}
