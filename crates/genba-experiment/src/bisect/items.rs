//! Which items of a set are responsible: screening, then verification.

use genba_model::{BisectionOutcome, BisectionPart, Culprit, VerdictName};
use genba_stats::{MOST_SCREENED, Screened, Screening, Test, reduce};
use rand::seq::SliceRandom as _;

use super::meter::{Budget, Meter, of_stats};
use super::outcome::{Found, Verified};
use crate::{ExperimentError, Lab, Plan, VariantPlan};

/// Shares of the budget after which the stages end.
const ENDS_SHARE: f64 = 0.3;
const SCREEN_SHARE: f64 = 0.65;
/// Groups that a set too large for one design is put into.
const GROUPS: usize = 31;
/// An effect is that of the whole where it is at least so much of it.
const HALF: f64 = 0.5;
/// Noise up to this share of the whole effect is none.
pub(super) const NIL: f64 = 0.01;
/// A screening ends after so many times its rows: what was not found by then is too small.
const MOST_ROUNDS: usize = 40;

/// The items of a set.
pub trait ItemSet {
    /// Names of all of them.
    fn names(&self) -> &[String];

    /// How the target runs with these switched on (ascending).
    ///
    /// # Errors
    /// The variant cannot be made.
    fn variant(&self, on: &[usize]) -> Result<VariantPlan, ExperimentError>;
}

/// Finds the items.
///
/// # Errors
/// No item, a target that does not run with none or all of them, the lab's errors. An
/// interruption is none once something was measured.
pub fn find_items(
    lab: &mut Lab<'_>,
    plan: &Plan,
    set: &dyn ItemSet,
    budget: Budget,
) -> Result<Found, ExperimentError> {
    let mut finder = ItemFinder {
        meter: Meter::new(lab, plan, budget),
        set,
        culprits: Vec::new(),
        parts: Vec::new(),
        exact: false,
    };
    let result = finder.find();
    finder.meter.clean_up();
    let outcome = match result {
        Err(ExperimentError::Interrupted) if finder.meter.runs() > 0 => {
            BisectionOutcome::Interrupted
        }
        other => other?,
    };
    Ok(finder.found(outcome))
}

pub(super) struct ItemFinder<'f, 'l, 'a> {
    pub(super) meter: Meter<'l, 'a>,
    pub(super) set: &'f dyn ItemSet,
    pub(super) culprits: Vec<Culprit>,
    parts: Vec<BisectionPart>,
    pub(super) exact: bool,
}

impl ItemFinder<'_, '_, '_> {
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.set.names().len()).collect()
    }

    fn find(&mut self) -> Result<BisectionOutcome, ExperimentError> {
        let all = self.all();
        if all.is_empty() {
            return Err(ExperimentError::Plan {
                what: "there is no item to search among".to_owned(),
            });
        }
        let (none, whole) = (self.set.variant(&[])?, self.set.variant(&all)?);
        let purpose = "verify the ends";
        let mut trial = self.meter.trial(self.meter.plan().alpha)?;
        let mut values: Vec<(f64, f64)> = Vec::new();
        loop {
            self.meter.say("none of the items against all of them");
            let Some(pair) = self.meter.pair(&none, &whole, purpose)? else {
                return Err(self.broken_ends(&none, &whole));
            };
            values.push(pair);
            if values.len() == 2 && agree(values[0], values[1]) {
                self.exact = true;
                return self.find_exactly(values[0]);
            }
            self.meter.judge(&mut trial, pair)?;
            let decided = trial.verified().verdict != VerdictName::Undecided;
            if decided || values.len() >= 2 && self.meter.over(ENDS_SHARE) {
                break;
            }
        }
        let alpha = self.meter.plan().alpha;
        self.meter.conclude(&trial, &none.name, &whole.name, alpha);
        let ends = trial.verified();
        if ends.verdict == VerdictName::Same {
            if all.len() > 1 {
                self.meter.notes.push(
                    "all items together make no difference; were some of them good and some bad, \
                     their effects would cancel so"
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
            let reason = self.meter.failure(&variant.name)?;
            Some(format!("with {}: {reason}", variant.name))
        });
        ExperimentError::Plan {
            what: format!(
                "the command must work with none of the items and with all of them\n{}",
                reason.unwrap_or_default()
            ),
        }
    }

    /// The items that stand out; groups are taken apart until there are only single items.
    fn screen(&mut self, level: f64) -> Result<Vec<usize>, ExperimentError> {
        let mut units = grouped(&self.all());
        loop {
            let Some(screened) = self.screen_units(&units, level)? else {
                return Ok(Vec::new());
            };
            let standing = &screened.effects[..screened.culprits];
            let items: Vec<usize> = (standing.iter())
                .flat_map(|effect| units[effect.item].iter().copied())
                .collect();
            if units.iter().all(|unit| unit.len() == 1) {
                return Ok(items);
            }
            if items.is_empty() {
                return Ok(items);
            }
            let mut next = items;
            next.sort_unstable();
            units = grouped(&next);
        }
    }

    fn screen_units(
        &mut self,
        units: &[Vec<usize>],
        level: f64,
    ) -> Result<Option<Screened>, ExperimentError> {
        let mut screening = Screening::new(units.len()).map_err(of_stats)?;
        let half = screening.rows() / 2;
        let (alpha, delta) = (self.meter.plan().alpha, self.meter.plan().delta);
        let mut failed = 0;
        let mut screened = None;
        for block in 0..2 * MOST_ROUNDS {
            let mut order: Vec<usize> = (0..half).map(|row| row + block % 2 * half).collect();
            order.shuffle(&mut self.meter.random);
            for row in order {
                if self.meter.over(1.0) {
                    return Ok(screened);
                }
                self.meter.say(&format!(
                    "screening {} {}, run {}",
                    units.len(),
                    if units.iter().all(|unit| unit.len() == 1) {
                        "items"
                    } else {
                        "groups"
                    },
                    screening.count() + 1
                ));
                let on = union(units, screening.row(row));
                let variant = self.set.variant(&on)?;
                let value = self.meter.run(&variant, "screen")?;
                failed += usize::from(value.is_none());
                screening.push(row, value).map_err(of_stats)?;
            }
            // Judged when rows and their fold-over are balanced.
            if block % 2 == 0 {
                continue;
            }
            screened = screening.screened(alpha).map_err(of_stats)?;
            let Some(now) = &screened else { continue };
            // All effects so small that none could be of interest.
            let small = |high: f64| high <= delta * level.abs();
            let nothing = (now.effects.iter())
                .all(|one| small(one.effect.high.abs().max(one.effect.low.abs())));
            if now.settled || nothing || self.meter.over(SCREEN_SHARE) {
                break;
            }
        }
        if failed > 0 {
            self.meter.notes.push(format!(
                "{failed} of {} subsets failed and say nothing of their items",
                screening.count()
            ));
        }
        if let Some(now) = &screened {
            self.note_parts(units, now, level);
            self.note_interactions(units, &screening, now);
        }
        Ok(screened)
    }

    fn note_parts(&mut self, units: &[Vec<usize>], screened: &Screened, level: f64) {
        let names = self.set.names();
        self.parts = (screened.effects.iter())
            .map(|one| BisectionPart {
                name: named(names, &units[one.item]),
                kind: if units[one.item].len() == 1 {
                    "item"
                } else {
                    "group"
                }
                .to_owned(),
                depth: 0,
                line: None,
                end_line: None,
                effect: one.effect,
                share: one.effect.scaled(1.0 / level.abs().max(f64::MIN_POSITIVE)),
                verified: false,
            })
            .collect();
    }

    /// Pairs among those that stand out that do something together.
    fn note_interactions(
        &mut self,
        units: &[Vec<usize>],
        screening: &Screening,
        screened: &Screened,
    ) {
        let standing: Vec<usize> = (screened.effects[..screened.culprits].iter())
            .map(|one| one.item)
            .collect();
        let pairs = standing.len() * standing.len().saturating_sub(1) / 2;
        for both in screening.interactions(&standing) {
            // Bonferroni over the pairs, roughly: three standard errors for one pair.
            if both.score.abs() < 3.0 + (pairs as f64).ln() / 3.0 {
                continue;
            }
            let names = self.set.names();
            let (one, two) = (
                named(names, &units[both.items.0]),
                named(names, &units[both.items.1]),
            );
            self.meter.notes.push(format!(
                "the effects of {one} and {two} do not add up: the screening finds that together \
                 they do {} than the sum of what each does alone",
                if both.effect.value > 0.0 {
                    "more"
                } else {
                    "less"
                }
            ));
        }
    }

    /// Suspects against none, one by one and together, and all against all without them.
    fn verify(
        &mut self,
        suspects: &[usize],
        ends: &Verified,
    ) -> Result<BisectionOutcome, ExperimentError> {
        if suspects.is_empty() {
            if !ends.differs() {
                self.meter.notes.push(
                    "no item stands out, and none of them was not told from all of them: a longer \
                     --budget may show a difference"
                        .to_owned(),
                );
                return Ok(BisectionOutcome::Undecided);
            }
            let all = self.all();
            return self.reduce(&all, ends);
        }
        let mut suspects = suspects.to_vec();
        suspects.sort_unstable();
        // One by one, together, and all without them.
        let queries = if suspects.len() == 1 {
            2
        } else {
            suspects.len() + 2
        };
        let alpha = self.meter.plan().alpha / queries as f64;
        let mut made = 0;
        let share = |made: &mut usize| {
            *made += 1;
            SCREEN_SHARE + (1.0 - SCREEN_SHARE) * *made as f64 / queries as f64
        };
        let mut single = Vec::new();
        let mut left = Vec::new();
        for item in suspects.iter().copied() {
            let verified = self.against_none(&[item], alpha, share(&mut made))?;
            if verified.differs() {
                single.push((item, verified));
            } else {
                left.push(item);
            }
        }
        for (item, verified) in &single {
            self.convict(&[*item], verified);
        }
        let mut together = None;
        if suspects.len() > 1 {
            together = Some(self.against_none(&suspects, alpha, share(&mut made))?);
        }
        let explained = together.or(single.first().map(|(_, verified)| *verified));
        if left.len() > 1 && explained.is_some_and(|whole| whole.differs()) {
            // What does nothing alone may do something together.
            let whole = if single.is_empty() {
                together
            } else {
                Some(self.against_none(&left, alpha, 1.0)?)
            };
            if let Some(whole) = whole.filter(Verified::differs) {
                self.reduce(&left, &whole)?;
            }
        }
        if !self.culprits.is_empty() {
            self.without(&suspects, alpha, share(&mut made))?;
            self.note_the_rest(explained.as_ref(), ends);
            return Ok(BisectionOutcome::Found);
        }
        let names: Vec<&str> = (suspects.iter())
            .map(|item| self.set.names()[*item].as_str())
            .collect();
        self.meter.notes.push(format!(
            "the screening suspects {}, but no comparison confirmed it: a longer --budget may",
            names.join(", ")
        ));
        Ok(BisectionOutcome::Undecided)
    }

    /// All items against all but these: whether they are needed for it. The comparison is kept,
    /// whatever comes of it.
    fn without(&mut self, of: &[usize], alpha: f64, share: f64) -> Result<(), ExperimentError> {
        let rest: Vec<usize> = (self.all().into_iter())
            .filter(|item| !of.contains(item))
            .collect();
        if rest.is_empty() {
            return Ok(());
        }
        let (rest, all) = (self.set.variant(&rest)?, self.set.variant(&self.all())?);
        let verified = self
            .meter
            .compare(&rest, &all, alpha, share, "verify without")?;
        if verified.verdict == VerdictName::Same {
            self.meter.notes.push(
                "with all other items on, switching these off makes no difference: others have \
                 the same effect"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn against_none(
        &mut self,
        on: &[usize],
        alpha: f64,
        share: f64,
    ) -> Result<Verified, ExperimentError> {
        let (none, some) = (self.set.variant(&[])?, self.set.variant(on)?);
        self.meter
            .compare(&none, &some, alpha, share, "verify alone")
    }

    /// Delta debugging: the smallest subset that shows the effect of these items together.
    pub(super) fn reduce(
        &mut self,
        items: &[usize],
        whole: &Verified,
    ) -> Result<BisectionOutcome, ExperimentError> {
        let most = most_tests(items.len());
        let alpha = self.meter.plan().alpha / most as f64;
        let mut best: Option<(Vec<usize>, Verified)> = None;
        let mut made = 0;
        let from = self.meter.spent().min(1.0);
        let reduced = reduce(items, most, |subset| {
            made += 1;
            let share = from + (1.0 - from) * (made as f64 / most as f64).sqrt();
            let verified = self.against_none(subset, alpha, share)?;
            let shows = verified.differs_as(whole) && is_most_of(&verified, whole);
            if shows {
                best = Some((subset.to_vec(), verified));
            }
            Ok::<_, ExperimentError>(match verified.verdict {
                _ if shows => Test::Shows,
                VerdictName::Undecided => Test::Unresolved,
                _ => Test::Lacks,
            })
        })?;
        let verified = match best {
            Some((subset, verified)) if subset == reduced.items => verified,
            _ => *whole,
        };
        if !reduced.minimal {
            self.meter.notes.push(format!(
                "of {} tests of smaller subsets some were not decided: fewer items may suffice",
                reduced.tests
            ));
        }
        self.convict(&reduced.items, &verified);
        if reduced.items.len() == self.all().len() && self.all().len() > 2 {
            return Ok(BisectionOutcome::Undecided);
        }
        Ok(BisectionOutcome::Found)
    }

    pub(super) fn convict(&mut self, items: &[usize], verified: &Verified) {
        let names: Vec<String> = (items.iter())
            .map(|item| self.set.names()[*item].clone())
            .collect();
        if items.len() == 1
            && let Some(part) = self.parts.iter_mut().find(|part| part.name == names[0])
        {
            part.verified = true;
        }
        self.culprits.push(Culprit {
            name: names.join(" + "),
            detail: (items.len() > 1).then(|| "only together".to_owned()),
            items: names,
            before: None,
            ratio: verified.ratio,
            verified: verified.differs(),
        });
    }

    /// Whether the culprits explain the difference between none and all.
    fn note_the_rest(&mut self, explained: Option<&Verified>, ends: &Verified) {
        let (Some(explained), Some(ends)) = (explained.and_then(|one| one.ratio), ends.ratio)
        else {
            return;
        };
        // Apart only where the intervals are.
        if explained.high < ends.low || explained.low > ends.high {
            self.meter.notes.push(format!(
                "the culprits alone make a ratio of {:.3}, all items {:.3}: others have a part \
                 in it",
                explained.value, ends.value
            ));
        }
    }

    fn found(mut self, outcome: BisectionOutcome) -> Found {
        let strength =
            |culprit: &Culprit| culprit.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
        self.culprits
            .sort_by(|left, right| strength(right).total_cmp(&strength(left)));
        let confidence = (outcome == BisectionOutcome::Found).then(|| {
            if self.exact {
                1.0
            } else {
                1.0 - self.meter.plan().alpha
            }
        });
        Found {
            outcome,
            culprits: self.culprits,
            confidence,
            range: None,
            noise_is_nil: self.exact,
            tests: std::mem::take(&mut self.meter.tests),
            parts: self.parts,
            skipped: std::mem::take(&mut self.meter.skipped),
            variants: self.meter.variants(),
            comparisons: std::mem::take(&mut self.meter.comparisons),
            runs: self.meter.runs(),
            notes: self.meter.all_notes(),
        }
    }
}

/// Tests that delta debugging may make: each is judged at α divided by this.
fn most_tests(items: usize) -> usize {
    let log = usize::BITS - items.leading_zeros();
    6 * log as usize + 6
}

/// Whether an effect is at least half of another to the same side.
fn is_most_of(part: &Verified, whole: &Verified) -> bool {
    match (part.ratio, whole.ratio) {
        (Some(part), Some(whole)) => part.value.ln() / whole.value.ln() >= HALF,
        _ => false,
    }
}

/// Whether two pairs of runs agree to a hundredth of their difference: the noise is nil.
fn agree(one: (f64, f64), two: (f64, f64)) -> bool {
    let most = NIL * (one.1 - one.0).abs();
    (one.0 - two.0).abs() <= most && (one.1 - two.1).abs() <= most
}

/// Single items, or groups of neighbours where there are too many.
fn grouped(items: &[usize]) -> Vec<Vec<usize>> {
    let size = if items.len() <= MOST_SCREENED {
        1
    } else {
        items.len().div_ceil(GROUPS)
    };
    items.chunks(size).map(<[usize]>::to_vec).collect()
}

fn union(units: &[Vec<usize>], row: &[bool]) -> Vec<usize> {
    let on = units.iter().zip(row).filter(|(_, on)| **on);
    let mut items: Vec<usize> = on.flat_map(|(unit, _)| unit.iter().copied()).collect();
    items.sort_unstable();
    items
}

/// A unit's name: its item, or the first and last of its items.
fn named(names: &[String], unit: &[usize]) -> String {
    match unit {
        [] => String::new(),
        [one] => names[*one].clone(),
        [first, .., last] => format!("{} … {}", names[*first], names[*last]),
    }
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    genba_stats::median(&values).unwrap_or(0.0)
}
