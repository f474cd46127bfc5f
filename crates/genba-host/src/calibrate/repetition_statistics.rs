//! From repetitions to figures. Pure.
//!
//! A repetition is a kernel's time between two runs of the reference chain (dependent
//! additions of registers, one cycle each on every x86-64), so its cycles are its time times the
//! clock of that very moment. Disturbances (interrupts, a neighbour on the same core) only ever
//! add time, so low quantiles are used, of repetitions whose two references agree; several
//! rounds, apart in time, must agree with one another.

use genba_model::Estimate;

/// One repetition, nanoseconds with the cost of reading the clock taken off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Repetition {
    /// The reference chain just before.
    pub(crate) before: f64,
    /// The kernel.
    pub(crate) kernel: f64,
    /// The reference chain just after.
    pub(crate) after: f64,
}

/// How much of a scatter is still called quiet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    /// As a share of the value.
    pub(crate) share: f64,
    /// In cycles, where the value is small.
    pub(crate) cycles: f64,
}

impl Tolerance {
    fn covers(self, difference: f64, value: f64) -> bool {
        difference <= (self.share * value.abs()).max(self.cycles)
    }
}

/// What one batch of repetitions says of one instance of the form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    /// Cycles.
    pub(crate) cycles: Estimate,
    /// Time of one instance of the form, seconds.
    pub(crate) seconds: Estimate,
    /// Whether too few repetitions were clean, or the thread lost its CPU meanwhile.
    pub(crate) disturbed: bool,
}

/// What all rounds together say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settled {
    /// Cycles.
    pub(crate) cycles: Estimate,
    /// Time of one instance of the form, seconds.
    pub(crate) seconds: Estimate,
    /// Whether no two rounds agreed.
    pub(crate) disturbed: bool,
}

/// Two references that differ by more than this share had a disturbance between them.
const REFERENCES_AGREE: f64 = 0.02;
const LOW: f64 = 0.10;
const VALUE: f64 = 0.25;
const HIGH: f64 = 0.50;

/// The quantile of ascending values, between neighbours by straight line.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64))
}

fn low_quantiles(mut values: Vec<f64>) -> Option<Estimate> {
    values.sort_by(f64::total_cmp);
    Some(Estimate {
        value: quantile(&values, VALUE)?,
        low: quantile(&values, LOW)?,
        high: quantile(&values, HIGH)?,
    })
}

/// What a batch says; `instances` is the number of forms executed in one repetition, and
/// `reference_cycles` the length of the reference chain. `None` if nothing in it can be used.
pub(crate) fn summarise(
    repetitions: &[Repetition],
    reference_cycles: f64,
    instances: f64,
) -> Option<Round> {
    let usable = |one: &&Repetition| {
        one.before > 0.0 && one.after > 0.0 && one.kernel.is_finite() && one.kernel >= 0.0
    };
    let clean = |one: &&Repetition| {
        (one.before - one.after).abs() <= REFERENCES_AGREE * one.before.min(one.after)
    };
    let all: Vec<&Repetition> = repetitions.iter().filter(usable).collect();
    let mut kept: Vec<&Repetition> = all.iter().copied().filter(clean).collect();
    let disturbed = kept.len() * 4 < repetitions.len();
    if disturbed {
        kept = all;
    }
    let cycles = |one: &&Repetition| {
        // Of two references the faster one was the less disturbed.
        one.kernel / one.before.min(one.after) * reference_cycles / instances
    };
    Some(Round {
        cycles: low_quantiles(kept.iter().map(cycles).collect())?,
        seconds: low_quantiles(
            kept.iter()
                .map(|one| one.kernel * 1e-9 / instances)
                .collect(),
        )?,
        disturbed,
    })
}

/// The two lowest of all rounds, which must agree: a disturbance that lasts as long as a batch
/// raises one round, hardly two to the same height.
pub(crate) fn settle(rounds: &[Round], tolerance: Tolerance) -> Option<Settled> {
    let mut order: Vec<&Round> = rounds.iter().collect();
    // A disturbed round may as well be too low, where its references were disturbed.
    order.sort_by(|a, b| {
        (a.disturbed.cmp(&b.disturbed)).then(a.cycles.value.total_cmp(&b.cycles.value))
    });
    let best = *order.first()?;
    let second = *order.get(1).unwrap_or(&best);
    let apart = (second.cycles.value - best.cycles.value).abs();
    let spread = best.cycles.high - best.cycles.low;
    let disturbed = order.len() < 2
        || !tolerance.covers(apart, best.cycles.value)
        || !tolerance.covers(spread, best.cycles.value)
        || best.disturbed
        || second.disturbed;
    let both = |pick: fn(&Round) -> Estimate| {
        let (one, two) = (pick(best), pick(second));
        Estimate {
            value: one.value,
            low: one.low.min(two.low),
            high: one.high.max(two.high),
        }
    };
    Some(Settled {
        cycles: both(|round| round.cycles),
        seconds: both(|round| round.seconds),
        disturbed,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const QUIET: Tolerance = Tolerance {
        share: 0.03,
        cycles: 0.02,
    };

    fn repetition(clock: f64, cycles: f64) -> Repetition {
        Repetition {
            before: 10_000.0 / clock,
            kernel: cycles / clock,
            after: 10_000.0 / clock,
        }
    }

    #[test]
    fn drifting_clock_does_not_change_cycles() {
        let repetitions: Vec<Repetition> = (0..40)
            .map(|i| repetition(3.0 + f64::from(i) * 0.03, 18_000.0))
            .collect();
        let round = summarise(&repetitions, 10_000.0, 1_000.0).expect("repetitions");
        assert!((round.cycles.value - 18.0).abs() < 1e-9, "{round:?}");
        assert!(!round.disturbed);
        assert!(round.seconds.low < round.seconds.high);
    }

    #[test]
    fn interrupted_repetitions_are_ignored() {
        let mut repetitions: Vec<Repetition> = (0..40).map(|_| repetition(4.0, 5_000.0)).collect();
        for one in repetitions.iter_mut().step_by(3) {
            one.kernel *= 7.0;
        }
        for one in repetitions.iter_mut().skip(1).step_by(3) {
            one.before *= 2.0;
        }
        let round = summarise(&repetitions, 10_000.0, 1_000.0).expect("repetitions");
        assert!((round.cycles.value - 5.0).abs() < 1e-9, "{round:?}");
    }

    #[test]
    fn batch_without_clean_repetitions_is_disturbed() {
        let repetitions: Vec<Repetition> = (0..40)
            .map(|i| Repetition {
                before: 100.0,
                kernel: 100.0 + f64::from(i),
                after: 150.0,
            })
            .collect();
        assert!(summarise(&repetitions, 400.0, 10.0).is_some_and(|round| round.disturbed));
        assert_eq!(summarise(&[], 400.0, 10.0), None);
    }

    fn round(value: f64) -> Round {
        let estimate = Estimate::exact(value);
        Round {
            cycles: estimate,
            seconds: estimate,
            disturbed: false,
        }
    }

    #[test]
    fn disturbed_rounds_come_last_even_if_lower() {
        let low = Round {
            disturbed: true,
            ..round(1.0)
        };
        let three = settle(&[low, round(5.0), round(5.0)], QUIET).expect("rounds");
        assert_eq!((three.cycles.value, three.disturbed), (5.0, false));
        assert!(settle(&[low, round(1.0)], QUIET).is_some_and(|it| it.disturbed));
    }

    #[test]
    fn disagreeing_rounds_are_marked_as_disturbed() {
        assert_eq!(settle(&[], QUIET), None);
        assert!(settle(&[round(5.0)], QUIET).is_some_and(|it| it.disturbed));
        let two = settle(&[round(5.0), round(9.0)], QUIET).expect("rounds");
        assert!(two.disturbed);
        let three = settle(&[round(5.0), round(9.0), round(5.1)], QUIET).expect("rounds");
        assert!(!three.disturbed);
        assert_eq!((three.cycles.value, three.cycles.high), (5.0, 5.1));
    }

    proptest! {
        #[test]
        fn quantiles_are_ordered_and_within(
            values in proptest::collection::vec((1.0..1e6, 1.0..1e6, 1.0..1e6), 1..80)
        ) {
            let repetitions: Vec<Repetition> = values
                .iter()
                .map(|&(before, kernel, after)| Repetition { before, kernel, after })
                .collect();
            let round = summarise(&repetitions, 1_000.0, 7.0).expect("repetitions");
            prop_assert!(round.cycles.low <= round.cycles.value);
            prop_assert!(round.cycles.value <= round.cycles.high);
            let most = values.iter().map(|v| v.1).fold(0.0, f64::max);
            prop_assert!(round.seconds.high <= most * 1e-9 / 7.0 + 1e-18);
        }

        #[test]
        fn more_rounds_never_raise_the_value(values in proptest::collection::vec(0.1..100.0, 1..8)) {
            let rounds: Vec<Round> = values.iter().map(|&v| round(v)).collect();
            let mut before = f64::INFINITY;
            for count in 1..=rounds.len() {
                let value = settle(&rounds[..count], QUIET).expect("rounds").cycles.value;
                prop_assert!(value <= before);
                before = value;
            }
        }

        #[test]
        fn hostile_numbers_do_not_panic(values in proptest::collection::vec(any::<(f64, f64, f64)>(), 0..20)) {
            let repetitions: Vec<Repetition> = values
                .iter()
                .map(|&(before, kernel, after)| Repetition { before, kernel, after })
                .collect();
            if let Some(round) = summarise(&repetitions, 1_000.0, 3.0) {
                let _ = settle(&[round, round], QUIET);
            }
        }
    }
}
