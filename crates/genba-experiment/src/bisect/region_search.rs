//! Which regions of a source file cost: switched off in groups, then one by one, then inside.

use genba_model::{BisectionOutcome, Culprit, Estimate, RankedEffect, VerdictName};
use genba_stats::{median, student_quantile};

use super::search_measurement::{SearchBudget, SearchMeasurement};
use super::search_result::{SearchResult, VerifiedEffect};
use super::source_regions::{Region, Regions};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// Regions that save less than this share of the whole are not looked at one by one.
const NEGLIGIBLE: f64 = 0.05;
/// A region inside of another is the culprit if it has so much of what the outer one saves.
const MOST_OF_IT: f64 = 0.6;
/// Part of the budget for looking: what is left belongs to the verification of the culprit. Beyond
/// the second other regions take no part in it.
const LOOK_SHARE: f64 = 0.5;
const INTERVAL_SHARE: f64 = 0.65;
/// Rounds of the verification that the regions ranked next take part in, for their intervals.
const ROUNDS: usize = 3;
/// Regions in the ranking, and those of them that are run more than once.
const RANKED: usize = 12;
const SHARPENED: usize = 5;
/// Runs of the whole file at the start.
const FIRST_RUNS: usize = 3;
/// Regions whose source is no longer than this are not looked into.
const SHORT_LINES: u32 = 2;

/// A source file whose regions can be switched off.
pub trait SwitchableSource {
    /// The regions.
    fn regions(&self) -> &Regions;

    /// How the file is compiled without these.
    ///
    /// # Errors
    /// The variant cannot be written.
    fn without(&self, off: &[usize]) -> Result<VariantPlan, ExperimentError>;
}

/// Finds what costs.
///
/// # Errors
/// No regions, a file that does not compile as it is, the comparer's errors. An interruption is none
/// once something was measured.
pub fn find_regions(
    comparer: &mut Comparer<'_>,
    plan: &Plan,
    set: &dyn SwitchableSource,
    budget: SearchBudget,
) -> Result<SearchResult, ExperimentError> {
    let mut finder = SourceFinder {
        measurement: SearchMeasurement::new(comparer, plan, budget),
        set,
        whole: Vec::new(),
        saved: Vec::new(),
        culprit: None,
        exact: false,
    };
    let result = finder.find();
    let outcome = finder
        .measurement
        .finish(result, BisectionOutcome::Interrupted)?;
    Ok(finder.found(outcome))
}

/// A region that saves something, with its values when it is off.
struct Saved {
    region: usize,
    depth: u32,
    parent: Option<usize>,
    values: Vec<f64>,
}

struct SourceFinder<'f, 'l, 'a> {
    measurement: SearchMeasurement<'l, 'a>,
    set: &'f dyn SwitchableSource,
    /// Values of the whole file.
    whole: Vec<f64>,
    saved: Vec<Saved>,
    culprit: Option<Culprit>,
    exact: bool,
}

impl SourceFinder<'_, '_, '_> {
    fn find(&mut self) -> Result<BisectionOutcome, ExperimentError> {
        let whole = self.set.without(&[])?;
        for _ in 0..FIRST_RUNS {
            self.measurement.progress("the whole file");
            let value = self.measurement.run(&whole, "the whole file")?;
            let Some(value) = value else {
                let why = self.measurement.failure(&whole.name).unwrap_or_default();
                return Err(ExperimentError::Plan {
                    what: format!("the file must compile as it is\n{why}"),
                });
            };
            self.whole.push(value);
            if self.whole.len() == 2 && self.spread() <= NEGLIGIBLE / 100.0 {
                self.exact = true;
                break;
            }
        }
        let top = self.set.regions().top.clone();
        if top.is_empty() {
            return Err(ExperimentError::Plan {
                what: "the file has no region that could be switched off".to_owned(),
            });
        }
        self.explore(&top, None, None, 0)?;
        if self.saved.is_empty() {
            return Ok(if self.measurement.exceeds(LOOK_SHARE) {
                BisectionOutcome::Undecided
            } else {
                self.measurement.notes.push(format!(
                    "no region saves more than {:.0} %: the cost is spread, or lies in what \
                     cannot be switched off",
                    100.0 * self.negligible() / self.level()
                ));
                BisectionOutcome::NoDifference
            });
        }
        self.rank();
        let outcome = self.verify(&whole);
        self.rank();
        outcome
    }

    fn level(&self) -> f64 {
        median(&self.whole).unwrap_or(0.0)
    }

    /// Range of the whole file's values as a share.
    fn spread(&self) -> f64 {
        let low = self.whole.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.whole.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (high - low) / self.level().abs().max(f64::MIN_POSITIVE)
    }

    /// What saves less is not followed: a share of the whole, and beyond the noise of one run.
    fn negligible(&self) -> f64 {
        self.level() * NEGLIGIBLE.max(1.5 * self.spread())
    }

    /// Looks for the regions of this list that save something, and inside of those.
    fn explore(
        &mut self,
        list: &[usize],
        known: Option<f64>,
        parent: Option<usize>,
        depth: u32,
    ) -> Result<(), ExperimentError> {
        let mut costly: Vec<(usize, f64)> = Vec::new();
        self.split(list, known.filter(|_| list.len() > 1), &mut costly)?;
        costly.sort_by(|left, right| right.1.total_cmp(&left.1));
        for (region, value) in costly {
            self.saved.push(Saved {
                region,
                depth,
                parent,
                values: vec![value],
            });
            let inner = self.set.regions().all[region].clone();
            let long = inner.end_line - inner.line >= SHORT_LINES;
            if long && !inner.children.is_empty() && !self.measurement.exceeds(LOOK_SHARE) {
                // All that is inside of it saves what it saves.
                self.explore(&inner.children, Some(value), Some(region), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Switches all of a list off; if that saves something, halves, the costlier first. `known`:
    /// what the list saves, if it was measured or follows from what was.
    fn split(
        &mut self,
        list: &[usize],
        known: Option<f64>,
        costly: &mut Vec<(usize, f64)>,
    ) -> Result<(), ExperimentError> {
        if list.is_empty() || self.measurement.exceeds(LOOK_SHARE) {
            return Ok(());
        }
        let saves = match known {
            Some(saves) => Some(saves),
            None => self.measure(list)?,
        };
        if saves.is_some_and(|saves| saves <= self.negligible()) {
            return Ok(());
        }
        if let [only] = list {
            return match saves {
                Some(saves) => {
                    costly.push((*only, saves));
                    Ok(())
                }
                // It cannot be switched off: what is inside of it perhaps.
                None => {
                    let inner = self.set.regions().all[*only].children.clone();
                    self.split(&inner, None, costly)
                }
            };
        }
        let (left, right) = list.split_at(list.len() / 2);
        if self.measurement.exceeds(LOOK_SHARE) {
            return Ok(());
        }
        let of_left = self.measure(left)?;
        // What one half does not save the other does. A single region is measured by itself all
        // the same: it will be ranked.
        let of_right = saves.zip(of_left).map(|(all, left)| all - left);
        if of_right.is_some_and(|saves| saves <= self.negligible()) {
            return self.split(left, of_left, costly);
        }
        let right_known = of_right.filter(|_| right.len() > 1);
        if of_left
            .zip(of_right)
            .is_some_and(|(left, right)| right > left)
        {
            self.split(right, right_known, costly)?;
            return self.split(left, of_left, costly);
        }
        // Of a half that does not compile nothing is known; its parts are tried.
        if of_left.is_none() {
            self.split_broken(left, costly)?;
        } else {
            self.split(left, of_left, costly)?;
        }
        self.split(right, right_known, costly)
    }

    /// The halves of a list that cannot be switched off as a whole.
    fn split_broken(
        &mut self,
        list: &[usize],
        costly: &mut Vec<(usize, f64)>,
    ) -> Result<(), ExperimentError> {
        if let [only] = list {
            let inner = self.set.regions().all[*only].children.clone();
            return self.split(&inner, None, costly);
        }
        let (left, right) = list.split_at(list.len() / 2);
        self.split(left, None, costly)?;
        self.split(right, None, costly)
    }

    /// What switching these off saves; `None` if the file does not compile then.
    fn measure(&mut self, off: &[usize]) -> Result<Option<f64>, ExperimentError> {
        let variant = self.set.without(off)?;
        self.measurement.progress(&variant.name);
        let value = self.measurement.run(&variant, "search")?;
        if value.is_none() {
            // A cut that breaks the file is no news to the person.
            self.measurement
                .skipped
                .retain(|skipped| skipped.what != variant.name);
        }
        Ok(value.map(|value| self.level() - value))
    }

    /// The greatest savings first.
    fn rank(&mut self) {
        let value = |saved: &Saved| median(&saved.values).unwrap_or(0.0);
        self.saved.sort_by(|left, right| {
            value(right)
                .total_cmp(&value(left))
                .then(left.depth.cmp(&right.depth))
        });
    }

    /// The innermost region that has most of what the ones round it save.
    fn innermost(&self) -> Option<usize> {
        let saves = |saved: &Saved| median(&saved.values).unwrap_or(0.0);
        let most = |left: &&Saved, right: &&Saved| saves(left).total_cmp(&saves(right));
        let mut at = (self.saved.iter().filter(|saved| saved.depth == 0)).max_by(most)?;
        loop {
            let inside = (self.saved.iter()).filter(|saved| saved.parent == Some(at.region));
            match inside.max_by(most) {
                Some(inner) if saves(inner) >= MOST_OF_IT * saves(at) => at = inner,
                _ => return Some(at.region),
            }
        }
    }

    /// Judges the culprit.
    fn verify(&mut self, whole: &VariantPlan) -> Result<BisectionOutcome, ExperimentError> {
        let Some(mut region) = self.innermost() else {
            return Ok(BisectionOutcome::Undecided);
        };
        let verified = if self.exact {
            let variant = self.set.without(&[region])?;
            let saves = (self.saved.iter().find(|saved| saved.region == region))
                .map_or(0.0, |saved| median(&saved.values).unwrap_or(0.0));
            let value = self.level() - saves;
            let again = self.measurement.run(&variant, "verify")?;
            let name = (whole.name.clone(), self.level());
            (self.measurement)
                .conclude_exact((&variant.name, again.unwrap_or(value)), (&name.0, name.1))
        } else {
            self.judge(whole, &mut region)?
        };
        let of = &self.set.regions().all[region];
        self.culprit = Some(Culprit {
            name: of.name.clone(),
            elements: vec![of.name.clone()],
            before: Some("the file without it".to_owned()),
            ratio: verified.ratio,
            verified: verified.differs(),
            detail: Some(place_of(of)),
        });
        Ok(if verified.differs() {
            BisectionOutcome::Found
        } else {
            BisectionOutcome::Undecided
        })
    }

    /// The file without the region against the whole file, until it is decided. The first rounds
    /// have the others that are ranked highest in them: their values get intervals, and if they
    /// say that another region is the culprit, it is judged from there on.
    fn judge(
        &mut self,
        whole: &VariantPlan,
        region: &mut usize,
    ) -> Result<VerifiedEffect, ExperimentError> {
        let alpha = self.measurement.plan().alpha;
        let mut comparison = self.measurement.open_comparison(alpha)?;
        let mut variant = self.set.without(&[*region])?;
        for round in 0.. {
            let undecided = comparison.verified().verdict == VerdictName::Undecided;
            if self.measurement.exceeds(1.0) || !(undecided || round < ROUNDS) {
                break;
            }
            let others: Vec<usize> = if round < ROUNDS && !self.measurement.exceeds(INTERVAL_SHARE)
            {
                let ranked = self.saved.iter().map(|saved| saved.region);
                let ranked = ranked.filter(|other| other != region);
                ranked.take(SHARPENED - 1).collect()
            } else {
                Vec::new()
            };
            let more = (others.iter())
                .map(|other| self.set.without(&[*other]))
                .collect::<Result<Vec<_>, _>>()?;
            let text = format!("verify: {} against {}", variant.name, whole.name);
            self.measurement.progress(&text);
            let all: Vec<&VariantPlan> = [&variant, whole].into_iter().chain(&more).collect();
            let values = self.measurement.run_block(&all, "verify")?;
            let Some((without, now)) = values[0].zip(values[1]) else {
                break;
            };
            self.measurement.judge(&mut comparison, (without, now))?;
            self.whole.push(now);
            let level = self.level();
            let regions = std::iter::once(*region).chain(others);
            let own = std::iter::once(&values[0]).chain(&values[2..]);
            for (other, value) in regions.zip(own) {
                let saved = self.saved.iter_mut().find(|saved| saved.region == other);
                if let Some((saved, value)) = saved.zip(*value) {
                    // Of the round, so that what slows all of it takes no part in it.
                    saved.values.push((1.0 - value / now) * level);
                }
            }
            if round + 1 == ROUNDS && self.innermost() != Some(*region) {
                *region = self.innermost().unwrap_or(*region);
                variant = self.set.without(&[*region])?;
                comparison = self.measurement.open_comparison(alpha)?;
            }
        }
        self.measurement
            .conclude(&comparison, &variant.name, &whole.name, alpha);
        Ok(comparison.verified())
    }

    /// The ranking with intervals.
    fn parts(&self) -> Vec<RankedEffect> {
        let level = self.level();
        let verified = |region: &Region| {
            (self.culprit.as_ref()).is_some_and(|culprit| {
                culprit.verified && culprit.detail.as_deref() == Some(&place_of(region))
            })
        };
        // What one run seemed to save and more runs did not.
        let stands = |saved: &&Saved| {
            saved.values.len() == 1 || self.exact || self.interval(&saved.values).low > 0.0
        };
        (self.saved.iter().filter(stands).take(RANKED))
            .map(|saved| {
                let region = &self.set.regions().all[saved.region];
                let effect = self.interval(&saved.values);
                RankedEffect {
                    name: region.name.clone(),
                    kind: region.kind.to_owned(),
                    depth: saved.depth,
                    line: Some(region.line),
                    end_line: Some(region.end_line),
                    effect,
                    share: effect.scaled(1.0 / level.abs().max(f64::MIN_POSITIVE)),
                    verified: verified(region),
                }
            })
            .collect()
    }

    /// Median with Student's interval, the scatter of all regions' savings pooled: of one alone
    /// too little is known. Without repetitions the scatter of the whole file's values stands
    /// for it.
    fn interval(&self, values: &[f64]) -> Estimate {
        let value = median(values).unwrap_or(0.0);
        if self.exact {
            return Estimate::exact(value);
        }
        let (mut squares, mut freedom) = (0.0, 0usize);
        for saved in self.saved.iter().filter(|saved| saved.values.len() > 1) {
            let mean = saved.values.iter().sum::<f64>() / saved.values.len() as f64;
            squares += saved
                .values
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>();
            freedom += saved.values.len() - 1;
        }
        if freedom < 2 {
            let mean = self.whole.iter().sum::<f64>() / self.whole.len().max(1) as f64;
            squares = 2.0
                * self
                    .whole
                    .iter()
                    .map(|value| (value - mean).powi(2))
                    .sum::<f64>();
            freedom = self.whole.len().saturating_sub(1);
        }
        let scatter = (squares / freedom.max(1) as f64).sqrt();
        let half =
            student_quantile(0.975, freedom.max(1)) * scatter / (values.len().max(1) as f64).sqrt();
        Estimate {
            value,
            low: value - half,
            high: value + half,
        }
    }

    fn found(mut self, outcome: BisectionOutcome) -> SearchResult {
        let parts = self.parts();
        let alpha = self.measurement.plan().alpha;
        let confidence = (outcome == BisectionOutcome::Found).then_some(if self.exact {
            1.0
        } else {
            1.0 - alpha
        });
        SearchResult {
            outcome,
            culprits: self.culprit.into_iter().collect(),
            confidence,
            range: None,
            noise_is_nil: self.exact,
            tests: std::mem::take(&mut self.measurement.tests),
            parts,
            skipped: std::mem::take(&mut self.measurement.skipped),
            variants: self.measurement.variants(),
            comparisons: std::mem::take(&mut self.measurement.comparisons),
            runs: self.measurement.runs(),
            notes: self.measurement.all_notes(),
        }
    }
}

fn place_of(region: &Region) -> String {
    format!(
        "{} in lines {} to {}",
        region.kind, region.line, region.end_line
    )
}
