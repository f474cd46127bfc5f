//! Relocates the engine binary for the address at which it will run in a target.

use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader};
use object::{LittleEndian, elf};

type Header = elf::FileHeader64<LittleEndian>;

/// The engine binary as it must be in the target's memory.
pub struct LoadedBinary {
    /// The bytes from the base address on, relocated.
    pub bytes: Vec<u8>,
    /// Offset of the entry point, `genba_start`.
    pub start: u64,
    /// Offset and size of the executable segment.
    pub code: (u64, u64),
}

/// Lays out the segments of an engine binary and relocates them for `base`. `None` if the file is
/// not an ELF file with relative relocations alone and a `genba_start`, as our build makes it.
pub fn relocate(file: &[u8], base: u64) -> Option<LoadedBinary> {
    let header = Header::parse(file).ok()?;
    let e = header.endian().ok()?;
    let mut bytes = Vec::new();
    let mut code = (0, 0);
    for segment in header.program_headers(e, file).ok()? {
        if segment.p_type(e).0 != elf::PT_LOAD.0 {
            continue;
        }
        let (from, to) = segment.file_range(e);
        let data = file.get(from as usize..(from + to) as usize)?;
        let at = segment.p_vaddr(e) as usize;
        let end = at + segment.p_memsz(e) as usize;
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes.get_mut(at..at + data.len())?.copy_from_slice(data);
        if segment.p_flags(e).0 & elf::PF_X.0 != 0 {
            code = (segment.p_vaddr(e), segment.p_memsz(e));
        }
    }
    let sections = header.sections(e, file).ok()?;
    let symbols = sections.symbols(e, file, elf::SHT_DYNSYM).ok()?;
    let mut start = None;
    for symbol in symbols.iter() {
        if symbols.symbol_name(e, symbol).ok()? == b"genba_start" {
            start = Some(symbol.st_value.get(e));
        }
    }
    for section in sections.iter() {
        let Some((relocations, _)) = section.rela(e, file).ok()? else {
            continue;
        };
        for relocation in relocations {
            if relocation.r_type(e, false) != elf::R_X86_64_RELATIVE {
                return None;
            }
            let at = relocation.r_offset(e) as usize;
            let value = base.wrapping_add(relocation.r_addend(e) as u64);
            bytes
                .get_mut(at..at + 8)?
                .copy_from_slice(&value.to_le_bytes());
        }
    }
    Some(LoadedBinary {
        bytes,
        start: start?,
        code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_engine_binary_is_relocated_for_its_base() {
        let at_zero = relocate(genba_engine::ENGINE_BINARY, 0).expect("the engine binary");
        let at_base =
            relocate(genba_engine::ENGINE_BINARY, 0x1_0000_0000).expect("the engine binary");
        assert_eq!(at_zero.bytes.len(), at_base.bytes.len());
        assert_ne!(at_zero.bytes, at_base.bytes, "nothing was relocated");
        assert!(at_zero.start >= at_zero.code.0);
        assert!(at_zero.start < at_zero.code.0 + at_zero.code.1);
        assert!(relocate(b"\x7fELF", 0).is_none());
    }
}
