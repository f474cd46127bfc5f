//! The image of a shared object that a debugger finds: sections for memory that holds
//! translations, symbols, and how to find the callers of what runs there. Addresses are absolute.
//!
//! What must hold: it is changed while a debugger may read it, so whatever says that something is
//! there is written last.

use alloc::vec::Vec;

use super::dwarf::unsigned;
use super::rules::{Lists, NUMBERS, Want};
use crate::state::register;

/// Bytes of the image.
pub const BYTES: usize = 0x1_0000;
/// Zones at most, the engine's own code included.
pub const ZONES: usize = 33;
/// Offset of the addresses of the lists, as [`Lists`] has them.
pub const LISTS: usize = 0x1000;
/// Offset of the zones, as [`Lists`] has them.
pub const LIST_OF_ZONES: usize = 0x1100;

const SECTIONS: usize = 0x100;
const SYMBOLS: usize = 0x1800;
const STRINGS: usize = 0x1C00;
const ABBREVIATIONS: usize = 0x1E00;
const INFO: usize = 0x2000;
const FRAMES: usize = 0x3000;
/// Sections before those of zones.
const FIXED: usize = 6;
/// Names, and where they are.
const NAMES: &[u8] = b"\0.strtab\0.symtab\0.debug_frame\0.debug_info\0.debug_abbrev\0.text\0genba_copy\0genba_engine\0";
const TEXT: u32 = 56;
const COPY: u32 = 62;
const ENGINE: u32 = 73;
/// A unit of an old compiler's: a debugger then believes what is said of frames at returns, too.
const PRODUCER: &[u8] = b"GNU C17 12.2.0\0";

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_NOBITS: u32 = 8;

/// The image.
pub struct Image {
    base: usize,
    zones: usize,
    frames: usize,
    info: usize,
    /// Offsets of the common parts of frames: of the copy, of the engine.
    common: [u32; 2],
}

impl Image {
    /// Writes the image into memory of zeros at `base`, of [`BYTES`].
    ///
    /// # Safety
    /// The memory must be the caller's, and stay.
    pub unsafe fn new(base: usize, lists: &Lists) -> Option<Self> {
        let mut image = Self {
            base,
            zones: 0,
            frames: 0,
            info: 0,
            common: [0; 2],
        };
        image.write(STRINGS, NAMES);
        image.write(
            ABBREVIATIONS,
            &[
                // A unit, with children: producer, language, low and high address, name.
                1, 0x11, 1, 0x25, 8, 0x13, 0x0B, 0x11, 1, 0x12, 7, 0x03, 8, 0, 0,
                // A function: name, low and high address.
                2, 0x2E, 0, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0, 0,
            ],
        );
        let copy = image.common_part(|want| lists.in_copy(want), false);
        image.common[0] = image.frame(&copy)?;
        let engine = image.common_part(|want| lists.in_engine(want), true);
        image.common[1] = image.frame(&engine)?;
        image.section(1, 1, SHT_STRTAB, 0, STRINGS, NAMES.len(), (0, 0, 0));
        image.section(2, 9, SHT_SYMTAB, 2, SYMBOLS, 24, (1, 1, 24));
        image.section(3, 17, SHT_PROGBITS, 0, FRAMES, image.frames, (0, 0, 0));
        image.section(4, 30, SHT_PROGBITS, 0, INFO, 0, (0, 0, 0));
        image.section(5, 42, SHT_PROGBITS, 0, ABBREVIATIONS, 0x40, (0, 0, 0));
        let mut header = Vec::new();
        header.extend_from_slice(&[0x7F, b'E', b'L', b'F', 2, 1, 1, 0]);
        header.extend_from_slice(&[0; 8]);
        // ET_DYN, x86-64.
        header.extend_from_slice(&[3, 0, 62, 0, 1, 0, 0, 0]);
        for word in [0, 64, SECTIONS as u64] {
            header.extend_from_slice(&word.to_le_bytes());
        }
        header.extend_from_slice(&[0; 4]);
        for half in [64, 56, 1, 64, (FIXED + ZONES) as u16, 1] {
            header.extend_from_slice(&half.to_le_bytes());
        }
        // PT_LOAD, readable.
        header.extend_from_slice(&[1, 0, 0, 0, 4, 0, 0, 0]);
        for word in [
            0,
            base as u64,
            base as u64,
            BYTES as u64,
            BYTES as u64,
            4096,
        ] {
            header.extend_from_slice(&word.to_le_bytes());
        }
        image.write(0, &header);
        Some(image)
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        debug_assert!(offset + bytes.len() <= BYTES);
        for (index, &byte) in bytes.iter().enumerate() {
            // SAFETY: within the image, which is ours.
            unsafe { ((self.base + offset + index) as *mut u8).write_volatile(byte) };
        }
    }

    fn word(&self, offset: usize, value: u64) {
        // SAFETY: within the image, and aligned.
        unsafe { ((self.base + offset) as *mut u64).write_volatile(value) };
    }

    fn half(&self, offset: usize, value: u32) {
        // SAFETY: within the image, and aligned.
        unsafe { ((self.base + offset) as *mut u32).write_volatile(value) };
    }

    #[expect(clippy::too_many_arguments)]
    fn section(
        &self,
        index: usize,
        name: u32,
        kind: u32,
        flags: u64,
        offset: usize,
        size: usize,
        (link, info, entry): (u32, u32, u64),
    ) {
        let at = SECTIONS + index * 64;
        self.half(at, name);
        self.word(at + 8, flags & !2);
        self.word(at + 24, offset as u64);
        self.word(at + 32, size as u64);
        self.half(at + 40, link);
        self.half(at + 44, info);
        self.word(at + 48, 8);
        self.word(at + 56, entry);
        self.half(at + 4, kind);
    }

    /// What all frames of a kind have in common (DWARF 6.4.1, with the augmentation that says that
    /// the address is exact, as a signal handler's return address).
    fn common_part(&self, rule: impl Fn(Want) -> Vec<u8>, all: bool) -> Vec<u8> {
        let mut part = Vec::new();
        part.extend_from_slice(&u32::MAX.to_le_bytes());
        // Version, augmentation, alignments of code and data, column of the return address, bytes
        // of augmentation.
        part.extend_from_slice(&[1, b'z', b'S', 0, 1, 0x78, 16, 0]);
        let expression = |part: &mut Vec<u8>, code: Vec<u8>| {
            unsigned(part, code.len() as u64);
            part.extend_from_slice(&code);
        };
        // The CFA is the stack pointer: DW_CFA_def_cfa_expression, DW_CFA_val_offset.
        part.push(0x0F);
        expression(&mut part, rule(Want::Stack));
        part.extend_from_slice(&[0x14, 7, 0]);
        for number in 0..16 {
            if number == register::RSP {
                continue;
            }
            if all || matches!(number, register::RAX | register::RCX) {
                // DW_CFA_val_expression
                part.extend_from_slice(&[0x16, NUMBERS[number as usize]]);
                expression(&mut part, rule(Want::Register(number)));
            } else {
                // DW_CFA_same_value
                part.extend_from_slice(&[0x08, NUMBERS[number as usize]]);
            }
        }
        part.extend_from_slice(&[0x16, 16]);
        expression(&mut part, rule(Want::Pc));
        part
    }

    /// Adds an entry to the frames; its offset.
    fn frame(&mut self, entry: &[u8]) -> Option<u32> {
        let at = self.frames;
        let size = (entry.len() + 7) & !7;
        if FRAMES + at + 4 + size > BYTES {
            return None;
        }
        // What is left of the last eight bytes are zeros: DW_CFA_nop.
        self.write(FRAMES + at + 4, entry);
        self.write(FRAMES + at, &(size as u32).to_le_bytes());
        self.frames += 4 + size;
        self.word(SECTIONS + 3 * 64 + 32, self.frames as u64);
        Some(at as u32)
    }

    /// Makes memory with code known: of translations, or of the engine's own.
    pub fn zone(&mut self, low: u64, end: u64, engine: bool) {
        if self.zones == ZONES {
            return;
        }
        let kind = usize::from(engine);
        let name = [COPY, ENGINE][kind];
        let number = self.zones;
        let mut unit = Vec::new();
        // Version, offset of abbreviations, size of addresses; the unit; its function.
        unit.extend_from_slice(&[4, 0, 0, 0, 0, 0, 8, 1]);
        unit.extend_from_slice(PRODUCER);
        unit.push(0x0C);
        let range = |unit: &mut Vec<u8>| {
            unit.extend_from_slice(&low.to_le_bytes());
            unit.extend_from_slice(&(end - low).to_le_bytes());
        };
        range(&mut unit);
        let text = &NAMES[name as usize..];
        let length = text.iter().position(|&byte| byte == 0).unwrap_or(0) + 1;
        unit.extend_from_slice(&text[..length]);
        unit.push(2);
        unit.extend_from_slice(&text[..length]);
        range(&mut unit);
        unit.push(0);
        if INFO + self.info + 4 + unit.len() <= FRAMES {
            self.write(INFO + self.info, &(unit.len() as u32).to_le_bytes());
            self.write(INFO + self.info + 4, &unit);
            self.info += 4 + unit.len();
            self.word(SECTIONS + 4 * 64 + 32, self.info as u64);
        }
        // ALLOC, EXECINSTR.
        let at = SECTIONS + (FIXED + number) * 64;
        self.half(at, TEXT);
        self.word(at + 8, 2 | 4);
        self.word(at + 16, low);
        self.word(at + 32, end - low);
        self.word(at + 48, 16);
        self.half(at + 4, SHT_NOBITS);
        // Global function.
        let symbol = SYMBOLS + (1 + number) * 24;
        self.half(symbol, name);
        self.write(symbol + 4, &[0x12, 0]);
        self.write(symbol + 6, &((FIXED + number) as u16).to_le_bytes());
        self.word(symbol + 8, low);
        self.word(symbol + 16, end - low);
        self.word(SECTIONS + 2 * 64 + 32, (number as u64 + 2) * 24);
        let mut entry = Vec::new();
        entry.extend_from_slice(&self.common[kind].to_le_bytes());
        entry.extend_from_slice(&low.to_le_bytes());
        entry.extend_from_slice(&(end - low).to_le_bytes());
        entry.push(0);
        let _ = self.frame(&entry);
        self.zones += 1;
    }
}
