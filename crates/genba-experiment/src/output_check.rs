//! `--check-output`: does every variant print what the baseline prints? Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_run::OutputInfo;

use crate::Plan;
use crate::measurement::Measurement;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Print {
    bytes: u64,
    hash: u64,
}

/// What the variants printed.
#[derive(Debug, Default)]
pub(crate) struct OutputCheck {
    first: BTreeMap<usize, Print>,
    /// Variants whose own runs do not agree.
    varying: BTreeSet<usize>,
}

impl OutputCheck {
    /// A run has ended.
    pub fn saw(&mut self, variant: usize, output: &OutputInfo) {
        let (Some(bytes), Some(hash)) = (output.bytes, output.hash) else {
            return;
        };
        let print = Print { bytes, hash };
        if *self.first.entry(variant).or_insert(print) != print {
            self.varying.insert(variant);
        }
    }

    /// Variants to take out, with the reason. A difference is believed from the second block on
    /// (or at the end, `last`), when the baseline has shown that its own output is always the
    /// same.
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

    /// What is to be said at the end.
    pub fn note(&self, plan: &Plan, baseline: usize) -> Option<String> {
        let name = &plan.variants[baseline].name;
        let others = self.first.keys().any(|variant| *variant != baseline);
        others.then(|| if self.varying.contains(&baseline) {
            format!(
                "the output of {name} changes from run to run: outputs cannot be checked against it"
            )
        } else {
            format!("the output of all variants compared is that of {name}, byte for byte")
        })
    }
}
