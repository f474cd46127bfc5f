//! From windows to pairs, and from the ratio of pairs to the speedup of the program. Pure.
//!
//! A pair is two neighbouring windows of a thread, one of each side, in random order. Its ratio is that of
//! CPU time per round, where a round is an execution of an edited block: a change of phase, of frequency
//! or of load on the machine that is slower than some milliseconds is the same in both. While rounds are
//! executed, the ratio is that of the program, whatever else it does between them. Pairs without rounds
//! are time that the change leaves alone.

use std::collections::BTreeMap;

use genba_count::native::DuetWindow;
use genba_model::Estimate;

/// Rounds of each window of a pair that is compared.
pub const MIN_ROUNDS: u64 = 16;

/// CPU time per round on both sides, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// As the program is.
    pub as_is: f64,
    /// With edits.
    pub edited: f64,
    /// CPU time of the window as the program is, seconds.
    as_is_seconds: f64,
    /// CPU time of the window with edits, seconds.
    edited_seconds: f64,
}

/// The pairs of one or more runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Those that are compared, in the order of their ends.
    pub compared: Vec<Pair>,
    /// CPU time of pairs without rounds enough, seconds; two for each moment of replicas.
    pub other_seconds: f64,
    /// Whether they are of copies of the process.
    pub of_replicas: bool,
}

/// Returns the pairs of a run in replicas: moments of the program's time, each of which counts the same.
#[must_use]
pub fn pairs_of_replicas(windows: &[DuetWindow]) -> Pairs {
    let mut found = Pairs {
        of_replicas: true,
        ..Pairs::default()
    };
    let (whole, rest) = windows.as_chunks::<2>();
    debug_assert!(rest.is_empty());
    for one in whole {
        let now = pairs_after(one, 0);
        match now.compared.first() {
            Some(pair) => found.compared.push(Pair {
                as_is_seconds: 1.0,
                edited_seconds: pair.edited / pair.as_is,
                ..*pair
            }),
            None => found.other_seconds += 2.0,
        }
    }
    found
}

/// Returns the pairs of a run. The first pair of each thread is left out: in it the program starts.
#[must_use]
pub fn pairs(windows: &[DuetWindow]) -> Pairs {
    pairs_after(windows, 1)
}

fn pairs_after(windows: &[DuetWindow], first_number: u32) -> Pairs {
    let mut waiting: BTreeMap<u64, DuetWindow> = BTreeMap::new();
    let mut found = Pairs::default();
    for window in windows {
        if window.number.is_multiple_of(2) {
            waiting.insert(window.thread, *window);
            continue;
        }
        let Some(first) = waiting.remove(&window.thread) else {
            continue;
        };
        let is_pair = first.number + 1 == window.number && first.edited != window.edited;
        if !is_pair || first.number < first_number {
            continue;
        }
        let (as_is, edited) = match first.edited {
            true => (*window, first),
            false => (first, *window),
        };
        let seconds = |window: DuetWindow| window.cpu_nanoseconds as f64 * 1e-9;
        let enough = |window: DuetWindow| window.rounds >= MIN_ROUNDS && window.cpu_nanoseconds > 0;
        if enough(as_is) && enough(edited) {
            found.compared.push(Pair {
                as_is: seconds(as_is) / as_is.rounds as f64,
                edited: seconds(edited) / edited.rounds as f64,
                as_is_seconds: seconds(as_is),
                edited_seconds: seconds(edited),
            });
        } else {
            found.other_seconds += seconds(as_is) + seconds(edited);
        }
    }
    found
}

impl Pairs {
    /// Adds the pairs of another run.
    pub fn extend(&mut self, other: Self) {
        self.compared.extend(other.compared);
        self.other_seconds += other.other_seconds;
        self.of_replicas |= other.of_replicas;
    }

    /// Median time for each execution in the code as it is, seconds, with what is done between.
    #[must_use]
    pub fn as_is_seconds(&self) -> Option<f64> {
        let times: Vec<f64> = self.compared.iter().map(|pair| pair.as_is).collect();
        genba_stats::median(&times).ok()
    }

    /// Returns the largest part of the time of edited windows which reading a log may have taken, if each of their
    /// rounds is an entry.
    #[must_use]
    pub fn log_share(&self) -> Option<f64> {
        /// Most time for an entry, seconds. With the results of `strlen` from the log, an iteration took 9 ns more
        /// than with the call hoisted in the source where the loop does little else, 3.5 ns more beside a chain of
        /// 13 ns (Emerald Rapids at 2.7 GHz).
        const ENTRY_SECONDS: f64 = 9e-9;
        let mut times: Vec<f64> = self.compared.iter().map(|pair| pair.edited).collect();
        times.sort_by(f64::total_cmp);
        let time = times.get(times.len() / 2)?;
        Some((ENTRY_SECONDS / time).min(1.0))
    }

    /// Returns the program's time if all of it were as it is, and all of it edited, by the ratio edited ÷
    /// as it is.
    fn program_seconds(&self, ratio: f64) -> (f64, f64) {
        let mut both = (self.other_seconds, self.other_seconds);
        for pair in &self.compared {
            both.0 += pair.as_is_seconds + pair.edited_seconds / ratio;
            both.1 += pair.as_is_seconds * ratio + pair.edited_seconds;
        }
        both
    }

    /// Returns the speedup of the program by the ratio edited ÷ as it is of pairs.
    #[must_use]
    pub fn program_speedup(&self, ratio: Estimate) -> Estimate {
        let speedup = |ratio: f64| {
            let (before, after) = self.program_seconds(ratio);
            if after > 0.0 {
                before / after
            } else {
                1.0 / ratio
            }
        };
        Estimate {
            value: speedup(ratio.value),
            low: speedup(ratio.high),
            high: speedup(ratio.low),
        }
    }
}

/// Returns the speedup of a site with a share of the program's time, by that of the program: Amdahl's law
/// inverted. `None` if the program gained about as much as the whole site takes.
#[must_use]
pub fn site_speedup(program: Estimate, share: Estimate) -> Option<Estimate> {
    /// Part of the site's time that must remain for a quotient that says something.
    const MIN_RESIDUAL: f64 = 0.05;
    let speedup = |program: f64, share: f64| {
        let share = share.clamp(0.0, 1.0);
        let left = share - (1.0 - 1.0 / program);
        (left > MIN_RESIDUAL * share).then(|| share / left)
    };
    let value = speedup(program.value, share.value)?;
    // A larger share makes less of the same gain.
    let ends = [
        speedup(program.low, share.low)?,
        speedup(program.low, share.high)?,
        speedup(program.high, share.low)?,
        speedup(program.high, share.high)?,
    ];
    let low = ends.iter().copied().fold(value, f64::min);
    let high = ends.iter().copied().fold(value, f64::max);
    Some(Estimate { value, low, high })
}

/// Returns the bound of a program's speedup if the measured one is certainly above what leaving out all of the site's
/// samples gives: then windows lay where the site is, or other code waited for it. The bound is then what the samples
/// give, and its upper end what was measured.
#[must_use]
pub fn bound_by_samples(measured: Estimate, share: Estimate) -> Option<Estimate> {
    let without = |share: f64| 1.0 / (1.0 - share.clamp(0.0, 1.0));
    (measured.low > without(share.high)).then(|| Estimate {
        value: without(share.value),
        low: without(share.low),
        high: measured.high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(thread: u64, number: u32, edited: bool, rounds: u64, ms: u64) -> DuetWindow {
        DuetWindow {
            thread,
            number,
            edited,
            rounds,
            cpu_nanoseconds: ms * 1_000_000,
            page_faults: 0,
        }
    }

    #[test]
    fn moments_of_replicas_count_the_same_whatever_they_took() {
        let windows = [
            window(1, 0, false, 100, 4),
            window(1, 1, true, 100, 2),
            window(1, 2, true, 0, 30),
            window(1, 3, false, 0, 30),
        ];
        let found = pairs_of_replicas(&windows);
        assert_eq!(found.compared.len(), 1);
        assert!((found.as_is_seconds().expect("one") - 4e-5).abs() < 1e-12);
        // Half of the moments take half of the time.
        let speedup = found.program_speedup(Estimate::exact(0.5));
        assert!((speedup.value - 4.0 / 3.0).abs() < 1e-9, "{speedup:?}");
    }

    #[test]
    fn log_takes_much_of_short_executions_and_little_of_long_ones() {
        let share = |rounds| {
            let windows = [
                window(1, 0, false, rounds, 4),
                window(1, 1, true, rounds, 1),
            ];
            pairs_of_replicas(&windows).log_share().expect("a pair")
        };
        // 10 ns remain, 16 ns, 1 µs.
        assert!((share(100_000) - 0.9).abs() < 1e-9);
        assert!((share(62_500) - 0.5625).abs() < 1e-9);
        assert!(share(1_000) < 0.01);
    }

    #[test]
    fn windows_of_a_thread_are_paired_in_either_order() {
        let windows = [
            window(1, 0, false, 100, 4),
            window(1, 1, true, 100, 4),
            window(1, 2, true, 200, 4),
            window(2, 2, false, 1000, 4),
            window(1, 3, false, 100, 4),
            window(2, 3, true, 1000, 8),
        ];
        let found = pairs(&windows);
        let ratios: Vec<f64> = found.compared.iter().map(|p| p.edited / p.as_is).collect();
        assert_eq!(ratios, [0.5, 2.0]);
    }

    #[test]
    fn windows_that_are_not_pairs_and_pairs_without_rounds_are_not_compared() {
        let windows = [
            window(1, 2, false, 100, 4),
            window(1, 4, false, 100, 4),
            window(1, 5, false, 100, 4),
            window(1, 7, true, 100, 4),
            window(1, 8, true, 0, 4),
            window(1, 9, false, 3, 4),
        ];
        let found = pairs(&windows);
        assert_eq!(found.compared, []);
        assert!((found.other_seconds - 0.008).abs() < 1e-12);
    }

    #[test]
    fn time_without_rounds_is_not_sped_up() {
        let windows = [
            window(1, 2, false, 100, 4),
            window(1, 3, true, 200, 4),
            window(1, 4, true, 0, 6),
            window(1, 5, false, 0, 6),
        ];
        let found = pairs(&windows);
        // 12 ms for 300 rounds as it is and 6 ms edited, and 12 ms of other work.
        let speedup = found.program_speedup(Estimate::exact(0.5));
        assert!((speedup.value - 24.0 / 18.0).abs() < 1e-9, "{speedup:?}");
    }

    #[test]
    fn bound_above_what_the_samples_allow_is_noticed() {
        let program = Estimate {
            value: 2.0,
            low: 1.9,
            high: 2.1,
        };
        let share = |high: f64| Estimate {
            high,
            ..Estimate::exact(high - 0.02)
        };
        let bound = bound_by_samples(program, share(0.33)).expect("above it");
        assert!((bound.value - 1.0 / 0.69).abs() < 1e-12);
        assert_eq!(bound.high, program.high);
        assert_eq!(bound_by_samples(program, share(0.5)), None);
        assert_eq!(bound_by_samples(program, share(1.0)), None);
    }

    #[test]
    fn the_site_gains_more_than_the_program() {
        let found = site_speedup(Estimate::exact(1.25), Estimate::exact(0.4)).expect("finite");
        assert!((found.value - 2.0).abs() < 1e-9);
        assert_eq!(
            site_speedup(Estimate::exact(2.0), Estimate::exact(0.5)),
            None
        );
        let same = site_speedup(Estimate::exact(1.0), Estimate::exact(0.3)).expect("finite");
        assert!((same.value - 1.0).abs() < 1e-9);
    }
}
