//! Batches of repetitions, each between two runs of the reference chain.

use std::time::Instant;

use super::cpu_pinning::involuntary_switches;
use super::repetition_statistics::{Repetition, Round, quantile, summarise};
use super::timed_work::Work;
use super::x86_64::{Entry, REFERENCE_ADDITIONS};

/// Iterations of the reference loop in one run: about 4 µs.
const REFERENCE_ROUNDS: u64 = 250;
/// The repetitions of the shortest kernels take about as long as this.
const TARGET_NANOSECONDS: f64 = 6_000.0;

/// The clock and the reference beside it.
pub(super) struct Timer {
    reference: Entry,
    /// Nanoseconds that reading the clock and entering a kernel take.
    overhead: f64,
    /// Clock rates seen, cycles a second.
    pub(super) rates: Vec<f64>,
}

impl Timer {
    /// Warms the CPU up and measures the cost of measuring.
    pub(super) fn new(reference: Entry) -> Self {
        let mut timer = Self {
            reference,
            overhead: 0.0,
            rates: Vec::new(),
        };
        let started = Instant::now();
        while started.elapsed().as_millis() < 10 {
            timer.chain(REFERENCE_ROUNDS);
        }
        let least = |rounds: u64| {
            (0..100)
                .map(|_| timer.chain(rounds))
                .fold(f64::INFINITY, f64::min)
        };
        let (short, long) = (least(1), least(1 + REFERENCE_ROUNDS));
        let round = (long - short) / REFERENCE_ROUNDS as f64;
        timer.overhead = (short - round).max(0.0);
        timer
    }

    /// Nanoseconds of this many iterations of the reference, overhead included.
    fn chain(&self, rounds: u64) -> f64 {
        let started = Instant::now();
        // SAFETY: the reference touches no memory but its own stack frame.
        unsafe { (self.reference)(rounds, std::ptr::null_mut()) };
        started.elapsed().as_nanos() as f64
    }

    fn once(&self, work: &mut Work, rounds: u64) -> f64 {
        let started = Instant::now();
        work.run(rounds);
        started.elapsed().as_nanos() as f64 - self.overhead
    }

    /// Rounds of a kernel's loop that take about `share` of the usual time of a repetition.
    pub(super) fn rounds_for(&self, work: &mut Work, share: f64) -> u64 {
        work.prepare();
        work.run(1);
        let mut rounds = 1;
        loop {
            work.prepare();
            let first = self.once(work, rounds);
            work.prepare();
            let taken = first.min(self.once(work, rounds)).max(1.0);
            if taken >= TARGET_NANOSECONDS / 3.0 || rounds >= 1 << 20 {
                let scaled = rounds as f64 * TARGET_NANOSECONDS * share / taken;
                return (scaled.round() as u64).max(1);
            }
            rounds *= 4;
        }
    }

    /// One batch. `instances` is the number of forms in one round of the kernel's loop.
    pub(super) fn batch(
        &mut self,
        work: &mut Work,
        rounds: u64,
        instances: f64,
        repetitions: usize,
    ) -> Option<Round> {
        let switches = involuntary_switches();
        let mut all = Vec::with_capacity(repetitions);
        work.prepare();
        work.run(rounds);
        let mut before = self.chain(REFERENCE_ROUNDS) - self.overhead;
        for _ in 0..repetitions {
            work.prepare();
            let kernel = self.once(work, rounds);
            let after = self.chain(REFERENCE_ROUNDS) - self.overhead;
            all.push(Repetition {
                before,
                kernel,
                after,
            });
            before = after;
        }
        let cycles = REFERENCE_ROUNDS as f64 * f64::from(REFERENCE_ADDITIONS);
        let mut times: Vec<f64> = all
            .iter()
            .map(|one| one.after)
            .filter(|&t| t > 0.0)
            .collect();
        times.sort_by(f64::total_cmp);
        if let Some(time) = quantile(&times, 0.25) {
            self.rates.push(cycles / time * 1e9);
        }
        let mut round = summarise(&all, cycles, instances * rounds as f64)?;
        // One switch spoils one repetition or two; many say that the CPU is not ours.
        round.disturbed |= involuntary_switches() - switches > (repetitions / 8) as i64;
        Some(round)
    }
}
