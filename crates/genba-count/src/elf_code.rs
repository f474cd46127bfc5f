//! The code of a program or library that was counted: which addresses have code, and which are PLT
//! stubs. The files are those that the target mapped, but they are not trusted.

use std::ops::Range;
use std::path::Path;

use genba_symbols::Binary;

/// The code of an ELF file.
#[derive(Debug)]
pub struct ElfCode {
    binary: Binary,
    /// Executable segments: link-time addresses, and the offset in the file of the first.
    segments: Vec<(Range<u64>, u64)>,
    /// Address ranges of the sections with PLT stubs.
    plt: Vec<Range<u64>>,
}

impl ElfCode {
    /// Reads a file; `None` if it is missing or not an ELF file.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let binary = Binary::open(path).ok()?;
        let segments = (binary.segments().iter())
            .filter(|segment| segment.executable)
            .map(|segment| {
                let end = segment.address.saturating_add(segment.file_size);
                (segment.address..end, segment.file_offset)
            })
            .collect();
        let plt = (binary.sections().iter())
            .filter(|section| {
                matches!(
                    section.name.as_str(),
                    ".plt" | ".plt.got" | ".plt.sec" | ".iplt"
                )
            })
            .map(|section| section.address..section.address.saturating_add(section.size))
            .collect();
        Some(Self {
            binary,
            segments,
            plt,
        })
    }

    /// Returns the GNU build id in hexadecimal.
    #[must_use]
    pub fn build_id(&self) -> Option<String> {
        self.binary.build_id()
    }

    /// Returns the address at which the execution of a program begins.
    #[must_use]
    pub fn entry_point(&self) -> u64 {
        self.binary.entry_point()
    }

    /// Returns the code from an address on, to the end of its segment.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        let (segment, _) = (self.segments.iter()).find(|(range, _)| range.contains(&address))?;
        self.binary.bytes_at(address, segment.end - address)
    }

    /// Whether there is code at an address.
    #[must_use]
    pub fn has_code(&self, address: u64) -> bool {
        self.segments
            .iter()
            .any(|(range, _)| range.contains(&address))
    }

    /// Returns the link-time address of the code at an offset in the file.
    #[must_use]
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|(range, begin)| {
            let within = offset.checked_sub(*begin)?;
            let address = range.start.checked_add(within)?;
            range.contains(&address).then_some(address)
        })
    }

    /// Returns the offset in the file of the code at a link-time address.
    #[must_use]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let (segment, begin) =
            (self.segments.iter()).find(|(range, _)| range.contains(&address))?;
        begin.checked_add(address - segment.start)
    }

    /// Whether an address is in a section of PLT stubs.
    #[must_use]
    pub fn is_stub(&self, address: u64) -> bool {
        self.plt.iter().any(|range| range.contains(&address))
    }
}
