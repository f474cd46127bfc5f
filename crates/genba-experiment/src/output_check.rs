//! `--check-output`: whether every variant prints the same as the baseline. Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_run::OutputInfo;

use crate::Plan;
use crate::measurement::Measurement;

#[derive(Clone, Copy, Debug, PartialEq)]
struct OutputDigest {
    bytes: u64,
    hash: u64,
}

/// Outputs of the variants.
#[derive(Debug, Default)]
pub(crate) struct OutputCheck {
    first: BTreeMap<usize, OutputDigest>,
    /// Variants whose output differs between runs.
    varying: BTreeSet<usize>,
}

impl OutputCheck {
    /// Records the output of a run.
    pub fn record(&mut self, variant: usize, output: &OutputInfo) {
        let (Some(bytes), Some(hash)) = (output.bytes, output.hash) else {
            return;
        };
        let print = OutputDigest { bytes, hash };
        if *self.first.entry(variant).or_insert(print) != print {
            self.varying.insert(variant);
        }
    }

    /// Variants to exclude, with the reason. Differences count from the second block on (or at the
    /// end, `last`), when the output of the baseline is known to be constant.
    pub fn wrong(
        &self,
        plan: &Plan,
        measurement: &Measurement,
        last: bool,
    ) -> Vec<(usize, String)> {
        let compared = measurement.compared(plan);
        let Some((baseline, others)) = compared.split_first() else {
            return Vec::new();
        };
        if self.varying.contains(baseline) || (measurement.blocks < 2 && !last) {
            return Vec::new();
        }
        let Some(expected) = self.first.get(baseline) else {
            return Vec::new();
        };
        let name = &plan.variants[*baseline].name;
        let mut wrong = Vec::new();
        for variant in others {
            let reason = if self.varying.contains(variant) {
                format!("its output changes from run to run, that of {name} does not")
            } else {
                match self.first.get(variant) {
                    Some(print) if print == expected => continue,
                    Some(print) if print.bytes == expected.bytes => format!(
                        "prints something else than {name} (both {} bytes)",
                        print.bytes
                    ),
                    Some(print) => format!(
                        "prints something else than {name} ({} bytes, not {})",
                        print.bytes, expected.bytes
                    ),
                    None => continue,
                }
            };
            wrong.push((*variant, reason));
        }
        wrong
    }

    /// Whether the output of a variant differs between runs.
    pub fn varies(&self, variant: usize) -> bool {
        self.varying.contains(&variant)
    }

    /// Note on the result of the check.
    pub fn note(&self, plan: &Plan, baseline: usize) -> Option<String> {
        let name = &plan.variants[baseline].name;
        let others = self.first.keys().any(|variant| *variant != baseline);
        others.then(|| match self.varies(baseline) {
            true => varying_output_note(name),
            false => format!("all compared variants print the same as {name}, byte for byte"),
        })
    }
}

/// Note on a baseline whose output changes from run to run.
pub(crate) fn varying_output_note(baseline: &str) -> String {
    format!(
        "the output of {baseline} changes from run to run: outputs cannot be checked against it"
    )
}
