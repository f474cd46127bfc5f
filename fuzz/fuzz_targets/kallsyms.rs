//! The kernel's symbol list, which a recording from elsewhere may bring along.
#![no_main]

use genba_symbols::Kallsyms;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(symbols) = Kallsyms::parse(bytes) {
        for address in [0, 0xffff_ffff_8100_0000, u64::MAX] {
            let _ = (symbols.at(address), symbols.end_of(address));
        }
    }
});
