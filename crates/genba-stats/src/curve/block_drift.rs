//! Drift correction: removes the effect of a block that all its settings share.
//!
//! The model is the mixed one of a block design: logarithm of a run = level of its setting +
//! effect of its block + scatter, where effects are drawn from a normal distribution of unknown
//! width (Patterson and Thompson, "Recovery of inter-block information when block sizes are
//! unequal", Biometrika 1971). Later blocks hold few settings, some of them new; what their
//! machine was like is known by the settings that they share with earlier blocks, and through
//! these only. So levels and effects are solved for together, and the width is found by
//! expectation and maximisation (Dempster, Laird and Rubin 1977): where blocks do not differ, it
//! goes to nothing, and effects with it. Runs far off weigh less (Huber's weights), as another
//! program may have passed by.

use crate::input_checks;
use crate::quantile::{MAD_TO_SIGMA, median_of_sorted};

/// Solving, weighing and estimating the width again so many times.
const ROUNDS: usize = 30;
/// Steps of the conjugate gradients at most.
const STEPS: usize = 60;
/// Distances beyond so many standard deviations weigh less.
const HUBER: f64 = 2.5;
/// Residuals of few runs for many levels say too little; beyond this factor nothing is corrected.
const MOST_WIDENING: f64 = 16.0;

/// One run: where it belongs, what it measured, what it weighs.
#[derive(Clone, Copy)]
struct Run {
    setting: usize,
    block: usize,
    z: f64,
    weight: f64,
}

/// The logarithms of each setting's runs without their blocks' effects, and for each setting the
/// variance that its level has because effects are not known exactly. `runs` are block and
/// logarithm, for each setting.
pub(super) fn without_drift(runs: &[Vec<(u32, f64)>]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut blocks: Vec<u32> = runs.iter().flatten().map(|run| run.0).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let place = |block: u32| blocks.binary_search(&block).unwrap_or(0);
    let flat: Vec<Run> = (runs.iter().enumerate())
        .flat_map(|(setting, group)| {
            group.iter().map(move |(block, z)| Run {
                setting,
                block: place(*block),
                z: *z,
                weight: 1.0,
            })
        })
        .collect();
    let (effects, variances) = Design::new(flat, runs.len(), blocks.len()).effects();
    let groups = (runs.iter())
        .map(|group| {
            (group.iter())
                .map(|(block, z)| z - effects[place(*block)])
                .collect()
        })
        .collect();
    let unknown = (runs.iter())
        .map(|group| {
            let n = group.len().max(1) as f64;
            (group.iter())
                .map(|(block, _)| variances[place(*block)] / (n * n))
                .sum()
        })
        .collect();
    (groups, unknown)
}

/// How runs scatter.
#[derive(Clone, Copy)]
struct Scatter {
    /// Standard deviation of most of them.
    typical: f64,
    /// Variance of all, those far off as well: where there are many of them, a block of few runs
    /// that lies off knows little of its machine.
    variance: f64,
}

struct Design {
    runs: Vec<Run>,
    settings: usize,
    blocks: usize,
    /// Sum of the weights of each setting's runs.
    total: Vec<f64>,
    /// Blocks of a single run: nothing tells its scatter from a change of the machine.
    lone: Vec<bool>,
}

impl Design {
    fn new(runs: Vec<Run>, settings: usize, blocks: usize) -> Self {
        let mut count = vec![0u32; blocks];
        for run in &runs {
            count[run.block] += 1;
        }
        let mut design = Self {
            lone: count.iter().map(|count| *count < 2).collect(),
            runs,
            settings,
            blocks,
            total: Vec::new(),
        };
        design.weigh();
        design
    }

    fn weigh(&mut self) {
        self.total = vec![0.0; self.settings];
        for run in &self.runs {
            self.total[run.setting] += run.weight;
        }
    }

    /// Effects of the blocks and their variances.
    fn effects(mut self) -> (Vec<f64>, Vec<f64>) {
        let mut effects = vec![0.0; self.blocks];
        let mut variances = vec![0.0; self.blocks];
        let mut width: Option<f64> = None;
        let mut fitted = 0.0;
        for _ in 0..ROUNDS {
            let residuals = self.residuals(&effects);
            let Some(scatter) = self.scatter(&residuals, fitted) else {
                break;
            };
            for (run, residual) in self.runs.iter_mut().zip(&residuals) {
                run.weight = (HUBER * scatter.typical / residual.abs()).min(1.0);
            }
            self.weigh();
            // Wide at first: the iteration narrows what is too wide, and cannot leave zero.
            let between = width.unwrap_or(100.0 * scatter.variance);
            let ridge = scatter.variance / between.max(1e-6 * scatter.variance);
            effects = self.solve(ridge, &effects);
            let known = self.known();
            variances = (known.iter())
                .map(|known| scatter.variance / (known + ridge))
                .collect();
            fitted = known.iter().map(|known| known / (known + ridge)).sum();
            let estimates: Vec<f64> = (effects.iter().zip(&variances).zip(&known))
                .filter(|(_, known)| **known > 0.0)
                .map(|((effect, variance), _)| effect * effect + variance)
                .collect();
            if estimates.len() < 3 {
                return (vec![0.0; self.blocks], vec![0.0; self.blocks]);
            }
            width = Some(estimates.iter().sum::<f64>() / estimates.len() as f64);
        }
        (effects, variances)
    }

    /// Means of the settings' values of something that runs have.
    fn levels(&self, value: impl Fn(&Run) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.settings];
        for run in &self.runs {
            sums[run.setting] += run.weight * value(run);
        }
        (sums.iter().zip(&self.total))
            .map(|(sum, total)| if *total > 0.0 { sum / total } else { 0.0 })
            .collect()
    }

    fn residuals(&self, effects: &[f64]) -> Vec<f64> {
        let left = |run: &Run| run.z - effects[run.block];
        let levels = self.levels(left);
        (self.runs.iter())
            .map(|run| left(run) - levels[run.setting])
            .collect()
    }

    /// How runs scatter beside level and effect; none if they are exactly alike.
    fn scatter(&self, residuals: &[f64], fitted: f64) -> Option<Scatter> {
        let mut count = vec![0u32; self.settings];
        for run in &self.runs {
            count[run.setting] += 1;
        }
        // A single run of a setting is its level.
        let telling: Vec<f64> = (self.runs.iter().zip(residuals))
            .filter(|(run, _)| count[run.setting] > 1)
            .map(|(_, residual)| residual.abs())
            .collect();
        if telling.is_empty() {
            return None;
        }
        let mean = telling.iter().sum::<f64>() / telling.len() as f64;
        let middle = median_of_sorted(&input_checks::sorted(&telling));
        // More than half of the runs may be alike to the last digit.
        let typical = (MAD_TO_SIGMA * middle).max(0.4 * mean);
        let repeated = count.iter().filter(|count| **count > 1).count();
        let runs = telling.len() as f64;
        let free = runs - repeated as f64 - fitted;
        let widen = (runs / free.max(1.0)).min(MOST_WIDENING);
        let square = telling.iter().map(|one| one * one).sum::<f64>() / runs;
        (typical > 0.0).then_some(Scatter {
            typical: typical * widen.sqrt(),
            variance: square * widen,
        })
    }

    /// What the runs of each block know of its effect: weight of runs whose settings were
    /// measured in other blocks too.
    fn known(&self) -> Vec<f64> {
        let mut known = vec![0.0; self.blocks];
        for run in self.runs.iter().filter(|run| !self.lone[run.block]) {
            let share = run.weight / self.total[run.setting].max(f64::MIN_POSITIVE);
            known[run.block] += run.weight * (1.0 - share);
        }
        known
    }

    fn keep_lone_ones_still(&self, effects: &mut [f64]) {
        for (effect, lone) in effects.iter_mut().zip(&self.lone) {
            if *lone {
                *effect = 0.0;
            }
        }
    }

    /// What is left of effects once levels have followed them.
    fn apply(&self, effects: &[f64], ridge: f64) -> Vec<f64> {
        let levels = self.levels(|run| effects[run.block]);
        let mut out: Vec<f64> = effects.iter().map(|effect| ridge * effect).collect();
        for run in &self.runs {
            out[run.block] += run.weight * (effects[run.block] - levels[run.setting]);
        }
        self.keep_lone_ones_still(&mut out);
        out
    }

    /// Conjugate gradients from where the last round ended.
    fn solve(&self, ridge: f64, from: &[f64]) -> Vec<f64> {
        let levels = self.levels(|run| run.z);
        let mut wanted = vec![0.0; self.blocks];
        for run in &self.runs {
            wanted[run.block] += run.weight * (run.z - levels[run.setting]);
        }
        self.keep_lone_ones_still(&mut wanted);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut effects = from.to_vec();
        let mut left: Vec<f64> = (wanted.iter().zip(self.apply(&effects, ridge)))
            .map(|(wanted, has)| wanted - has)
            .collect();
        let mut towards = left.clone();
        let mut square = dot(&left, &left);
        let enough = 1e-20 * dot(&wanted, &wanted).max(f64::MIN_POSITIVE);
        for _ in 0..STEPS {
            if square <= enough {
                break;
            }
            let applied = self.apply(&towards, ridge);
            let curvature = dot(&towards, &applied);
            if curvature <= 0.0 {
                break;
            }
            let step = square / curvature;
            for index in 0..self.blocks {
                effects[index] += step * towards[index];
                left[index] -= step * applied[index];
            }
            let next = dot(&left, &left);
            for (towards, left) in towards.iter_mut().zip(&left) {
                *towards = left + next / square * *towards;
            }
            square = next;
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::bootstrap_random::Random;
    use proptest::prelude::*;

    /// Runs of settings with these levels, in blocks of these settings, on a machine with these
    /// effects.
    fn measured(
        levels: &[f64],
        blocks: &[(&[usize], f64)],
        noise: f64,
        seed: u64,
    ) -> Vec<Vec<(u32, f64)>> {
        let mut random = Random::new(seed);
        let mut runs = vec![Vec::new(); levels.len()];
        for (block, (settings, effect)) in (0..).zip(blocks) {
            for setting in *settings {
                runs[*setting].push((block, levels[*setting] + effect + noise * random.normal()));
            }
        }
        runs
    }

    fn means(groups: &[Vec<f64>]) -> Vec<f64> {
        (groups.iter())
            .map(|group| group.iter().sum::<f64>() / group.len() as f64)
            .collect()
    }

    /// As a sweep goes: a first look at all, then two settings with a new one between them,
    /// where the machine was faster for all that came late.
    #[test]
    fn late_drift_does_not_shift_refined_settings() {
        let levels = [0.0; 12];
        let all: Vec<usize> = (0..8).collect();
        for seed in 0..20 {
            for late in 6..12 {
                let slow = |at: usize| if at < late { 0.0 } else { -0.17 };
                let pairs: Vec<Vec<usize>> =
                    (0..4).map(|new| vec![new, new + 1, 8 + new]).collect();
                let mut blocks: Vec<(&[usize], f64)> =
                    (0..5).map(|at| (all.as_slice(), slow(at))).collect();
                for pair in &pairs {
                    for _ in 0..2 {
                        blocks.push((pair, slow(blocks.len())));
                    }
                }
                let runs = measured(&levels, &blocks, 0.005, seed);
                let means = means(&without_drift(&runs).0);
                for new in 0..4 {
                    let beside = means[new].midpoint(means[new + 1]);
                    let off = means[8 + new] - beside;
                    assert!(off.abs() < 0.03, "{seed} {late} {new}: {off}");
                }
            }
        }
    }

    #[test]
    fn runs_without_drift_are_hardly_changed() {
        let all: Vec<usize> = (0..10).collect();
        let levels: Vec<f64> = all.iter().map(|at| 0.1 * *at as f64).collect();
        let blocks = vec![(all.as_slice(), 0.0); 8];
        let mut moved = 0.0f64;
        for seed in 0..40 {
            let runs = measured(&levels, &blocks, 0.01, seed);
            let (groups, _) = without_drift(&runs);
            for (group, run) in groups.iter().zip(&runs) {
                for (after, (_, before)) in group.iter().zip(run) {
                    moved += (after - before).powi(2);
                }
            }
        }
        // Effects that are known to be nothing move runs by less than the blocks' means scatter.
        let typical = (moved / (40.0 * 80.0)).sqrt();
        assert!(typical < 0.01 / 10f64.sqrt(), "{typical}");
    }

    #[test]
    fn exact_counts_are_unchanged() {
        let runs = vec![vec![(0, 1.5), (1, 1.5), (2, 1.5)], vec![(0, 2.5), (2, 2.5)]];
        let (groups, unknown) = without_drift(&runs);
        assert_eq!(groups, [vec![1.5; 3], vec![2.5; 2]]);
        assert_eq!(unknown, [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn any_runs_give_numbers(runs in prop::collection::vec(
            prop::collection::vec((0u32..12, -5.0..5.0f64), 1..8), 1..8)) {
            let (groups, unknown) = without_drift(&runs);
            prop_assert!(groups.iter().flatten().chain(&unknown).all(|one| one.is_finite()));
            prop_assert!(unknown.iter().all(|one| *one >= 0.0));
        }

        #[test]
        fn a_shift_of_all_is_not_a_drift(shift in -3.0..3.0f64, seed in 0u64..50) {
            let all: Vec<usize> = (0..6).collect();
            let runs = measured(&[0.0; 6], &[(&all, 0.1), (&all, 0.0), (&all, 0.3), (&all, 0.2)], 0.01, seed);
            let moved: Vec<Vec<(u32, f64)>> = (runs.iter())
                .map(|group| group.iter().map(|(block, z)| (*block, z + shift)).collect())
                .collect();
            let (one, two) = (without_drift(&runs).0, without_drift(&moved).0);
            for (one, two) in one.iter().flatten().zip(two.iter().flatten()) {
                prop_assert!((two - one - shift).abs() < 1e-6, "{} {} {}", one, two, shift);
            }
        }
    }
}
