//! The processes of a target, and the code that they generated in their memory.

use std::collections::HashMap;
use std::fs;

use genba_symbols::{Mapping, mappings_of_process};

use crate::process_memory::read_memory;

/// Most processes of a target that are inspected.
const MAX_PROCESSES: usize = 512;
/// Most bytes of generated code that are saved of one process.
const MAX_CODE_BYTES: u64 = 32 << 20;

/// These processes and their living descendants.
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
    // The name in parentheses may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The executable mappings of a process.
pub fn code_maps(pid: i32) -> Vec<Mapping> {
    let mut mappings = mappings_of_process(pid).unwrap_or_default();
    mappings.retain(Mapping::is_executable);
    mappings
}

/// The id of a process in its innermost PID namespace: the one in the name of its perf map.
pub fn id_in_own_namespace(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// Memory as it was when it was read.
#[derive(Clone, Debug)]
pub struct MemoryRange {
    /// First address.
    pub start: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Reads the executable anonymous memory of a process; empty if that is not allowed.
pub fn generated(pid: i32, maps: &[Mapping]) -> Vec<MemoryRange> {
    let mut left = MAX_CODE_BYTES;
    let mut out = Vec::new();
    for map in maps.iter().filter(|m| is_anonymous(m)) {
        let size = (map.end - map.start).min(left);
        let mut bytes = vec![0; size as usize];
        let read = read_memory(pid, map.start, &mut bytes);
        bytes.truncate(read);
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

/// Whether code in this mapping does not come from a file.
pub fn is_anonymous(map: &Mapping) -> bool {
    map.path.is_empty() || map.path.starts_with("[anon") || map.path.starts_with("/memfd:")
}

/// The bytes of code at an address; `None` if they were not read or are only padding.
pub fn code_at(ranges: &[MemoryRange], start: u64, size: u64) -> Option<&[u8]> {
    let range = ranges
        .iter()
        .find(|s| start >= s.start && start - s.start < s.bytes.len() as u64)?;
    let at = (start - range.start) as usize;
    let bytes = range
        .bytes
        .get(at..at.checked_add(usize::try_from(size).ok()?)?)?;
    // Read before the code was generated.
    let padding = bytes.iter().all(|&b| b == 0) || bytes.iter().all(|&b| b == 0xcc);
    (!padding).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_in_its_process_tree() {
        let pid = std::process::id() as i32;
        assert!(tree(&[pid]).contains(&pid));
        assert_eq!(id_in_own_namespace(pid), Some(pid));
    }

    #[test]
    fn memory_without_code_is_not_taken_for_code() {
        let mut bytes = vec![0x90u8; 16];
        bytes.extend([0; 16]);
        let seen = [MemoryRange { start: 64, bytes }];
        assert_eq!(code_at(&seen, 72, 4), Some(&[0x90; 4][..]));
        assert_eq!(code_at(&seen, 80, 8), None);
        assert_eq!(code_at(&seen, 90, 8), None);
        assert_eq!(code_at(&seen, 60, 4), None);
    }
}
