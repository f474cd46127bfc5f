//! Samples added up: per location, per stack, per thread. Bounded by the number of distinct
//! places, not by that of samples.

use genba_profile::reader::{Sample, Tables};

/// Samples and the sum of their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Number of samples.
    pub samples: u64,
    /// Sum of weights: nanoseconds for a clock, events for a counter.
    pub weight: u64,
}

/// Hits of one function by address in its module.
pub type AddressHits = Vec<(u64, Hits)>;

impl Hits {
    fn add(&mut self, weight: u64) {
        self.samples += 1;
        self.weight = self.weight.saturating_add(weight);
    }
}

/// All samples of one event of a recording, added up.
#[derive(Debug, Default)]
pub struct Histogram {
    /// By location id.
    pub locations: Vec<Hits>,
    /// By stack id (the stack's innermost frame).
    pub stacks: Vec<Hits>,
    /// By thread id.
    pub threads: Vec<Hits>,
    /// Sums over all samples.
    pub all: Hits,
    /// Those in the kernel.
    pub kernel: Hits,
    /// Sum of squared weights, for the effective number of samples.
    pub squares: u128,
}

impl Histogram {
    /// Adds a sample. A weight of zero (an event that did not say) counts as one.
    pub fn add(&mut self, sample: &Sample, tables: &Tables) {
        let weight = sample.weight.max(1);
        at(
            &mut self.locations,
            sample.location.0,
            tables.locations.len(),
        )
        .add(weight);
        at(&mut self.stacks, sample.stack.0, tables.frames.len()).add(weight);
        at(&mut self.threads, sample.thread.0, tables.threads.len()).add(weight);
        self.all.add(weight);
        if sample.kernel {
            self.kernel.add(weight);
        }
        let square = u128::from(weight) * u128::from(weight);
        self.squares = self.squares.saturating_add(square);
    }
}

/// The entry of an id; the table behind the ids has `known` entries by now.
fn at(list: &mut Vec<Hits>, id: u32, known: usize) -> &mut Hits {
    let index = id as usize;
    if list.len() <= index {
        list.resize(known.max(index + 1), Hits::default());
    }
    &mut list[index]
}
