//! Time that a fix saves in several parts of the program, summed to one residual fraction.

use genba_model::Estimate;

use crate::candidate::Candidate;
use crate::constants::gains::MIN_RESIDUAL_OF_PROGRAM;

/// Time saved in one part of the program: its share of all time, and the fraction of that which
/// the fix removes. The lower ends of both give the least that is saved, the upper ends the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SavedTime {
    /// Share of all time.
    pub share: Estimate,
    /// Fraction of it that is removed, 0…1; more where time beside it goes as well.
    pub saved: Estimate,
}

impl SavedTime {
    /// A part whose share is known but for sampling.
    pub fn of(share: f64, (value, low, high): (f64, f64, f64)) -> Self {
        Self {
            share: Estimate::exact(share),
            saved: Estimate { value, low, high },
        }
    }

    /// A part whose share is known within bounds.
    pub fn within(
        (value, low, high): (f64, f64, f64),
        (saved, least, most): (f64, f64, f64),
    ) -> Self {
        Self {
            share: Estimate { value, low, high },
            saved: Estimate {
                value: saved,
                low: least,
                high: most,
            },
        }
    }
}

impl Candidate {
    /// Sets share and residual fraction of a fix that saves time in several parts of the program:
    /// they are those of the whole program.
    pub(crate) fn saves(&mut self, parts: &[SavedTime]) {
        let sum = |end: fn(&Estimate) -> f64| -> f64 {
            parts
                .iter()
                .map(|part| end(&part.share) * end(&part.saved))
                .sum()
        };
        let residual = |saved: f64| (1.0 - saved).clamp(MIN_RESIDUAL_OF_PROGRAM, 1.0);
        self.share = Some(1.0);
        self.residual_fraction = Estimate {
            value: residual(sum(|e| e.value)),
            low: residual(sum(|e| e.high)),
            high: residual(sum(|e| e.low)),
        };
    }
}

/// The residual fraction of parts of the program together, each given with its share of time.
pub(crate) fn combined(parts: &[(f64, Estimate)]) -> (f64, Estimate) {
    let all: f64 = parts.iter().map(|part| part.0).sum();
    let mean = |end: fn(&Estimate) -> f64| {
        parts.iter().map(|part| part.0 * end(&part.1)).sum::<f64>() / all.max(1e-9)
    };
    let residual = Estimate {
        value: mean(|e| e.value),
        low: mean(|e| e.low),
        high: mean(|e| e.high),
    };
    (all, residual)
}

#[cfg(test)]
mod tests {
    use genba_model::{Cause, Fix};

    use super::*;

    fn candidate() -> Candidate {
        Candidate::new(Cause::MallocChurn, None, Vec::new(), Fix::AvoidShifts)
    }

    #[test]
    fn saved_parts_add_up_by_their_shares() {
        let mut one = candidate();
        one.saves(&[
            SavedTime::of(0.4, (0.9, 0.5, 1.0)),
            SavedTime::within((0.2, 0.0, 0.6), (0.5, 0.5, 0.5)),
        ]);
        let residual = one.residual_fraction;
        assert_eq!(one.share, Some(1.0));
        assert!((residual.value - (1.0 - 0.36 - 0.1)).abs() < 1e-12);
        assert!((residual.high - (1.0 - 0.2)).abs() < 1e-12);
        assert!((residual.low - (1.0 - 0.4 - 0.3)).abs() < 1e-12);
    }

    #[test]
    fn a_part_of_the_program_always_remains() {
        let mut one = candidate();
        one.saves(&[SavedTime::of(1.0, (1.0, 0.0, 1.0))]);
        assert_eq!(one.residual_fraction.value, MIN_RESIDUAL_OF_PROGRAM);
        assert_eq!(one.residual_fraction.high, 1.0);
    }

    #[test]
    fn combined_residual_fraction_is_the_mean_weighted_by_time() {
        let parts = [(0.3, Estimate::exact(0.5)), (0.1, Estimate::exact(1.0))];
        let (share, residual) = combined(&parts);
        assert!((share - 0.4).abs() < 1e-12);
        assert!((residual.value - 0.625).abs() < 1e-12);
    }
}
