//! The minimal DWARF 4 that gives generated code its source lines.

use std::collections::BTreeMap;

use super::jitdump::JitFunction;

/// The DWARF sections.
pub struct Debug {
    /// `.debug_abbrev`.
    pub abbrev: Vec<u8>,
    /// `.debug_info`: one unit for each source file.
    pub info: Vec<u8>,
    /// `.debug_line`: a line program for each unit.
    pub line: Vec<u8>,
}

/// One unit, without children: name, line program, low address, high address.
const ABBREV: &[u8] = &[
    1, 0x11, 0, // DW_TAG_compile_unit, no children
    0x03, 0x08, // DW_AT_name, DW_FORM_string
    0x10, 0x17, // DW_AT_stmt_list, DW_FORM_sec_offset
    0x11, 0x01, // DW_AT_low_pc, DW_FORM_addr
    0x12, 0x07, // DW_AT_high_pc (a size), DW_FORM_data8
    0, 0, 0,
];

/// Returns the lines of functions, each given with its address in the file; `None` if no function
/// has lines.
///
/// There is one unit per function, so units are ranges that never overlap.
pub fn write<'a>(functions: impl Iterator<Item = (&'a JitFunction, u64)>) -> Option<Debug> {
    let mut debug = Debug {
        abbrev: ABBREV.to_vec(),
        info: Vec::new(),
        line: Vec::new(),
    };
    let mut by_address: BTreeMap<u64, &JitFunction> = BTreeMap::new();
    by_address.extend(
        functions
            .filter(|(f, _)| !f.lines.is_empty())
            .map(|(f, image_address)| (image_address, f)),
    );
    for (image_address, function) in by_address {
        let program = debug.line.len() as u32;
        debug.line.extend(line_program(function, image_address));
        let mut unit = 4u16.to_le_bytes().to_vec();
        unit.extend(0u32.to_le_bytes());
        unit.extend([8, 1]);
        unit.extend(path(&function.file));
        unit.push(0);
        unit.extend(program.to_le_bytes());
        unit.extend(image_address.to_le_bytes());
        unit.extend(function.size.to_le_bytes());
        debug.info.extend((unit.len() as u32).to_le_bytes());
        debug.info.extend(unit);
    }
    (!debug.info.is_empty()).then_some(debug)
}

fn path(file: &str) -> impl Iterator<Item = u8> + '_ {
    file.bytes().filter(|&b| b != 0)
}

fn line_program(function: &JitFunction, image_address: u64) -> Vec<u8> {
    const SET_ADDRESS: u8 = 2;
    const END_SEQUENCE: u8 = 1;
    const COPY: u8 = 1;
    const ADVANCE_PC: u8 = 2;
    const ADVANCE_LINE: u8 = 3;
    // minimum instruction length, operations per instruction, default_is_stmt, line base,
    // line range, first special opcode (none is used), lengths of the standard opcodes.
    let mut head = vec![1, 1, 1, 0, 1, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    head.push(0); // no directories
    head.extend(path(&function.file));
    head.extend([0, 0, 0, 0]);
    head.push(0);
    let mut body = 4u16.to_le_bytes().to_vec();
    body.extend((head.len() as u32).to_le_bytes());
    body.extend(head);
    body.extend([0, 9, SET_ADDRESS]);
    body.extend(image_address.to_le_bytes());
    let (mut at, mut line) = (function.address, 1i64);
    for &(address, number) in &function.lines {
        body.push(ADVANCE_PC);
        uleb(&mut body, address.saturating_sub(at));
        body.push(ADVANCE_LINE);
        sleb(&mut body, i64::from(number) - line);
        body.push(COPY);
        at = at.max(address);
        line = i64::from(number);
    }
    body.push(ADVANCE_PC);
    uleb(
        &mut body,
        function
            .address
            .saturating_add(function.size)
            .saturating_sub(at),
    );
    body.extend([0, 1, END_SEQUENCE]);
    let mut out = (body.len() as u32).to_le_bytes().to_vec();
    out.extend(body);
    out
}

fn uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn sleb(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if (value == 0 && low & 0x40 == 0) || (value == -1 && low & 0x40 != 0) {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}
