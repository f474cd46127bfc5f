//! Reads the target's output: counts and hashes it, and captures as much as requested.

use std::hash::Hasher;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use twox_hash::XxHash3_64;

use crate::RunError;

/// What a target wrote to one of its streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputInfo {
    /// Bytes written; `None` unless counted or captured.
    pub bytes: Option<u64>,
    /// XXH3 (64 bits, seed 0) of them, the same on every machine; `None` unless counted or
    /// captured.
    pub hash: Option<u64>,
    /// The first bytes, up to the limit of a capture.
    pub captured: Vec<u8>,
}

impl OutputInfo {
    /// Whether more was written than captured.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.bytes
            .is_some_and(|bytes| bytes > self.captured.len() as u64)
    }
}

/// The reading end of a pipe.
pub struct Reader {
    /// Non-blocking; `None` after the end.
    pipe: Option<OwnedFd>,
    bytes: u64,
    hash: XxHash3_64,
    captured: Vec<u8>,
    limit: usize,
}

impl Reader {
    /// Takes the reading end of a pipe, which must be non-blocking.
    pub fn new(pipe: OwnedFd, limit: usize) -> Self {
        let hash = XxHash3_64::new();
        Self {
            pipe: Some(pipe),
            bytes: 0,
            hash,
            captured: Vec::new(),
            limit,
        }
    }

    /// What to poll; `None` after the end.
    pub fn pipe(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref()
    }

    /// Reads what is there, at most about `most` bytes; never waits.
    pub fn pump(&mut self, buffer: &mut [u8], most: u64) -> Result<(), RunError> {
        let until = self.bytes.saturating_add(most);
        while let Some(pipe) = self.pipe.as_ref().filter(|_| self.bytes < until) {
            match rustix::io::read(pipe.as_fd(), &mut *buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.take(buffer.get(..count).unwrap_or_default()),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(RunError::io("read the target's output", errno)),
            }
        }
        Ok(())
    }

    fn take(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        self.hash.write(data);
        let room = self.limit.saturating_sub(self.captured.len());
        self.captured
            .extend_from_slice(data.get(..room).unwrap_or(data));
    }

    /// What has been read.
    pub fn finish(self) -> OutputInfo {
        OutputInfo {
            bytes: Some(self.bytes),
            hash: Some(self.hash.finish()),
            captured: self.captured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reader(limit: usize) -> Reader {
        Reader {
            pipe: None,
            bytes: 0,
            hash: XxHash3_64::new(),
            captured: Vec::new(),
            limit,
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            data in prop::collection::vec(any::<u8>(), 0..2000),
            piece in 1usize..300,
            limit in 0usize..2500,
        ) {
            let (mut whole, mut pieces) = (reader(limit), reader(limit));
            whole.take(&data);
            data.chunks(piece).for_each(|piece| pieces.take(piece));
            let (whole, pieces) = (whole.finish(), pieces.finish());
            prop_assert_eq!(&whole, &pieces);
            prop_assert_eq!(&whole.captured, &data[..limit.min(data.len())]);
            prop_assert_eq!(whole.truncated(), limit < data.len());
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // XXH3_64bits of the empty input, seed 0, from the reference implementation.
        assert_eq!(reader(0).finish().hash, Some(0x2d06_8005_38d3_94c2));
    }
}
