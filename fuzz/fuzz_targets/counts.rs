//! What engines leave behind, and targets can write to: callgrind's files of counts, and the
//! file of the plugin for qemu.
#![no_main]

use genba_count::{callgrind, qemu};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut dump = callgrind::CallgrindCounts::default();
    let once = dump.add(bytes).is_ok();
    if once {
        let before = dump.counts.values().fold(0u64, |sum, n| sum.saturating_add(*n));
        assert!(dump.add(bytes).is_ok());
        let after = dump.counts.values().fold(0u64, |sum, n| sum.saturating_add(*n));
        assert!(after >= before);
    }
    if let Ok(counts) = qemu::read(bytes) {
        for block in &counts.blocks {
            let _ = (block.before_last(), block.is_last_cut());
        }
        for edge in counts.edges.iter().chain(&counts.bindings) {
            assert!(edge.from < counts.blocks.len() && edge.to < counts.blocks.len());
        }
    }
});
