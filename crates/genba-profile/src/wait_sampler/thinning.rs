//! Which of very many samples are kept, so that an hour takes little more room than a minute.

/// Samples that are kept before each second one is, and again before each fourth, and so on.
const STEP: u64 = 4096;

/// Decides on one sample after the other.
#[derive(Debug)]
pub struct Thinning {
    kept: u64,
    seen: u64,
    weight: u64,
}

impl Default for Thinning {
    fn default() -> Self {
        Self {
            kept: 0,
            seen: 0,
            weight: 1,
        }
    }
}

impl Thinning {
    /// How many samples the next one stands for if it is kept; `None` if it is not.
    pub fn next_weight(&mut self) -> Option<u64> {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.weight) {
            return None;
        }
        let weight = self.weight;
        self.kept += 1;
        if self.kept.is_multiple_of(STEP) {
            self.weight *= 2;
            self.seen = 0;
        }
        Some(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up_and_room_stays_small() {
        let mut thinning = Thinning::default();
        const SEEN: u64 = 1_000_000;
        let weights: Vec<u64> = (0..SEEN).filter_map(|_| thinning.next_weight()).collect();
        let sum: u64 = weights.iter().sum();
        // The last ones may still be on their way to the next that is kept.
        let last = weights.last().expect("some are kept");
        assert!(sum <= SEEN && SEEN - sum < 2 * last, "{sum}");
        assert!(weights.len() < 10 * STEP as usize, "{}", weights.len());
        assert!(weights[..STEP as usize].iter().all(|weight| *weight == 1));
    }
}
