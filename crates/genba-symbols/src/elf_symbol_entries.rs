//! Raw entries of ELF symbol and relocation tables.

use crate::elf::{Layout, Section};

pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_RELA: u32 = 4;
pub(crate) const SHT_REL: u32 = 9;
pub(crate) const SHT_DYNSYM: u32 = 11;

const STT_NOTYPE: u8 = 0;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const SHN_UNDEF: u16 = 0;
const SHN_LORESERVE: u16 = 0xff00;
const SHN_XINDEX: u16 = 0xffff;

/// How a symbol is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// Visible to others.
    Global,
    /// Visible in its own translation unit.
    Local,
    /// Gives way to a global one.
    Weak,
}

/// An entry of a symbol table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSymbol {
    /// Offset of its name in the string table.
    pub(crate) name: u32,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) binding: Binding,
    kind: u8,
    section: u16,
}

impl RawSymbol {
    /// Whether it names code that is in this file: a function, or a label without a type
    /// (hand-written assembly).
    pub(crate) fn is_code(&self, layout: &Layout) -> bool {
        if self.section == SHN_UNDEF || self.name == 0 {
            return false;
        }
        let section = (self.section < SHN_LORESERVE)
            .then(|| layout.sections.get(usize::from(self.section)))
            .flatten();
        match self.kind {
            STT_FUNC | STT_GNU_IFUNC => section.is_some() || self.section == SHN_XINDEX,
            STT_NOTYPE => section.is_some_and(|s| s.executable),
            _ => false,
        }
    }

    /// Whether it names data that is in this file.
    pub(crate) fn is_data(&self) -> bool {
        self.kind == STT_OBJECT && self.section != SHN_UNDEF && self.name != 0 && self.size > 0
    }

    /// Whether it has no type: a label, which a function at the same address beats.
    pub(crate) fn is_label(&self) -> bool {
        self.kind == STT_NOTYPE
    }
}

/// The entries of a symbol table.
pub(crate) fn symbols<'a>(
    layout: &Layout,
    data: &'a [u8],
    section: &Section,
) -> impl Iterator<Item = RawSymbol> + use<'a> {
    let (le, is_64) = (layout.little_endian, layout.is_64);
    let bytes = layout.section_data(data, section).unwrap_or(&[]);
    bytes
        .chunks_exact(if is_64 { 24 } else { 16 })
        .map(move |entry| {
            let int = |at: usize, size: usize| integer(entry, at, size, le);
            let info = entry[if is_64 { 4 } else { 12 }];
            RawSymbol {
                name: int(0, 4) as u32,
                address: if is_64 { int(8, 8) } else { int(4, 4) },
                size: if is_64 { int(16, 8) } else { int(8, 4) },
                binding: match info >> 4 {
                    0 => Binding::Local,
                    2 => Binding::Weak,
                    _ => Binding::Global,
                },
                kind: info & 15,
                section: int(if is_64 { 6 } else { 14 }, 2) as u16,
            }
        })
}

/// A dynamic relocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// Address that is patched.
    pub(crate) address: u64,
    pub(crate) kind: u32,
    /// Index in the dynamic symbol table, 0 for none.
    pub(crate) symbol: u32,
    pub(crate) addend: u64,
}

/// The entries of a relocation table.
pub(crate) fn relocations<'a>(
    layout: &Layout,
    data: &'a [u8],
    section: &Section,
) -> impl Iterator<Item = Relocation> + use<'a> {
    let (le, is_64, rela) = (layout.little_endian, layout.is_64, section.kind == SHT_RELA);
    let word = if is_64 { 8 } else { 4 };
    let bytes = layout.section_data(data, section).unwrap_or(&[]);
    bytes
        .chunks_exact(word * if rela { 3 } else { 2 })
        .map(move |entry| {
            let info = integer(entry, word, word, le);
            Relocation {
                address: integer(entry, 0, word, le),
                kind: if is_64 {
                    info as u32
                } else {
                    info as u32 & 0xff
                },
                symbol: if is_64 {
                    (info >> 32) as u32
                } else {
                    info as u32 >> 8
                },
                addend: if rela {
                    integer(entry, 2 * word, word, le)
                } else {
                    0
                },
            }
        })
}

/// An unsigned integer; 0 where the bytes end before it does.
pub(crate) fn integer(bytes: &[u8], at: usize, size: usize, little_endian: bool) -> u64 {
    let Some(bytes) = bytes.get(at..at + size) else {
        return 0;
    };
    let push = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    if little_endian {
        bytes.iter().rev().fold(0, push)
    } else {
        bytes.iter().fold(0, push)
    }
}
