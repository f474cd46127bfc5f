//! The limit on the time of a sweep. The budget is what it plans with; the fewest blocks that show the noise may exceed it,
//! and end at the limit.

use std::time::Duration;

use genba_units::format;

use crate::{ExperimentError, VariantPlan};

/// Time that a sweep takes at most, as a multiple of its budget.
const MAX_BUDGETS: f64 = 2.0;
/// Shortest time that a run may take before it is ended, seconds.
const MIN_RUN_SECONDS: f64 = 0.1;

/// The longest time that a sweep takes, seconds.
pub(super) fn longest(budget: f64) -> f64 {
    budget * MAX_BUDGETS
}

/// Why a setting has no run: the time was spent before.
pub(super) fn not_run(budget: f64) -> String {
    format!(
        "no run would have ended within {}, twice the budget",
        format::duration(longest(budget))
    )
}

/// Refuses a budget that so many runs of so many settings would exceed by far.
pub(super) fn check(
    run_seconds: f64,
    settings: usize,
    runs: u32,
    budget: f64,
) -> Result<(), ExperimentError> {
    let needed = run_seconds * settings as f64 * f64::from(runs);
    if needed <= longest(budget) {
        return Ok(());
    }
    Err(ExperimentError::Plan {
        what: format!(
            "a run takes {}, so that {runs} runs of {settings} settings take {}: the budget is {}\n  give a larger \
             --budget, or values with shorter runs",
            format::duration(run_seconds),
            format::duration(needed),
            format::duration(budget)
        ),
    })
}

/// Ends a run that would go on beyond the longest time of the sweep.
pub(super) fn limit_run(variant: &mut VariantPlan, budget: f64, elapsed: f64) {
    let left = (longest(budget) - elapsed).max(MIN_RUN_SECONDS);
    let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
    let limit = variant.spec.timeout.map_or(left, |own| own.min(left));
    variant.spec.timeout = Some(limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_far_below_the_fewest_runs_are_refused_with_the_figures() {
        assert!(check(1.0, 3, 2, 4.0).is_ok());
        let said = check(12.5, 3, 2, 10.0).unwrap_err().to_string();
        assert!(
            said.contains("a run takes 13 s") && said.contains("take 75 s"),
            "{said}"
        );
    }

    #[test]
    fn runs_end_with_the_time_that_is_left_or_their_own_limit() {
        let mut variant = VariantPlan::new("", "", genba_run::CommandSpec::direct(["true"]));
        limit_run(&mut variant, 10.0, 5.0);
        assert_eq!(variant.spec.timeout, Some(Duration::from_secs(15)));
        variant.spec.timeout = Some(Duration::from_secs(1));
        limit_run(&mut variant, 10.0, 5.0);
        assert_eq!(variant.spec.timeout, Some(Duration::from_secs(1)));
        limit_run(&mut variant, 10.0, 50.0);
        assert_eq!(variant.spec.timeout, Some(Duration::from_millis(100)));
    }
}
