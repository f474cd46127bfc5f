//! Shares of what happened in clusters: stretches of a run in which everything was looked at.

use genba_model::Estimate;

use crate::{StatsError, input_checks, normal_distribution, wilson_interval};

/// Share of successes among trials that come in clusters: pairs of successes and trials. The
/// estimate is the ratio of the sums; its variance is the linearised one of a ratio estimator
/// (Cochran, "Sampling Techniques", 3rd edition, 1977, section 6.3), turned into an effective number
/// of trials for Wilson's interval, corrected for the degrees of freedom of few clusters (Korn and
/// Graubard, Survey Methodology 24, 1998). Where it happened always or never, there are as many
/// effective trials as clusters: within a cluster everything may depend on everything.
///
/// Clusters without trials carry no information and are skipped. Counts may be fractions.
///
/// # Errors
/// No trials, counts that are not finite or negative, more successes than trials, a level outside
/// 0…1.
pub fn cluster_share(clusters: &[(f64, f64)], level: f64) -> Result<Estimate, StatsError> {
    input_checks::open_unit("level", level)?;
    let (mut successes, mut trials, mut number) = (0.0, 0.0, 0u32);
    for &(inside, all) in clusters {
        // Sums of many fractions may pass the total by a rounding error.
        if !(inside >= 0.0 && inside <= all * (1.0 + 1e-9) && all.is_finite()) {
            return Err(StatsError::Parameter {
                name: "number of successes",
                value: inside,
                range: "between 0 and the number of trials",
            });
        }
        if all > 0.0 {
            successes += inside;
            trials += all;
            number += 1;
        }
    }
    if number == 0 {
        return Err(StatsError::Parameter {
            name: "number of trials",
            value: trials,
            range: "above 0",
        });
    }
    let share = (successes / trials).clamp(0.0, 1.0);
    let clusters_number = f64::from(number);
    let squares: f64 = (clusters.iter())
        .map(|&(inside, all)| (inside - share * all).powi(2))
        .sum();
    let effective = if number < 2 {
        1.0
    } else {
        let variance = clusters_number / (clusters_number - 1.0) * squares / (trials * trials);
        let independent = share * (1.0 - share) / variance;
        // The interval is one of the normal distribution; with few clusters its tails are longer.
        let z = normal_distribution::quantile(0.5 + level / 2.0);
        let t = crate::student_quantile(0.5 + level / 2.0, number as usize - 1);
        let shrink = if t.is_finite() { (z / t).powi(2) } else { 1.0 };
        let always_or_never = share <= 0.0 || share >= 1.0;
        match variance > 0.0 && independent.is_finite() {
            true => (independent * shrink).min(trials),
            false if always_or_never => clusters_number.min(trials) * shrink,
            false => trials * shrink,
        }
    };
    let effective = effective.max(f64::MIN_POSITIVE);
    wilson_interval::wilson(share * effective, effective, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clusters_that_differ_give_a_wider_interval_than_those_that_agree() {
        let agree: Vec<(f64, f64)> = (0..20).map(|_| (30.0, 100.0)).collect();
        let mut differ = agree.clone();
        for (index, one) in differ.iter_mut().enumerate() {
            one.0 = if index % 2 == 0 { 0.0 } else { 60.0 };
        }
        let agree = cluster_share(&agree, 0.95).expect("valid");
        let differ = cluster_share(&differ, 0.95).expect("valid");
        assert!((agree.value - 0.3).abs() < 1e-12 && (differ.value - 0.3).abs() < 1e-12);
        assert!(differ.high - differ.low > agree.high - agree.low);
    }

    #[test]
    fn one_cluster_says_little_however_many_trials_it_has() {
        let one = cluster_share(&[(1e6, 1e6)], 0.95).expect("valid");
        assert!(one.low < 0.3, "{one:?}");
        let many = vec![(1e6, 1e6); 100];
        let many = cluster_share(&many, 0.95).expect("valid");
        assert!(many.low > 0.95, "{many:?}");
    }

    #[test]
    fn impossible_counts_are_refused() {
        assert!(cluster_share(&[], 0.95).is_err());
        assert!(cluster_share(&[(0.0, 0.0)], 0.95).is_err());
        assert!(cluster_share(&[(2.0, 1.0)], 0.95).is_err());
        assert!(cluster_share(&[(f64::NAN, 1.0)], 0.95).is_err());
        assert!(cluster_share(&[(0.0, 1.0)], 1.0).is_err());
    }

    #[test]
    fn interval_covers_the_true_share_of_differing_clusters() {
        // Clusters of unequal size whose own shares scatter round 0.4.
        let mut random = 7u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut covered = 0;
        for _ in 0..400 {
            let clusters: Vec<(f64, f64)> = (0..15)
                .map(|_| {
                    let all = (10.0 + 90.0 * next()).floor();
                    let own = 0.1 + 0.6 * next();
                    let inside = (0..all as u32).filter(|_| next() < own).count();
                    (inside as f64, all)
                })
                .collect();
            let found = cluster_share(&clusters, 0.95).expect("valid");
            covered += u32::from(found.low <= 0.4 && 0.4 <= found.high);
        }
        assert!(covered >= 360, "{covered} of 400");
    }

    proptest! {
        #[test]
        fn interval_holds_the_value_and_stays_a_share(
            clusters in prop::collection::vec((0u32..1000, 0u32..1000), 1..40)
        ) {
            let clusters: Vec<(f64, f64)> = clusters
                .into_iter()
                .map(|(a, b)| (f64::from(a.min(b)), f64::from(a.max(b))))
                .collect();
            if let Ok(found) = cluster_share(&clusters, 0.95) {
                prop_assert!(0.0 <= found.low && found.low <= found.value);
                prop_assert!(found.value <= found.high && found.high <= 1.0);
            }
        }
    }
}
