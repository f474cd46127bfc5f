//! Mangled names: bounded, whatever they say.
#![no_main]

use genba_symbols::{cut_name, demangle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|name: &str| {
    if let Some(readable) = demangle(name) {
        assert!(readable.len() <= genba_symbols::MAX_DEMANGLED + "@plt".len() * name.len());
    }
    assert!(cut_name(name, 100).len() <= 100 + "…".len());
});
