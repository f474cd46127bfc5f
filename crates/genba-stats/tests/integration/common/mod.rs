//! Random numbers with fixed seeds, and shapes of noise.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// A source of noise whose numbers are the same on every machine.
pub struct Noise(Xoshiro256PlusPlus);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform, never 0.
    pub fn uniform(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    pub fn coin(&mut self) -> bool {
        self.0.random::<bool>()
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Cauchy: so heavy a tail that it has no mean.
    pub fn cauchy(&mut self) -> f64 {
        (std::f64::consts::PI * (self.uniform() - 0.5)).tan()
    }

    /// A run time: 1 with 2 % scatter and a burst to up to tenfold in every twentieth run.
    pub fn run_time(&mut self) -> f64 {
        let burst = if self.uniform() < 0.05 {
            1.0 + 9.0 * self.uniform()
        } else {
            1.0
        };
        (0.02 * self.normal()).exp() * burst
    }
}

/// Three standard errors of a share `p` found in `trials` independent trials.
pub fn three_errors(p: f64, trials: usize) -> f64 {
    3.0 * (p * (1.0 - p) / trials as f64).sqrt()
}
