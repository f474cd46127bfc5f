//! A case as JSON from another machine: it is refused, or can be read back whole.
#![no_main]

use genba_case::{Phase, Store};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()) else {
        return;
    };
    let store = Store::at(directory.path());
    if let Ok(case) = store.import(bytes) {
        case.profile().expect("an imported profile");
        case.runs(Phase::Measure).expect("imported runs");
        case.export().expect("an imported case is exported again");
        assert_eq!(store.list().expect("a list").len(), 1);
    }
    // Nothing is written outside the store, whatever identifier the document has.
    let beside = std::fs::read_dir(directory.path()).map_or(0, |entries| entries.count());
    assert!(beside <= 2, "half an import was left behind");
});
