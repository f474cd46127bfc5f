//! A split object, or a package of them (the first byte says which), for a program that
//! `make-seeds` compiles; where it is missing, the input is the program as well.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use genba_symbols::{Binary, DebugSearch};
use libfuzzer_sys::fuzz_target;

/// The program whose skeleton units name `first.dwo`, compiled by `make-seeds`.
static PROGRAM: OnceLock<Option<Vec<u8>>> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, split)) = bytes.split_first() else {
        return;
    };
    let program = PROGRAM.get_or_init(|| std::fs::read("corpus/.split_dwarf.program").ok());
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("room for a file");
        path
    };
    let path = write("program", program.as_deref().unwrap_or(split));
    write(
        if kind & 1 == 0 {
            "first.dwo"
        } else {
            "program.dwp"
        },
        split,
    );
    ask(&path);
});

fn ask(path: &Path) {
    let Ok(binary) = Binary::open_with(path, DebugSearch::none()) else {
        return;
    };
    let symbols: Vec<_> = binary.symbols().take(50).collect();
    for symbol in symbols {
        for address in [symbol.address, symbol.end().wrapping_sub(1)] {
            std::hint::black_box(binary.frames_at(address));
            std::hint::black_box(binary.function_at(address));
            std::hint::black_box(binary.compile_unit_at(address));
        }
        let mut part = binary.frames_in(symbol.address..symbol.end());
        std::hint::black_box(part.at(symbol.address));
    }
    std::hint::black_box(binary.problems());
}
