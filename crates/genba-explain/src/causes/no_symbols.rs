//! `no-symbols`: much of the time is in code without symbols; a note, nothing to gain by itself.
//!
//! **Signature.** Functions of the user's own module that carry time have no symbol.
//!
//! **Confirmation.** `file` says `stripped`.
//!
//! **Gain.** None: with symbols, more can be found.

use genba_model::{BuildFact, Cause, Confirmation, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::time_shares::MIN_SHARE_WITHOUT_SYMBOLS;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};

/// Finds time in functions without symbols; one note for each module.
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
    let much = modules
        .into_iter()
        .filter(|one| one.2 >= MIN_SHARE_WITHOUT_SYMBOLS);
    much.map(|(module, index, share)| {
        let mut one = Candidate::new(
            Cause::NoSymbols,
            Some(index),
            Vec::new(),
            Fix::InstallSymbols,
        );
        one.advice = true;
        one.share = Some(share);
        one.residual_fraction = Estimate::exact(1.0);
        one.confirmation = Confirmation::Stripped;
        one.fact(BuildFact::NoSymbols {
            share,
            module: module.to_owned(),
        })
    })
    .collect()
}

fn is_nameless(function: &FunctionInput) -> bool {
    let nameless =
        function.function.starts_with("[0x") || function.function.starts_with("[unknown");
    nameless && function.own
}
