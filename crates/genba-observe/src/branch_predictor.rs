//! A model of a modern branch predictor: TAGE with a bimodal base.
//!
//! Source: A. Seznec and P. Michaud, "A case for (partially) TAgged GEometric history length branch
//! prediction", JILP 8, 2006. Sizes are modest beside a real core's, which predicts a little better.

use crate::fast_hash::mix;

const BASE_BITS: u32 = 14;
const TABLE_BITS: u32 = 12;

/// Outcomes of the past that each tagged table looks at.
const HISTORY_LENGTHS: [u32; 6] = [4, 9, 18, 36, 72, 128];

/// Updates after which the usefulness of all entries is halved.
const AGING_PERIOD: u32 = 1 << 18;

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// −4…3; taken from 0.
    counter: i8,
    useful: u8,
}

pub(crate) struct BranchPredictor {
    /// −2…1; taken from 0.
    base: Vec<i8>,
    tables: Vec<Vec<Entry>>,
    history: u128,
    updates: u32,
}

impl BranchPredictor {
    pub(crate) fn new() -> Self {
        Self {
            base: vec![-1; 1 << BASE_BITS],
            tables: vec![vec![Entry::default(); 1 << TABLE_BITS]; HISTORY_LENGTHS.len()],
            history: 0,
            updates: 0,
        }
    }

    /// Forgets the outcomes of the past, not what was learnt of them: between bursts.
    pub(crate) fn forget_history(&mut self) {
        self.history = 0;
    }

    fn slot(&self, table: usize, branch: u64) -> (usize, u16) {
        let length = HISTORY_LENGTHS[table];
        let past = match length {
            128 => self.history,
            _ => self.history & ((1 << length) - 1),
        };
        let hash = mix(
            mix(branch, past as u64),
            (past >> 64) as u64 ^ u64::from(length) << 58,
        );
        let index = (hash & ((1 << TABLE_BITS) - 1)) as usize;
        // No tag is 0, which empty entries have.
        (index, (hash >> 40) as u16 | 1)
    }

    /// Predicts a branch, learns its outcome, and returns whether the prediction was right.
    pub(crate) fn predict(&mut self, branch: u64, taken: bool) -> bool {
        let base = (mix(branch, 0) & ((1 << BASE_BITS) - 1)) as usize;
        let slots: [(usize, u16); HISTORY_LENGTHS.len()] =
            std::array::from_fn(|table| self.slot(table, branch));
        let mut matching = (0..slots.len())
            .rev()
            .filter(|&table| self.tables[table][slots[table].0].tag == slots[table].1);
        let provider = matching.next();
        let other = matching.next();
        let guess_of = |table: Option<usize>| match table {
            Some(table) => self.tables[table][slots[table].0].counter >= 0,
            None => self.base[base] >= 0,
        };
        let (long, short) = (guess_of(provider), guess_of(other));
        // A new entry knows less than the one that it was made beside.
        let fresh = provider.is_some_and(|table| {
            let entry = self.tables[table][slots[table].0];
            entry.useful == 0 && matches!(entry.counter, -1 | 0)
        });
        let guess = if fresh { short } else { long };
        let right = guess == taken;
        let step = |counter: i8, low: i8, high: i8| match taken {
            true => (counter + 1).min(high),
            false => (counter - 1).max(low),
        };
        match provider {
            Some(table) => {
                let entry = &mut self.tables[table][slots[table].0];
                if long != short {
                    entry.useful = match long == taken {
                        true => (entry.useful + 1).min(3),
                        false => entry.useful.saturating_sub(1),
                    };
                }
                entry.counter = step(entry.counter, -4, 3);
                if entry.useful == 0 {
                    self.base[base] = step(self.base[base], -2, 1);
                }
            }
            None => self.base[base] = step(self.base[base], -2, 1),
        }
        if !right {
            self.allocate(provider.map_or(0, |table| table + 1), &slots, taken);
        }
        self.history = self.history << 1 | u128::from(taken);
        self.updates += 1;
        if self.updates.is_multiple_of(AGING_PERIOD) {
            let entries = self.tables.iter_mut().flatten();
            entries.for_each(|entry| entry.useful >>= 1);
        }
        right
    }

    fn allocate(&mut self, first: usize, slots: &[(usize, u16)], taken: bool) {
        for (table, &(index, tag)) in slots.iter().enumerate().skip(first) {
            let entry = &mut self.tables[table][index];
            if entry.useful == 0 {
                *entry = Entry {
                    tag,
                    counter: if taken { 0 } else { -1 },
                    useful: 0,
                };
                return;
            }
        }
        for (table, &(index, _)) in slots.iter().enumerate().skip(first) {
            self.tables[table][index].useful -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(outcomes: impl Iterator<Item = (u64, bool)>) -> f64 {
        let mut predictor = BranchPredictor::new();
        let (mut wrong, mut all) = (0.0, 0.0);
        for (index, (branch, taken)) in outcomes.enumerate() {
            let right = predictor.predict(branch, taken);
            if index > 5000 {
                wrong += f64::from(u8::from(!right));
                all += 1.0;
            }
        }
        wrong / all
    }

    fn coin(state: &mut u64) -> bool {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *state >> 63 == 1
    }

    #[test]
    fn coin_tosses_are_missed_half_the_time() {
        let mut state = 3;
        let rate = missed((0..40_000).map(|_| (0x10, coin(&mut state))));
        assert!((0.45..0.56).contains(&rate), "{rate}");
    }

    #[test]
    fn biased_coin_is_missed_about_as_often_as_its_rarer_side_comes() {
        let mut state = 3;
        let mut rare = || coin(&mut state) & coin(&mut state) & coin(&mut state);
        let rate = missed((0..80_000).map(|_| (0x10, rare())));
        assert!((0.1..0.2).contains(&rate), "{rate}");
    }

    #[test]
    fn patterns_loops_and_correlated_branches_are_learnt() {
        let pattern = missed((0..40_000).map(|one| (0x10, [0, 3, 4, 9].contains(&(one % 11)))));
        assert!(pattern < 0.01, "pattern {pattern}");
        let trips = missed((0..40_000).map(|one| (0x20, one % 17 != 16)));
        assert!(trips < 0.01, "loop {trips}");
        let mut state = 5;
        let mut last = false;
        let correlated = missed((0..40_000).map(|one| {
            if one % 2 == 0 {
                last = coin(&mut state);
            }
            (if one % 2 == 0 { 0x30 } else { 0x40 }, last)
        }));
        // The first of each pair is random, the second follows it.
        assert!((0.2..0.29).contains(&correlated), "correlated {correlated}");
    }
}
