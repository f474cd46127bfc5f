//! The windows of a proof in a count file, which the target can write to.
#![no_main]

use std::io;

use genba_count::native::{DuetFile, Source};
use libfuzzer_sys::fuzz_target;

/// A file whose tables are far apart: the control page, and behind it the windows wherever they are read.
struct Sparse<'a>(&'a [u8]);

/// Bytes before which an offset is one in the control page.
const CONTROL_BYTES: u64 = 0x1_0000;

impl Source for Sparse<'_> {
    fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if offset < CONTROL_BYTES {
            // Beyond the input, the page is zero.
            for (to, at) in bytes.iter_mut().zip(offset as usize..) {
                *to = self.0.get(at).copied().unwrap_or(0);
            }
            return Ok(());
        }
        let found = self.0.get(..bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = DuetFile::read(&Sparse(bytes)) {
        assert!(file.windows.len() * 32 <= bytes.len());
        for window in file.windows {
            assert!(window.number < 1 << 31);
        }
    }
});
