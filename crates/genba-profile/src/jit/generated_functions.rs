//! The functions that a process generated: names from its jitdump or perf map, code from the
//! jitdump or from its memory.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;

use super::jitdump::{self, JitFunction};
use super::process_code::{self, MemoryRange};
use genba_symbols::PerfMap;

/// Largest jitdump or perf map that is read, bytes.
const MAX_DUMP_BYTES: u64 = 512 << 20;

/// All functions that a process generated. A jitdump takes precedence over a perf map: it has the
/// code.
pub fn generated_functions(
    dumps: impl Iterator<Item = File>,
    map: Option<File>,
    code: &[MemoryRange],
) -> Vec<JitFunction> {
    let read = |file: File| {
        let mut bytes = Vec::new();
        file.take(MAX_DUMP_BYTES).read_to_end(&mut bytes).ok()?;
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
        // A function that starts inside another one ends it.
        let end = symbols
            .peek()
            .map_or(symbol.end, |next| symbol.end.min(next.start));
        let size = end - symbol.start;
        // No compiler generates such functions; malformed maps must not fill the memory.
        const MAX_FUNCTION_BYTES: u64 = 16 << 20;
        if size == 0 || size > MAX_FUNCTION_BYTES || dumped.contains(&symbol.start) {
            continue;
        }
        let code = process_code::code_at(code, symbol.start, size);
        // Code that was not read is padding in the image: not megabytes of it.
        const MAX_UNREAD_BYTES: u64 = 1 << 20;
        if code.is_none() && size > MAX_UNREAD_BYTES {
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
