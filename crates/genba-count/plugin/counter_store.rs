//! The count file of the plugin, in chunks that are mapped and shared, so that it has all counts
//! even if the process is killed.
//!
//! What must hold: descriptors are closed at once, since the target can close or reuse any number;
//! a record is complete before it is counted as used; what cannot be stored is counted as lost.

use std::ffi::c_void;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plugin_file_layout::{HEADER, MAGIC, RECORD, block, edge, header, kind};
use crate::qemu_api::{self, MAP_ANONYMOUS, MAP_FIXED, MAP_PRIVATE, MAP_SHARED, PROT_READ_WRITE};

/// Bytes by which the file grows.
const CHUNK_BYTES: usize = 4 << 20;
/// Maximum number of chunks: 50 million blocks.
const MAX_CHUNKS: usize = 1024;

/// The file, mapped.
pub struct Store {
    directory: PathBuf,
    /// Whether forked children count, too.
    pub children: bool,
    chunks: Vec<NonNull<u8>>,
    /// Bytes in use. The header has them, too, but a fork shares it.
    used: usize,
}

// SAFETY: the chunks are mapped for good, and all access to them is atomic once a record has
// been handed out.
unsafe impl Send for Store {}

/// A counter in the file.
#[derive(Clone, Copy)]
pub struct Counter(NonNull<AtomicU64>);

// SAFETY: it points into a mapping that is never removed, and is only used atomically.
unsafe impl Send for Counter {}
// SAFETY: as above.
unsafe impl Sync for Counter {}

impl Counter {
    /// Adds one. `alone`: no other thread of the process can be doing the same.
    pub fn increment(self, alone: bool) {
        // SAFETY: mapped for good, aligned, and only used atomically.
        let counter = unsafe { self.0.as_ref() };
        if alone {
            // A locked instruction costs as much as the rest of the callback.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Store {
    /// Creates the file of this process.
    pub fn create(directory: PathBuf, children: bool) -> Option<Self> {
        let mut store = Self {
            directory,
            children,
            chunks: Vec::new(),
            used: HEADER,
        };
        store.grow()?;
        store.write_header(0);
        Some(store)
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{}", std::process::id()))
    }

    /// Maps the next chunk.
    fn grow(&mut self) -> Option<()> {
        if self.chunks.len() == MAX_CHUNKS {
            return None;
        }
        let offset = (self.chunks.len() * CHUNK_BYTES) as i64;
        let chunk = map(&self.path(), offset, null_mut())?;
        self.chunks.push(chunk);
        Some(())
    }

    fn write_header(&mut self, parent: u64) {
        self.field(header::MAGIC).store(MAGIC, Ordering::Relaxed);
        let pid = u64::from(std::process::id());
        self.field(header::PID).store(pid, Ordering::Relaxed);
        self.field(header::PARENT).store(parent, Ordering::Relaxed);
        self.field(header::USED)
            .store(self.used as u64, Ordering::Release);
    }

    /// A field of the header.
    pub fn field(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at % 8 == 0 && at < HEADER);
        // SAFETY: the first chunk exists as long as `self`, is zeroed or written, aligned to
        // pages, and larger than the header.
        unsafe { &*self.chunks[0].as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Appends a record: its kind, then `body`. Returns its offset in the file and its address.
    pub fn append(&mut self, kind: u32, body: &[u8]) -> Option<(u64, NonNull<u8>)> {
        let size = (RECORD + body.len()).next_multiple_of(8);
        if size > CHUNK_BYTES / 2 {
            return None;
        }
        // A record does not cross chunks; kind 0 fills the rest of one.
        let room = self.chunks.len() * CHUNK_BYTES - self.used;
        if room < size {
            self.grow()?;
            if room >= RECORD {
                let at = self.address(self.used);
                // SAFETY: at least eight bytes are left in this chunk, aligned to eight, and
                // nobody reads them before `used` says so.
                unsafe { at.cast::<[u32; 2]>().write([0, room as u32]) };
            }
            self.used += room;
        }
        let place = self.used;
        let at = self.address(place);
        // SAFETY: `size` bytes are left in the chunk, aligned to eight; nobody else has them.
        unsafe {
            at.cast::<[u32; 2]>().write([kind, size as u32]);
            at.add(RECORD)
                .copy_from_nonoverlapping(NonNull::from(body).cast(), body.len());
        }
        self.used += size;
        self.field(header::USED)
            .store(self.used as u64, Ordering::Release);
        Some((place as u64, at))
    }

    /// The counter at `offset` of a record.
    pub fn counter(record: NonNull<u8>, offset: usize) -> Counter {
        debug_assert!(offset % 8 == 0);
        // SAFETY: within the record, by the layout.
        Counter(unsafe { record.add(offset) }.cast())
    }

    fn address(&self, place: usize) -> NonNull<u8> {
        // SAFETY: `place` is in use or about to be, hence in a mapped chunk.
        unsafe { self.chunks[place / CHUNK_BYTES].add(place % CHUNK_BYTES) }
    }

    /// In a forked child: moves the counters from the parent's file to a file of the child's own,
    /// which begins at zero, or to memory that nobody reads.
    pub fn split(&mut self, parent: u64) {
        if !(self.children && self.copy().is_some()) {
            for chunk in &self.chunks {
                let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
                // SAFETY: replaces a mapping of ours of the same size; the process has one
                // thread.
                unsafe {
                    qemu_api::mmap(
                        chunk.as_ptr().cast(),
                        CHUNK_BYTES,
                        PROT_READ_WRITE,
                        flags,
                        -1,
                        0,
                    )
                };
            }
        }
        self.write_header(parent);
        for field in [header::FLAGS, header::LOST, header::SIGNALS, header::FORKS] {
            self.field(field).store(0, Ordering::Relaxed);
        }
    }

    fn copy(&mut self) -> Option<()> {
        let path = self.path();
        // The parent appends further records beyond `used`, which is the child's own copy.
        let mut bytes = vec![0; self.used];
        let mut at = 0;
        while at < self.used {
            let length = (self.used - at).min(CHUNK_BYTES);
            let source = self.address(at);
            // SAFETY: in use, hence mapped. The parent changes counters meanwhile, which are
            // overwritten below.
            unsafe {
                source.copy_to_nonoverlapping(NonNull::from(&mut bytes[at..]).cast(), length)
            };
            at += length;
        }
        clear_counters(&mut bytes)?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .ok()?;
        file.write_all_at(&bytes, 0).ok()?;
        drop(file);
        for (index, chunk) in self.chunks.iter().enumerate() {
            map(&path, (index * CHUNK_BYTES) as i64, chunk.as_ptr())?;
        }
        Some(())
    }
}

/// Maps a chunk of the file, at `fixed` if that is not null.
fn map(path: &std::path::Path, offset: i64, fixed: *mut u8) -> Option<NonNull<u8>> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .ok()?;
    let mut flags = MAP_SHARED;
    if !fixed.is_null() {
        flags |= MAP_FIXED;
    }
    // SAFETY: reserves room for all of the chunk, so that writing to it cannot fail later; then
    // maps it where the kernel likes, or over a mapping of ours of the same size.
    let address = unsafe {
        if qemu_api::posix_fallocate(file.as_raw_fd(), offset, CHUNK_BYTES as i64) != 0 {
            return None;
        }
        qemu_api::mmap(
            fixed.cast(),
            CHUNK_BYTES,
            PROT_READ_WRITE,
            flags,
            file.as_raw_fd(),
            offset,
        )
    };
    // `MAP_FAILED` is -1.
    if address as isize == -1 {
        return None;
    }
    NonNull::new(address.cast::<c_void>().cast())
}

/// Sets the counters of all records to zero.
fn clear_counters(bytes: &mut [u8]) -> Option<()> {
    let mut at = HEADER;
    while at < bytes.len() {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (kind, size) = (word(at)?, word(at + 4)? as usize);
        let counters: &[usize] = match kind {
            kind::BLOCK => &[block::COUNT, block::ITERATIONS],
            kind::EDGE | kind::BINDING => &[edge::COUNT],
            _ => &[],
        };
        for offset in counters {
            bytes.get_mut(at + offset..at + offset + 8)?.fill(0);
        }
        at += size.max(RECORD);
    }
    Some(())
}
