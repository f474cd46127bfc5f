//! Which size of the input to count next: doublings while they are affordable. Pure.

use std::time::Duration;

/// What a run at one size took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizedRun {
    /// The size.
    pub size: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Wall time of the run under the count engine, seconds.
    pub seconds: f64,
}

/// Which sizes to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimits {
    /// The first size.
    pub from: u64,
    /// The largest size.
    pub to: u64,
    /// Maximum number of runs.
    pub runs: usize,
    /// Time for all runs.
    pub budget: Duration,
}

/// Growth of the instructions of all runs below which start-up hides what the input costs.
const HIDDEN_BY_START: f64 = 1.02;
/// Step while it is hidden, and else.
const STEPS: [u64; 2] = [8, 2];
/// Sizes that tell a law well. Chosen: with steps of 2 a range of 128.
const ENOUGH: usize = 8;
/// Runs longer than this are not lengthened once there are enough sizes, seconds.
const LONG_RUN: f64 = 2.0;

/// Returns the size to count next after these runs, in the order in which they were made; `None` if
/// they are enough, or all that can be had.
#[must_use]
pub fn next_size(runs: &[SizedRun], limits: &SizeLimits) -> Option<u64> {
    let Some(last) = runs.iter().max_by_key(|run| run.size) else {
        return Some(limits.from.min(limits.to));
    };
    if runs.len() >= limits.runs {
        return None;
    }
    let spent: f64 = runs.iter().map(|run| run.seconds).sum();
    let left = limits.budget.as_secs_f64() - spent;
    larger(runs, last, limits, left).or_else(|| between(runs, last, left))
}

fn larger(runs: &[SizedRun], last: &SizedRun, limits: &SizeLimits, left: f64) -> Option<u64> {
    let first = runs.iter().min_by_key(|run| run.size)?;
    let before = runs
        .iter()
        .filter(|run| run.size < last.size)
        .max_by_key(|run| run.size);
    let grown = last.instructions as f64 / first.instructions.max(1) as f64;
    let step = STEPS[usize::from(runs.len() == 1 || grown > HIDDEN_BY_START)];
    let next = last.size.saturating_mul(step).min(limits.to);
    if next <= last.size || (runs.len() >= ENOUGH && last.seconds > LONG_RUN) {
        return None;
    }
    // What does not depend on the size stays; the rest may grow faster than it did: by the exponent
    // of the last step, and a half.
    let hidden = before.is_none_or(|before| before.instructions >= last.instructions);
    let exponent = before.map_or(1.0, |before| {
        let part = |run: &SizedRun| run.instructions.saturating_sub(first.instructions).max(1);
        let instructions = part(last) as f64 / part(before) as f64;
        instructions.max(1.0).ln() / (last.size as f64 / before.size as f64).ln()
    });
    let grows = match hidden {
        true => 1.0 - 1.0 / HIDDEN_BY_START,
        false => 1.0 - 1.0 / grown,
    };
    let step = next as f64 / last.size as f64;
    let factor = 1.0 + grows * step.powf(exponent.clamp(1.0, 4.0) + 0.5);
    // Room for the sizes that are still missing.
    let room = if runs.len() < ENOUGH {
        left / 3.0
    } else {
        left
    };
    (last.seconds * factor <= room).then_some(next)
}

/// With few sizes and no larger one: the middle of the widest gap, by ratio.
fn between(runs: &[SizedRun], last: &SizedRun, left: f64) -> Option<u64> {
    if runs.len() >= ENOUGH || last.seconds > left {
        return None;
    }
    let mut sizes: Vec<u64> = runs.iter().map(|run| run.size).collect();
    sizes.sort_unstable();
    // Below the smallest there may be room as well.
    let least = sizes[0] / 2;
    if least >= 2 {
        sizes.insert(0, least);
        if sizes.len() == 2 {
            return Some(least);
        }
    }
    let middle = |pair: &[u64]| ((pair[0] as f64 * pair[1] as f64).sqrt().round()) as u64;
    let found = sizes
        .windows(2)
        .map(|pair| (pair[1] as f64 / pair[0] as f64, pair))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, pair)| middle(pair))?;
    let fresh = runs.iter().all(|run| run.size != found) && found >= 2;
    match fresh {
        true => Some(found),
        false => (runs.iter().all(|run| run.size != least) && least >= 2).then_some(least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: SizeLimits = SizeLimits {
        from: 64,
        to: 1 << 40,
        runs: 20,
        budget: Duration::from_secs(60),
    };

    fn walk(limits: &SizeLimits, instructions: impl Fn(f64) -> f64) -> Vec<SizedRun> {
        let mut runs = Vec::new();
        while let Some(size) = next_size(&runs, limits) {
            let count = instructions(size as f64);
            runs.push(SizedRun {
                size,
                instructions: count as u64,
                seconds: 0.05 + count / 1e9,
            });
            assert!(runs.len() <= limits.runs);
        }
        runs
    }

    #[test]
    fn a_linear_program_is_doubled_until_its_runs_are_long() {
        let runs = walk(&LIMITS, |n| 1e6 + 100.0 * n);
        assert!(runs.len() >= 8, "{runs:?}");
        let last = runs.last().expect("runs");
        assert!(last.seconds > 1.0, "{runs:?}");
        let spent: f64 = runs.iter().map(|run| run.seconds).sum();
        assert!(spent <= 60.0, "{spent}");
    }

    #[test]
    fn start_that_hides_the_input_is_left_behind_fast() {
        let runs = walk(&LIMITS, |n| 1e9 + n);
        let sizes: Vec<u64> = runs.iter().map(|run| run.size).collect();
        assert!(
            sizes.windows(2).any(|pair| pair[1] == pair[0] * 8),
            "{sizes:?}"
        );
    }

    #[test]
    fn cubic_growth_stays_within_the_budget() {
        let runs = walk(&LIMITS, |n| n * n * n);
        let spent: f64 = runs.iter().map(|run| run.seconds).sum();
        assert!(spent <= 60.0 && runs.len() >= 5, "{spent} {runs:?}");
    }

    #[test]
    fn a_first_size_that_takes_half_the_budget_is_followed_by_smaller_ones() {
        let limits = SizeLimits {
            from: 1 << 20,
            ..LIMITS
        };
        let runs = walk(&limits, |n| n * 20_000.0);
        assert!(runs.iter().any(|run| run.size < 1 << 20), "{runs:?}");
    }

    #[test]
    fn the_largest_size_is_not_passed() {
        let limits = SizeLimits { to: 1000, ..LIMITS };
        let runs = walk(&limits, |n| n);
        assert!(runs.iter().all(|run| run.size <= 1000), "{runs:?}");
        assert!(runs.iter().any(|run| run.size == 1000), "{runs:?}");
        assert!(runs.len() >= 5, "{runs:?}");
    }

    proptest! {
        #[test]
        fn no_size_is_counted_twice(
            from in 2u64..10_000, room in 1u64..1000, exponent in 0.0f64..3.5, most in 1usize..20,
        ) {
            let limits = SizeLimits { from, to: from * room, runs: most, ..LIMITS };
            let runs = walk(&limits, |n| 1e5 + n.powf(exponent));
            let mut sizes: Vec<u64> = runs.iter().map(|run| run.size).collect();
            sizes.sort_unstable();
            sizes.dedup();
            prop_assert_eq!(sizes.len(), runs.len());
        }
    }
}
