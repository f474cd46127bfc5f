//! Series with known changes.

use super::*;
use proptest::prelude::*;
use rand::{SeedableRng as _, rngs::StdRng};

const ERROR: f64 = 0.004;

/// Points of the levels, each with its number of points, with normal noise.
fn points(levels: &[(usize, f64)], seed: u64) -> Vec<LevelPoint> {
    let mut random = StdRng::seed_from_u64(seed);
    (levels.iter())
        .flat_map(|(count, level)| std::iter::repeat_n(*level, *count))
        .map(|level| {
            let noise = normal_quantile(random.random_range(1e-9..1.0 - 1e-9));
            LevelPoint {
                log_value: level.ln() + ERROR * noise,
                error: ERROR * random.random_range(0.7..1.4),
            }
        })
        .collect()
}

fn found(points: &[LevelPoint]) -> Vec<LevelChange> {
    level_changes(points, true).unwrap().changes
}

#[test]
fn constant_series_have_no_more_than_one_false_change_in_a_thousand_points() {
    let changes: usize = (0..40)
        .map(|seed| found(&points(&[(500, 1.0)], seed)).len())
        .sum();
    assert!(changes <= 10, "{changes} in 20,000");
}

#[test]
fn two_percent_are_found_three_points_after_the_step() {
    let hits = (0..100)
        .filter(|seed| {
            let changes = found(&points(&[(60, 1.0), (3, 1.02)], *seed));
            changes.iter().any(|one| one.at.abs_diff(60) <= 3)
        })
        .count();
    assert!(hits >= 95, "{hits} of 100");
}

#[test]
fn a_stretch_with_more_noise_than_the_points_say_has_few_changes() {
    let changes: usize = (0..60)
        .map(|seed| {
            let mut all = points(&[(300, 1.0)], seed);
            // The machine is busy for a while, and the runs of one measurement do not show it.
            for one in &mut all[120..180] {
                one.log_value *= 4.0;
            }
            found(&all).len()
        })
        .sum();
    assert!(changes <= 18, "{changes} in 18,000 points");
}

#[test]
fn a_step_among_six_points_is_not_taken_for_noise() {
    let result = level_changes(&points(&[(3, 1.0), (3, 1.65)], 4), false).unwrap();
    assert!(result.noise < 3.0 * ERROR, "{}", result.noise);
    assert_eq!(result.changes.len(), 1);
    assert_eq!(result.changes[0].at, 3);
}

#[test]
fn short_series_have_no_more_than_one_false_change_in_a_thousand_points() {
    for count in [6, 8, 10, 14, 20] {
        let series = 20_000 / count;
        let changes: usize = (0..series)
            .map(|seed| {
                let mut all = points(&[(count, 1.0)], seed as u64);
                // Not even the scatter within the measurements says how large the noise is.
                all.iter_mut().for_each(|one| one.error = 0.0);
                found(&all).len()
            })
            .sum();
        assert!(changes <= 25, "{changes} in 20,000 points of {count} each");
    }
}

#[test]
fn a_mended_change_is_two_changes() {
    let changes = found(&points(&[(80, 1.0), (40, 1.03), (80, 1.0)], 1));
    let places: Vec<usize> = changes.iter().map(|one| one.at).collect();
    assert_eq!(places, [80, 120]);
    assert!(changes[0].ratio.low > 1.02 && changes[0].ratio.high < 1.04);
    assert!(changes[1].ratio.high < 0.98);
    assert!(changes[0].probability > 0.99);
    assert!(changes[0].last_before < 80 && changes[0].first_after >= 80);
}

#[test]
fn intervals_cover_the_planted_step() {
    let covered = (0..100)
        .filter(|seed| {
            let changes = found(&points(&[(50, 1.0), (50, 1.05)], *seed));
            changes.len() == 1
                && changes[0].ratio.low <= 1.05
                && changes[0].ratio.high >= 1.05
                && changes[0].last_before < 50
                && changes[0].first_after >= 50
        })
        .count();
    assert!(covered >= 88, "{covered} of 100");
}

#[test]
fn outliers_of_one_or_two_points_are_not_changes() {
    let mut all = points(&[(200, 1.0)], 3);
    for at in [20, 50, 51, 100, 150, 151] {
        all[at].log_value += 0.5;
    }
    assert_eq!(found(&all), []);
}

#[test]
fn points_of_a_busy_stretch_do_not_make_changes() {
    let changes: usize = (0..40)
        .map(|seed| {
            let mut all = points(&[(500, 1.0)], seed);
            let busy = all
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| at / 40 % 3 == 2);
            busy.for_each(|(_, one)| {
                one.log_value *= 4.0;
                one.error *= 4.0;
            });
            found(&all).len()
        })
        .sum();
    assert!(changes <= 20, "{changes} in 20,000");
}

#[test]
fn a_drifting_series_has_no_changes() {
    let mut random = StdRng::seed_from_u64(5);
    let mut walk = 0.0;
    let drifting: Vec<LevelPoint> = points(&[(500, 1.0)], 5)
        .into_iter()
        .map(|mut one| {
            walk += ERROR * random.random_range(-1.0..1.0);
            one.log_value += walk;
            one
        })
        .collect();
    let changes = level_changes(&drifting, false).unwrap();
    assert_eq!(changes.changes, []);
}

#[test]
fn ratios_of_pairs_do_not_contain_the_drift_they_share() {
    let values: Vec<_> = (0..20).map(|i| Some(1.02 * f64::from(1 + i))).collect();
    let anchor: Vec<_> = (0..20).map(|i| Some(f64::from(1 + i))).collect();
    let point = level_point(&values, Some(&anchor)).unwrap();
    assert!((point.log_value - 1.02_f64.ln()).abs() < 1e-9 && point.error < 1e-9);
    assert_eq!(level_point(&[None, Some(0.0), Some(f64::NAN)], None), None);
}

proptest! {
    #[test]
    fn any_finite_series_is_analysed(
        values in prop::collection::vec((-1e3..1e3f64, 0.0..10.0f64), 0..80),
        independent: bool,
    ) {
        let points: Vec<LevelPoint> = values
            .iter()
            .map(|(log_value, error)| LevelPoint { log_value: *log_value, error: *error })
            .collect();
        let result = level_changes(&points, independent).unwrap();
        for pair in result.changes.windows(2) {
            prop_assert!(pair[0].at + MIN_POINTS_OF_LEVEL <= pair[1].at);
        }
        for one in &result.changes {
            prop_assert!(one.last_before < one.at && one.at <= one.first_after);
            prop_assert!(one.first_after < points.len());
            prop_assert!((0.0..=1.0).contains(&one.probability));
        }
    }
}
