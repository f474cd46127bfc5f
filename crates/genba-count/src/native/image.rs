//! The engine's image, laid out for an address.

use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader};
use object::{LittleEndian, elf};

type Header = elf::FileHeader64<LittleEndian>;

/// The image in memory.
pub struct Image {
    /// Bytes, to be at the base.
    pub bytes: Vec<u8>,
    /// Offset of `genba_start`.
    pub start: u64,
    /// Offset and size of what is executable.
    pub code: (u64, u64),
}

/// Lays the image out. `None` if it is not what our build makes.
pub fn lay_out(file: &[u8], base: u64) -> Option<Image> {
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
    Some(Image {
        bytes,
        start: start?,
        code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_image_can_be_laid_out() {
        let at_zero = lay_out(genba_engine::IMAGE, 0).expect("our image");
        let at_base = lay_out(genba_engine::IMAGE, 0x1_0000_0000).expect("our image");
        assert_eq!(at_zero.bytes.len(), at_base.bytes.len());
        assert_ne!(at_zero.bytes, at_base.bytes, "nothing was relocated");
        assert!(at_zero.start >= at_zero.code.0);
        assert!(at_zero.start < at_zero.code.0 + at_zero.code.1);
        assert!(lay_out(b"\x7fELF", 0).is_none());
    }
}
