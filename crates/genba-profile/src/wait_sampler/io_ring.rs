//! What a thread waits for that is blocked in `io_uring_enter`: the operations that were submitted and are not
//! completed, from the ring's memory in the process (io_uring(7)).
//!
//! The kernel does not say which of the submitted operations are under way. So many as are not completed yet are read
//! from the end of the queue: a ring that does one thing at a time, or the same again and again, is told exactly.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use genba_model::WaitReason;
use genba_symbols::{Mapping, mappings_of_process};

use super::descriptor_peers::DescriptorPeers;
use super::waited_for::{Enders, Named, WaitedFor, of_call};
use crate::process_memory::read_memory;

/// Most operations that are read of a ring.
const MAX_OPERATIONS: u32 = 64;
/// Bytes of an entry of the submission queue; twice as many in rings with IORING_SETUP_SQE128.
const ENTRY: u64 = 64;
/// Offset of the entries in the ring's file (IORING_OFF_SQES).
const ENTRIES_OFFSET: u64 = 0x1000_0000;
/// The descriptor is an index into the ring's registered files (IOSQE_FIXED_FILE).
const FIXED_FILE: u8 = 1;

/// An operation that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operation {
    code: u8,
    /// The descriptor; `None` where it is the index of a registered file.
    descriptor: Option<i32>,
}

/// Where a ring lies in its process.
#[derive(Clone, Copy, Debug)]
struct RingPlace {
    heads: u64,
    entries: u64,
    entries_bytes: u64,
}

/// Places of rings by process and inode; `None` for those that are not mapped.
#[derive(Debug, Default)]
pub struct RingPlaces(HashMap<(i32, u64), Option<RingPlace>>);

/// Most rings whose places are kept.
const MAX_PLACES: usize = 1_000;

impl RingPlaces {
    fn place(&mut self, pid: i32, number: i32) -> Option<RingPlace> {
        let inode = std::fs::metadata(format!("/proc/{pid}/fd/{number}"))
            .ok()?
            .ino();
        if self.0.len() >= MAX_PLACES {
            self.0.clear();
        }
        *self.0.entry((pid, inode)).or_insert_with(|| {
            let mappings = mappings_of_process(pid).ok()?;
            of_mappings(&mappings, inode)
        })
    }
}

fn of_mappings(mappings: &[Mapping], inode: u64) -> Option<RingPlace> {
    let of_ring = |offset| {
        mappings
            .iter()
            .find(|one| (one.inode, one.offset) == (inode, offset))
    };
    let (heads, entries) = (of_ring(0)?, of_ring(ENTRIES_OFFSET)?);
    Some(RingPlace {
        heads: heads.start,
        entries: entries.start,
        entries_bytes: entries.end - entries.start,
    })
}

/// What a wait for a ring is for.
pub fn waited_for(pid: i32, number: i32, peers: &mut DescriptorPeers) -> WaitedFor {
    let place = peers.rings.place(pid, number);
    let operations = place.and_then(|place| pending(pid, place));
    let operations = operations.unwrap_or_default();
    // A time limit is there beside what is waited for.
    let is_time = |one: &&Operation| matches!(call_of(one.code), Some((libc::SYS_nanosleep, _)));
    let only_time = operations.iter().all(|one| is_time(&one));
    let mut kinds: Vec<&str> = Vec::new();
    let mut waits: Vec<WaitedFor> = Vec::new();
    for one in operations.iter().filter(|one| only_time || !is_time(one)) {
        let (call, kind) = call_of(one.code).unwrap_or((i64::MAX, "other"));
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        let wait = of_call(pid, call, one.descriptor, peers);
        if !waits.contains(&wait) {
            waits.push(wait);
        }
    }
    if let [wait] = waits.as_slice()
        && wait.reason != WaitReason::Unknown
    {
        let named = wait.object != Named::Nothing || wait.reason == WaitReason::Sleep;
        let object = match named {
            true => wait.object.clone(),
            false => of_kinds(&mut kinds),
        };
        return WaitedFor {
            object,
            ..wait.clone()
        };
    }
    // A file that is written and forced to the disk is waited for until it is there.
    let fsync = waits.iter().find(|wait| wait.reason == WaitReason::Fsync);
    let to_disk = |wait: &WaitedFor| matches!(wait.reason, WaitReason::File | WaitReason::Fsync);
    if let Some(fsync) = fsync
        && waits
            .iter()
            .all(|wait| to_disk(wait) && wait.object == fsync.object)
    {
        return fsync.clone();
    }
    let same = waits.first().map(|wait| wait.reason);
    let same = same.filter(|same| waits.iter().all(|wait| wait.reason == *same));
    WaitedFor {
        reason: same
            .filter(|reason| *reason != WaitReason::Unknown)
            .unwrap_or(WaitReason::Poll),
        object: of_kinds(&mut kinds),
        enders: Enders::Nobody,
    }
}

fn of_kinds(kinds: &mut [&str]) -> Named {
    kinds.sort_unstable();
    Named::Descriptor(match kinds.is_empty() {
        true => "io_uring".to_owned(),
        false => format!("io_uring: {}", kinds.join(", ")),
    })
}

/// The operations that are not completed; `None` where a ring's numbers do not say which: an operation with many
/// completions is under way.
fn pending(pid: i32, place: RingPlace) -> Option<Vec<Operation>> {
    let mut heads = [0; 272];
    let read = read_memory(pid, place.heads, &mut heads);
    let (submitted, completed, mask) = counters(&heads[..read])?;
    let count = submitted.wrapping_sub(completed);
    let entries = u64::from(mask) + 1;
    if entries * ENTRY > place.entries_bytes {
        return None;
    }
    // Of entries that were written over nothing is known.
    if u64::from(count) > entries {
        return None;
    }
    let pages = (entries * ENTRY).next_multiple_of(rustix::param::page_size() as u64);
    let size = if place.entries_bytes >= 2 * entries * ENTRY && place.entries_bytes > pages {
        2 * ENTRY
    } else {
        ENTRY
    };
    let operation = |back: u32| {
        let index = u64::from(submitted.wrapping_sub(back) & mask);
        let mut entry = [0; 8];
        let read = read_memory(pid, place.entries + index * size, &mut entry);
        (read == entry.len()).then(|| parse(&entry))
    };
    (1..=count.min(MAX_OPERATIONS)).map(operation).collect()
}

/// How many entries were taken from the submission queue, how many were put into the completion queue, and the mask of
/// an entry's index, from `struct io_rings` of the kernel.
fn counters(heads: &[u8]) -> Option<(u32, u32, u32)> {
    /// Where these and the number of entries lie: heads and tails had a cache line each once.
    const LAYOUTS: [[usize; 4]; 2] = [[0, 12, 16, 24], [0, 192, 256, 264]];
    let word = |at: usize| Some(u32::from_le_bytes(*heads.get(at..)?.first_chunk()?));
    LAYOUTS.iter().find_map(|at| {
        let [submitted, completed, mask, entries] = at.map(word);
        let entries = entries.filter(|entries| entries.is_power_of_two())?;
        (mask? == entries - 1).then_some((submitted?, completed?, mask?))
    })
}

/// `struct io_uring_sqe`: code, flags, priority, descriptor.
fn parse(entry: &[u8; 8]) -> Operation {
    let [code, flags, _, _, a, b, c, d] = *entry;
    Operation {
        code,
        descriptor: (flags & FIXED_FILE == 0).then(|| i32::from_le_bytes([a, b, c, d])),
    }
}

/// The system call that does what an operation does (`enum io_uring_op`), and its name.
fn call_of(code: u8) -> Option<(i64, &'static str)> {
    Some(match code {
        1 | 4 | 22 | 49 => (libc::SYS_read, "read"),
        2 | 5 | 23 => (libc::SYS_write, "write"),
        3 => (libc::SYS_fsync, "fsync"),
        6 => (libc::SYS_poll, "poll"),
        8 => (libc::SYS_sync_file_range, "sync_file_range"),
        9 | 26 | 47 | 48 => (libc::SYS_sendto, "send"),
        10 | 27 => (libc::SYS_recvfrom, "receive"),
        11 | 15 => (libc::SYS_nanosleep, "timeout"),
        13 => (libc::SYS_accept, "accept"),
        16 => (libc::SYS_connect, "connect"),
        17 => (libc::SYS_fallocate, "fallocate"),
        18 | 28 => (libc::SYS_openat, "open"),
        19 => (libc::SYS_close, "close"),
        21 => (libc::SYS_statx, "statx"),
        30 => (libc::SYS_splice, "splice"),
        35 => (libc::SYS_renameat2, "rename"),
        36 => (libc::SYS_unlinkat, "unlink"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    const ENTRIES: u32 = 8;

    /// A ring's memory with these entries submitted last, of which none is completed.
    fn ring(operations: &[(u8, u8, i32)]) -> (Vec<u8>, Vec<u8>) {
        let mut heads = vec![0; 320];
        let mut entries = vec![0; 4096];
        let completed = 21u32;
        let submitted = completed + operations.len() as u32;
        heads[..4].copy_from_slice(&submitted.to_le_bytes());
        heads[12..16].copy_from_slice(&completed.to_le_bytes());
        heads[16..20].copy_from_slice(&(ENTRIES - 1).to_le_bytes());
        heads[24..28].copy_from_slice(&ENTRIES.to_le_bytes());
        for (at, (code, flags, descriptor)) in operations.iter().enumerate() {
            let index = ((completed + at as u32) % ENTRIES) as usize * ENTRY as usize;
            entries[index..index + 2].copy_from_slice(&[*code, *flags]);
            entries[index + 4..index + 8].copy_from_slice(&descriptor.to_le_bytes());
        }
        (heads, entries)
    }

    fn look(operations: &[(u8, u8, i32)]) -> WaitedFor {
        let (heads, entries) = ring(operations);
        let pid = std::process::id() as i32;
        let file = tempfile::tempfile().unwrap();
        let mut peers = DescriptorPeers::default();
        let place = RingPlace {
            heads: heads.as_ptr() as u64,
            entries: entries.as_ptr() as u64,
            entries_bytes: entries.len() as u64,
        };
        let inode = file.metadata().unwrap().ino();
        peers.rings.0.insert((pid, inode), Some(place));
        waited_for(pid, file.as_raw_fd(), &mut peers)
    }

    #[test]
    fn operations_that_are_under_way_are_what_is_waited_for() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let [pipe, disk] = [reader.as_raw_fd(), file.as_file().as_raw_fd()];
        assert_eq!(look(&[(22, 0, pipe)]).reason, WaitReason::Pipe);
        let reads = look(&[(22, 0, disk), (1, 0, disk), (11, 0, -1)]);
        assert_eq!(reads.reason, WaitReason::File);
        let name = Named::Descriptor(file.path().display().to_string());
        assert_eq!(reads.object, name);
        assert_eq!(look(&[(3, 0, disk)]).reason, WaitReason::Fsync);
        assert_eq!(look(&[(11, 0, -1)]).reason, WaitReason::Sleep);
        let written = look(&[(23, 0, disk), (3, 0, disk)]);
        assert_eq!(
            (written.reason, &written.object),
            (WaitReason::Fsync, &name)
        );
        // A registered file has no name here, and of different things nobody knows which.
        let registered = look(&[(22, FIXED_FILE, 0)]);
        assert_eq!(
            registered.object,
            Named::Descriptor("io_uring: read".to_owned())
        );
        let mixed = look(&[(22, 0, pipe), (3, 0, disk)]);
        assert_eq!(mixed.reason, WaitReason::Poll);
        assert_eq!(
            mixed.object,
            Named::Descriptor("io_uring: fsync, read".to_owned())
        );
        assert_eq!(look(&[(200, 0, pipe)]).reason, WaitReason::Poll);
    }

    #[test]
    fn ring_that_has_more_completions_than_operations_is_only_named() {
        let more = look(&[(22, 0, 0); 9]);
        assert_eq!(more.reason, WaitReason::Poll);
        assert_eq!(more.object, Named::Descriptor("io_uring".to_owned()));
        let none = look(&[]);
        assert_eq!(none.object, Named::Descriptor("io_uring".to_owned()));
    }

    #[test]
    fn counters_of_old_and_new_kernels_are_told_apart() {
        let mut heads = vec![0; 272];
        let mut put =
            |at: usize, value: u32| heads[at..at + 4].copy_from_slice(&value.to_le_bytes());
        for (at, value) in [(0, 9), (192, 7), (256, 15), (264, 16)] {
            put(at, value);
        }
        assert_eq!(counters(&heads), Some((9, 7, 15)));
        heads[12..28].copy_from_slice(&[8, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(counters(&heads), Some((9, 8, 3)));
        assert_eq!(counters(&heads[..10]), None);
        assert_eq!(counters(&[0; 272]), None);
    }

    #[test]
    fn ring_is_found_among_mappings() {
        let text = "7f60e53fe000-7f60e53ff000 rw-s 10000000 00:10 77 anon_inode:[io_uring]\n\
                    7f60e53ff000-7f60e5400000 rw-s 00000000 00:10 77 anon_inode:[io_uring]\n\
                    7f60e5400000-7f60e5401000 rw-s 00000000 00:10 78 anon_inode:[io_uring]\n";
        let mappings: Vec<Mapping> = genba_symbols::parse_mappings(text).collect();
        let place = of_mappings(&mappings, 77).unwrap();
        assert_eq!(
            (place.heads, place.entries),
            (0x7f60_e53f_f000, 0x7f60_e53f_e000)
        );
        assert_eq!(place.entries_bytes, 4096);
        assert!(of_mappings(&mappings, 78).is_none());
    }
}
