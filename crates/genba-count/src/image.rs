//! What must be known of a program or library on the disk: its code, its build id, where its
//! PLT stubs are and which symbol each is for.
//!
//! The files are those that the target mapped; they are still not trusted: sizes are bounded,
//! and what makes no sense is left out.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use object::read::ReadCache;
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
    SegmentFlags,
};

/// Code that is kept of one file at most. The largest programs there are have half of it.
const MOST_CODE: u64 = 1 << 30;

/// One file's code.
#[derive(Debug, Default)]
pub struct Image {
    /// GNU build id in hexadecimal.
    pub build_id: Option<String>,
    /// Executable segments: link-time address, offset in the file and bytes.
    code: Vec<(u64, u64, Vec<u8>)>,
    /// Where execution of a program begins.
    pub entry: u64,
    /// Sections of stubs.
    plt: Vec<Range<u64>>,
    /// Slots of the global offset table: the name of the symbol of each.
    slots: HashMap<u64, String>,
    /// Addresses of dynamic symbols.
    symbols: HashMap<String, Vec<u64>>,
}

impl Image {
    /// Reads a file; `None` if it is not an ELF file for this processor, or is not there.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let mut image = Self {
            entry: file.entry(),
            build_id: file.build_id().ok().flatten().map(hexadecimal),
            ..Self::default()
        };
        let mut room = MOST_CODE;
        for segment in file.segments() {
            let SegmentFlags::Elf { p_flags, .. } = segment.flags() else {
                continue;
            };
            let (offset, size) = segment.file_range();
            if p_flags.0 & object::elf::PF_X.0 == 0 || size > room {
                continue;
            }
            if let Ok(bytes) = segment.data() {
                room -= size;
                image.code.push((segment.address(), offset, bytes.to_vec()));
            }
        }
        for section in file.sections() {
            let name = section.name_bytes().unwrap_or_default();
            if matches!(name, b".plt" | b".plt.got" | b".plt.sec" | b".iplt") {
                let end = section.address().saturating_add(section.size());
                image.plt.push(section.address()..end);
            }
        }
        image.read_symbols(&file);
        Some(image)
    }

    fn read_symbols<'a, R: object::ReadRef<'a>>(&mut self, file: &object::File<'a, R>) {
        for symbol in file.dynamic_symbols() {
            if let (true, Ok(name)) = (symbol.is_definition(), symbol.name()) {
                let addresses = self.symbols.entry(name.to_owned()).or_default();
                addresses.push(symbol.address());
            }
        }
        let (Some(table), Some(relocations)) =
            (file.dynamic_symbol_table(), file.dynamic_relocations())
        else {
            return;
        };
        for (slot, relocation) in relocations {
            if let RelocationTarget::Symbol(index) = relocation.target()
                && let Ok(symbol) = table.symbol_by_index(index)
                && let Ok(name) = symbol.name()
            {
                self.slots.insert(slot, name.to_owned());
            }
        }
    }

    /// Code from an address on, to the end of its segment.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        self.code.iter().find_map(|(start, _, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        })
    }

    /// Whether code is there.
    #[must_use]
    pub fn has_code(&self, address: u64) -> bool {
        self.code_at(address).is_some()
    }

    /// Link-time address of the code at an offset in the file.
    #[must_use]
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.code.iter().find_map(|(start, begin, bytes)| {
            let at = offset.checked_sub(*begin)?;
            (at < bytes.len() as u64).then(|| start.wrapping_add(at))
        })
    }

    /// Whether a PLT stub is there.
    #[must_use]
    pub fn is_stub(&self, address: u64) -> bool {
        self.plt.iter().any(|range| range.contains(&address))
    }

    /// The symbol whose address the slot of the global offset table holds.
    #[must_use]
    pub fn slot_symbol(&self, slot: u64) -> Option<&str> {
        self.slots.get(&slot).map(String::as_str)
    }

    /// Addresses of a symbol that the file exports, one for each version.
    #[must_use]
    pub fn symbol(&self, name: &str) -> &[u64] {
        self.symbols.get(name).map_or(&[], Vec::as_slice)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
