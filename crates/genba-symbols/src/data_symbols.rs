//! Symbols of variables: what stands at an address of static data.

use crate::demangle::{MAX_MANGLED, demangle_brief};
use crate::elf::Layout;
use crate::elf_symbol_entries::{self, SHT_DYNSYM, SHT_SYMTAB};
use crate::file_bytes::FileBytes;

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSymbol {
    /// Its name, demangled.
    pub name: String,
    /// Address in the module.
    pub address: u64,
    /// Size of the variable, bytes.
    pub size: u64,
}

/// Variables of a file with full symbols, else those that it exports; sorted by address.
pub(crate) fn data_symbols(files: &[(&Layout, &FileBytes)]) -> Vec<DataSymbol> {
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        let mut found: Vec<DataSymbol> = (files.iter())
            .flat_map(|(layout, data)| of_table(layout, data, kind))
            .collect();
        if !found.is_empty() {
            found.sort_by_key(|one| (one.address, one.size));
            found.dedup_by_key(|symbol| symbol.address);
            return found;
        }
    }
    Vec::new()
}

fn of_table(layout: &Layout, data: &[u8], kind: u32) -> Vec<DataSymbol> {
    let Some(section) = layout.sections.iter().find(|section| section.kind == kind) else {
        return Vec::new();
    };
    let strings = (layout.sections.get(section.link as usize))
        .and_then(|strings| layout.section_data(data, strings))
        .unwrap_or(&[]);
    let entries = elf_symbol_entries::symbols(layout, data, section);
    entries
        .filter(|entry| entry.is_data())
        .filter_map(|entry| {
            let name = strings.get(entry.name as usize..)?;
            let end = name.iter().take(MAX_MANGLED).position(|&byte| byte == 0);
            let name = &name[..end.unwrap_or(name.len().min(MAX_MANGLED))];
            let name = String::from_utf8_lossy(name);
            Some(DataSymbol {
                name: demangle_brief(&name).unwrap_or_else(|| name.into_owned()),
                address: entry.address,
                size: entry.size,
            })
        })
        .collect()
}

/// The variable that holds an address.
pub(crate) fn at(symbols: &[DataSymbol], address: u64) -> Option<&DataSymbol> {
    let index = symbols.partition_point(|symbol| symbol.address <= address);
    let symbol = &symbols[index.checked_sub(1)?];
    (address - symbol.address < symbol.size).then_some(symbol)
}
