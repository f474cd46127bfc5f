//! Search for the expensive regions of a source file: switched off in groups, one by one, then
//! inside the expensive ones.

use genba_model::{BisectionOutcome, Culprit, Estimate, RankedEffect, VerdictName};
use genba_stats::{median, student_quantile};

use super::search_measurement::{SearchBudget, SearchMeasurement};
use super::search_result::{SearchResult, VerifiedEffect};
use super::source_regions::{Region, Regions};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// Regions that save less than this share of the file's cost are not searched further.
const NEGLIGIBLE_SHARE: f64 = 0.05;
/// An inner region is the culprit if it has at least this share of what the outer one saves.
const MIN_SHARE_OF_OUTER: f64 = 0.6;
/// Share of the budget for the search; the rest is for the verification of the culprit.
const SEARCH_BUDGET_SHARE: f64 = 0.5;
/// Share of the budget beyond which only the culprit is verified.
const RANKING_BUDGET_SHARE: f64 = 0.65;
/// Blocks of the verification that include the regions ranked next, for their intervals.
const RANKING_BLOCKS: usize = 3;
/// Number of regions in the ranking.
const RANKED_REGIONS: usize = 12;
/// Number of ranked regions that are run more than once.
const REPEATED_REGIONS: usize = 5;
/// Runs of the unchanged file at the start.
const BASELINE_RUNS: usize = 3;
/// Regions with at most this many lines are not searched inside.
const MIN_LINES_TO_SEARCH: u32 = 2;

/// A source file whose regions can be switched off.
pub trait SwitchableSource {
    /// The regions of the file.
    fn regions(&self) -> &Regions;

    /// The variant that compiles the file without these regions.
    ///
    /// # Errors
    /// The changed file cannot be written.
    fn without(&self, off: &[usize]) -> Result<VariantPlan, ExperimentError>;
}

/// Finds the regions with the highest cost and verifies the first of them.
///
/// # Errors
/// No regions, a file that does not compile unchanged, the comparer's errors. Once something was
/// measured an interruption is an outcome, not an error.
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

/// A region whose removal saves something, with the savings measured.
struct Saved {
    region: usize,
    depth: u32,
    parent: Option<usize>,
    values: Vec<f64>,
}

struct SourceFinder<'f, 'l, 'a> {
    measurement: SearchMeasurement<'l, 'a>,
    set: &'f dyn SwitchableSource,
    /// Values of the unchanged file.
    whole: Vec<f64>,
    saved: Vec<Saved>,
    culprit: Option<Culprit>,
    exact: bool,
}

impl SourceFinder<'_, '_, '_> {
    fn find(&mut self) -> Result<BisectionOutcome, ExperimentError> {
        let whole = self.set.without(&[])?;
        for _ in 0..BASELINE_RUNS {
            self.measurement.progress("the unchanged file");
            let value = self.measurement.run(&whole, "the unchanged file")?;
            let Some(value) = value else {
                let why = self.measurement.failure(&whole.name).unwrap_or_default();
                return Err(ExperimentError::TargetFailed {
                    what: format!("the unchanged file must compile\n{why}"),
                });
            };
            self.whole.push(value);
            if self.whole.len() == 2 && self.spread() <= NEGLIGIBLE_SHARE / 100.0 {
                self.exact = true;
                break;
            }
        }
        let top = self.set.regions().top.clone();
        if top.is_empty() {
            return Err(ExperimentError::Plan {
                what: "the file has no region that can be switched off".to_owned(),
            });
        }
        self.explore(&top, None, None, 0)?;
        if self.saved.is_empty() {
            return Ok(if self.measurement.exceeds(SEARCH_BUDGET_SHARE) {
                BisectionOutcome::Undecided
            } else {
                let percent = 100.0 * self.negligible() / self.level();
                let is_noise = self.negligible() > NEGLIGIBLE_SHARE * self.level();
                self.measurement.notes.push(match is_noise {
                    true => format!(
                        "no region saves more than {percent:.0} %, the noise of single runs here: repeat it on a \
                         quieter machine, or with --metric exact-instructions"
                    ),
                    false => format!(
                        "no region saves more than {percent:.0} %: the cost is spread over many regions, or is in \
                         text that cannot be switched off"
                    ),
                });
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

    /// Range of the values of the unchanged file, as a share.
    fn spread(&self) -> f64 {
        let low = self.whole.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.whole.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (high - low) / self.level().abs().max(f64::MIN_POSITIVE)
    }

    /// Savings up to this are ignored: a share of the cost, and the noise of one run.
    fn negligible(&self) -> f64 {
        self.level() * NEGLIGIBLE_SHARE.max(1.5 * self.spread())
    }

    /// Finds the regions of this list that save something, and searches inside them.
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
            let long = inner.end_line - inner.line >= MIN_LINES_TO_SEARCH;
            if long && !inner.children.is_empty() && !self.measurement.exceeds(SEARCH_BUDGET_SHARE)
            {
                // The regions inside it together save what it saves.
                self.explore(&inner.children, Some(value), Some(region), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Switches off all regions of a list; if that saves something, its halves, the more expensive
    /// one first. `known` is what the list saves, if that is known already.
    fn split(
        &mut self,
        list: &[usize],
        known: Option<f64>,
        costly: &mut Vec<(usize, f64)>,
    ) -> Result<(), ExperimentError> {
        if list.is_empty() || self.measurement.exceeds(SEARCH_BUDGET_SHARE) {
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
                // It cannot be switched off; the regions inside it perhaps can.
                None => {
                    let inner = self.set.regions().all[*only].children.clone();
                    self.split(&inner, None, costly)
                }
            };
        }
        let (left, right) = list.split_at(list.len() / 2);
        if self.measurement.exceeds(SEARCH_BUDGET_SHARE) {
            return Ok(());
        }
        let of_left = self.measure(left)?;
        // The other half saves the rest. A single region is measured all the same, because it
        // will be ranked.
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
        // Nothing is known about a half that does not compile; its halves are tried.
        if of_left.is_none() {
            self.split_broken(left, costly)?;
        } else {
            self.split(left, of_left, costly)?;
        }
        self.split(right, right_known, costly)
    }

    /// Searches the halves of a list that cannot be switched off together.
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

    /// What switching these off saves; `None` if the file does not compile without them.
    fn measure(&mut self, off: &[usize]) -> Result<Option<f64>, ExperimentError> {
        let variant = self.set.without(off)?;
        self.measurement.progress(&variant.name);
        let value = self.measurement.run(&variant, "search")?;
        if value.is_none() {
            // A file that no longer compiles is expected and is not reported.
            self.measurement
                .skipped
                .retain(|skipped| skipped.what != variant.name);
        }
        Ok(value.map(|value| self.level() - value))
    }

    /// Sorts by savings, the largest first.
    fn rank(&mut self) {
        let value = |saved: &Saved| median(&saved.values).unwrap_or(0.0);
        self.saved.sort_by(|left, right| {
            value(right)
                .total_cmp(&value(left))
                .then(left.depth.cmp(&right.depth))
        });
    }

    /// The innermost region with most of the savings of the regions around it.
    fn innermost(&self) -> Option<usize> {
        let saves = |saved: &Saved| median(&saved.values).unwrap_or(0.0);
        let most = |left: &&Saved, right: &&Saved| saves(left).total_cmp(&saves(right));
        let mut at = (self.saved.iter().filter(|saved| saved.depth == 0)).max_by(most)?;
        loop {
            let inside = (self.saved.iter()).filter(|saved| saved.parent == Some(at.region));
            match inside.max_by(most) {
                Some(inner) if saves(inner) >= MIN_SHARE_OF_OUTER * saves(at) => at = inner,
                _ => return Some(at.region),
            }
        }
    }

    /// Compares the unchanged file with the file without the culprit.
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

    /// Compares the file without the region with the unchanged file until there is a verdict. The
    /// first blocks include the regions ranked next, which get intervals; if they show that
    /// another region is the culprit, that one is verified instead.
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
            if self.measurement.exceeds(1.0) || !(undecided || round < RANKING_BLOCKS) {
                break;
            }
            let others: Vec<usize> =
                if round < RANKING_BLOCKS && !self.measurement.exceeds(RANKING_BUDGET_SHARE) {
                    let ranked = self.saved.iter().map(|saved| saved.region);
                    let ranked = ranked.filter(|other| other != region);
                    ranked.take(REPEATED_REGIONS - 1).collect()
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
                    // Relative to the same block, so that a disturbance of the whole block cancels.
                    saved.values.push((1.0 - value / now) * level);
                }
            }
            if round + 1 == RANKING_BLOCKS && self.innermost() != Some(*region) {
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
        // Savings of a single run that more runs did not confirm are dropped.
        let stands = |saved: &&Saved| {
            saved.values.len() == 1 || self.exact || self.interval(&saved.values).low > 0.0
        };
        (self.saved.iter().filter(stands).take(RANKED_REGIONS))
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

    /// Median with Student's interval; the scatter is pooled over all regions, because one region
    /// has too few values. Without repetitions the scatter of the unchanged file is used.
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
