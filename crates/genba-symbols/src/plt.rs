//! Names for the stubs of the procedure linkage table, x86: each jumps through a slot of the
//! global offset table, and the slot's relocation names the function.

use std::collections::HashMap;

use object::Architecture;

use crate::elf::{Layout, Section};
use crate::elf_symbol_entries::{self, SHT_DYNSYM, SHT_REL, SHT_RELA};
use crate::file_bytes::FileBytes;
use crate::symbol_table::Symbols;

// System V ABI, AMD64 supplement, table 4.9; the numbers of i386 are the same but for the last.
const R_GLOB_DAT: u32 = 6;
const R_JUMP_SLOT: u32 = 7;
const R_X86_64_IRELATIVE: u32 = 37;
const R_386_IRELATIVE: u32 = 42;

/// Adds `name@plt` for each stub of `.plt`, `.plt.sec`, `.plt.got` and `.iplt`.
pub(crate) fn add(symbols: &mut Symbols, layout: &Layout, data: &FileBytes) {
    // The stubs of i386 address the table relative to a register in position-independent code,
    // which only the relocations' order would resolve; they stay without names.
    if layout.architecture != Architecture::X86_64 {
        return;
    }
    let slots = slots(layout, data);
    for section in &layout.sections {
        let name = section.name.as_str();
        if section.executable && (name.starts_with(".plt") || name == ".iplt") {
            let code = layout.section_data(data, section).unwrap_or(&[]);
            scan(symbols, section, code, &slots);
        }
    }
}

/// Name of the function behind each slot of the global offset table.
fn slots<'a>(layout: &Layout, data: &'a FileBytes) -> HashMap<u64, std::borrow::Cow<'a, [u8]>> {
    let mut slots = HashMap::new();
    let table = layout.sections.iter().find(|s| s.kind == SHT_DYNSYM);
    let names: Vec<_> = table
        .map(|t| elf_symbol_entries::symbols(layout, data, t).collect())
        .unwrap_or_default();
    let loaded = |s: &&Section| s.allocated && [SHT_RELA, SHT_REL].contains(&s.kind);
    for section in layout.sections.iter().filter(loaded) {
        for relocation in elf_symbol_entries::relocations(layout, data, section) {
            let name = match (relocation.kind, table) {
                (R_GLOB_DAT | R_JUMP_SLOT, Some(table)) => {
                    let Some(raw) = names.get(relocation.symbol as usize) else {
                        continue;
                    };
                    Symbols::name_in_table(layout, data, table, raw)
                }
                (R_X86_64_IRELATIVE | R_386_IRELATIVE, _) => {
                    // As objdump writes it: the resolver's address is all that is known.
                    format!("*ABS*+{:#x}", relocation.addend)
                        .into_bytes()
                        .into()
                }
                _ => continue,
            };
            if !name.is_empty() {
                slots.insert(relocation.address, name);
            }
        }
    }
    slots
}

/// Finds `jmp *slot(%rip)` (`ff 25`, maybe after `bnd` and `endbr64`) in the stubs.
fn scan(
    symbols: &mut Symbols,
    section: &Section,
    code: &[u8],
    slots: &HashMap<u64, std::borrow::Cow<'_, [u8]>>,
) {
    // Stubs of `.plt.got` may be 8 bytes long; all others are 16.
    let plain_got = section.name == ".plt.got" && !code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]);
    let size = if plain_got { 8 } else { 16 };
    for (i, stub) in code.chunks(size).enumerate() {
        let Some(at) = stub.windows(2).position(|w| w == [0xff, 0x25]) else {
            continue;
        };
        let Some(displacement) = stub.get(at + 2..at + 6) else {
            continue;
        };
        let displacement = elf_symbol_entries::integer(displacement, 0, 4, true) as u32 as i32;
        let address = section.address.wrapping_add((i * size) as u64);
        let slot = address
            .wrapping_add(at as u64 + 6)
            .wrapping_add_signed(displacement.into());
        if let Some(name) = slots.get(&slot) {
            symbols.add_plt(address, stub.len() as u64, name);
        }
    }
}
