//! Loading the debug sections of a file, decompressed.

use std::borrow::Cow;
use std::sync::Arc;

use gimli::{EndianSlice, RunTimeEndian, Section as _, SectionId};
use object::{Object, ObjectSection};

use super::Slice;
use crate::file_bytes::FileBytes;

/// The sections, and the bytes that they are slices of.
pub(crate) struct DwarfFile {
    // Declared before the bytes that it points into, so that it is dropped before them. The
    // `'static` is not true: nothing of this type or made from it may be given out of the
    // `dwarf` module, nor outlive this struct.
    pub(super) dwarf: gimli::Dwarf<Slice>,
    /// Those of the file, and of the files whose sections it uses.
    bytes: Vec<Arc<Vec<Bytes>>>,
}

/// A DWARF package (`.dwp`): the split units of a program in one file.
pub(super) struct Package {
    // Declared before the bytes, as in [`DwarfFile`].
    package: gimli::DwarfPackage<Slice>,
    bytes: Arc<Vec<Bytes>>,
}

enum Bytes {
    /// A part of the file is used in place.
    File { _data: FileBytes },
    /// A section was decompressed.
    Owned { _bytes: Box<[u8]> },
}

/// A compressed section may grow to this much and [`MAX_RATIO`] times its size.
const BASE_SIZE: u64 = 16 << 20;
/// zlib cannot compress better than 1032:1; DWARF is nowhere near.
const MAX_RATIO: u64 = 1100;

/// Loads the sections; `None` if there is no `.debug_info` or `.debug_line`.
pub(crate) fn load(data: &FileBytes) -> Result<Option<DwarfFile>, String> {
    let mut sections = Sections::new(data)?;
    let mut dwarf = gimli::Dwarf::load(|id| sections.load(used(id).then(|| id.name())))?;
    if dwarf.debug_info.reader().is_empty() && dwarf.debug_line.reader().is_empty() {
        return Ok(None);
    }
    dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
    Ok(Some(DwarfFile {
        dwarf,
        bytes: vec![Arc::new(sections.bytes)],
    }))
}

/// Whether a section is ever read: where variables are is not asked for, and their lists would take
/// long to decompress.
fn used(id: SectionId) -> bool {
    !matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
    )
}

impl DwarfFile {
    /// Loads a split DWARF object (`.dwo`) of a unit in this file.
    pub(super) fn load_split(&self, data: &FileBytes) -> Result<Self, String> {
        let mut sections = Sections::new(data)?;
        let dwarf = gimli::Dwarf::load(|id| sections.load(id.dwo_name().filter(|_| used(id))))?;
        Ok(self.with_own_lines(dwarf, Arc::new(sections.bytes)))
    }

    /// The split unit of this id in a package.
    pub(super) fn find_in_package(&self, package: &Package, id: gimli::DwoId) -> Option<Self> {
        let dwarf = package.package.find_cu(id, &self.dwarf).ok()??;
        Some(self.with_own_lines(dwarf, Arc::clone(&package.bytes)))
    }

    /// A split unit refers to addresses and to lines of this file.
    fn with_own_lines(&self, mut dwarf: gimli::Dwarf<Slice>, bytes: Arc<Vec<Bytes>>) -> Self {
        dwarf.make_dwo(&self.dwarf);
        dwarf.debug_line = self.dwarf.debug_line;
        dwarf.debug_line_str = self.dwarf.debug_line_str;
        let mut all = self.bytes.clone();
        all.push(bytes);
        Self { dwarf, bytes: all }
    }
}

impl Package {
    pub(super) fn load(data: &FileBytes) -> Result<Self, String> {
        let mut sections = Sections::new(data)?;
        let empty = sections.load(None)?;
        let load = |id: SectionId| sections.load(id.dwo_name()).map_err(PackageError);
        let package = gimli::DwarfPackage::load(load, empty).map_err(|error| error.0)?;
        Ok(Self {
            package,
            bytes: Arc::new(sections.bytes),
        })
    }
}

/// Either gimli's error or ours, as a sentence.
struct PackageError(String);

impl From<gimli::Error> for PackageError {
    fn from(error: gimli::Error) -> Self {
        Self(error.to_string())
    }
}

/// Sections of a file being loaded.
struct Sections<'a> {
    file: object::File<'a>,
    endian: RunTimeEndian,
    bytes: Vec<Bytes>,
}

impl<'a> Sections<'a> {
    fn new(data: &'a FileBytes) -> Result<Self, String> {
        let file = object::File::parse(&**data).map_err(|e| e.to_string())?;
        let endian = if file.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        Ok(Self {
            file,
            endian,
            bytes: vec![Bytes::File {
                _data: data.clone(),
            }],
        })
    }

    /// A section, decompressed; empty if the file has none of the name.
    fn load(&mut self, name: Option<&str>) -> Result<Slice, String> {
        let content = match name {
            Some(name) => read(&self.file, name)?,
            None => Cow::Borrowed(&[][..]),
        };
        let slice = match content {
            // SAFETY: the slice points into the mapped file or shared memory, which do not
            // move, and of which `bytes` holds a clone; what is made of the slices keeps `bytes`
            // for as long as it keeps them.
            Cow::Borrowed(slice) => unsafe { extend(slice) },
            Cow::Owned(vec) => {
                let boxed = vec.into_boxed_slice();
                // SAFETY: moving a box does not move what it points to, and `bytes`, to which
                // it is moved, is kept as above.
                let slice = unsafe { extend(&boxed) };
                self.bytes.push(Bytes::Owned { _bytes: boxed });
                slice
            }
        };
        Ok(EndianSlice::new(slice, self.endian))
    }
}

/// Gives a slice a lifetime that the compiler does not check.
///
/// # Safety
/// The bytes must stay where they are, unchanged by us, as long as the result is used.
unsafe fn extend(slice: &[u8]) -> &'static [u8] {
    // SAFETY: pointer and length come from a valid slice; the caller answers for the lifetime.
    unsafe { std::slice::from_raw_parts(slice.as_ptr(), slice.len()) }
}

fn read<'a>(file: &object::File<'a>, name: &str) -> Result<Cow<'a, [u8]>, String> {
    let Some(section) = file.section_by_name(name) else {
        return Ok(Cow::Borrowed(&[]));
    };
    let describe = |e: object::Error| format!("section {name}: {e}");
    let compressed = section.compressed_data().map_err(describe)?;
    let limit = BASE_SIZE + (compressed.data.len() as u64).saturating_mul(MAX_RATIO);
    if compressed.uncompressed_size > limit {
        return Err(format!(
            "section {name} claims to hold {} bytes when decompressed",
            compressed.uncompressed_size
        ));
    }
    compressed.decompress().map_err(describe)
}
