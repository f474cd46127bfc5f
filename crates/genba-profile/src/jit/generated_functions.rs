//! The functions that a process generated: names of its jitdump or map, bytes of either or of its
//! memory.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;

use super::jitdump::{self, JitFunction};
use super::process_code::{self, MemoryRange};
use genba_symbols::PerfMap;

/// Largest jitdump or perf map that is read.
const MAX_DUMP: u64 = 512 << 20;

/// All generated code of a process; a dump says more than a map.
pub fn of(
    dumps: impl Iterator<Item = File>,
    map: Option<File>,
    code: &[MemoryRange],
) -> Vec<JitFunction> {
    let read = |file: File| {
        let mut bytes = Vec::new();
        file.take(MAX_DUMP).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let mut functions: Vec<JitFunction> = Vec::new();
    for file in dumps {
        let dumped = read(file).and_then(|bytes| jitdump::parse(&bytes));
        functions.extend(dumped.unwrap_or_default());
    }
    let map = map.and_then(read);
    let map = map.map(|bytes| PerfMap::parse(&bytes)).unwrap_or_default();
    let dumped: HashSet<u64> = functions.iter().map(|f| f.address).collect();
    let mut symbols = map.symbols().iter().peekable();
    while let Some(symbol) = symbols.next() {
        // A function that begins inside another ends it.
        let end = symbols
            .peek()
            .map_or(symbol.end, |next| symbol.end.min(next.start));
        let size = end - symbol.start;
        // Nobody generates a function of that size; lies would fill the memory.
        const MAX_FUNCTION: u64 = 16 << 20;
        if size == 0 || size > MAX_FUNCTION || dumped.contains(&symbol.start) {
            continue;
        }
        let code = process_code::code_at(code, symbol.start, size);
        // Bytes that nobody has seen are filling in the file: not megabytes of it.
        const MAX_UNSEEN: u64 = 1 << 20;
        if code.is_none() && size > MAX_UNSEEN {
            continue;
        }
        functions.push(JitFunction {
            time: 0,
            address: symbol.start,
            size,
            code: code.map_or_else(Vec::new, <[u8]>::to_vec),
            name: symbol.name.clone(),
            lines: Vec::new(),
            file: String::new(),
        });
    }
    functions
}
