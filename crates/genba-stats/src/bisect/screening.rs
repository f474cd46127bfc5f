//! Screening: effects of all elements of a set at once, by a balanced design of subsets.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::hadamard_design::{hadamard, next_order};
use super::huber_regression::huber;
use crate::quantile::median_of_sorted;
use crate::{StatsError, input_checks};
use genba_model::Estimate;

/// Number of elements of one design at most; larger sets are screened in groups first.
pub const MAX_SCREENED_ELEMENTS: usize = 63;
/// Distance of the weakest culprit from the strongest other element, in standard errors, from which
/// the screening is settled.
const MIN_SEPARATION: f64 = 3.0;

/// A screening experiment: in each run half of the items are switched on, every item together
/// with every other equally often, so that each run says something of *every* item.
///
/// The rows come in blocks of a Hadamard (Plackett–Burman) design and its fold-over, the same
/// rows with on and off exchanged, which keeps the items' own effects clear of what pairs of
/// them do together (Box and Hunter, "The 2^(k−p) fractional factorial designs", Technometrics 3
/// (1961)). Each half block is centred on its median, which takes drift out without touching
/// the effects. The effects come from a Huber regression.
#[derive(Clone, Debug)]
pub struct Screening {
    items: usize,
    design: Vec<Vec<bool>>,
    /// Row of the design and value of every run, `None` of one that failed.
    runs: Vec<(usize, Option<f64>)>,
}

/// Effect of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementEffect {
    /// Index of the element, from 0.
    pub item: usize,
    /// Change of the metric when it is switched on, in the metric's unit, 95 %.
    pub effect: Estimate,
    /// The effect in standard errors.
    pub score: f64,
}

/// Interaction of two elements beyond the sum of their effects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    /// The items.
    pub items: (usize, usize),
    /// Change of the metric when both are on, less the sum of the changes by each alone, 95 %.
    pub effect: Estimate,
    /// The effect in standard errors.
    pub score: f64,
}

/// Result of a screening.
#[derive(Clone, Debug, PartialEq)]
pub struct Screened {
    /// All elements, the largest effect first.
    pub effects: Vec<ElementEffect>,
    /// Number of significant effects, at level α for all elements together.
    pub culprits: usize,
    /// Whether more runs would hardly change which effects are significant.
    pub settled: bool,
}

impl Screening {
    /// A screening of so many items.
    ///
    /// # Errors
    /// No items, or more than [`MAX_SCREENED_ELEMENTS`].
    pub fn new(items: usize) -> Result<Self, StatsError> {
        if items == 0 {
            return Err(StatsError::TooFew { needed: 1, got: 0 });
        }
        if items > MAX_SCREENED_ELEMENTS {
            return Err(StatsError::Parameter {
                name: "number of items",
                value: items as f64,
                range: "from 1 to 63",
            });
        }
        let half: Vec<Vec<bool>> = hadamard(next_order(items + 1))
            .into_iter()
            .map(|row| row[1..=items].to_vec())
            .collect();
        let folded = half
            .iter()
            .map(|row| row.iter().map(|on| !on).collect::<Vec<bool>>());
        let design = half.iter().cloned().chain(folded).collect();
        Ok(Self {
            items,
            design,
            runs: Vec::new(),
        })
    }

    /// Rows of the design with its fold-over. Each block runs every row once, the first half in
    /// random order and then the second half in random order.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.design.len()
    }

    /// Which items a row switches on.
    #[must_use]
    pub fn row(&self, row: usize) -> &[bool] {
        &self.design[row % self.design.len()]
    }

    /// Adds the value of a run of this row; `None` for one that failed.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn push(&mut self, row: usize, value: Option<f64>) -> Result<(), StatsError> {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            let index = self.runs.len();
            return Err(StatsError::NotFinite { index, value });
        }
        self.runs.push((row % self.design.len(), value));
        Ok(())
    }

    /// Runs so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The effects by now; `None` before there are runs enough (two half blocks).
    ///
    /// # Errors
    /// An alpha outside 0…1.
    pub fn screened(&self, alpha: f64) -> Result<Option<Screened>, StatsError> {
        input_checks::open_unit("alpha", alpha)?;
        let (rows, values) = self.equations(|on| (0..self.items).map(on).collect());
        let Some(fit) = huber(&rows, &values) else {
            return Ok(None);
        };
        let student = student(fit.freedom);
        let mut effects: Vec<ElementEffect> = (0..self.items)
            .map(|item| {
                let (value, error) = (fit.coefficients[item + 1], fit.errors[item + 1]);
                ElementEffect {
                    item,
                    effect: estimate(2.0 * value, 2.0 * error, student.inverse_cdf(0.975)),
                    score: score(value, error),
                }
            })
            .collect();
        effects.sort_by(|left, right| right.score.abs().total_cmp(&left.score.abs()));
        let threshold = student.inverse_cdf(1.0 - alpha / 2.0 / self.items as f64);
        let stands = |effect: &&ElementEffect| effect.score.abs() >= threshold;
        let culprits = effects.iter().take_while(stands).count();
        let settled = culprits > 0
            && (effects.get(culprits)).is_none_or(|next| {
                effects[culprits - 1].score.abs() - next.score.abs() >= MIN_SEPARATION
            });
        Ok(Some(Screened {
            effects,
            culprits,
            settled,
        }))
    }

    /// What pairs of these items do together, from the same runs; empty where the runs cannot
    /// tell. Meant for the few items that stand out.
    #[must_use]
    pub fn interactions(&self, of: &[usize]) -> Vec<Interaction> {
        let pairs: Vec<(usize, usize)> = (of.iter().enumerate())
            .flat_map(|(place, a)| of[place + 1..].iter().map(move |b| (*a, *b)))
            .collect();
        if pairs.is_empty() || pairs.iter().any(|(a, b)| a.max(b) >= &self.items) {
            return Vec::new();
        }
        let (rows, values) = self.equations(|on| {
            let alone = of.iter().map(|item| on(*item));
            let together = pairs.iter().map(|(a, b)| on(*a) * on(*b));
            alone.chain(together).collect()
        });
        let Some(fit) = huber(&rows, &values) else {
            return Vec::new();
        };
        let z = student(fit.freedom).inverse_cdf(0.975);
        // Both on: β; the mean of the other three settings holds it with the signs −, −, +: the
        // difference of differences is 4β.
        (pairs.iter().enumerate())
            .map(|(place, items)| {
                let at = 1 + of.len() + place;
                let (value, error) = (fit.coefficients[at], fit.errors[at]);
                Interaction {
                    items: *items,
                    effect: estimate(4.0 * value, 4.0 * error, z),
                    score: score(value, error),
                }
            })
            .collect()
    }

    /// A line for every run that did not fail: 1 and the terms that `of` makes of the items'
    /// signs; and the values less the median of their half block.
    fn equations(
        &self,
        of: impl Fn(&dyn Fn(usize) -> f64) -> Vec<f64>,
    ) -> (Vec<Vec<f64>>, Vec<f64>) {
        let half = self.design.len() / 2;
        let median = |runs: &[(usize, Option<f64>)]| {
            let values: Vec<f64> = runs.iter().filter_map(|(_, value)| *value).collect();
            (!values.is_empty()).then(|| median_of_sorted(&input_checks::sorted(&values)))
        };
        let overall = median(&self.runs).unwrap_or(0.0);
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        for chunk in self.runs.chunks(half) {
            // An unfinished half block is not balanced: its median says nothing of drift.
            let whole = chunk.len() == half;
            let centre = median(chunk).filter(|_| whole).unwrap_or(overall);
            for (row, value) in chunk {
                let Some(value) = value else { continue };
                let terms = of(&|item| sign(self.design[*row][item]));
                rows.push(std::iter::once(1.0).chain(terms).collect());
                values.push(value - centre);
            }
        }
        (rows, values)
    }
}

fn sign(on: bool) -> f64 {
    if on { 1.0 } else { -1.0 }
}

fn student(freedom: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom.max(1) as f64)
        .expect("location 0, scale 1 and a positive freedom are legal")
}

/// The quantile of Student's t; `p` strictly between 0 and 1, at least one degree of freedom
/// (none counts as one). Half the interval of a mean is this times its standard error.
#[must_use]
pub fn student_quantile(p: f64, freedom: usize) -> f64 {
    student(freedom).inverse_cdf(p.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON))
}

fn estimate(value: f64, error: f64, z: f64) -> Estimate {
    Estimate {
        value,
        low: value - z * error,
        high: value + z * error,
    }
}

/// An effect in standard errors, finite.
fn score(value: f64, error: f64) -> f64 {
    if error > 0.0 {
        (value / error).clamp(-1e9, 1e9)
    } else if value == 0.0 {
        0.0
    } else {
        1e9_f64.copysign(value)
    }
}
