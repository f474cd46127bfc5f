//! How steadily this machine does the same small piece of work, now.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Spread of the times of one fixed piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseReport {
    /// Pieces timed.
    pub pieces: u32,
    /// Median time of a piece, seconds.
    pub median_seconds: f64,
    /// Fastest piece, seconds.
    pub min_seconds: f64,
    /// 95th percentile, seconds.
    pub p95_seconds: f64,
    /// Slowest piece, seconds.
    pub max_seconds: f64,
    /// Median absolute deviation × 1.4826 ÷ median: the usual scatter, as a share.
    pub spread: f64,
    /// Share of all the time that went beyond what the pieces take at the median: what was lost
    /// to interruptions.
    pub lost_share: f64,
}

impl NoiseReport {
    /// The report of times in seconds; `None` if there are none or one is not a positive number.
    #[must_use]
    pub fn from_times(times: &[f64]) -> Option<Self> {
        if times.is_empty() || times.iter().any(|time| !(time.is_finite() && *time > 0.0)) {
            return None;
        }
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = middle(&sorted);
        let mut deviations: Vec<f64> = sorted.iter().map(|time| (time - median).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let total: f64 = sorted.iter().sum();
        let lost: f64 = sorted.iter().map(|time| (time - median).max(0.0)).sum();
        Some(Self {
            pieces: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
            median_seconds: median,
            min_seconds: sorted[0],
            p95_seconds: sorted[(sorted.len() - 1) * 95 / 100],
            max_seconds: sorted[sorted.len() - 1],
            spread: 1.4826 * middle(&deviations) / median,
            lost_share: lost / total,
        })
    }
}

/// Median of sorted, non-empty values.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        sorted[half - 1].midpoint(sorted[half])
    }
}

/// Spins for about `duration` (at most 10 s) in pieces of about 0.5 ms and reports their spread.
///
/// The work is a chain of dependent integer multiplications in registers: what disturbs it is the
/// CPU (frequency, neighbours on the core, interruptions), not memory.
#[must_use]
pub fn noise_check(duration: Duration) -> NoiseReport {
    let duration = duration.min(Duration::from_secs(10));
    let started = Instant::now();
    let steps = calibrate();
    let mut times = Vec::new();
    while times.is_empty() || started.elapsed() < duration {
        times.push(time_of(steps));
    }
    // Times are at least a nanosecond each, so the report exists.
    NoiseReport::from_times(&times).unwrap_or(NoiseReport {
        pieces: 0,
        median_seconds: 0.0,
        min_seconds: 0.0,
        p95_seconds: 0.0,
        max_seconds: 0.0,
        spread: 0.0,
        lost_share: 0.0,
    })
}

/// The number of steps that takes about 0.5 ms undisturbed: the fastest of five counts, as an
/// interruption would make the pieces far too short.
fn calibrate() -> u64 {
    let mut steps = 1_000;
    loop {
        let seconds = (0..5).map(|_| time_of(steps)).fold(f64::INFINITY, f64::min);
        if seconds >= 0.000_1 || steps > 1 << 40 {
            return ((steps as f64 * 0.000_5 / seconds) as u64).max(1);
        }
        steps *= 2;
    }
}

/// Seconds that `steps` steps take, never below a nanosecond.
fn time_of(steps: u64) -> f64 {
    let started = Instant::now();
    let mut value = black_box(steps | 1);
    for _ in 0..steps {
        value = value
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
    }
    black_box(value);
    started.elapsed().as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_times_have_no_spread() {
        let report = NoiseReport::from_times(&[0.5; 20]).unwrap();
        assert_eq!(
            (report.pieces, report.spread, report.lost_share),
            (20, 0.0, 0.0)
        );
    }

    #[test]
    fn an_interruption_shows_in_the_lost_share_not_in_the_spread() {
        let mut times = vec![1.0; 99];
        times.push(101.0);
        let report = NoiseReport::from_times(&times).unwrap();
        assert_eq!(report.spread, 0.0);
        assert!((report.lost_share - 0.5).abs() < 1e-12);
        assert_eq!((report.p95_seconds, report.max_seconds), (1.0, 101.0));
    }

    #[test]
    fn invalid_times_are_refused() {
        assert_eq!(NoiseReport::from_times(&[]), None);
        assert_eq!(NoiseReport::from_times(&[1.0, f64::NAN]), None);
        assert_eq!(NoiseReport::from_times(&[1.0, 0.0]), None);
    }

    #[test]
    fn checks_this_machine() {
        let report = noise_check(Duration::from_millis(20));
        assert!(report.pieces >= 1);
        assert!(
            report.min_seconds <= report.median_seconds
                && report.median_seconds <= report.max_seconds
        );
        eprintln!("{report:?}");
    }
}
