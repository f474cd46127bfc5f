//! Shares of `--limit` that the stages of an investigation may take. Pure.

use std::time::Duration;

/// Share of [`crate::Options::limit`] after which the first run is ended: as much again is needed to sample it.
pub(crate) const SHARE_OF_LIMIT_FOR_FIRST_RUN: f64 = 0.45;

/// Share of [`crate::Options::limit`] that repeated runs may take: sampling, counting and proofs follow.
const SHARE_OF_LIMIT_FOR_REPEATED_RUNS: f64 = 0.3;

/// Share of [`crate::Options::limit`] that the shortest part of a run may take, where that is less than [`MIN_PART_OF_RUN`].
const SHARE_OF_LIMIT_FOR_SHORTEST_PART: f64 = 0.3;

/// Share of [`crate::Options::limit`] from which a run is too long for counters and for watching waits.
pub(crate) const MIN_SHARE_OF_LIMIT_OF_LONG_RUN: f64 = 0.15;

/// Shortest part of a run that is worth sampling.
const MIN_PART_OF_RUN: Duration = Duration::from_secs(3);

/// The time for repeated runs: the budget, but a part of the limit at most.
pub(crate) fn budget_within(budget: Duration, limit: Option<Duration>) -> Duration {
    let share = |limit: Duration| limit.mul_f64(SHARE_OF_LIMIT_FOR_REPEATED_RUNS);
    limit.map_or(budget, |limit| budget.min(share(limit)))
}

/// The shortest part of a run that is sampled, within the limit.
pub(crate) fn shortest_part(limit: Option<Duration>) -> Duration {
    let share = |limit: Duration| limit.mul_f64(SHARE_OF_LIMIT_FOR_SHORTEST_PART);
    limit.map_or(MIN_PART_OF_RUN, |limit| MIN_PART_OF_RUN.min(share(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_limit_bounds_repeated_runs_and_the_part_that_is_sampled() {
        let seconds = Duration::from_secs_f64;
        assert_eq!(
            budget_within(seconds(30.0), Some(seconds(5.0))),
            seconds(1.5)
        );
        assert_eq!(shortest_part(Some(seconds(5.0))), seconds(1.5));
        // The default limit changes neither.
        assert_eq!(
            budget_within(seconds(30.0), Some(seconds(150.0))),
            seconds(30.0)
        );
        assert_eq!(shortest_part(None), MIN_PART_OF_RUN);
    }
}
