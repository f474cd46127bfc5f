//! Generated code as an ELF file, so that readers of libraries read it, too.
//!
//! Addresses in the file are those that the code had while it ran, so calls between generated
//! functions have the right targets. Where newer code replaced older code, the newest has the
//! address, and older code is relocated to a range that no process uses.

use std::collections::BTreeMap;

use super::dwarf_lines;
use super::jitdump::JitFunction;

/// First address of relocated code: above every user address of x86-64.
const RELOCATED_BASE: u64 = 0x7000_0000_0000_0000;
/// Functions with a smaller gap between them share a segment; the gap is padded. Bytes.
const MAX_GAP: u64 = 4 << 10;
/// Byte for unknown code: no instruction of 64-bit code starts with it.
const PADDING: u8 = 0x06;
/// Most segments: the field of an ELF header has 16 bits.
const MAX_SEGMENTS: usize = 60_000;
/// Most bytes of code in one file.
const MAX_CODE_BYTES: u64 = 256 << 20;

/// Where a function is in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedFunction {
    /// Index among the functions.
    pub function: usize,
    /// Offset of its code in the file.
    pub offset: u64,
}

struct Segment {
    address: u64,
    /// Offset in the code of all segments.
    at: u64,
    size: u64,
}

/// Returns the file and where each function is in it. Later functions replace earlier ones.
/// Functions that do not fit are skipped.
#[must_use]
pub fn write(functions: &[JitFunction]) -> (Vec<u8>, Vec<PlacedFunction>) {
    let addresses = image_addresses(functions);
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.sort_by_key(|&f| addresses[f]);
    let mut text: Vec<u8> = Vec::new();
    let mut segments: Vec<Segment> = Vec::new();
    let mut inside = Vec::new();
    for f in order {
        let (function, address) = (&functions[f], addresses[f]);
        let end = segments.last().map(|s| s.address + s.size);
        let gap = end
            .and_then(|end| address.checked_sub(end))
            .filter(|&gap| gap < MAX_GAP);
        if text.len() as u64 + gap.unwrap_or(16) + function.size > MAX_CODE_BYTES {
            break;
        }
        if let (Some(gap), Some(last)) = (gap, segments.last_mut()) {
            text.resize(text.len() + gap as usize, PADDING);
            last.size += gap + function.size;
        } else if segments.len() < MAX_SEGMENTS {
            segments.push(Segment {
                address,
                at: text.len() as u64,
                size: function.size,
            });
        } else {
            break;
        }
        inside.push((f, text.len() as u64));
        let begin = text.len();
        text.extend(&function.code[..function.code.len().min(function.size as usize)]);
        text.resize(begin + function.size as usize, PADDING);
    }
    let file = assemble(functions, &addresses, &text, &segments, &inside);
    let first = code_offset(segments.len());
    let placed = inside.iter().map(|&(function, at)| PlacedFunction {
        function,
        offset: first + at,
    });
    (file, placed.collect())
}

/// The address of each function in the file.
fn image_addresses(functions: &[JitFunction]) -> Vec<u64> {
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    let mut addresses = vec![0; functions.len()];
    let mut relocated = RELOCATED_BASE;
    for (f, function) in functions.iter().enumerate().rev() {
        let end = function.address.saturating_add(function.size.max(1));
        let before = taken.range(..end).next_back();
        let free = before.is_none_or(|(_, &other_end)| other_end <= function.address);
        addresses[f] = if free && end <= RELOCATED_BASE {
            taken.insert(function.address, end);
            function.address
        } else {
            let address = relocated;
            relocated = (relocated + function.size.max(1)).next_multiple_of(16);
            address
        };
    }
    addresses
}

const HEADER: usize = 64;
const PROGRAM: usize = 56;
const SECTION: usize = 64;
const SYMBOL: usize = 24;

fn code_offset(segments: usize) -> u64 {
    (HEADER + segments * PROGRAM).next_multiple_of(16) as u64
}

/// A row of the section table: name, type, flags, address, offset, size, link, info, entry size.
struct Section(&'static str, u32, u64, u64, u64, u64, u32, u32, u64);

fn assemble(
    functions: &[JitFunction],
    addresses: &[u64],
    text: &[u8],
    segments: &[Segment],
    inside: &[(usize, u64)],
) -> Vec<u8> {
    const TEXT: u16 = 1;
    let first = code_offset(segments.len());
    let (mut symbols, mut strings) = (vec![0u8; SYMBOL], vec![0u8]);
    for &(f, _) in inside {
        let name = strings.len() as u32;
        strings.extend(functions[f].name.bytes().filter(|&b| b != 0));
        strings.push(0);
        symbols.extend(name.to_le_bytes());
        // STB_GLOBAL, STT_FUNC
        symbols.extend([0x12, 0]);
        symbols.extend(TEXT.to_le_bytes());
        symbols.extend(addresses[f].to_le_bytes());
        symbols.extend(functions[f].size.to_le_bytes());
    }
    let placed = inside.iter().map(|&(f, _)| (&functions[f], addresses[f]));
    let debug = dwarf_lines::write(placed);
    let mut out = Vec::with_capacity(text.len() + symbols.len() + strings.len() + 4096);
    out.resize(first as usize, 0);
    out.extend(text);
    let low = segments.first().map_or(0, |s| s.address);
    let mut sections = vec![
        Section("", 0, 0, 0, 0, 0, 0, 0, 0),
        // One section for all code: its size in the file; the addresses are the segments'.
        Section(".text", 1, 6, low, first, text.len() as u64, 0, 0, 0),
    ];
    let mut add = |out: &mut Vec<u8>, name, kind, bytes: &[u8], link, info, entry| {
        out.resize(out.len().next_multiple_of(8), 0);
        let at = out.len() as u64;
        sections.push(Section(
            name,
            kind,
            0,
            0,
            at,
            bytes.len() as u64,
            link,
            info,
            entry,
        ));
        out.extend(bytes);
    };
    add(&mut out, ".symtab", 2, &symbols, 3, 1, SYMBOL as u64);
    add(&mut out, ".strtab", 3, &strings, 0, 0, 0);
    if let Some(debug) = &debug {
        add(&mut out, ".debug_abbrev", 1, &debug.abbrev, 0, 0, 0);
        add(&mut out, ".debug_info", 1, &debug.info, 0, 0, 0);
        add(&mut out, ".debug_line", 1, &debug.line, 0, 0, 0);
    }
    let mut names = vec![0u8];
    let mut name_at: Vec<u32> = Vec::new();
    for section in &sections {
        name_at.push(if section.0.is_empty() {
            0
        } else {
            names.len() as u32
        });
        if !section.0.is_empty() {
            names.extend(section.0.as_bytes());
            names.push(0);
        }
    }
    name_at.push(names.len() as u32);
    names.extend(b".shstrtab\0");
    let at = out.len() as u64;
    out.extend(&names);
    sections.push(Section(
        ".shstrtab",
        3,
        0,
        0,
        at,
        names.len() as u64,
        0,
        0,
        0,
    ));
    out.resize(out.len().next_multiple_of(8), 0);
    let table = out.len() as u64;
    for (section, name) in sections.iter().zip(&name_at) {
        out.extend(name.to_le_bytes());
        out.extend(section.1.to_le_bytes());
        for word in [section.2, section.3, section.4, section.5] {
            out.extend(word.to_le_bytes());
        }
        out.extend(section.6.to_le_bytes());
        out.extend(section.7.to_le_bytes());
        out.extend(1u64.to_le_bytes());
        out.extend(section.8.to_le_bytes());
    }
    header(&mut out, segments, table, sections.len() as u16);
    for (index, segment) in segments.iter().enumerate() {
        let at = HEADER + index * PROGRAM;
        let row = &mut out[at..at + PROGRAM];
        row[..4].copy_from_slice(&1u32.to_le_bytes());
        row[4..8].copy_from_slice(&5u32.to_le_bytes());
        let offset = first + segment.at;
        let (address, size) = (segment.address, segment.size);
        for (n, word) in [offset, address, address, size, size, 1].iter().enumerate() {
            row[8 + n * 8..16 + n * 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    out
}

/// The ELF header of a library for x86-64.
fn header(out: &mut [u8], segments: &[Segment], table: u64, sections: u16) {
    const X86_64: u16 = 62;
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(16, 0);
    head.extend(3u16.to_le_bytes());
    head.extend(X86_64.to_le_bytes());
    head.extend(1u32.to_le_bytes());
    for word in [0, HEADER as u64, table] {
        head.extend(word.to_le_bytes());
    }
    head.extend(0u32.to_le_bytes());
    let counts = [
        HEADER as u16,
        PROGRAM as u16,
        segments.len() as u16,
        SECTION as u16,
        sections,
        sections - 1,
    ];
    for half in counts {
        head.extend(half.to_le_bytes());
    }
    out[..HEADER].copy_from_slice(&head);
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSegment, ObjectSymbol};
    use proptest::prelude::*;

    pub(crate) fn function(address: u64, code: &[u8], name: &str) -> JitFunction {
        JitFunction {
            time: 0,
            address,
            size: code.len() as u64,
            code: code.to_vec(),
            name: name.to_owned(),
            lines: Vec::new(),
            file: String::new(),
        }
    }

    #[test]
    fn newest_code_keeps_its_address_and_replaced_code_is_relocated() {
        let functions = [
            function(0x1008, b"old!", "old"),
            function(0x1000, b"twelve bytes", "new"),
            function(0x9_0000, b"far", "far"),
        ];
        let (file, placed) = write(&functions);
        let elf = object::File::parse(&*file).unwrap();
        assert_eq!(elf.segments().count(), 3);
        let by_name = |n: &str| elf.symbols().find(|s| s.name() == Ok(n)).unwrap().address();
        assert_eq!(by_name("new"), 0x1000);
        assert_eq!(by_name("old"), RELOCATED_BASE);
        for one in placed {
            let wanted = &functions[one.function].code;
            let at = one.offset as usize;
            assert_eq!(&file[at..at + wanted.len()], wanted);
            let segment = elf
                .segments()
                .find(|s| {
                    let (offset, size) = s.file_range();
                    (offset..offset + size).contains(&one.offset)
                })
                .unwrap();
            let svma = one.offset - segment.file_range().0 + segment.address();
            assert_eq!(svma, by_name(&functions[one.function].name));
        }
    }

    proptest! {
        #[test]
        fn overlapping_functions_are_all_in_the_image(all in prop::collection::vec((0u64..5000, 1usize..40), 0..40)) {
            let functions: Vec<_> = all
                .iter()
                .enumerate()
                .map(|(n, &(at, size))| function(at * 50, &vec![n as u8; size], "f"))
                .collect();
            let (file, placed) = write(&functions);
            prop_assert!(object::File::parse(&*file).is_ok());
            prop_assert_eq!(placed.len(), functions.len());
            for one in placed {
                let code = &functions[one.function].code;
                let at = one.offset as usize;
                prop_assert_eq!(&file[at..at + code.len()], &code[..]);
            }
        }
    }
}
