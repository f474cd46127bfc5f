//! Code, build id and PLT sections of a program or library on disk.
//!
//! The files are those that the target mapped, but they are not trusted: sizes are bounded, and
//! invalid parts are skipped.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};

/// Most code that is read from one file, bytes. The largest known programs have half of it.
const MAX_CODE_BYTES: u64 = 1 << 30;

/// The code of an ELF file.
#[derive(Debug, Default)]
pub struct Image {
    /// GNU build id in hexadecimal.
    pub build_id: Option<String>,
    /// Executable segments: link-time address, offset in the file and bytes.
    code: Vec<(u64, u64, Vec<u8>)>,
    /// Entry point of the program.
    pub entry: u64,
    /// Address ranges of the sections with PLT stubs.
    plt: Vec<Range<u64>>,
}

impl Image {
    /// Reads a file; `None` if it is missing or not an ELF file.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let mut image = Self {
            entry: file.entry(),
            build_id: file.build_id().ok().flatten().map(hexadecimal),
            ..Self::default()
        };
        let mut room = MAX_CODE_BYTES;
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
        Some(image)
    }

    /// Returns the code from an address on, to the end of its segment.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        self.code.iter().find_map(|(start, _, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        })
    }

    /// Whether there is code at an address.
    #[must_use]
    pub fn has_code(&self, address: u64) -> bool {
        self.code_at(address).is_some()
    }

    /// Returns the link-time address of the code at an offset in the file.
    #[must_use]
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.code.iter().find_map(|(start, begin, bytes)| {
            let at = offset.checked_sub(*begin)?;
            (at < bytes.len() as u64).then(|| start.wrapping_add(at))
        })
    }

    /// Returns the offset in the file of the code at a link-time address.
    #[must_use]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.code.iter().find_map(|(start, begin, bytes)| {
            let at = address.checked_sub(*start)?;
            (at < bytes.len() as u64).then(|| begin.wrapping_add(at))
        })
    }

    /// Whether an address is in a section of PLT stubs.
    #[must_use]
    pub fn is_stub(&self, address: u64) -> bool {
        self.plt.iter().any(|range| range.contains(&address))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
