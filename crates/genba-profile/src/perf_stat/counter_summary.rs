//! Counters with intervals over the readings of repeated runs.

use genba_model::{Counter, CounterState, Estimate};

use super::counter_set::Reading;
use super::derived_ratios::derived_ratio;

/// Two-sided 95 % quantiles of Student's t for 1…30 degrees of freedom.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Mean with its 95 % interval by Student's t; a single value has no width.
pub fn mean(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 2 {
        return Estimate::exact(mean);
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T95.get(values.len() - 2).copied().unwrap_or(1.96) * (variance / n).sqrt();
    Estimate {
        value: mean,
        low: mean - half,
        high: mean + half,
    }
}

/// One counter per event over all runs (each a list of readings of the same events), with the
/// derived ratios of the means. `wall_seconds` is the mean wall time of a run.
#[must_use]
pub fn summarise(runs: &[Vec<Reading>], wall_seconds: f64) -> Vec<Counter> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let mut counters: Vec<Counter> = first
        .iter()
        .enumerate()
        .map(|(index, reading)| {
            let readings = runs.iter().filter_map(|run| run.get(index));
            counter(reading, readings)
        })
        .collect();
    let notes: Vec<_> = counters
        .iter()
        .map(|c| derived_ratio(c, &counters, wall_seconds))
        .collect();
    for (counter, note) in counters.iter_mut().zip(notes) {
        counter.note = note;
    }
    counters
}

fn counter<'a>(first: &Reading, readings: impl Iterator<Item = &'a Reading>) -> Counter {
    const NS_PER_MS: f64 = 1e6;
    let clock = first.event.is_clock();
    let counted: Vec<&Reading> = readings
        .filter(|r| r.state == CounterState::Counted)
        .collect();
    let divisor = if clock { NS_PER_MS } else { 1.0 };
    let values: Vec<f64> = counted.iter().map(|r| r.value / divisor).collect();
    let shares: f64 = counted.iter().map(|r| r.running_share).sum();
    let any = !values.is_empty();
    Counter {
        event: first.name.clone(),
        state: if any {
            CounterState::Counted
        } else {
            first.state
        },
        value: any.then(|| mean(&values)),
        unit: if clock { "msec" } else { "" }.to_owned(),
        running_share: if any {
            shares / values.len() as f64
        } else {
            0.0
        },
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventSpec;

    fn reading(value: f64, state: CounterState) -> Reading {
        let event = EventSpec::parse("task-clock").unwrap();
        Reading {
            name: event.full_name(),
            event,
            state,
            value,
            running_share: 1.0,
        }
    }

    #[test]
    fn repeated_runs_have_an_interval() {
        let runs: Vec<_> = [2e6, 4e6]
            .map(|v| vec![reading(v, CounterState::Counted)])
            .into();
        let counters = summarise(&runs, 1.0);
        let value = counters[0].value.unwrap();
        assert_eq!((value.value, counters[0].unit.as_str()), (3.0, "msec"));
        assert!((value.high - 3.0 - 12.706).abs() < 1e-9, "{value:?}");
    }

    #[test]
    fn counter_that_never_ran_has_no_value() {
        let runs = [vec![reading(0.0, CounterState::NotCounted)]];
        let counters = summarise(&runs, 1.0);
        assert_eq!(
            (counters[0].state, counters[0].value),
            (CounterState::NotCounted, None)
        );
    }
}
