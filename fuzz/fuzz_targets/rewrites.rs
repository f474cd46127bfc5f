//! Sources that `genba fix` rewrites: of anybody, for any cause, at any line.
#![no_main]

use genba_fix::{Dialect, Place, SourceFile, Sources, apply, rewrites};
use genba_model::Cause;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, bool, &str)| {
    let (cause, line, cpp, text) = input;
    let dialect = if cpp { Dialect::Cpp } else { Dialect::C };
    let Ok(file) = SourceFile::new("a.c", text.as_bytes().to_vec(), dialect) else { return };
    let sources = Sources { files: vec![file] };
    let place = Place {
        file: 0,
        function: "f",
        line: u32::from(line),
        end_line: u32::from(line) + 3,
    };
    let cause = Cause::ALL[usize::from(cause) % Cause::ALL.len()];
    for rewrite in rewrites(cause.id(), None, &sources, &place).into_iter().flatten() {
        for (_, edits) in &rewrite.edits {
            assert!(apply(text, edits).is_some());
        }
    }
});
