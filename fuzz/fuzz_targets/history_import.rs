//! Results of other benchmark programs: the format is recognised by the content; and recordings that could not be stored.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = genba_history::import::criterion_benchmark_name(bytes);
    let _ = genba_history::recording_of_text(bytes);
    if let Ok(imported) = genba_history::import::parse(bytes, "name") {
        assert!(!imported.benchmarks.is_empty());
        for one in imported.benchmarks {
            assert!(one.values.iter().all(|value| value.is_finite() && *value > 0.0));
        }
    }
});
