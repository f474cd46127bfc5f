//! The processes of a target, and the memory into which they generate code.

use std::collections::HashMap;
use std::fs;

use genba_symbols::{Mapping, mappings_of_process};

/// Processes that are looked at, and no more.
const MAX_PROCESSES: usize = 512;
/// Bytes of generated code that are kept of one process.
const MAX_CODE: u64 = 32 << 20;

/// A process and those that come of it, as far as they live now.
pub fn tree(roots: &[i32]) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    for pid in entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
    {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found: Vec<i32> = roots.to_vec();
    let mut at = 0;
    while at < found.len() && found.len() < MAX_PROCESSES {
        let more = children.remove(&found[at]).unwrap_or_default();
        found.extend(more.into_iter().filter(|pid| !roots.contains(pid)));
        at += 1;
    }
    found
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The executable mappings of a process.
pub fn code_maps(pid: i32) -> Vec<Mapping> {
    let mut mappings = mappings_of_process(pid).unwrap_or_default();
    mappings.retain(Mapping::is_executable);
    mappings
}

/// Number of a process in its innermost PID namespace: the name that it gives its own map.
pub fn own_number(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// A stretch of memory as it was at some time.
#[derive(Clone, Debug)]
pub struct MemoryRange {
    /// First address.
    pub start: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Reads the anonymous code of a process; empty if this is not allowed.
pub fn generated(pid: i32, maps: &[Mapping]) -> Vec<MemoryRange> {
    let mut left = MAX_CODE;
    let mut out = Vec::new();
    for map in maps.iter().filter(|m| is_anonymous(m)) {
        let size = (map.end - map.start).min(left);
        let bytes = read_memory(pid, map.start, size as usize);
        left -= (bytes.len() as u64).min(left);
        if !bytes.is_empty() {
            out.push(MemoryRange {
                start: map.start,
                bytes,
            });
        }
    }
    out
}

/// Whether code in this mapping is of no file.
pub fn is_anonymous(map: &Mapping) -> bool {
    map.path.is_empty() || map.path.starts_with("[anon") || map.path.starts_with("/memfd:")
}

/// Memory of another process, as much of it as can be read from the start.
fn read_memory(pid: i32, start: u64, size: usize) -> Vec<u8> {
    let mut out = vec![0u8; size];
    let mut done = 0;
    while done < size {
        let local = libc::iovec {
            iov_base: out[done..].as_mut_ptr().cast(),
            iov_len: size - done,
        };
        let remote = libc::iovec {
            iov_base: (start + done as u64) as *mut libc::c_void,
            iov_len: size - done,
        };
        // SAFETY: the kernel writes at most `iov_len` bytes to `local`, which is ours and that
        // long; the remote address is only looked up in the other process.
        let n =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => done += n,
            _ => break,
        }
    }
    out.truncate(done);
    out
}

/// The bytes of code at an address; `None` if they were not seen or are only filling.
pub fn code_at(stretches: &[MemoryRange], start: u64, size: u64) -> Option<&[u8]> {
    let stretch = stretches
        .iter()
        .find(|s| start >= s.start && start - s.start < s.bytes.len() as u64)?;
    let at = (start - stretch.start) as usize;
    let bytes = stretch
        .bytes
        .get(at..at.checked_add(usize::try_from(size).ok()?)?)?;
    // Nothing was there yet when it was read.
    let filling = bytes.iter().all(|&b| b == 0) || bytes.iter().all(|&b| b == 0xcc);
    (!filling).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_own_process() {
        let data = [7u8; 100];
        let pid = std::process::id() as i32;
        assert_eq!(read_memory(pid, data.as_ptr() as u64, 100), data);
        assert!(read_memory(pid, 8, 100).is_empty());
        assert!(tree(&[pid]).contains(&pid));
        assert_eq!(own_number(pid), Some(pid));
    }

    #[test]
    fn code_that_was_not_there_yet_is_not_shown() {
        let mut bytes = vec![0x90u8; 16];
        bytes.extend([0; 16]);
        let seen = [MemoryRange { start: 64, bytes }];
        assert_eq!(code_at(&seen, 72, 4), Some(&[0x90; 4][..]));
        assert_eq!(code_at(&seen, 80, 8), None);
        assert_eq!(code_at(&seen, 90, 8), None);
        assert_eq!(code_at(&seen, 60, 4), None);
    }
}
