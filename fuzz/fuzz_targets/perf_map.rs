//! `/tmp/perf-PID.map`, which anybody can write.
#![no_main]

use genba_symbols::PerfMap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let map = PerfMap::parse(bytes);
    for symbol in map.symbols() {
        assert!(symbol.name.len() <= PerfMap::MAX_NAME);
        if symbol.start < symbol.end {
            let found = map.find(symbol.start).expect("a symbol covers its start");
            assert_eq!(found.start, symbol.start);
        }
    }
    assert!(map.symbols().windows(2).all(|w| w[0].start < w[1].start));
});
