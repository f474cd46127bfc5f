//! `.gnu_debugdata` ("MiniDebugInfo"): the symbol table that Fedora leaves in stripped programs,
//! an ELF file compressed with xz ("MiniDebugInfo", gdb manual).

use xz4rust::{XzDecoder, XzNextBlockResult};

use crate::elf::Layout;
use crate::file_bytes::FileBytes;

/// Largest file in such a section, bytes; that of a large program has some megabytes.
const MAX_SIZE: usize = 64 << 20;
/// Largest dictionary that a stream may ask for, bytes: `xz -9` asks for as much.
const MAX_DICTIONARY: usize = 64 << 20;
/// Bytes that are decompressed at a time.
const CHUNK: usize = 64 << 10;

/// The file in the section, and its headers; `None` if there is none that can be used.
pub(crate) fn load(layout: &Layout, data: &[u8]) -> Option<(Layout, FileBytes)> {
    let mut sections = layout.sections.iter();
    let section = sections.find(|section| section.name == ".gnu_debugdata")?;
    let file = decompress(layout.section_data(data, section)?)?;
    let layout = Layout::parse(&file).ok()?;
    Some((layout, FileBytes::Memory(file.into())))
}

/// Decompresses an xz stream; `None` if it is damaged or too large.
fn decompress(mut stream: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = XzDecoder::in_heap_with_alloc_dict_size(0, MAX_DICTIONARY);
    let mut chunk = vec![0; CHUNK];
    let mut out = Vec::new();
    loop {
        let result = decoder.decode(stream, &mut chunk).ok()?;
        out.extend_from_slice(chunk.get(..result.output_produced())?);
        match result {
            XzNextBlockResult::EndOfStream(..) => return Some(out),
            XzNextBlockResult::NeedMoreData(..) => {}
        }
        if !result.made_progress() || out.len() > MAX_SIZE {
            return None;
        }
        stream = stream.get(result.input_consumed()..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `printf symbols | xz --check=crc64`.
    const XZ: &[u8] = include_bytes!("../testdata/symbols.xz");

    #[test]
    fn stream_is_decompressed_and_a_truncated_one_is_refused() {
        assert_eq!(decompress(XZ).as_deref(), Some(&b"symbols"[..]));
        for length in 0..XZ.len() {
            assert_eq!(decompress(&XZ[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn stream_that_grows_without_bound_is_refused() {
        // 100 MiB of zeros in 15 KiB.
        let bomb = include_bytes!("../testdata/zeros-100m.xz");
        assert!(bomb.len() < 20 << 10);
        assert_eq!(decompress(bomb), None);
    }

    proptest! {
        #[test]
        fn damaged_streams_do_not_panic(at in 0..XZ.len(), byte in any::<u8>()) {
            let mut damaged = XZ.to_vec();
            damaged[at] = byte;
            let _ = decompress(&damaged);
        }
    }
}
