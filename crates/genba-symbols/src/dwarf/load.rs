//! Loading the debug sections of a file, decompressed.

use std::borrow::Cow;

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
    _bytes: Vec<Bytes>,
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
    let file = object::File::parse(&**data).map_err(|e| e.to_string())?;
    let endian = if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    let mut bytes = vec![Bytes::File {
        _data: data.clone(),
    }];
    let mut section = |id: SectionId| -> Result<Slice, String> {
        let content = read(&file, id.name())?;
        let slice = match content {
            // SAFETY: the slice points into the mapped file or shared memory, which do not
            // move, and of which `bytes` holds a clone; `DwarfFile` keeps `bytes` for as long
            // as it keeps the slices.
            Cow::Borrowed(slice) => unsafe { extend(slice) },
            Cow::Owned(vec) => {
                let boxed = vec.into_boxed_slice();
                // SAFETY: moving a box does not move what it points to, and `bytes`, to which
                // it is moved, is kept as above.
                let slice = unsafe { extend(&boxed) };
                bytes.push(Bytes::Owned { _bytes: boxed });
                slice
            }
        };
        Ok(EndianSlice::new(slice, endian))
    };
    let mut dwarf = gimli::Dwarf::load(&mut section)?;
    if dwarf.debug_info.reader().is_empty() && dwarf.debug_line.reader().is_empty() {
        return Ok(None);
    }
    dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
    Ok(Some(DwarfFile {
        dwarf,
        _bytes: bytes,
    }))
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
