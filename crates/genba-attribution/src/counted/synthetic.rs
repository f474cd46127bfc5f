//! Synthetic counts for tests.

use genba_model::{CountEngine, ProcessCounts, RawCounts};

/// The counts of these processes, transfers included.
pub(super) fn raw(processes: Vec<ProcessCounts>) -> RawCounts {
    RawCounts {
        engine: CountEngine {
            name: "test".to_owned(),
            version: String::new(),
            gaps: Vec::new(),
        },
        command: Vec::new(),
        cpu_seconds: 0.0,
        wall_seconds: 0.0,
        exit: 0,
        transfers: true,
        transfers_within: Vec::new(),
        processes,
        notes: Vec::new(),
    }
}
