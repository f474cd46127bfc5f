//! More bursts of a short program: counted runs that are made again for them.
//!
//! Bursts take at most a fifth of a counted run's time, so that a program of some tenths of a second has a handful. What
//! is asked of bursts needs five that saw the place in question.

use std::time::{Duration, Instant};

use genba_count::{BurstPlan, CountRequest};
use genba_model::{Observation, RawCounts};

use crate::Progress;
use crate::join_counts::ExecutionCountOptions;
use crate::observations::taken;
use crate::pipeline::Pipeline;

/// Bursts from which on no further run is made for more. Chosen: of what a quarter of them see five see it.
const ENOUGH_BURSTS: usize = 20;

/// Further runs, at most. Chosen: a program with one burst a run is left with too few.
const MAX_RUNS: u64 = 4;

/// Longest counted run that is made again. Chosen: with [`MAX_RUNS`] they take some seconds.
const LONGEST_RUN: Duration = Duration::from_secs(2);

/// Further runs that a program is to have by the bursts and the time of the first.
fn runs_for_more(bursts: usize, run: Duration, left: Option<Duration>) -> u64 {
    if bursts == 0 || bursts >= ENOUGH_BURSTS || run > LONGEST_RUN {
        return 0;
    }
    let wanted = ENOUGH_BURSTS.div_ceil(bursts) as u64 - 1;
    // Half of the time that is left, which the analysis needs as well.
    let fit = left.map_or(MAX_RUNS, |left| {
        (left.as_secs_f64() / 2.0 / run.as_secs_f64().max(1e-3)) as u64
    });
    wanted.min(MAX_RUNS).min(fit)
}

impl Pipeline<'_> {
    /// What was observed in a counted run of so long, and in further ones if it was short.
    pub(crate) fn observed_with_more(
        &mut self,
        raw: &mut RawCounts,
        plan: &ExecutionCountOptions,
        request: &CountRequest,
        run: Duration,
        progress: &mut dyn Progress,
    ) -> Vec<(i32, Observation)> {
        let mut all = taken(raw);
        let bursts = all.iter().map(|one| one.1.bursts.len()).sum();
        let left = self.options.limit.and(self.time_left());
        for number in 0..runs_for_more(bursts, run, left) {
            progress.update("counting again, for more bursts", None);
            let burst_plan = BurstPlan {
                // Other moments of the run.
                seed: BurstPlan::default().seed + 1 + number,
                ..BurstPlan::default()
            };
            let again = CountRequest {
                observe: Some(burst_plan),
                ..request.clone()
            };
            let began = Instant::now();
            let Ok(choice) = genba_count::choose(plan.engine.as_deref(), &again) else {
                break;
            };
            let Ok(mut more) = choice.engine.count(&again, self.launcher, self.cancel) else {
                break;
            };
            if self.cancel.is_triggered() || more.exit != raw.exit {
                break;
            }
            let known = |pid: i32| all.iter().any(|one| one.0 == pid);
            let new: Vec<_> = (taken(&mut more).into_iter())
                .filter(|one| !known(one.0))
                .collect();
            all.extend(new);
            if began.elapsed() > 2 * LONGEST_RUN {
                break;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_programs_with_few_bursts_are_run_again() {
        let second = Duration::from_secs(1);
        let runs = |bursts| runs_for_more(bursts, second, None);
        assert_eq!([5, 7, 10, 19].map(runs), [3, 2, 1, 1]);
        assert_eq!(runs(1), MAX_RUNS);
    }

    #[test]
    fn programs_without_bursts_with_many_or_that_are_long_are_not() {
        let runs = |bursts, seconds| runs_for_more(bursts, Duration::from_secs(seconds), None);
        assert_eq!([runs(0, 1), runs(20, 1), runs(5, 3)], [0; 3]);
    }

    #[test]
    fn further_runs_take_at_most_half_of_the_time_that_is_left() {
        let runs = |left| runs_for_more(5, Duration::from_secs(1), Some(Duration::from_secs(left)));
        assert_eq!([runs(1), runs(4), runs(60)], [0, 2, 3]);
    }
}
