//! Files that are cut, flipped, or made to hurt: less information, never a panic, and no work
//! beyond their size.

use std::process::Command;

use genba_symbols::Binary;

/// Asks everything that can be asked.
fn walk(bytes: Vec<u8>) -> bool {
    let Ok(binary) = Binary::from_bytes(bytes, "damaged") else {
        return false;
    };
    let mut addresses: Vec<u64> = Vec::new();
    for symbol in binary.symbols() {
        addresses.extend([symbol.address, symbol.end().wrapping_sub(1)]);
    }
    for section in binary.sections().iter().filter(|s| s.executable) {
        addresses.extend((0..20).map(|i| section.address.wrapping_add(i * 37)));
    }
    addresses.extend([0, 1, u64::MAX, u64::MAX - 1, 1 << 63]);
    for address in addresses {
        let _ = binary.frames_at(address);
        let _ = binary.line_at(address);
        let _ = binary.function_at(address);
        let _ = binary.function_range_at(address);
        let _ = binary.code_range_at(address);
        let _ = binary.compile_unit_at(address);
        let _ = binary.name_address(address);
        let _ = binary.file_offset_to_svma(address);
        let _ = binary.aliases(address);
    }
    let _ = (binary.find("main"), binary.text_size(), binary.build_id());
    let _ = (
        binary.symbols_source(),
        binary.check_debug_info().map_err(|e| e.to_string()),
    );
    true
}

fn fixture(test: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("a.c");
    let output = directory.path().join("a");
    let program = r#"
        #include <stdio.h>
        static inline __attribute__((always_inline)) int leaf(int x) { return x * x + 1; }
        int outer(int x) { int s = 0; while (x--) s += leaf(x) ^ s; return s; }
        int main(int argc, char **argv) { printf("%d\n", outer(argc)); return 0; }
    "#;
    std::fs::write(&source, program).unwrap();
    let status = Command::new("gcc")
        .args(["-O2", "-g", "-o"])
        .args([&output, &source])
        .args(flags)
        .stderr(std::process::Stdio::null())
        .status();
    if !status.is_ok_and(|s| s.success()) {
        genba_testing::skip(
            test,
            "gcc",
            &format!("gcc {} does not work here", flags.join(" ")),
        );
        return None;
    }
    Some(std::fs::read(output).unwrap())
}

#[test]
fn truncated_files_do_not_panic() {
    for flags in [&[][..], &["-gz=zlib"], &["-gdwarf-4"]] {
        let Some(bytes) = fixture("truncated_files_do_not_panic", flags) else {
            continue;
        };
        assert!(walk(bytes.clone()));
        for length in (0..bytes.len()).step_by(250) {
            walk(bytes[..length].to_vec());
            // Cut in the middle as well, so that the section table stays.
            let mut holed = bytes.clone();
            let end = (length + 250).min(holed.len());
            holed[length..end].fill(0);
            walk(holed.clone());
            holed[length..end].fill(0xff);
            walk(holed);
        }
    }
}

#[test]
fn files_with_random_bytes_changed_do_not_panic() {
    let Some(bytes) = fixture("files_with_random_bytes_changed_do_not_panic", &[]) else {
        return;
    };
    // A fixed generator: the same flips each time (Numerical Recipes' constants).
    let mut state = 12345u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    for _ in 0..400 {
        let mut flipped = bytes.clone();
        for _ in 0..=random() % 20 {
            let at = random() % flipped.len();
            flipped[at] = random() as u8;
        }
        walk(flipped);
    }
}

/// An ELF file of the sections given, with debug information that is made to hurt.
fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut body = vec![0u8; 64];
    let mut headers = vec![0u8; 64];
    let mut add =
        |name: &str, kind: u32, flags: u64, address: u64, content: &[u8], body: &mut Vec<u8>| {
            let name_at = names.len() as u32;
            names.extend(name.as_bytes());
            names.push(0);
            let content = if kind == 3 {
                names.clone()
            } else {
                content.to_vec()
            };
            for word in [
                u64::from(name_at) | u64::from(kind) << 32,
                flags,
                address,
                body.len() as u64,
                content.len() as u64,
                0,
                1,
                0,
            ] {
                headers.extend(word.to_le_bytes());
            }
            body.extend(content);
        };
    add(".text", 1, 6, 0x1000, &[0x90; 4096], &mut body);
    for (name, content) in sections {
        add(name, 1, 0, 0, content, &mut body);
    }
    add(".shstrtab", 3, 0, 0, &[], &mut body);
    let table = body.len() as u64;
    let count = (headers.len() / 64) as u16;
    body.extend(headers);
    body[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    body[16..20].copy_from_slice(&[3, 0, 62, 0]);
    body[20] = 1;
    body[40..48].copy_from_slice(&table.to_le_bytes());
    body[52..54].copy_from_slice(&64u16.to_le_bytes());
    body[54..56].copy_from_slice(&56u16.to_le_bytes());
    body[58..60].copy_from_slice(&64u16.to_le_bytes());
    body[60..62].copy_from_slice(&count.to_le_bytes());
    body[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    body
}

/// A DWARF 4 unit of these entries.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut unit = ((entries.len() + 7) as u32).to_le_bytes().to_vec();
    unit.extend([4, 0, 0, 0, 0, 0, 8]);
    unit.extend(entries);
    unit
}

/// Abbreviations: 1 a unit and 2 a function, with children, low_pc and high_pc (size); 3 an
/// inlined call, with children and the same; 4 a function whose origin is 4 bytes into the unit.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0, // compile unit
    2, 0x2e, 1, 0x11, 1, 0x12, 6, 0, 0, // subprogram
    3, 0x1d, 1, 0x11, 1, 0x12, 6, 0, 0, // inlined subroutine
    4, 0x2e, 0, 0x11, 1, 0x12, 6, 0x31, 0x13, 0, 0, // subprogram with abstract_origin
    0,
];

fn entry(code: u8) -> Vec<u8> {
    let mut entry = vec![code];
    entry.extend(0x1000u64.to_le_bytes());
    entry.extend(0x1000u32.to_le_bytes());
    entry
}

#[test]
fn inlined_calls_are_cut_at_the_maximum_depth() {
    let mut entries = [entry(1), entry(2)].concat();
    entries.extend(entry(3).repeat(300_000));
    let file = elf(&[
        (".debug_abbrev", ABBREVIATIONS),
        (".debug_info", &unit(&entries)),
    ]);
    let binary = Binary::from_bytes(file, "nested").unwrap();
    assert!(binary.has_debug_info());
    let frames = binary.frames_at(0x1010);
    assert!(
        frames.len() > 100 && frames.len() <= 513,
        "{}",
        frames.len()
    );
}

#[test]
fn deeply_nested_functions_do_not_recurse() {
    let mut entries = entry(1);
    entries.extend(entry(2).repeat(100_000));
    let file = elf(&[
        (".debug_abbrev", ABBREVIATIONS),
        (".debug_info", &unit(&entries)),
    ]);
    let binary = Binary::from_bytes(file, "nested").unwrap();
    for address in 0x1000..0x1100 {
        assert_eq!(binary.frames_at(address).len(), 1);
    }
}

#[test]
fn circular_abstract_origin_gives_no_name() {
    let mut entries = [entry(1), entry(4)].concat();
    // The header has 11 bytes, the unit's entry 13: the function refers to itself.
    entries.extend(24u32.to_le_bytes());
    let file = elf(&[
        (".debug_abbrev", ABBREVIATIONS),
        (".debug_info", &unit(&entries)),
    ]);
    let binary = Binary::from_bytes(file, "circle").unwrap();
    assert_eq!(binary.frames_at(0x1010)[0].function, None);
    assert!(binary.function_at(0x1010).is_some());
}

#[test]
fn overlapping_abbreviation_tables_are_read_within_a_budget() {
    // 100,000 abbreviations without attributes, and units that each start one further on: kept
    // whole they would be 5·10⁹.
    let table = [1u8, 0x11, 0, 0, 0].repeat(100_000);
    let mut info = Vec::new();
    for i in 0..100_000u32 {
        info.extend([8, 0, 0, 0, 4, 0]);
        info.extend((i * 5).to_le_bytes());
        info.extend([8, 1]);
    }
    let file = elf(&[(".debug_abbrev", &table), (".debug_info", &info)]);
    walk(file);
}

#[test]
fn section_with_an_implausible_decompressed_size_is_refused() {
    // GNU's old form: "ZLIB", then the size, big-endian.
    let mut content = b"ZLIB".to_vec();
    content.extend(0xffff_ffffu64.to_be_bytes());
    content.extend([0x78, 0x9c, 3, 0, 0, 0, 0, 1]);
    let file = elf(&[(".zdebug_info", &content)]);
    let binary = Binary::from_bytes(file, "bomb").unwrap();
    let error = binary.check_debug_info().unwrap_err().to_string();
    assert!(
        error.contains("decompressed") && error.contains("bomb"),
        "{error}"
    );
    assert_eq!(binary.frames_at(0x1010), []);
}

#[test]
fn symbol_name_of_100_megabytes_is_cut() {
    let mut names = vec![0u8];
    names.extend(std::iter::repeat_n(b'N', 100 << 20));
    let mut symbols = vec![0u8; 24];
    for i in 0..1000u64 {
        symbols.extend((1 + i as u32).to_le_bytes());
        symbols.extend([0x12, 0, 1, 0]);
        symbols.extend((0x1000 + i).to_le_bytes());
        symbols.extend(0u64.to_le_bytes());
    }
    let mut file = elf(&[(".symtab", &symbols), (".strtab", &names)]);
    // Make the second section a symbol table with the third for its names.
    let table = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    file[table + 2 * 64 + 4] = 2;
    file[table + 2 * 64 + 40] = 3;
    let binary = Binary::from_bytes(file, "long").unwrap();
    assert_eq!(binary.symbols().count(), 1000);
    assert_eq!(binary.symbols_source(), "symtab");
    for symbol in binary.symbols() {
        assert!(symbol.name.len() <= genba_symbols::MAX_MANGLED);
    }
    assert!(binary.name_address(0x1001).unwrap().len() < 300);
    assert_eq!(binary.find("N"), []);
}
