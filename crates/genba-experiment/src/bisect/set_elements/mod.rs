//! Search for the elements of a set that cause a difference: compare none with all, screen, verify;
//! halving when the metric has no noise.

mod element_halving;
mod element_screening;
mod element_verification;

use genba_model::{BisectionOutcome, Culprit, RankedEffect, VerdictName};

use super::search_measurement::{SearchBudget, SearchMeasurement};
use super::search_result::SearchResult;
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// Share of the budget by which the comparison of none with all ends.
const ENDS_BUDGET_SHARE: f64 = 0.3;
/// Share of the budget by which the screening ends.
const SCREENING_BUDGET_SHARE: f64 = 0.65;
/// Differences between repeated runs up to this share of the total effect count as no noise.
const NO_NOISE_SHARE: f64 = 0.01;

/// A set whose elements can be switched on separately.
pub trait ElementSet {
    /// Names of all elements.
    fn names(&self) -> &[String];

    /// The variant with these elements switched on, by ascending index.
    ///
    /// # Errors
    /// The variant cannot be made, for example because its files cannot be written.
    fn variant(&self, on: &[usize]) -> Result<VariantPlan, ExperimentError>;
}

/// Finds the elements that cause the difference between none and all of them.
///
/// # Errors
/// No elements, a target that fails with none or all of them, the comparer's errors. Once
/// something was measured an interruption is an outcome, not an error.
pub fn find_elements(
    comparer: &mut Comparer<'_>,
    plan: &Plan,
    set: &dyn ElementSet,
    budget: SearchBudget,
) -> Result<SearchResult, ExperimentError> {
    let mut finder = ElementFinder {
        measurement: SearchMeasurement::new(comparer, plan, budget),
        set,
        culprits: Vec::new(),
        parts: Vec::new(),
        exact: false,
    };
    let result = finder.find();
    let outcome = finder
        .measurement
        .finish(result, BisectionOutcome::Interrupted)?;
    Ok(finder.found(outcome))
}

struct ElementFinder<'f, 'l, 'a> {
    measurement: SearchMeasurement<'l, 'a>,
    set: &'f dyn ElementSet,
    culprits: Vec<Culprit>,
    parts: Vec<RankedEffect>,
    exact: bool,
}

impl ElementFinder<'_, '_, '_> {
    fn all(&self) -> Vec<usize> {
        (0..self.set.names().len()).collect()
    }

    fn find(&mut self) -> Result<BisectionOutcome, ExperimentError> {
        let all = self.all();
        if all.is_empty() {
            return Err(ExperimentError::Plan {
                what: "the set is empty".to_owned(),
            });
        }
        let (none, whole) = (self.set.variant(&[])?, self.set.variant(&all)?);
        let purpose = "verify the ends";
        let mut comparison = self
            .measurement
            .open_comparison(self.measurement.plan().alpha)?;
        let mut values: Vec<(f64, f64)> = Vec::new();
        loop {
            self.measurement.progress("no element against all elements");
            let Some(pair) = self.measurement.pair(&none, &whole, purpose)? else {
                return Err(self.broken_ends(&none, &whole));
            };
            values.push(pair);
            if values.len() == 2 && agree(values[0], values[1]) {
                self.exact = true;
                return self.find_exactly(values[0]);
            }
            self.measurement.judge(&mut comparison, pair)?;
            let decided = comparison.verified().verdict != VerdictName::Undecided;
            if decided || values.len() >= 2 && self.measurement.exceeds(ENDS_BUDGET_SHARE) {
                break;
            }
        }
        let alpha = self.measurement.plan().alpha;
        self.measurement
            .conclude(&comparison, &none.name, &whole.name, alpha);
        let ends = comparison.verified();
        if ends.verdict == VerdictName::Same {
            if all.len() > 1 {
                self.measurement.notes.push(
                    "all elements together make no difference; effects in opposite directions would \
                     cancel like this"
                        .to_owned(),
                );
            }
            return Ok(BisectionOutcome::NoDifference);
        }
        let level = median_of(values.iter().map(|pair| pair.0));
        let suspects = if all.len() == 1 {
            all
        } else {
            self.screen(level)?
        };
        self.verify(&suspects, &ends)
    }

    fn broken_ends(&self, none: &VariantPlan, whole: &VariantPlan) -> ExperimentError {
        let reason = [none, whole].iter().find_map(|variant| {
            let reason = self.measurement.failure(&variant.name)?;
            Some(format!("with {}: {reason}", variant.name))
        });
        ExperimentError::TargetFailed {
            what: format!(
                "the command must succeed without any element and with all of them\n{}",
                reason.unwrap_or_default()
            ),
        }
    }

    fn found(mut self, outcome: BisectionOutcome) -> SearchResult {
        let strength =
            |culprit: &Culprit| culprit.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
        self.culprits
            .sort_by(|left, right| strength(right).total_cmp(&strength(left)));
        let confidence = (outcome == BisectionOutcome::Found).then(|| {
            if self.exact {
                1.0
            } else {
                1.0 - self.measurement.plan().alpha
            }
        });
        SearchResult {
            outcome,
            culprits: self.culprits,
            confidence,
            range: None,
            noise_is_nil: self.exact,
            tests: std::mem::take(&mut self.measurement.tests),
            parts: self.parts,
            skipped: std::mem::take(&mut self.measurement.skipped),
            variants: self.measurement.variants(),
            comparisons: std::mem::take(&mut self.measurement.comparisons),
            runs: self.measurement.runs(),
            notes: self.measurement.all_notes(),
        }
    }
}

/// Whether two pairs of runs agree within 1 % of their difference: the metric has no noise.
fn agree(one: (f64, f64), two: (f64, f64)) -> bool {
    let most = NO_NOISE_SHARE * (one.1 - one.0).abs();
    (one.0 - two.0).abs() <= most && (one.1 - two.1).abs() <= most
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    genba_stats::median(&values).unwrap_or(0.0)
}
