//! A recording from anywhere, of perf's or of ours: read whole, with stacks unwound; and what
//! comes out refers to what is there.
#![no_main]

use genba_profile::{ReadOptions, Recording};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::from_bytes(bytes.to_vec(), "fuzz") else {
        return;
    };
    for event in 0..recording.info().events.len().min(3) {
        let options = ReadOptions {
            event: Some(event.to_string()),
            ..ReadOptions::default()
        };
        let Ok(samples) = recording.load(&options) else {
            continue;
        };
        let tables = &samples.tables;
        // Without stacks the samples are the same, each with its innermost frame.
        let flat = ReadOptions {
            stacks: false,
            ..options
        };
        let mut flat_samples = 0;
        let flat_tables = recording.scan(&flat, &mut |_, _| flat_samples += 1);
        let totals = flat_tables.expect("it was read before").totals;
        assert_eq!(flat_samples, samples.samples.len());
        assert_eq!(totals.weight, tables.totals.weight);
        for sample in &samples.samples {
            let _ = tables.thread(sample.thread);
            for frame in tables.stack(sample.stack).take(2000) {
                let _ = tables.module(tables.location(frame.location).module);
            }
        }
    }
});
