//! The text of a `/proc/PID/maps`, in which a target chooses the paths.
#![no_main]

use genba_symbols::parse_mappings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for mapping in parse_mappings(&text) {
        assert!(text.contains(&mapping.path));
        if mapping.contains(mapping.start) {
            assert_eq!(mapping.file_offset(mapping.start), mapping.offset);
        }
    }
});
