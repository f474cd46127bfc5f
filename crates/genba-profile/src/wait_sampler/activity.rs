//! Whether a thread is at work: it was on a CPU a good deal lately, or often.

/// Over which time it is judged, ns.
const LATELY_NS: f64 = 500e6;
/// Share of a CPU from which on a thread is at work.
const MIN_SHARE: f64 = 0.01;
/// Times per second on a CPU from which on it is, however short they were.
const MIN_RATE: f64 = 50.0;

/// Fading averages of a thread's time on CPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    /// Share of a CPU.
    share: f64,
    /// Times per second that it got one.
    rate: f64,
}

impl Activity {
    /// Adds a stretch of `ns`, in which the thread ran for `running` ns in `slices` pieces.
    pub fn add(&mut self, running: u64, slices: u64, ns: u64) {
        if ns == 0 {
            return;
        }
        let ns = ns as f64;
        let old = (-ns / LATELY_NS).exp();
        self.share = self.share * old + running as f64 / ns * (1.0 - old);
        self.rate = self.rate * old + slices as f64 / (ns / 1e9) * (1.0 - old);
    }

    /// Times per second that the thread got a CPU.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether it is at work.
    pub fn is_at_work(&self) -> bool {
        self.share >= MIN_SHARE || self.rate >= MIN_RATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(stretches: u64, running: u64, slices: u64) -> Activity {
        let mut activity = Activity::default();
        for _ in 0..stretches {
            activity.add(running, slices, 2_000_000);
        }
        activity
    }

    #[test]
    fn work_is_distinguished_from_an_occasional_tick() {
        assert!(!Activity::default().is_at_work());
        // 40 µs of each 2 ms.
        assert!(after(1000, 40_000, 0).is_at_work());
        // Once in 2 ms, for a moment.
        assert!(after(1000, 1_000, 1).is_at_work());
        // Five times a second for 20 µs.
        let mut ticks = Activity::default();
        for at in 0..1000 {
            let now = u64::from(at % 100 == 0);
            ticks.add(20_000 * now, now, 2_000_000);
        }
        assert!(!ticks.is_at_work());
        // Work that ended two seconds ago.
        let mut ended = after(1000, 2_000_000, 1);
        (0..1500).for_each(|_| ended.add(0, 0, 2_000_000));
        assert!(!ended.is_at_work());
    }
}
