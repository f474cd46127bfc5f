//! Coverage, false alarms and power on synthetic noise, seeds fixed.

use crate::common::{Noise, three_errors};
use genba_stats::{
    ConfidenceSequence, Judge, StopDecision, StopRule, Verdict, cost_per_iteration, e_bh, forecast,
    hodges_lehmann, holm, median_interval, midmean, paired_effect, signed_rank, subtracted_ratio,
    visible_effect, wilson, wilson_weighted,
};

/// Draws one log ratio.
type Shape = fn(&mut Noise) -> f64;

/// Shapes of a pair's log ratio, all symmetric about 0 with a scatter of a few percent.
fn shapes() -> [(&'static str, Shape); 5] {
    [
        ("normal", |noise| 0.05 * noise.normal()),
        ("cauchy", |noise| (0.03 * noise.cauchy()).clamp(-20.0, 20.0)),
        ("bursts", |noise| (noise.run_time() / noise.run_time()).ln()),
        ("coarse clock", |noise| {
            let mut ticks = || (20.0 + (2.0 * noise.normal()).round()).max(1.0);
            (ticks() / ticks()).ln()
        }),
        ("two-humped", |noise| {
            let side = if noise.coin() { 0.1 } else { -0.1 };
            side + 0.01 * noise.normal()
        }),
    ]
}

#[test]
fn the_sequence_covers_at_all_times() {
    const TRIALS: usize = 500;
    for (name, shape) in shapes() {
        let mut noise = Noise::new(11);
        let mut missed = 0;
        let mut alarms = 0;
        for _ in 0..TRIALS {
            let mut sequence = ConfidenceSequence::new(0.05).unwrap();
            let mut shifted = ConfidenceSequence::new(0.05).unwrap();
            for _ in 0..200 {
                let d = shape(&mut noise);
                sequence.push(d).unwrap();
                shifted.push(d - 0.4).unwrap();
            }
            alarms += usize::from(sequence.excludes_zero());
            // The interval only narrows: one that covers at the end covered always.
            let interval = shifted.interval().unwrap();
            missed += usize::from(interval.low > -0.4 || interval.high < -0.4);
        }
        eprintln!("{name}: {missed} missed, {alarms} false alarms of {TRIALS}");
        assert!(missed as f64 <= 0.05 * TRIALS as f64, "{name}: {missed}");
        assert!(alarms as f64 <= 0.05 * TRIALS as f64, "{name}: {alarms}");
    }
}

/// The coin alone protects: whatever the order of the noise, drift and bursts included.
#[test]
fn drift_raises_no_false_alarm() {
    const TRIALS: usize = 1_000;
    let mut noise = Noise::new(12);
    let mut alarms = 0;
    for _ in 0..TRIALS {
        let mut judge = Judge::new(0.05, 0.0).unwrap();
        let mut level = 0.0;
        for pair in 0..150u32 {
            // A random walk, and a steady drift that makes every second run slower.
            level += 0.02 * noise.normal();
            let first = (level + 0.01 * noise.normal()).exp();
            let second = (level + 0.05 + f64::from(pair) * 0.001 + 0.01 * noise.normal()).exp();
            if noise.coin() {
                judge.push(first, second).unwrap();
            } else {
                judge.push(second, first).unwrap();
            }
        }
        alarms += usize::from(judge.verdict() != Verdict::Undecided);
    }
    eprintln!("{alarms} false alarms of {TRIALS} under drift");
    assert!(alarms as f64 <= 0.05 * TRIALS as f64);
}

#[test]
fn a_visible_effect_is_seen_in_four_cases_of_five() {
    const TRIALS: usize = 1_000;
    for pairs in [40, 200, 800] {
        let effect = visible_effect(0.05, pairs).unwrap().ln_1p();
        let mut noise = Noise::new(13);
        let mut found = 0;
        for _ in 0..TRIALS {
            let mut sequence = ConfidenceSequence::new(0.05).unwrap();
            for _ in 0..pairs {
                sequence.push(effect + 0.05 * noise.normal()).unwrap();
            }
            found += usize::from(sequence.excludes_zero());
        }
        let share = found as f64 / TRIALS as f64;
        eprintln!("{pairs} pairs see an effect of {effect:.4}: {share:.2}");
        assert!((0.78..=0.93).contains(&share), "{pairs}: {share}");
    }
}

#[test]
fn the_forecast_is_about_right() {
    const TRIALS: usize = 401;
    for effect in [0.01, 0.02, 0.04] {
        let mut noise = Noise::new(14);
        let mut needed = Vec::new();
        for _ in 0..TRIALS {
            let mut sequence = ConfidenceSequence::new(0.05).unwrap();
            while !sequence.excludes_zero() && sequence.count() < 5_000 {
                sequence.push(effect + 0.05 * noise.normal()).unwrap();
            }
            needed.push(sequence.count());
        }
        needed.sort_unstable();
        let median = needed[TRIALS / 2] as f64;
        let told = forecast(effect, 0.05, 0.0, 0).unwrap() as f64;
        eprintln!("effect {effect}: {told} pairs foretold, {median} at the median");
        assert!(
            (0.8..=1.25).contains(&(told / median)),
            "{effect}: {told} {median}"
        );
    }
}

#[test]
fn equal_variants_end_as_the_same_and_small_differences_do_not() {
    const TRIALS: usize = 500;
    let mut noise = Noise::new(15);
    let (mut same, mut wrong) = (0, 0);
    for _ in 0..TRIALS {
        let mut equal = Judge::new(0.05, 0.02).unwrap();
        let mut different = Judge::new(0.05, 0.02).unwrap();
        for _ in 0..200 {
            let d = 0.04 * noise.normal();
            equal.push(1.0, d.exp()).unwrap();
            different.push(1.0, (d + 0.021).exp()).unwrap();
        }
        same += usize::from(equal.verdict() == Verdict::Same);
        wrong += usize::from(different.verdict() == Verdict::Same);
    }
    eprintln!("same: {same} of {TRIALS}, wrongly the same: {wrong}");
    assert!(same as f64 >= 0.9 * TRIALS as f64);
    assert!(wrong as f64 <= 0.05 * TRIALS as f64);
}

/// An interval's method, the shape of the values, and the truth that it must cover.
fn covers(
    trials: usize,
    count: usize,
    seed: u64,
    truth: f64,
    draw: impl Fn(&mut Noise) -> f64,
    interval: impl Fn(&[f64]) -> genba_stats::Interval,
) -> (f64, f64) {
    let mut noise = Noise::new(seed);
    let mut covered = 0;
    let mut level = 0.0;
    for _ in 0..trials {
        let values: Vec<f64> = (0..count).map(|_| draw(&mut noise)).collect();
        let found = interval(&values);
        covered += usize::from(found.estimate.low <= truth && truth <= found.estimate.high);
        level = found.level;
    }
    (covered as f64 / trials as f64, level)
}

#[test]
fn intervals_of_the_centre_cover_as_they_say() {
    const TRIALS: usize = 4_000;
    for count in [2, 3, 5, 6, 10, 25, 60, 200] {
        let skewed = |noise: &mut Noise| (0.5 * noise.normal()).exp();
        let (share, level) = covers(TRIALS, count, 21, 1.0, skewed, |values| {
            median_interval(values, 0.95).unwrap()
        });
        eprintln!("median of {count}: covers {share:.3}, says {level:.3}");
        assert!((share - level).abs() <= three_errors(level.min(0.95), TRIALS));

        let (share, level) = covers(TRIALS, count, 22, 0.0, Noise::normal, |values| {
            hodges_lehmann(values, 0.95).unwrap()
        });
        eprintln!("Hodges-Lehmann of {count}: covers {share:.3}, says {level:.3}");
        assert!((share - level).abs() <= three_errors(level.min(0.95), TRIALS));

        let (share, level) = covers(TRIALS, count, 23, 0.0, Noise::normal, |values| {
            midmean(values, 0.95).unwrap()
        });
        eprintln!("midmean of {count}: covers {share:.3}, says {level:.3}");
        assert!((share - level).abs() <= 0.015 + three_errors(level.min(0.95), TRIALS));
    }
}

#[test]
fn stopping_early_costs_little_coverage() {
    const TRIALS: usize = 2_000;
    let mut noise = Noise::new(31);
    let rule = StopRule::default();
    let mut covered = 0;
    for _ in 0..TRIALS {
        let mut values = Vec::new();
        while let StopDecision::Continue { .. } = rule.decide(&values, 0.0, 0.0, 1.0).unwrap() {
            values.push((0.04 * noise.normal()).exp());
        }
        let median = median_interval(&values, 0.95).unwrap().estimate;
        covered += usize::from(median.low <= 1.0 && 1.0 <= median.high);
    }
    let share = covered as f64 / TRIALS as f64;
    eprintln!("coverage at stopping {share:.3}");
    assert!(share >= 0.90, "{share}");
}

#[test]
fn shares_are_covered() {
    const TRIALS: usize = 4_000;
    for (share, trials) in [(0.02, 200), (0.3, 50), (0.9, 1_000)] {
        let mut noise = Noise::new(41);
        let (mut plain, mut weighted) = (0, 0);
        for _ in 0..TRIALS {
            let (mut hits, mut inside, mut total, mut squares) = (0.0, 0.0, 0.0, 0.0);
            for _ in 0..trials {
                let hit = noise.uniform() <= share;
                let weight = 0.5 + noise.uniform();
                hits += f64::from(u8::from(hit));
                inside += if hit { weight } else { 0.0 };
                total += weight;
                squares += weight * weight;
            }
            let found = wilson(hits, f64::from(trials), 0.95).unwrap();
            plain += usize::from(found.low <= share && share <= found.high);
            let found = wilson_weighted(inside, total, squares, 0.95).unwrap();
            weighted += usize::from(found.low <= share && share <= found.high);
        }
        eprintln!("share {share} of {trials}: {plain}, weighted {weighted} of {TRIALS}");
        // Its true coverage swings about 95 % with share and size (Brown, Cai and DasGupta), down
        // to 93 % for the first of these.
        assert!(plain as f64 >= 0.92 * TRIALS as f64);
        assert!(weighted as f64 >= 0.92 * TRIALS as f64);
    }
}

#[test]
fn paired_effect_at_a_fixed_number_covers_and_the_test_holds_its_level() {
    const TRIALS: usize = 2_000;
    for (name, shape) in shapes() {
        let mut noise = Noise::new(51);
        let (mut covered, mut alarms) = (0, 0);
        for _ in 0..TRIALS {
            let logs: Vec<f64> = (0..30).map(|_| shape(&mut noise)).collect();
            let variant: Vec<f64> = logs.iter().map(|d| 1.1 * d.exp()).collect();
            let ratio = paired_effect(&[1.0; 30], &variant, 0.95)
                .unwrap()
                .ratio
                .estimate;
            covered += usize::from(ratio.low <= 1.1 + 1e-12 && 1.1 - 1e-12 <= ratio.high);
            alarms += usize::from(signed_rank(&logs).unwrap().p_value < 0.05);
        }
        eprintln!("{name}: covered {covered}, false alarms {alarms} of {TRIALS}");
        let slack = three_errors(0.05, TRIALS) * TRIALS as f64;
        assert!(covered as f64 >= 0.95 * TRIALS as f64 - slack, "{name}");
        assert!(alarms as f64 <= 0.05 * TRIALS as f64 + slack, "{name}");
    }
}

#[test]
fn what_remains_after_subtraction_is_covered() {
    const TRIALS: usize = 1_000;
    let mut noise = Noise::new(61);
    let (mut cost, mut ratio) = (0, 0);
    for _ in 0..TRIALS {
        let mut series = |seconds: f64| -> Vec<f64> {
            (0..25)
                .map(|_| seconds * (0.03 * noise.normal()).exp())
                .collect()
        };
        // Loop 1 s, reference 0.5 s on top, variant 0.3 s on top.
        let (baseline, reference, variant) = (series(1.0), series(1.5), series(1.3));
        let found = cost_per_iteration(&reference, &baseline, 1_000_000, 0.95)
            .unwrap()
            .estimate;
        cost += usize::from(found.low <= 0.5e-6 && 0.5e-6 <= found.high);
        let found = subtracted_ratio(&reference, &variant, &baseline, 0.95)
            .unwrap()
            .estimate;
        ratio += usize::from(found.low <= 0.6 && 0.6 <= found.high);
    }
    eprintln!("cost covered {cost}, ratio {ratio} of {TRIALS}");
    let least = (0.95 - three_errors(0.05, TRIALS)) * TRIALS as f64;
    assert!(cost as f64 >= least && ratio as f64 >= least);
}

/// Four variants, one of them truly slower, all against the same noisy baseline.
#[test]
fn several_variants_raise_few_false_alarms() {
    const TRIALS: usize = 500;
    let mut noise = Noise::new(71);
    let (mut wrong_share, mut found, mut holm_wrong) = (0.0, 0, 0);
    for _ in 0..TRIALS {
        let mut sequences: Vec<ConfidenceSequence> = (0..4)
            .map(|_| ConfidenceSequence::new(0.05).unwrap())
            .collect();
        let mut logs = vec![Vec::new(); 4];
        for _ in 0..120 {
            let baseline = 0.03 * noise.normal();
            for (place, sequence) in sequences.iter_mut().enumerate() {
                let effect = if place == 0 { 0.03 } else { 0.0 };
                let d = effect + 0.03 * noise.normal() - baseline;
                sequence.push(d).unwrap();
                logs[place].push(d);
            }
        }
        let e_values: Vec<f64> = sequences
            .iter()
            .map(ConfidenceSequence::log_e_value)
            .collect();
        let rejected = e_bh(&e_values, 0.05).unwrap();
        let all = rejected.iter().filter(|flag| **flag).count();
        let wrong = rejected[1..].iter().filter(|flag| **flag).count();
        wrong_share += wrong as f64 / all.max(1) as f64;
        found += usize::from(rejected[0]);
        let p_values: Vec<f64> = logs
            .iter()
            .map(|logs| signed_rank(logs).unwrap().p_value)
            .collect();
        holm_wrong += usize::from(holm(&p_values, 0.05).unwrap()[1..].contains(&true));
    }
    eprintln!(
        "e-BH: found {found}, false share {wrong_share:.1}; Holm wrong {holm_wrong} of {TRIALS}"
    );
    assert!(wrong_share / TRIALS as f64 <= 0.05);
    assert!(found as f64 >= 0.9 * TRIALS as f64);
    assert!(holm_wrong as f64 <= (0.05 + three_errors(0.05, TRIALS)) * TRIALS as f64);
}
