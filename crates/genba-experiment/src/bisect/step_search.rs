//! Search for the position in an ordered list from which the metric has another level.

use std::collections::BTreeMap;

use genba_model::{BisectionOutcome, Culprit, Estimate, VerdictName};
use genba_stats::{StepPlace, StepSearch};
use rand::RngExt as _;

use super::likely_points::likely_points;
use super::search_measurement::{
    OpenComparison, SearchBudget, SearchMeasurement, statistics_error,
};
use super::search_result::{SearchResult, VerifiedEffect};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// From this posterior probability a candidate is measured in pairs with its neighbour: the pairs
/// both verify it and narrow the search. By simulation with steps of one to four times the noise:
/// lower thresholds waste pairs, higher ones single runs.
const PAIRING_PROBABILITY: f64 = 0.7;
/// From this posterior probability a candidate with a verified step is the culprit.
const CULPRIT_PROBABILITY: f64 = 0.99;
/// Largest confidence reported, because the noise is not exactly as the model assumes.
const MAX_CONFIDENCE: f64 = 0.9999;
/// Share of the budget by which the comparison of the ends ends.
const ENDS_BUDGET_SHARE: f64 = 0.4;
/// A step below this share of the difference between the ends is not the only one.
const MIN_SHARE_OF_DIFFERENCE: f64 = 0.8;
/// Number of candidates named in a culprit that cannot be narrowed further.
const MAX_NAMED: usize = 100;

/// A candidate that can be run, or why it cannot be built.
pub type Candidate = Result<VariantPlan, String>;

/// An ordered list of candidates.
pub trait CandidateList {
    /// Number of candidates.
    fn count(&self) -> u64;

    /// Name of a candidate.
    fn name(&self, point: u64) -> String;

    /// Description of a candidate, such as the subject of a commit.
    fn detail(&self, _point: u64) -> Option<String> {
        None
    }

    /// Number of candidates that are built at once.
    fn jobs(&self) -> usize {
        1
    }

    /// Builds these candidates beside one another; what fails is told by [`CandidateList::candidate`]. Nothing is measured
    /// meanwhile.
    ///
    /// # Errors
    /// Errors that end the search.
    fn prepare(
        &mut self,
        _comparer: &mut Comparer<'_>,
        _points: &[u64],
    ) -> Result<(), ExperimentError> {
        Ok(())
    }

    /// The variant of a candidate, built if necessary.
    ///
    /// # Errors
    /// Errors that end the search. A candidate that cannot be built is `Ok(Err(reason))`.
    fn candidate(
        &mut self,
        comparer: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError>;
}

/// Finds the first candidate with the new level.
///
/// # Errors
/// The ends cannot be measured, the metric cannot be compared, or the comparer's errors. Once
/// something was measured an interruption is an outcome, not an error.
pub fn find_step(
    comparer: &mut Comparer<'_>,
    plan: &Plan,
    steps: &mut dyn CandidateList,
    budget: SearchBudget,
) -> Result<SearchResult, ExperimentError> {
    let search = StepSearch::new(steps.count()).map_err(statistics_error)?;
    let mut finder = Finder {
        measurement: SearchMeasurement::new(comparer, plan, budget),
        steps,
        search,
        comparisons: BTreeMap::new(),
        points: BTreeMap::new(),
    };
    let result = finder.find();
    let ended = finder.measurement.finish(result, Ended::Interrupted)?;
    Ok(finder.found(ended))
}

struct Finder<'f, 'l, 'a> {
    measurement: SearchMeasurement<'l, 'a>,
    steps: &'f mut dyn CandidateList,
    search: StepSearch,
    /// Comparisons of candidates with their predecessors.
    comparisons: BTreeMap<u64, OpenComparison>,
    /// Positions of the variants that were run, by name.
    points: BTreeMap<String, u64>,
}

enum Ended {
    Found {
        place: StepPlace,
        step: VerifiedEffect,
        ends: VerifiedEffect,
    },
    NoDifference,
    Undecided,
    Interrupted,
}

impl Finder<'_, '_, '_> {
    fn last(&self) -> u64 {
        self.steps.count() - 1
    }

    fn find(&mut self) -> Result<Ended, ExperimentError> {
        let mut likely = vec![0, self.last()];
        likely.extend(likely_points((0, self.last()), None));
        self.prepare(likely)?;
        let (first, last) = (self.end(0)?, self.end(self.last())?);
        let ends = self.verify_ends(&first, &last)?;
        match ends.verdict {
            VerdictName::Same => return Ok(Ended::NoDifference),
            VerdictName::Undecided => {
                self.measurement.notes.push(format!(
                    "{} against {} is undecided after {} pairs: without a difference between the ends \
                     there is nothing to search for; increase --budget",
                    first.name, last.name, ends.pairs
                ));
                return Ok(Ended::Undecided);
            }
            VerdictName::Faster | VerdictName::Slower => {}
        }
        loop {
            let Some(place) = self.search.place() else {
                return Ok(Ended::Undecided);
            };
            if self.measurement.exceeds(1.0) {
                self.measurement.notes.push(
                    "out of time before the culprit was certain; increase --budget".to_owned(),
                );
                return Ok(Ended::Undecided);
            }
            if !place.narrow || place.probability < PAIRING_PROBABILITY {
                self.measure_next()?;
            } else if let Some(step) = self.verify(&place, &ends)? {
                return Ok(Ended::Found { place, step, ends });
            }
        }
    }

    /// Makes a run or a pair of runs about a suspected candidate. Returns its comparison once that
    /// has a verdict and the candidate is certain, `None` until then.
    fn verify(
        &mut self,
        place: &StepPlace,
        ends: &VerifiedEffect,
    ) -> Result<Option<VerifiedEffect>, ExperimentError> {
        if self.search.noise_is_nil() {
            return self.verify_exactly(place);
        }
        let known = self
            .comparisons
            .get(&place.place)
            .map(OpenComparison::verified);
        match known {
            Some(step) if step.differs_as(ends) && place.probability >= CULPRIT_PROBABILITY => {
                self.conclude(place);
                return Ok(Some(step));
            }
            // There is a verdict, but the posterior is not certain yet: measure on.
            Some(step) if step.differs_as(ends) => {
                self.measure_next()?;
                return Ok(None);
            }
            Some(step) if step.verdict != VerdictName::Undecided => {
                self.search.refute(place.place);
                return Ok(None);
            }
            _ => {}
        }
        let purpose = "verify the step";
        self.say_place(place);
        let pair = self.measure_pair(place.last_before, place.place, purpose)?;
        if let Some(pair) = pair {
            if !self.comparisons.contains_key(&place.place) {
                let comparison = self
                    .measurement
                    .open_comparison(self.measurement.plan().alpha)?;
                self.comparisons.insert(place.place, comparison);
            }
            if let Some(comparison) = self.comparisons.get_mut(&place.place) {
                self.measurement.judge(comparison, pair)?;
            }
        }
        Ok(None)
    }

    /// Without noise one more run of both confirms the step.
    fn verify_exactly(
        &mut self,
        place: &StepPlace,
    ) -> Result<Option<VerifiedEffect>, ExperimentError> {
        let points = (place.last_before, place.place);
        let values = self.measure_pair(points.0, points.1, "verify the step")?;
        // One of them varies after all, or failed: the search goes on as one with noise.
        let Some((before, after)) = values.filter(|_| self.search.noise_is_nil()) else {
            return Ok(None);
        };
        let names = (self.steps.name(points.0), self.steps.name(points.1));
        let step = (self.measurement).conclude_exact((&names.0, before), (&names.1, after));
        Ok(Some(step))
    }

    fn conclude(&mut self, place: &StepPlace) {
        let alpha = self.measurement.plan().alpha;
        let names = (
            self.steps.name(place.last_before),
            self.steps.name(place.place),
        );
        if let Some(comparison) = self.comparisons.get(&place.place) {
            self.measurement
                .conclude(comparison, &names.0, &names.1, alpha);
        }
    }

    /// Makes a run at the median of the posterior.
    fn measure_next(&mut self) -> Result<(), ExperimentError> {
        let point = self.search.next(self.measurement.random.random::<f64>());
        if let Some(place) = self.search.place() {
            self.say_place(&place);
        }
        let range = self.search.place().map(|place| place.range);
        let (low, high) = range.unwrap_or((0, self.last()));
        self.prepare(likely_points((low.saturating_sub(1), high), Some(point)).collect())?;
        let Some(variant) = self.candidate(point)? else {
            return Ok(());
        };
        match self.measurement.run(&variant, "search")? {
            Some(value) => self.search.push(point, value).map_err(statistics_error),
            None => {
                self.drop_point(point);
                Ok(())
            }
        }
    }

    /// Has the candidates built that the search is likely to need next.
    fn prepare(&mut self, mut points: Vec<u64>) -> Result<(), ExperimentError> {
        points.truncate(self.steps.jobs());
        self.steps.prepare(self.measurement.comparer(), &points)
    }

    fn say_place(&mut self, place: &StepPlace) {
        let (low, high) = place.range;
        let text = if low == high {
            format!(
                "{} ({:.0} %)",
                self.steps.name(place.place),
                100.0 * place.probability
            )
        } else {
            format!(
                "between {} and {}",
                self.steps.name(low.saturating_sub(1)),
                self.steps.name(high)
            )
        };
        self.measurement.progress(&text);
    }

    /// Compares both ends until there is a verdict; two pairs suffice if the metric has no noise.
    fn verify_ends(
        &mut self,
        first: &VariantPlan,
        last: &VariantPlan,
    ) -> Result<VerifiedEffect, ExperimentError> {
        let purpose = "verify the ends";
        let alpha = self.measurement.plan().alpha;
        let mut comparison = self.measurement.open_comparison(alpha)?;
        let mut pairs = 0;
        loop {
            let text = format!("{} against {}", first.name, last.name);
            self.measurement.progress(&text);
            let pair = self.measure_pair(0, self.last(), purpose)?.ok_or_else(|| {
                let of = [first, last];
                let why = of.iter().find_map(|end| {
                    let reason = self.measurement.failure(&end.name)?;
                    Some(format!("{}: {reason}", end.name))
                });
                ExperimentError::TargetFailed {
                    what: format!(
                        "the first and the last candidate must run\n{}",
                        why.unwrap_or_default()
                    ),
                }
            })?;
            pairs += 1;
            if pairs >= 2 && self.search.noise_is_nil() {
                let named = |end: &VariantPlan, value| (end.name.clone(), value);
                let (one, two) = (named(first, pair.0), named(last, pair.1));
                return Ok((self.measurement).conclude_exact((&one.0, one.1), (&two.0, two.1)));
            }
            self.measurement.judge(&mut comparison, pair)?;
            let decided = comparison.verified().verdict != VerdictName::Undecided;
            if decided || pairs >= 2 && self.measurement.exceeds(ENDS_BUDGET_SHARE) {
                self.measurement
                    .conclude(&comparison, &first.name, &last.name, alpha);
                return Ok(comparison.verified());
            }
        }
    }

    fn end(&mut self, point: u64) -> Result<VariantPlan, ExperimentError> {
        let name = self.steps.name(point);
        self.measurement.progress(&name);
        let candidate = self.steps.candidate(self.measurement.comparer(), point)?;
        candidate.map_err(|reason| ExperimentError::TargetFailed {
            what: format!("the first and the last candidate must run\n{name}: {reason}"),
        })
    }

    /// The variant of a candidate; `None` if it cannot be built, which is recorded.
    fn candidate(&mut self, point: u64) -> Result<Option<VariantPlan>, ExperimentError> {
        match self.steps.candidate(self.measurement.comparer(), point)? {
            Ok(variant) => {
                self.points.insert(variant.name.clone(), point);
                Ok(Some(variant))
            }
            Err(reason) => {
                let what = self.steps.name(point);
                self.measurement
                    .skipped
                    .push(genba_model::Skipped { what, reason });
                self.search.skip(point);
                Ok(None)
            }
        }
    }

    fn measure_pair(
        &mut self,
        low: u64,
        high: u64,
        purpose: &str,
    ) -> Result<Option<(f64, f64)>, ExperimentError> {
        let (Some(first), Some(second)) = (self.candidate(low)?, self.candidate(high)?) else {
            return Ok(None);
        };
        let pair = self.measurement.pair(&first, &second, purpose)?;
        match pair {
            Some((one, two)) => {
                self.search.push(low, one).map_err(statistics_error)?;
                self.search.push(high, two).map_err(statistics_error)?;
            }
            None => {
                for (point, variant) in [(low, &first), (high, &second)] {
                    if self.measurement.failure(&variant.name).is_some() {
                        self.drop_point(point);
                    }
                }
            }
        }
        Ok(pair)
    }

    /// A candidate that failed is not measured again, except for the ends.
    fn drop_point(&mut self, point: u64) {
        if point != 0 && point != self.last() {
            self.search.skip(point);
        }
    }

    fn found(mut self, ended: Ended) -> SearchResult {
        let place = self.search.place();
        let mut culprits = Vec::new();
        let mut confidence = None;
        let outcome = match &ended {
            Ended::Found { place, step, ends } => {
                self.note_the_rest(place, step, ends);
                confidence = Some(place.probability.min(MAX_CONFIDENCE));
                culprits.push(self.culprit(place, step.ratio, true));
                BisectionOutcome::Found
            }
            Ended::NoDifference => BisectionOutcome::NoDifference,
            Ended::Undecided => BisectionOutcome::Undecided,
            Ended::Interrupted => BisectionOutcome::Interrupted,
        };
        let open = matches!(ended, Ended::Undecided | Ended::Interrupted);
        let range = place.filter(|_| open).map(|place| {
            confidence = Some(place.probability);
            let (low, high) = place.range;
            (self.steps.name(low), self.steps.name(high))
        });
        let mut variants = self.measurement.variants();
        variants.sort_by_key(|variant| self.points.get(&variant.name).copied());
        SearchResult {
            outcome,
            culprits,
            confidence,
            range,
            noise_is_nil: self.search.noise_is_nil(),
            tests: std::mem::take(&mut self.measurement.tests),
            parts: Vec::new(),
            skipped: std::mem::take(&mut self.measurement.skipped),
            variants,
            comparisons: std::mem::take(&mut self.measurement.comparisons),
            runs: self.measurement.runs(),
            notes: self.measurement.all_notes(),
        }
    }

    fn culprit(&self, place: &StepPlace, ratio: Option<Estimate>, verified: bool) -> Culprit {
        // A candidate between the two that could not be measured may be the culprit as well.
        let elements = (place.last_before + 1..=place.place)
            .take(MAX_NAMED)
            .map(|point| self.steps.name(point))
            .collect();
        Culprit {
            name: self.steps.name(place.place),
            elements,
            before: Some(self.steps.name(place.last_before)),
            ratio,
            verified,
            detail: self.steps.detail(place.place),
        }
    }

    /// Notes if the step does not explain the whole difference between the ends.
    fn note_the_rest(&mut self, place: &StepPlace, step: &VerifiedEffect, ends: &VerifiedEffect) {
        let unmeasured = place.place - place.last_before - 1;
        if unmeasured > 0 {
            self.measurement.notes.push(format!(
                "{unmeasured} candidates between {} and {} could not be measured; any of them may be the culprit",
                self.steps.name(place.last_before),
                self.steps.name(place.place)
            ));
        }
        let (Some(step), Some(ends)) = (step.ratio, ends.ratio) else {
            return;
        };
        let whole = ends.value.ln();
        let share = |ratio: f64| ratio.ln() / whole;
        let most = share(step.low).max(share(step.high));
        if most < MIN_SHARE_OF_DIFFERENCE {
            self.measurement.notes.push(format!(
                "this step explains {:.0} % of the difference between the ends ({:.0} % at most): \
                 there are other steps; search on both sides of it",
                100.0 * share(step.value),
                100.0 * most
            ));
        }
    }
}
