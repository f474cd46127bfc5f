//! How many threads may be stopped: within a share of the time.

use std::time::{Duration, Instant};

use super::MAX_STOPPED_SHARE;
use crate::split_mix::SplitMix;

/// Accepts as many clock samples as keep the time with a thread stopped within
/// [`MAX_STOPPED_SHARE`]. Of each run of clock samples for which there is one stop, a random one is accepted: weights stay similar,
/// and a program that repeats itself is not met in the same phase each time.
pub struct StopThrottle {
    /// Mean time between two clock samples, seconds.
    mean_interval: f64,
    /// Mean duration of a stop, seconds.
    mean_stop: f64,
    last: Instant,
    /// Stops that might have been made so far, of this one and the next: 0 to 2.
    credit: f64,
    /// The credit at which the next sample is accepted: between 0 and 1 for this stop.
    accepted_at: f64,
    random: SplitMix,
}

impl StopThrottle {
    /// Starts without knowing intervals or durations of stops.
    pub fn new() -> Self {
        Self {
            mean_interval: 0.002,
            mean_stop: 0.0,
            last: Instant::now(),
            credit: 0.0,
            accepted_at: 0.0,
            random: SplitMix::default(),
        }
    }

    /// Whether to stop the thread of a clock sample that came now.
    pub fn accepts(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last).as_secs_f64();
        self.last = now;
        // A pause of the target says nothing about its rate.
        self.mean_interval += (since.min(0.1) - self.mean_interval) * 0.02;
        let share = (MAX_STOPPED_SHARE * self.mean_interval / self.mean_stop.max(1e-7)).min(1.0);
        self.credit += share;
        let accepted = self.credit > self.accepted_at;
        if accepted {
            // The next one is in the following unit, at its own random place.
            self.credit -= 1.0;
            self.accepted_at = self.random.uniform();
        }
        accepted
    }

    /// Takes note of how long a thread was stopped.
    pub fn stopped(&mut self, time: Duration) {
        self.mean_stop += (time.as_secs_f64().min(0.01) - self.mean_stop) * 0.05;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_that_repeats_itself_is_met_in_all_phases() {
        // One of four samples is accepted, and the program does the same again after four.
        let mut throttle = StopThrottle::new();
        throttle.mean_stop = 4.0 * 0.002 * MAX_STOPPED_SHARE;
        let mut now = throttle.last;
        let mut met = [0_u32; 4];
        for tick in 0..8000 {
            now += Duration::from_micros(2000);
            if throttle.accepts(now) {
                met[tick % 4] += 1;
            }
        }
        let all: u32 = met.iter().sum();
        assert!((1990..=2010).contains(&all), "{all}");
        assert!(met.iter().all(|&one| one.abs_diff(500) < 100), "{met:?}");
    }

    #[test]
    fn stops_stay_within_the_share_of_time_whatever_they_cost() {
        for cost in [5e-6, 50e-6, 2e-3] {
            let mut throttle = StopThrottle::new();
            let mut now = throttle.last;
            let (mut stopped, mut stops, ticks) = (0.0, 0, 20_000);
            for _ in 0..ticks {
                now += Duration::from_micros(2000);
                if throttle.accepts(now) {
                    throttle.stopped(Duration::from_secs_f64(cost));
                    stopped += cost;
                    stops += 1;
                }
            }
            let all = f64::from(ticks) * 0.002;
            assert!(
                stopped <= all * MAX_STOPPED_SHARE * 1.1 + 0.1,
                "{stopped} of {all}"
            );
            assert!(stops >= ticks / 50, "{stops} with {cost}");
        }
    }
}
