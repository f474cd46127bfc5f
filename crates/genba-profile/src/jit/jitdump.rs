//! jitdump files: functions that a JIT generated, with their code
//! (linux, tools/perf/Documentation/jitdump-specification.txt).

use crate::perfdata::byte_cursor::Cursor;

/// A generated function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitFunction {
    /// Time from which on the code was there, in the recording's clock, ns; 0 for always.
    pub time: u64,
    /// First address.
    pub address: u64,
    /// Size of the code, bytes.
    pub size: u64,
    /// The code; empty if it is not known.
    pub code: Vec<u8>,
    /// The function's name as the JIT gives it.
    pub name: String,
    /// Address and line in [`Self::file`], ascending.
    pub lines: Vec<(u64, u32)>,
    /// The source file of most of its lines; empty if unknown.
    pub file: String,
}

const MAGIC: u32 = 0x4A69_5444;
/// Longest name or path that is retained, bytes.
const MAX_NAME_BYTES: usize = 4096;
/// Most functions that are read from one file.
const MAX_FUNCTIONS: usize = 1 << 20;

const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;

/// A string that ends with NUL.
fn text(cursor: &mut Cursor<'_>) -> Option<String> {
    let end = cursor.rest().iter().position(|&b| b == 0)?;
    let text = cursor.take(end)?;
    cursor.skip(1)?;
    Some(String::from_utf8_lossy(&text[..text.len().min(MAX_NAME_BYTES)]).into_owned())
}

/// The functions of a jitdump in the order of the file; a damaged or unfinished end is skipped.
/// `None` if the file is not a jitdump of a little-endian machine.
#[must_use]
pub fn parse(data: &[u8]) -> Option<Vec<JitFunction>> {
    let mut header = Cursor::new(data);
    if header.u32()? != MAGIC {
        return None;
    }
    let _version = header.u32()?;
    let size = header.u32()? as usize;
    let mut rest = Cursor::new(data.get(size..)?);
    let mut functions: Vec<JitFunction> = Vec::new();
    let mut by_index = std::collections::HashMap::new();
    let mut lines: Option<(u64, Vec<Line>)> = None;
    while functions.len() < MAX_FUNCTIONS {
        let Some((id, time, body)) = record(&mut rest) else {
            break;
        };
        match id {
            CODE_LOAD => {
                let Some((index, mut function)) = load(body, time) else {
                    continue;
                };
                if let Some((_, lines)) = lines.take_if(|(of, _)| *of == function.address) {
                    assign_lines(&mut function, lines);
                }
                by_index.insert(index, functions.len());
                functions.push(function);
            }
            CODE_MOVE => {
                let moved = moved(body).and_then(|(index, address)| {
                    let of: &JitFunction = functions.get(*by_index.get(&index)?)?;
                    let shift = address.wrapping_sub(of.address);
                    let mut new = of.clone();
                    new.time = time;
                    new.address = address;
                    for line in &mut new.lines {
                        line.0 = line.0.wrapping_add(shift);
                    }
                    Some((index, new))
                });
                if let Some((index, new)) = moved {
                    by_index.insert(index, functions.len());
                    functions.push(new);
                }
            }
            DEBUG_INFO => lines = debug_info(body),
            _ => {}
        }
    }
    Some(functions)
}

fn record<'a>(rest: &mut Cursor<'a>) -> Option<(u32, u64, Cursor<'a>)> {
    const PREFIX: usize = 16;
    let (id, size, time) = (rest.u32()?, rest.u32()? as usize, rest.u64()?);
    Some((id, time, Cursor::new(rest.take(size.checked_sub(PREFIX)?)?)))
}

fn load(mut body: Cursor<'_>, time: u64) -> Option<(u64, JitFunction)> {
    let _pid_tid = body.u64()?;
    let _vma = body.u64()?;
    let (address, size, index) = (body.u64()?, body.u64()?, body.u64()?);
    address.checked_add(size)?;
    let name = text(&mut body)?;
    let code = body.take(usize::try_from(size).ok()?)?.to_vec();
    let function = JitFunction {
        time,
        address,
        size,
        code,
        name,
        lines: Vec::new(),
        file: String::new(),
    };
    Some((index, function))
}

fn moved(mut body: Cursor<'_>) -> Option<(u64, u64)> {
    let _pid_tid = body.u64()?;
    let (_vma, _old, new, size) = (body.u64()?, body.u64()?, body.u64()?, body.u64()?);
    new.checked_add(size)?;
    Some((body.u64()?, new))
}

type Line = (u64, u32, String);

fn debug_info(mut body: Cursor<'_>) -> Option<(u64, Vec<Line>)> {
    let (address, count) = (body.u64()?, body.u64()?);
    let mut lines = Vec::new();
    for _ in 0..count {
        let Some(at) = body.u64() else { break };
        let (Some(line), Some(_column)) = (body.u32(), body.u32()) else {
            break;
        };
        // V8 and perf write 0xff for the file of the previous line.
        let file = if body.rest().starts_with(b"\xff\0") {
            body.take(2);
            lines.last().map(|(_, _, file): &Line| file.clone())
        } else {
            text(&mut body)
        };
        let Some(file) = file else { break };
        lines.push((at, line, file));
    }
    Some((address, lines))
}

/// Assigns lines to a function: those of the file that most of them name.
fn assign_lines(function: &mut JitFunction, lines: Vec<Line>) {
    let mut votes = std::collections::HashMap::new();
    for (_, _, file) in &lines {
        *votes.entry(file.as_str()).or_insert(0usize) += 1;
    }
    // By name where votes are equal, so that the result is deterministic.
    let most = votes.into_iter().max_by_key(|&(file, n)| (n, file));
    let Some((file, _)) = most else { return };
    let file = file.to_owned();
    let end = function.address.saturating_add(function.size);
    function.lines = lines
        .into_iter()
        .filter(|(at, _, of)| *of == file && (function.address..end).contains(at))
        .map(|(at, line, _)| (at, line))
        .collect();
    function.lines.sort();
    function.lines.dedup_by_key(|line| line.0);
    function.file = file.trim_start_matches("file://").to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Vec<u8> {
        let mut out = Vec::new();
        for word in [MAGIC, 1, 40, 62, 0, 7] {
            out.extend(word.to_le_bytes());
        }
        out.extend([0; 16]);
        out
    }

    fn record(id: u32, time: u64, body: &[u8]) -> Vec<u8> {
        let mut out = id.to_le_bytes().to_vec();
        out.extend((16 + body.len() as u32).to_le_bytes());
        out.extend(time.to_le_bytes());
        out.extend(body);
        out
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn dump() -> Vec<u8> {
        let mut data = header();
        let mut lines = words(&[0x1000, 2]);
        for (at, line) in [(0x1002u64, 9u32), (0x1000, 8)] {
            lines.extend(at.to_le_bytes());
            lines.extend(line.to_le_bytes());
            lines.extend(0u32.to_le_bytes());
            lines.extend(b"file:///a.js\0");
        }
        data.extend(record(DEBUG_INFO, 5, &lines));
        let mut load = words(&[0, 0x1000, 0x1000, 3, 77]);
        load.extend(b"f g\0\x90\x90\xc3");
        data.extend(record(CODE_LOAD, 6, &load));
        data.extend(record(9, 6, &[1, 2, 3]));
        let moved = words(&[0, 0x2000, 0x1000, 0x2000, 3, 77]);
        data.extend(record(CODE_MOVE, 8, &moved));
        data
    }

    #[test]
    fn loads_moves_and_lines_are_parsed() {
        let functions = parse(&dump()).unwrap();
        assert_eq!(functions.len(), 2);
        assert_eq!((functions[0].time, functions[0].address), (6, 0x1000));
        assert_eq!(functions[0].name, "f g");
        assert_eq!(functions[0].code, [0x90, 0x90, 0xc3]);
        assert_eq!(functions[0].file, "/a.js");
        assert_eq!(functions[0].lines, [(0x1000, 8), (0x1002, 9)]);
        assert_eq!((functions[1].time, functions[1].address), (8, 0x2000));
        assert_eq!(functions[1].lines, [(0x2000, 8), (0x2002, 9)]);
        assert_eq!(parse(b"JiTD no"), None);
    }

    proptest! {
        #[test]
        fn damaged_files_parse_without_panic(at in 0usize..300, byte: u8, len in 0usize..300) {
            let mut data = dump();
            if let Some(b) = data.get_mut(at) {
                *b = byte;
            }
            data.truncate(len);
            let _ = parse(&data);
        }
    }
}
