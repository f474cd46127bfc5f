//! What the headers of an ELF file say.

use crate::build_id::MAX_BUILD_ID;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Architecture, Endianness, FileKind, Object, elf};

/// A part of the file that is mapped into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address in the module.
    pub address: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Offset in the file.
    pub file_offset: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Whether its code may run.
    pub executable: bool,
}

/// A section; the data is read from the file when asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Name.
    pub name: String,
    /// Address in the module, 0 if it is not loaded.
    pub address: u64,
    /// Bytes in memory.
    pub size: u64,
    /// Offset in the file and bytes there; `None` for `.bss` and the sections that a debug
    /// file has emptied.
    pub file: Option<(u64, u64)>,
    /// Whether it is loaded.
    pub allocated: bool,
    /// Whether it holds code.
    pub executable: bool,
    /// Type (`SHT_…`).
    pub(crate) kind: u32,
    /// Index of the section that it refers to.
    pub(crate) link: u32,
}

/// Headers, read once.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) architecture: Architecture,
    pub(crate) entry: u64,
    pub(crate) little_endian: bool,
    pub(crate) is_64: bool,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) debug_link: Option<(Vec<u8>, u32)>,
    pub(crate) alt_link: Option<(Vec<u8>, Vec<u8>)>,
}

const PF_X: u32 = 1;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;

/// Longest section name that is kept.
const MAX_SECTION_NAME: usize = 256;

impl Layout {
    /// Reads the headers. A damaged section table leaves the sections out, since a program
    /// runs without; damaged program headers are an error.
    pub(crate) fn parse(data: &[u8]) -> Result<Self, String> {
        let kind = FileKind::parse(data).map_err(|e| e.to_string())?;
        match kind {
            FileKind::Elf64 => parse::<elf::FileHeader64<Endianness>>(data),
            FileKind::Elf32 => parse::<elf::FileHeader32<Endianness>>(data),
            other => Err(format!("it is {other:?}, not ELF")),
        }
    }

    /// Bytes of the file that are loaded at `address`, to the end of their segment at most.
    pub(crate) fn bytes_at<'a>(&self, data: &'a [u8], address: u64, size: u64) -> Option<&'a [u8]> {
        let segment = self.segments.iter().find(|s| {
            address
                .checked_sub(s.address)
                .is_some_and(|offset| offset < s.file_size)
        })?;
        let within = address - segment.address;
        let size = size.min(segment.file_size - within);
        let start = segment.file_offset.checked_add(within)?;
        slice(data, start, size)
    }

    pub(crate) fn section_data<'a>(&self, data: &'a [u8], section: &Section) -> Option<&'a [u8]> {
        let (offset, size) = section.file?;
        slice(data, offset, size)
    }
}

fn slice(data: &[u8], start: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    data.get(start..end)
}

fn parse<E: FileHeader<Endian = Endianness>>(data: &[u8]) -> Result<Layout, String> {
    let text = |e: object::Error| e.to_string();
    let header = E::parse(data).map_err(text)?;
    let endian = header.endian().map_err(text)?;
    let programs = header.program_headers(endian, data).map_err(text)?;
    let segments = programs
        .iter()
        .filter(|p| p.p_type(endian) == elf::PT_LOAD)
        .map(|p| Segment {
            address: p.p_vaddr(endian).into(),
            memory_size: p.p_memsz(endian).into(),
            file_offset: p.p_offset(endian).into(),
            file_size: p.p_filesz(endian).into(),
            executable: p.p_flags(endian).0 & PF_X != 0,
        })
        .collect();
    let mut sections = Vec::new();
    if let Ok(table) = header.sections(endian, data) {
        for section in table.iter() {
            let name = table.section_name(endian, section).unwrap_or(b"");
            let name = &name[..name.len().min(MAX_SECTION_NAME)];
            let flags: u64 = section.sh_flags(endian).0;
            sections.push(Section {
                name: String::from_utf8_lossy(name).into_owned(),
                address: section.sh_addr(endian).into(),
                size: section.sh_size(endian).into(),
                file: section.file_range(endian),
                allocated: flags & SHF_ALLOC != 0,
                executable: flags & SHF_EXECINSTR != 0,
                kind: section.sh_type(endian).0,
                link: section.sh_link(endian),
            });
        }
    }
    let object = object::File::parse(data).ok();
    let object = object.as_ref();
    let architecture = object.map_or(Architecture::Unknown, |o| o.architecture());
    Ok(Layout {
        architecture,
        entry: header.e_entry(endian).into(),
        little_endian: header.is_little_endian(),
        is_64: header.is_class_64(),
        segments,
        sections,
        build_id: object
            .and_then(|o| o.build_id().ok().flatten())
            .filter(|id| !id.is_empty() && id.len() <= MAX_BUILD_ID)
            .map(<[u8]>::to_vec),
        debug_link: object
            .and_then(|o| o.gnu_debuglink().ok().flatten())
            .map(|(name, crc)| (name.to_vec(), crc)),
        alt_link: object
            .and_then(|o| o.gnu_debugaltlink().ok().flatten())
            .map(|(name, id)| (name.to_vec(), id.to_vec())),
    })
}
