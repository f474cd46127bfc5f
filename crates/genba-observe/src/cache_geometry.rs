//! The caches that the levels of loads refer to.

use serde::{Deserialize, Serialize};

/// Size of one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSize {
    /// Its size.
    pub bytes: u64,
    /// Lines in a set.
    pub ways: u32,
}

/// Data caches and TLBs of a processor, as one thread sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheGeometry {
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// First level, data.
    pub l1: CacheSize,
    /// Second level, bytes.
    pub l2_bytes: u64,
    /// Last level, bytes; `None` if there is no third level.
    pub l3_bytes: Option<u64>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that the last level of the data TLB maps.
    pub tlb_pages: u64,
}

impl Default for CacheGeometry {
    /// What most server cores since 2019 have at least: Zen 2 to 4, Ice Lake.
    fn default() -> Self {
        Self {
            line_bytes: 64,
            l1: CacheSize {
                bytes: 32 << 10,
                ways: 8,
            },
            l2_bytes: 512 << 10,
            l3_bytes: Some(16 << 20),
            page_bytes: 4096,
            tlb_pages: 1536,
        }
    }
}

impl CacheGeometry {
    /// The same with values that a simulation can work with: powers of two for line and page, at
    /// least one line in each cache.
    pub(crate) fn checked(self) -> Self {
        let line_bytes = self.line_bytes.clamp(16, 4096).next_power_of_two();
        let ways = self.l1.ways.clamp(1, 1024);
        Self {
            line_bytes,
            l1: CacheSize {
                bytes: (self.l1.bytes).clamp(line_bytes * u64::from(ways), 1 << 26),
                ways,
            },
            l2_bytes: self.l2_bytes.max(self.l1.bytes),
            l3_bytes: self.l3_bytes.map(|bytes| bytes.max(self.l2_bytes)),
            page_bytes: self
                .page_bytes
                .clamp(line_bytes, 1 << 30)
                .next_power_of_two(),
            tlb_pages: self.tlb_pages.max(1),
        }
    }
}
