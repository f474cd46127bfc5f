//! How often the searches are right, and for how many runs; seeds fixed.

mod common;

use common::Noise;
use genba_stats::{Judge, StepSearch, Verdict};

/// Student's t with three degrees of freedom, scaled to a robust standard deviation of 1: the
/// shape that run times on a busy machine have about their centre.
fn heavy(noise: &mut Noise) -> f64 {
    let chi: f64 = (0..3).map(|_| noise.normal().powi(2)).sum();
    noise.normal() / (chi / 3.0).sqrt() / 1.13
}

struct Outcome {
    right: bool,
    search: usize,
    all: usize,
}

fn range(noise: &mut Noise, step: f64, scatter: f64, ends_alpha: f64, start: f64) -> Outcome {
    const POINTS: u64 = 256;
    let culprit = 1 + noise.below(POINTS as usize - 1) as u64;
    let mut search = StepSearch::new(POINTS).unwrap();
    let value = |noise: &mut Noise, point: u64| {
        let level: f64 = if point >= culprit { step } else { 0.0 };
        (level + scatter * heavy(noise)).exp()
    };
    let mut all = 0;
    let mut judges = std::collections::BTreeMap::<u64, Judge>::new();
    let pair =
        |noise: &mut Noise, search: &mut StepSearch, judge: &mut Judge, low: u64, high: u64| {
            let (a, b) = (value(noise, low), value(noise, high));
            judge.push(a, b).unwrap();
            search.push(low, a).unwrap();
            search.push(high, b).unwrap();
        };
    let mut judge = Judge::new(ends_alpha, 0.005).unwrap();
    while judge.verdict() == Verdict::Undecided && all < 800 {
        pair(noise, &mut search, &mut judge, 0, POINTS - 1);
        all += 2;
    }
    let ends = all;
    loop {
        let place = search.place().unwrap();
        if place.narrow && place.probability >= start {
            let judge = judges
                .entry(place.place)
                .or_insert_with(|| Judge::new(0.05, 0.005).unwrap());
            if judge.verdict() == Verdict::Slower && place.probability >= 0.99 || all > 2000 {
                let verify = 2 * judges.values().map(|j| j.sequence().count()).sum::<usize>();
                return Outcome {
                    right: place.place == culprit,
                    search: all - verify,
                    all,
                };
            }
            if judge.verdict() == Verdict::Undecided {
                pair(noise, &mut search, judge, place.last_before, place.place);
                all += 2;
                continue;
            }
        }
        let draw = noise.uniform();
        let point = search.next(draw);
        search.push(point, value(noise, point)).unwrap();
        all += 1;
        let _ = ends;
    }
}

#[test]
fn a_step_is_found_in_few_runs() {
    const TRIALS: usize = 400;
    for scatter in [0.005, 0.01, 0.02] {
        for alpha in [0.05, 0.2] {
            for confidence in [0.5, 0.7, 0.8, 0.9, 0.95, 0.99] {
                let mut noise = Noise::new(31);
                let outcomes: Vec<Outcome> = (0..TRIALS)
                    .map(|_| range(&mut noise, 0.02, scatter, alpha, confidence))
                    .collect();
                let right = outcomes.iter().filter(|o| o.right).count();
                let mean = |of: fn(&Outcome) -> usize| {
                    outcomes.iter().map(of).sum::<usize>() as f64 / TRIALS as f64
                };
                eprintln!(
                    "noise {scatter} ends {alpha} start {confidence}: right {right} of {TRIALS}, ends+search {:.1}, all {:.1}",
                    mean(|o| o.search),
                    mean(|o| o.all)
                );
            }
        }
    }
}

use genba_stats::Screening;

fn screen(
    noise: &mut Noise,
    effects: &[f64],
    scatter: f64,
    most: usize,
) -> (Vec<usize>, usize, bool) {
    let mut screening = Screening::new(effects.len()).unwrap();
    let half = screening.rows() / 2;
    let mut block = 0;
    loop {
        let mut order: Vec<usize> = (0..half).map(|row| row + (block % 2) * half).collect();
        for place in (1..half).rev() {
            order.swap(place, noise.below(place + 1));
        }
        for row in order {
            let sum: f64 = effects
                .iter()
                .zip(screening.row(row))
                .filter(|(_, on)| **on)
                .map(|(e, _)| e)
                .sum();
            screening
                .push(row, Some(1.0 + sum + scatter * heavy(noise)))
                .unwrap();
        }
        block += 1;
        if let Some(screened) = screening.screened(0.05).unwrap()
            && block % 2 == 0
        {
            if screened.settled || screening.count() >= most {
                let mut found: Vec<usize> = screened.effects[..screened.culprits]
                    .iter()
                    .map(|e| e.item)
                    .collect();
                found.sort();
                return (found, screening.count(), screened.settled);
            }
        }
    }
}

#[test]
fn screening() {
    const TRIALS: usize = 300;
    for (name, culprits) in [("none", 0), ("one", 1), ("two", 2)] {
        for most in [96, 192, 384, 768] {
            let mut noise = Noise::new(32);
            let (mut right, mut runs, mut more, mut settled) = (0, 0, 0, 0);
            for _ in 0..TRIALS {
                let mut effects = vec![0.0; 15];
                let mut truth = Vec::new();
                while truth.len() < culprits {
                    let item = noise.below(15);
                    if effects[item] == 0.0 {
                        effects[item] = 0.02;
                        truth.push(item);
                    }
                }
                truth.sort();
                let (found, count, s) = screen(&mut noise, &effects, 0.02, most);
                right += usize::from(found == truth);
                settled += usize::from(s);
                more += usize::from(truth.iter().all(|t| found.contains(t)));
                runs += count;
            }
            eprintln!(
                "{name} most {most}: right {:.1}% all in {:.1}% settled {:.1}%, {:.0} runs",
                100.0 * right as f64 / TRIALS as f64,
                100.0 * more as f64 / TRIALS as f64,
                100.0 * settled as f64 / TRIALS as f64,
                runs as f64 / TRIALS as f64
            );
        }
    }
}
