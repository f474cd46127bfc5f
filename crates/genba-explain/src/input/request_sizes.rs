//! Sizes of allocations and copies: tallied in a run of its own, and said in words.

use serde::{Deserialize, Serialize};

use genba_model::MemoryFact;

use crate::constants::counts::{MIDDLE_OF_SIZE_CLASS, USUAL_SIZES_PART};
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::service;

/// Sizes for which one run asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// New memory.
    pub allocated: SizeClasses,
    /// Blocks that were made larger or smaller.
    pub resized: SizeClasses,
    /// Copies of memory.
    pub copied: SizeClasses,
    /// Blocks that were given another address when they were made larger or smaller.
    pub moved: u64,
    /// Bytes that had to be copied for it.
    pub moved_bytes: u64,
    /// Bytes by which blocks were made larger.
    pub grown_bytes: u64,
}

/// How often which sizes came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClasses {
    /// Calls by number of bits of the size: the third is of 2 to 3 bytes, the fourth of 4 to 7.
    pub calls: Vec<u64>,
    /// Bytes in all.
    pub bytes: u64,
}

impl SizeClasses {
    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// Bytes of a call on average.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.bytes as f64 / self.total().max(1) as f64
    }

    /// Part of the bytes in calls of this class and larger ones.
    #[must_use]
    pub fn part_of_bytes_from(&self, least: usize) -> f64 {
        // The middle of a class stands for all of it.
        let sum = |first: usize| -> f64 {
            let classes = self.calls.iter().enumerate().skip(first);
            classes
                .map(|(bits, &n)| n as f64 * MIDDLE_OF_SIZE_CLASS * (bits as f64).exp2())
                .sum()
        };
        sum(least) / sum(0).max(1.0)
    }

    /// The narrowest range of classes that most calls are of.
    fn usual_range(&self) -> Option<(usize, usize, f64)> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let part = |first: usize, last: usize| {
            let inside = self.calls[first..=last].iter();
            inside.fold(0u64, |sum, &n| sum.saturating_add(n)) as f64 / total as f64
        };
        let number = self.calls.len();
        (0..number).find_map(|width| {
            let ranges = (0..number - width).map(|first| (first, first + width));
            let best = ranges.max_by(|a, b| part(a.0, a.1).total_cmp(&part(b.0, b.1)))?;
            let part = part(best.0, best.1);
            (part >= USUAL_SIZES_PART).then_some((best.0, best.1, part))
        })
    }

    /// The sizes of most allocations; `None` without any.
    #[must_use]
    pub fn usual(&self) -> Option<MemoryFact> {
        let (first, last, share) = self.usual_range()?;
        Some(MemoryFact::AllocationSizes {
            share,
            allocations: self.total(),
            low: if first == 0 { 0 } else { 1u64 << (first - 1) },
            high: (1u64 << last.min(63)) - 1,
            bytes: self.bytes,
        })
    }
}

/// Whether the tally's library may be loaded: memory is the GNU C library's own, not that of an
/// allocator which the target brings along.
#[must_use]
pub fn can_be_tallied(input: &AnalysisInput) -> bool {
    let mut all = input.program.called.iter().filter(|one| {
        let entry = service(&one.function);
        one.calls > 0 && matches!(entry, Some(("malloc" | "realloc" | "free" | "copy", _)))
    });
    let gnu = |module: &str| {
        let name = module.rsplit('/').next().unwrap_or(module);
        name.starts_with("libc.so.") || name.starts_with("ld-linux")
    };
    let mut any = false;
    all.all(|one| {
        any = true;
        gnu(&one.module)
    }) && any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::analysis_input::CalledFunction;

    fn classes(calls: &[(usize, u64)], bytes: u64) -> SizeClasses {
        let mut all = vec![0; 49];
        for &(class, number) in calls {
            all[class] = number;
        }
        SizeClasses { calls: all, bytes }
    }

    #[test]
    fn range_of_sizes_holds_most_calls() {
        let mostly = classes(&[(5, 900), (12, 100)], 500_000);
        let usual = MemoryFact::AllocationSizes {
            share: 0.9,
            allocations: 1000,
            low: 16,
            high: 31,
            bytes: 500_000,
        };
        assert_eq!(mostly.usual(), Some(usual));
        assert!((mostly.mean() - 500.0).abs() < 1e-9);
        assert!(mostly.part_of_bytes_from(10) > 0.8);
        assert!(mostly.part_of_bytes_from(13) < 0.01);
        let ones = classes(&[(1, 10)], 10);
        let of_one = |fact| {
            matches!(
                fact,
                MemoryFact::AllocationSizes {
                    low: 1,
                    high: 1,
                    ..
                }
            )
        };
        assert!(ones.usual().is_some_and(of_one));
        assert_eq!(SizeClasses::default().usual(), None);
        // The largest class has no overflow.
        assert!(classes(&[(48, 1)], u64::MAX).usual().is_some());
    }

    #[test]
    fn sizes_are_recorded_with_glibc_malloc_only() {
        let called = |function: &str, module: &str| CalledFunction {
            function: function.to_owned(),
            module: module.to_owned(),
            calls: 10,
            instructions: 100,
        };
        let mut input = AnalysisInput::default();
        assert!(!can_be_tallied(&input));
        input.program.called = vec![
            called("malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
            called("main", "/tmp/a.out"),
        ];
        assert!(can_be_tallied(&input));
        let own = called("malloc", "/usr/lib/libjemalloc.so.2");
        input.program.called.push(own);
        assert!(!can_be_tallied(&input));
    }
}
