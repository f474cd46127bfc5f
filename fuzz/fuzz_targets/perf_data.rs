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
        // Who wants only some samples gets the sums of all.
        let weight = |sum: u64, weight: u64| sum.saturating_add(weight.max(1));
        let all = samples.samples.iter().map(|sample| sample.weight);
        let wanted = [0x1000..0x1100, 0x40_0000..0x40_0040];
        let (_, tally) = recording
            .scan_only(
                &ReadOptions {
                    stacks: false,
                    ..options
                },
                &mut |_| wanted.to_vec(),
                &mut |_, _| {},
            )
            .expect("it was read before");
        assert_eq!(tally.samples, samples.samples.len() as u64);
        assert_eq!(tally.weight, all.fold(0, weight));
        for sample in &samples.samples {
            let _ = tables.thread(sample.thread);
            for frame in tables.stack(sample.stack).take(2000) {
                let _ = tables.module(tables.location(frame.location).module);
            }
        }
    }
});
