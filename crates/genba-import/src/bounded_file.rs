//! Reading files of bounded size, packed or not.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::{ImportError, Imported, Result};

/// Largest file that is read, unpacked. A profile of samply with a million samples has some 100 MB.
const MAX_BYTES: u64 = 1 << 30;
/// What the first of several packed files in a row begins with is unpacked in pieces of this size.
const FIRST_BYTES: usize = 1 << 20;

/// Reads a profile of another program; `Ok(None)` for a recording of perf or genba and for what is not a file.
///
/// # Errors
/// As [`crate::read`].
pub fn open(path: &Path, event: Option<&str>) -> Result<Option<Imported>> {
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_BYTES + 1);
    // perf's magic numbers, also of the other byte order.
    let mut magic = [0; 8];
    let got = read_up_to(&mut limited, &mut magic)?;
    if got == 0 || magic[..got].starts_with(b"PERFILE") || magic[..got].ends_with(b"ELIFREP") {
        return Ok(None);
    }
    bytes.extend_from_slice(&magic[..got]);
    limited.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ImportError::TooLarge(MAX_BYTES >> 20));
    }
    crate::read(&bytes, event).map(Some)
}

fn read_up_to(from: &mut impl Read, to: &mut [u8]) -> Result<usize> {
    let mut got = 0;
    while got < to.len() {
        match from.read(&mut to[got..])? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// Unpacks gzip.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(FIRST_BYTES);
    let mut limited = MultiGzDecoder::new(bytes).take(MAX_BYTES + 1);
    limited.read_to_end(&mut out)?;
    if out.len() as u64 > MAX_BYTES {
        return Err(ImportError::TooLarge(MAX_BYTES >> 20));
    }
    Ok(out)
}
