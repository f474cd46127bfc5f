//! Entries of the ring as the records that the kernel would have written.

use std::collections::{HashMap, HashSet};
use std::fs;

use genba_symbols::{Mapping, mappings_of_process, parse_mappings};

use super::layout;
use super::shared_ring::Entry;
use crate::perfdata::record::{CONTEXT_USER, kind, misc};
use crate::perfdata::synthesize;

/// No process has more to say about its maps.
const MAX_MAPS_TEXT: usize = 8 << 20;

#[derive(Default)]
struct Process {
    text: Vec<u8>,
    known: HashSet<(u64, u64, u64)>,
    ranges: Vec<(u64, u64)>,
    threads: HashSet<i32>,
    /// An address outside all ranges made us look again; not twice for the same one.
    looked_for: HashSet<u64>,
}

/// Turns entries into records.
pub struct Converter {
    stacks: bool,
    processes: HashMap<i32, Process>,
    /// Samples so far.
    pub samples: u64,
    /// Whether the library was loaded into any process.
    pub loaded: bool,
}

impl Converter {
    /// `stacks`: whether samples carry call chains.
    pub fn new(stacks: bool) -> Self {
        Self {
            stacks,
            processes: HashMap::new(),
            samples: 0,
            loaded: false,
        }
    }

    /// Appends what an entry means to `out`.
    pub fn entry(&mut self, e: &Entry, out: &mut Vec<u8>) {
        match e.kind {
            layout::EXEC => {
                self.loaded = true;
                let process = self.processes.entry(e.pid).or_default();
                *process = Process::default();
                process.threads.insert(e.tid);
                let name = String::from_utf8_lossy(&bytes(e)).trim_end().to_owned();
                out.extend(synthesize::comm(e.pid, e.tid, &name, true, e.time));
            }
            layout::FORK => {
                let parent = e.ip as i32;
                let mut child = Process::default();
                if let Some(parent) = self.processes.get(&parent) {
                    child.known.clone_from(&parent.known);
                    child.ranges.clone_from(&parent.ranges);
                }
                child.threads.insert(e.tid);
                self.processes.insert(e.pid, child);
                let record = synthesize::task(kind::FORK, e.pid, parent, e.tid, parent, e.time);
                out.extend(record);
            }
            layout::MAPS => {
                let process = self.processes.entry(e.pid).or_default();
                if process.text.len() < MAX_MAPS_TEXT {
                    process.text.extend(bytes(e));
                }
            }
            layout::MAPS_END => {
                let process = self.processes.entry(e.pid).or_default();
                let text = std::mem::take(&mut process.text);
                process.maps(e, parse_mappings(&String::from_utf8_lossy(&text)), out);
            }
            layout::SAMPLE => self.sample(e, out),
            _ => {}
        }
    }

    fn sample(&mut self, e: &Entry, out: &mut Vec<u8>) {
        self.samples += 1;
        let process = self.processes.entry(e.pid).or_default();
        if process.threads.insert(e.tid) {
            let path = format!("/proc/{}/task/{}/comm", e.pid, e.tid);
            if let Ok(name) = fs::read_to_string(path) {
                out.extend(synthesize::comm(
                    e.pid,
                    e.tid,
                    name.trim_end(),
                    false,
                    e.time,
                ));
            }
        }
        // Code that came by `dlopen` or from a JIT: look, if the process is still there.
        const PAGE: u64 = !4095;
        if !process.holds(e.ip) && process.looked_for.insert(e.ip & PAGE) {
            let mappings = mappings_of_process(e.pid).unwrap_or_default();
            process.maps(e, mappings.into_iter(), out);
        }
        let frames = if self.stacks {
            usize::try_from(e.length).unwrap_or(0).min(layout::WORDS)
        } else {
            0
        };
        let chain = if self.stacks { 8 * (3 + frames) } else { 0 };
        let size = 8 + 40 + chain;
        out.extend(kind::SAMPLE.to_le_bytes());
        out.extend(misc::USER.to_le_bytes());
        out.extend((size as u16).to_le_bytes());
        out.extend(e.ip.to_le_bytes());
        out.extend(e.pid.to_le_bytes());
        out.extend(e.tid.to_le_bytes());
        out.extend(e.time.to_le_bytes());
        out.extend(0u64.to_le_bytes()); // CPU: not known
        out.extend(e.weight.to_le_bytes());
        if self.stacks {
            out.extend((frames as u64 + 2).to_le_bytes());
            out.extend(CONTEXT_USER.to_le_bytes());
            out.extend(e.ip.to_le_bytes());
            out.extend(e.payload[..frames].iter().flat_map(|n| n.to_le_bytes()));
        }
    }
}

impl Process {
    fn holds(&self, address: u64) -> bool {
        self.ranges
            .iter()
            .any(|&(start, end)| (start..end).contains(&address))
    }

    /// Appends records for the executable mappings that are not known yet.
    fn maps(&mut self, e: &Entry, mappings: impl Iterator<Item = Mapping>, out: &mut Vec<u8>) {
        for map in mappings {
            let Mapping {
                start, end, inode, ..
            } = map;
            if map.is_executable() && self.known.insert((start, end, inode)) {
                out.extend(synthesize::user_map(e.pid, e.tid, &map, e.time));
                self.ranges.push((start, end));
            }
        }
    }
}

/// The payload as text, no longer than it is.
fn bytes(e: &Entry) -> Vec<u8> {
    let all: Vec<u8> = e.payload.iter().flat_map(|n| n.to_le_bytes()).collect();
    let length = usize::try_from(e.length)
        .unwrap_or(usize::MAX)
        .min(all.len());
    all[..length].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfdata::record::Raw;
    use proptest::prelude::*;

    proptest! {
        /// A target may write what it likes: records stay well formed.
        #[test]
        fn any_entries_make_whole_records(
            entries in prop::collection::vec((0u64..7, any::<u64>(), any::<u64>(), -2i32..3), 0..60)
        ) {
            let mut converter = Converter::new(true);
            let mut out = Vec::new();
            for (kind, ip, length, pid) in entries {
                let payload = [ip; layout::WORDS];
                // Process ids that no live process has: nothing of this machine comes in.
                let (pid, tid) = (pid - 1000, pid);
                let e = Entry { kind, pid, tid, time: 1, weight: 1, ip, length, payload };
                converter.entry(&e, &mut out);
            }
            let mut rest = &out[..];
            while !rest.is_empty() {
                let (_, size) = Raw::parse(rest).expect("a whole record");
                rest = &rest[size..];
            }
        }
    }
}
