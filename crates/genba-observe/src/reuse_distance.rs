//! After how many accesses a line is accessed again, and whether a cache still holds it then.
//!
//! Source: D. Eklov and E. Hagersten, "StatStack: efficient modeling of LRU caches", ISPASS 2010:
//! the number of different lines between two accesses to one follows from the distribution of the
//! reuse distances of all. A burst knows of a line's first access only that the last one was before
//! the burst: such distances are censored, and the distribution is E. Kaplan and P. Meier's estimate
//! (JASA 53, 1958).

/// Bins of distances in each doubling.
const BINS_PER_OCTAVE: f64 = 8.0;

/// Bins: distances up to 2^26 accesses, far beyond a burst.
const BINS: usize = 26 * 8 + 1;

/// Observations from which on the estimate is used: with fewer at risk it says nothing.
const MIN_AT_RISK: f64 = 8.0;

/// What is known of one access's distance to the last one of its line, in accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// So many.
    After(u32),
    /// More than this: the line was not accessed before in the burst.
    Beyond(u32),
}

fn bin(distance: u32) -> usize {
    let bin = f64::from(distance.max(1)).log2() * BINS_PER_OCTAVE;
    (bin as usize).min(BINS - 1)
}

/// The largest distance of a bin.
fn distance_of(bin: usize) -> f64 {
    ((bin + 1) as f64 / BINS_PER_OCTAVE).exp2()
}

/// Distances of many accesses.
#[derive(Clone, Default)]
pub(crate) struct ReuseCounts {
    known: Vec<u32>,
    beyond: Vec<u32>,
}

impl ReuseCounts {
    pub(crate) fn add(&mut self, reuse: Reuse) {
        let (list, bin) = match reuse {
            Reuse::After(distance) => (&mut self.known, bin(distance)),
            Reuse::Beyond(distance) => (&mut self.beyond, bin(distance)),
        };
        if list.len() <= bin {
            list.resize(bin + 1, 0);
        }
        list[bin] += 1;
    }

    /// Probability of a larger distance than each bin's, up to the last bin of which enough is
    /// known.
    pub(crate) fn survival(&self) -> Survival {
        let count = |list: &[u32], bin: usize| f64::from(list.get(bin).copied().unwrap_or(0));
        let sum = |list: &[u32]| list.iter().map(|&one| f64::from(one)).sum::<f64>();
        let mut at_risk = sum(&self.known) + sum(&self.beyond);
        let mut beyond = Vec::new();
        let mut probability = 1.0;
        for bin in 0..self.known.len().max(self.beyond.len()) {
            if at_risk < MIN_AT_RISK {
                break;
            }
            let censored = count(&self.beyond, bin);
            let events = count(&self.known, bin);
            // Within a bin censored ones are at risk for half of it on average.
            probability *= 1.0 - (events / (at_risk - censored / 2.0)).clamp(0.0, 1.0);
            at_risk -= censored + events;
            beyond.push(probability);
        }
        Survival { beyond }
    }
}

/// Probability of a reuse distance beyond a given one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survival {
    beyond: Vec<f64>,
}

impl Survival {
    /// The probability of a distance beyond this one; beyond what was seen, that of the last bin.
    pub(crate) fn beyond(&self, distance: f64) -> f64 {
        if self.beyond.is_empty() {
            return 1.0;
        }
        let at = distance.max(1.0).log2() * BINS_PER_OCTAVE;
        // Linear between the ends of bins; the probability is 1 at the beginning.
        let index = at.floor() as usize;
        let part = at - at.floor();
        let value = |ends: usize| match ends {
            0 => 1.0,
            ends => self.beyond[(ends - 1).min(self.beyond.len() - 1)],
        };
        value(index) + part * (value(index + 1) - value(index))
    }

    /// The largest distance of which anything is known.
    pub(crate) fn horizon(&self) -> f64 {
        self.beyond.len().checked_sub(1).map_or(1.0, distance_of)
    }

    /// The least distance in accesses between which so many different lines are accessed; `None`
    /// if that is beyond the horizon.
    pub(crate) fn distance_of_lines(&self, lines: f64) -> Option<f64> {
        let (mut found, mut from, mut before) = (0.0, 1.0, 1.0);
        for (bin, &probability) in self.beyond.iter().enumerate() {
            let to = distance_of(bin);
            let here = (to - from) * 0.5 * (before + probability);
            if found + here >= lines {
                let part = if here > 0.0 {
                    (lines - found) / here
                } else {
                    0.0
                };
                return Some(from + part * (to - from));
            }
            found += here;
            (from, before) = (to, probability);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(lines: u64, accesses: u32, bursts: u32) -> ReuseCounts {
        let mut counts = ReuseCounts::default();
        let mut state = 1u64;
        for _ in 0..bursts {
            let mut last = std::collections::HashMap::new();
            for now in 0..accesses {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let line = (state >> 33) % lines;
                counts.add(match last.insert(line, now) {
                    Some(before) => Reuse::After(now - before),
                    None => Reuse::Beyond(now + 1),
                });
            }
        }
        counts
    }

    #[test]
    fn censored_distances_do_not_bias_the_distribution() {
        // Uniform over 1,000 lines: beyond d with probability (1 − 1/1000)^d.
        let survival = uniform(1000, 1500, 200).survival();
        for distance in [100.0f64, 500.0, 1200.0] {
            let expected = (1.0 - 1e-3f64).powf(distance);
            let found = survival.beyond(distance);
            assert!(
                (found - expected).abs() < 0.02,
                "{distance}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn stack_distance_of_uniform_accesses() {
        let survival = uniform(1000, 1500, 200).survival();
        // After d accesses 1000 (1 − e^(−d/1000)) different lines were accessed.
        let found = survival
            .distance_of_lines(500.0)
            .expect("within the horizon");
        assert!((found - 693.0).abs() < 30.0, "{found}");
        assert!(survival.distance_of_lines(950.0).is_none());
    }

    #[test]
    fn nothing_seen_says_nothing() {
        let survival = ReuseCounts::default().survival();
        assert!(survival.beyond(100.0) == 1.0 && survival.distance_of_lines(1.0).is_none());
    }
}
