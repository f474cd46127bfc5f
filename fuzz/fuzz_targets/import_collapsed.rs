//! Profiles of other programs: collapsed stacks. What is read can be shown and exported.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(imported) = genba_import::read(bytes, None) {
        let profile = genba_attribution::sampled_profile(&imported.detail, imported.format.name());
        assert!(!profile.functions.is_empty());
        for row in &profile.functions {
            assert!((0.0..=1.0).contains(&row.self_share.value) && (0.0..=1.0).contains(&row.total.value));
        }
    }
});
