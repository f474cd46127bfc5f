//! A case's SQLite file from anywhere: opened, listed and read, or refused.
#![no_main]

use genba_case::{Phase, Store};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()) else {
        return;
    };
    let case = directory.path().join("0123abcd");
    if std::fs::create_dir(&case).is_err() || std::fs::write(case.join("case.sqlite"), bytes).is_err() {
        return;
    }
    let store = Store::at(directory.path());
    let _ = store.list();
    if let Ok(case) = store.find("latest") {
        let _ = case.state();
        let _ = case.runs(Phase::Measure);
        let _ = case.profile();
        let _ = case.export();
    }
});
