//! The bytes of a file, mapped or in memory.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::SymbolsError;

/// Shared bytes whose address does not change while any clone lives.
#[derive(Clone, Debug)]
pub enum FileBytes {
    /// A mapped file.
    Mapped(Arc<Mmap>),
    /// An image in memory.
    Memory(Arc<[u8]>),
}

impl FileBytes {
    /// Maps a regular file.
    ///
    /// # Errors
    /// [`SymbolsError::Read`] if it cannot be mapped, or is not a regular file.
    pub fn open(path: &Path) -> Result<Self, SymbolsError> {
        let error = |source| SymbolsError::Read {
            path: path.to_owned(),
            source,
        };
        // The kind is asked for before opening: opening a FIFO would wait for a writer.
        let is_file = std::fs::metadata(path).map_err(error)?.is_file();
        if !is_file {
            return Err(error(std::io::Error::other("it is not a regular file")));
        }
        let file = File::open(path).map_err(error)?;
        // SAFETY: the mapping is private and read-only, and outlives every slice of it because
        // slices are only given out while a clone of the Arc is held. Another process that
        // writes to or truncates the file can change the bytes or raise SIGBUS, which all
        // readers of executables accept; no invariant of ours depends on the bytes' values.
        let map = unsafe { Mmap::map(&file) }.map_err(error)?;
        Ok(Self::Mapped(Arc::new(map)))
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}
