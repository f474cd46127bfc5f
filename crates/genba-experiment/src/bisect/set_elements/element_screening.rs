//! Screening of set elements: a balanced design of many subsets shows which elements stand out.

use genba_model::RankedEffect;
use genba_stats::{MAX_SCREENED_ELEMENTS, Screened, Screening};
use rand::seq::SliceRandom as _;

use super::{ElementFinder, SCREENING_BUDGET_SHARE};
use crate::ExperimentError;
use crate::bisect::search_measurement::statistics_error;

/// Number of groups that a set too large for one design is divided into.
const GROUP_COUNT: usize = 31;
/// Repetitions of the design after which the remaining effects are too small to be found.
const MAX_REPETITIONS: usize = 40;

impl ElementFinder<'_, '_, '_> {
    /// The elements that stand out; groups are divided until only single elements are left.
    pub(super) fn screen(&mut self, level: f64) -> Result<Vec<usize>, ExperimentError> {
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
        let mut screening = Screening::new(units.len()).map_err(statistics_error)?;
        let half = screening.rows() / 2;
        let (alpha, delta) = (self.measurement.plan().alpha, self.measurement.plan().delta);
        let mut failed = 0;
        let mut screened = None;
        for block in 0..2 * MAX_REPETITIONS {
            let mut order: Vec<usize> = (0..half).map(|row| row + block % 2 * half).collect();
            order.shuffle(&mut self.measurement.random);
            for row in order {
                if self.measurement.exceeds(1.0) {
                    return Ok(screened);
                }
                self.measurement.progress(&format!(
                    "screening {} {}, run {}",
                    units.len(),
                    if units.iter().all(|unit| unit.len() == 1) {
                        "elements"
                    } else {
                        "groups"
                    },
                    screening.count() + 1
                ));
                let on = union(units, screening.row(row));
                let variant = self.set.variant(&on)?;
                let value = self.measurement.run(&variant, "screen")?;
                failed += usize::from(value.is_none());
                screening.push(row, value).map_err(statistics_error)?;
            }
            // Evaluated when rows and their fold-over are balanced.
            if block % 2 == 0 {
                continue;
            }
            screened = screening.screened(alpha).map_err(statistics_error)?;
            let Some(now) = &screened else { continue };
            // All effects are within the equivalence margin.
            let small = |high: f64| high <= delta * level.abs();
            let nothing = (now.effects.iter())
                .all(|one| small(one.effect.high.abs().max(one.effect.low.abs())));
            if now.settled || nothing || self.measurement.exceeds(SCREENING_BUDGET_SHARE) {
                break;
            }
        }
        if failed > 0 {
            self.measurement.notes.push(format!(
                "{failed} of {} subsets failed and tell nothing about their elements",
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
            .map(|one| RankedEffect {
                name: unit_name(names, &units[one.item]),
                kind: if units[one.item].len() == 1 {
                    "element"
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

    /// Notes interactions between pairs of the elements that stand out.
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
                unit_name(names, &units[both.items.0]),
                unit_name(names, &units[both.items.1]),
            );
            self.measurement.notes.push(format!(
                "the effects of {one} and {two} do not add up: together they do {} than the sum of \
                 their separate effects (screening)",
                if both.effect.value > 0.0 {
                    "more"
                } else {
                    "less"
                }
            ));
        }
    }
}

/// Single elements, or groups of neighbours if there are too many for one design.
fn grouped(items: &[usize]) -> Vec<Vec<usize>> {
    let size = if items.len() <= MAX_SCREENED_ELEMENTS {
        1
    } else {
        items.len().div_ceil(GROUP_COUNT)
    };
    items.chunks(size).map(<[usize]>::to_vec).collect()
}

fn union(units: &[Vec<usize>], row: &[bool]) -> Vec<usize> {
    let on = units.iter().zip(row).filter(|(_, on)| **on);
    let mut items: Vec<usize> = on.flat_map(|(unit, _)| unit.iter().copied()).collect();
    items.sort_unstable();
    items
}

/// Name of a unit: its element, or the first and last of its elements.
fn unit_name(names: &[String], unit: &[usize]) -> String {
    match unit {
        [] => String::new(),
        [one] => names[*one].clone(),
        [first, .., last] => format!("{} … {}", names[*first], names[*last]),
    }
}
