//! A place in an ordered list from which on the metric is at another level.

use std::collections::BTreeMap;

use genba_model::{BisectionOutcome, Culprit, Estimate, VerdictName};
use genba_stats::{StepPlace, StepSearch};
use rand::RngExt as _;

use super::search_measurement::{
    OpenComparison, SearchBudget, SearchMeasurement, statistics_error,
};
use super::search_result::{SearchResult, VerifiedEffect};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// A candidate at this probability is measured in pairs with its neighbour: the pairs both
/// verify and search. Simulated with steps of one to four times the noise: lower thresholds
/// waste pairs, higher ones probes.
const SUSPECTED: f64 = 0.7;
/// A candidate at this probability, its step verified, is the culprit.
const CERTAIN: f64 = 0.99;
/// What a posterior can say at most: the noise is not just as assumed.
const SUREST: f64 = 0.9999;
/// The ends may take so much of the budget.
const ENDS_SHARE: f64 = 0.4;
/// Below this share of the difference between the ends the step is not all of it.
const MOST_OF_IT: f64 = 0.8;

/// A candidate as it can be run, or why it cannot.
pub type Candidate = Result<VariantPlan, String>;

/// An ordered list of candidates.
pub trait CandidateList {
    /// How many.
    fn count(&self) -> u64;

    /// What one is called.
    fn name(&self, point: u64) -> String;

    /// More about it.
    fn detail(&self, _point: u64) -> Option<String> {
        None
    }

    /// How it is run, made (built) now if it must be.
    ///
    /// # Errors
    /// What ends the search; a candidate that cannot be made is none.
    fn candidate(
        &mut self,
        comparer: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError>;
}

/// Finds the place.
///
/// # Errors
/// The ends cannot be measured, the metric cannot be compared, or the comparer's errors. An
/// interruption is none once something was measured.
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
    /// The comparisons of places with their neighbours.
    comparisons: BTreeMap<u64, OpenComparison>,
    /// Places of the variants that were run, by name.
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
        let (first, last) = (self.end(0)?, self.end(self.last())?);
        let ends = self.verify_ends(&first, &last)?;
        match ends.verdict {
            VerdictName::Same => return Ok(Ended::NoDifference),
            VerdictName::Undecided => {
                self.measurement.notes.push(format!(
                    "{} and {} were not told apart after {} pairs: without a difference between \
                     the ends there is nothing to search for; a longer --budget may show one",
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
                    "the time was spent before the place was certain; a longer --budget would \
                     narrow it"
                        .to_owned(),
                );
                return Ok(Ended::Undecided);
            }
            if !place.narrow || place.probability < SUSPECTED {
                self.measure_next()?;
            } else if let Some(step) = self.verify(&place, &ends)? {
                return Ok(Ended::Found { place, step, ends });
            }
        }
    }

    /// A run, or a pair of runs, about a place that is suspected; its comparison once it is
    /// decided and the place certain. Nothing is returned while there is more to do.
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
            Some(step) if step.differs_as(ends) && place.probability >= CERTAIN => {
                self.conclude(place);
                return Ok(Some(step));
            }
            // Decided, yet the rest of the values is not so sure: they are asked again.
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

    /// Without noise one more run of both shows that it stays so.
    fn verify_exactly(
        &mut self,
        place: &StepPlace,
    ) -> Result<Option<VerifiedEffect>, ExperimentError> {
        let points = (place.last_before, place.place);
        let values = self.measure_pair(points.0, points.1, "verify the step")?;
        // Only one of them varies after all, or failed: the search goes on as one under noise.
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

    /// A run where the posterior has its middle.
    fn measure_next(&mut self) -> Result<(), ExperimentError> {
        let point = self.search.next(self.measurement.random.random::<f64>());
        if let Some(place) = self.search.place() {
            self.say_place(&place);
        }
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

    /// Both ends until the judge tells them apart; equal values of both at once mean that there
    /// is no noise, and that is enough.
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
                ExperimentError::Plan {
                    what: format!(
                        "the ends of the list must work\n{}",
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
            if decided || pairs >= 2 && self.measurement.exceeds(ENDS_SHARE) {
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
        candidate.map_err(|reason| ExperimentError::Plan {
            what: format!("the ends of the list must work\n{name}: {reason}"),
        })
    }

    /// The variant of a point; `None` if it cannot be made, which is remembered.
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

    /// A point that failed is not measured again; the ends stay.
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
                confidence = Some(place.probability.min(SUREST));
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
        // What could not be measured between the two may be the culprit as well.
        let elements = (place.last_before + 1..=place.place)
            .take(MOST_NAMED)
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

    /// Says so where the step is not all of the difference between the ends.
    fn note_the_rest(&mut self, place: &StepPlace, step: &VerifiedEffect, ends: &VerifiedEffect) {
        let unmeasured = place.place - place.last_before - 1;
        if unmeasured > 0 {
            self.measurement.notes.push(format!(
                "{unmeasured} between {} and {} could not be measured: any of them may be the culprit",
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
        if most < MOST_OF_IT {
            self.measurement.notes.push(format!(
                "this step is {:.0} % of the difference between the ends ({:.0} % at most): there \
                 are others; search on both sides of it",
                100.0 * share(step.value),
                100.0 * most
            ));
        }
    }
}

/// So many candidates are named where they cannot be told apart.
const MOST_NAMED: usize = 100;
