//! When to stop repeating a run.

use crate::{IntervalRule, StatsError, input_checks, median_interval};

/// "Repeat until the median is known well enough or the budget is spent."
///
/// Looking after every run and stopping at the first narrow interval makes the level nominal:
/// a lucky streak stops early. `min_runs` bounds that; the simulation in this crate's tests
/// finds 93 % coverage at stopping for the default. Verdicts between variants
/// never rest on it: they have a confidence sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// Half width of the median's interval, as a share of the median, that is good enough.
    pub half_width: f64,
    /// Level of the interval.
    pub level: f64,
    /// Never fewer runs than these, the budget permitting.
    pub min_runs: usize,
    /// Never more.
    pub max_runs: usize,
}

impl Default for StopRule {
    /// ± 1 % at 95 %, at least 10 runs.
    fn default() -> Self {
        Self {
            half_width: 0.01,
            level: 0.95,
            min_runs: 10,
            max_runs: 100_000,
        }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopDecision {
    /// Run again.
    Continue {
        /// Half width reached as a share of the median; `None` before there is an interval at
        /// the level asked for, or where the median is 0.
        half_width: Option<f64>,
        /// About how many more runs the goal needs, the scatter staying as it is.
        more_runs: Option<usize>,
    },
    /// The interval is narrow enough.
    Precise,
    /// The next run would likely end beyond the budget.
    BudgetSpent,
    /// `max_runs` was reached.
    Enough,
}

impl StopRule {
    /// Decides after the runs so far: `values` is the metric that is to become precise,
    /// `spent_seconds` the time since the start, `next_seconds` what one more run will likely
    /// take (usually the median wall time with its overhead).
    ///
    /// # Errors
    /// A value or a time that is not finite, or a parameter out of range.
    pub fn decide(
        &self,
        values: &[f64],
        spent_seconds: f64,
        next_seconds: f64,
        budget_seconds: f64,
    ) -> Result<StopDecision, StatsError> {
        input_checks::finite(&[spent_seconds, next_seconds, budget_seconds], 0)?;
        if !(self.half_width > 0.0 && self.half_width.is_finite()) {
            return Err(StatsError::Parameter {
                name: "half width",
                value: self.half_width,
                range: "above 0",
            });
        }
        let (half_width, more_runs) = if values.is_empty() {
            input_checks::open_unit("level", self.level)?;
            (None, None)
        } else {
            self.progress(values)?
        };
        if values.len() >= self.min_runs && half_width.is_some_and(|half| half <= self.half_width) {
            return Ok(StopDecision::Precise);
        }
        if values.len() >= self.max_runs {
            return Ok(StopDecision::Enough);
        }
        // The first run is never refused; of a later one more than half must fit.
        if !values.is_empty() && spent_seconds + next_seconds / 2.0 > budget_seconds {
            return Ok(StopDecision::BudgetSpent);
        }
        Ok(StopDecision::Continue {
            half_width,
            more_runs,
        })
    }

    fn progress(&self, values: &[f64]) -> Result<(Option<f64>, Option<usize>), StatsError> {
        let interval = median_interval(values, self.level)?;
        if interval.rule != IntervalRule::Regular {
            return Ok((None, None));
        }
        let estimate = interval.estimate;
        if estimate.low == estimate.high {
            return Ok((Some(0.0), Some(self.min_runs.saturating_sub(values.len()))));
        }
        let Some(half) = estimate
            .relative_half_width()
            .filter(|half| half.is_finite())
        else {
            return Ok((None, None));
        };
        // The width of a median's interval falls with the square root of the runs.
        let needed = (values.len() as f64 * (half / self.half_width).powi(2)).ceil();
        let needed = (needed.min(self.max_runs as f64) as usize).max(self.min_runs);
        Ok((Some(half), Some(needed.saturating_sub(values.len()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_runs_stop_at_the_minimum() {
        let rule = StopRule::default();
        assert!(matches!(
            rule.decide(&[1.0; 9], 9.0, 1.0, 30.0).unwrap(),
            StopDecision::Continue {
                more_runs: Some(1),
                ..
            }
        ));
        assert_eq!(
            rule.decide(&[1.0; 10], 10.0, 1.0, 30.0).unwrap(),
            StopDecision::Precise
        );
    }

    #[test]
    fn budget_stops_after_at_least_one_run() {
        let rule = StopRule::default();
        assert!(matches!(
            rule.decide(&[], 50.0, 0.0, 30.0).unwrap(),
            StopDecision::Continue { .. }
        ));
        assert_eq!(
            rule.decide(&[20.0], 20.0, 21.0, 30.0).unwrap(),
            StopDecision::BudgetSpent
        );
        assert!(matches!(
            rule.decide(&[20.0], 20.0, 19.0, 30.0).unwrap(),
            StopDecision::Continue { .. }
        ));
    }

    #[test]
    fn noisy_runs_get_a_forecast() {
        let values: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i % 10) * 0.02).collect();
        let StopDecision::Continue {
            half_width: Some(half),
            more_runs: Some(more),
        } = StopRule::default().decide(&values, 1.0, 0.1, 30.0).unwrap()
        else {
            panic!("must go on");
        };
        assert!(half > 0.01);
        assert_eq!(more, (40.0 * (half / 0.01).powi(2)).ceil() as usize - 40);
    }

    #[test]
    fn constant_zero_metric_is_precise_and_nan_is_refused() {
        let rule = StopRule::default();
        assert_eq!(
            rule.decide(&[0.0; 12], 1.0, 0.1, 30.0).unwrap(),
            StopDecision::Precise
        );
        assert!(rule.decide(&[f64::NAN], 1.0, 0.1, 30.0).is_err());
        assert!(rule.decide(&[1.0], f64::NAN, 0.1, 30.0).is_err());
    }
}
