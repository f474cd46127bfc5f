//! Records in time order with bounded memory.
//!
//! The records of each CPU are in time order, but not relative to those of other CPUs. perf and
//! genba write `FINISHED_ROUND` after each pass over all ring buffers: no record after round N+1 is
//! older than the newest of round N (tools/perf/util/ordered-events.c), so at most two rounds are
//! queued. A queued record takes 16 bytes; the records stay in the file.

use super::event_lookup::EventLookup;
use crate::perfdata::file_header::trailing;
use crate::perfdata::record::{Layout, Raw, kind};

/// Returns the kernel's records in time order.
pub struct TimeOrderedRecords<'a> {
    data: &'a [u8],
    at: usize,
    events: &'a EventLookup,
    queue: Vec<(u64, usize)>,
    ready: std::vec::IntoIter<(u64, usize)>,
    newest: u64,
    newest_of_last_round: u64,
    ended: bool,
    /// Bytes of the data that are not read again.
    pub passed: usize,
    /// The data ends in the middle of a record.
    pub cut_short: bool,
    /// A compressed record was found.
    pub compressed: bool,
}

impl<'a> TimeOrderedRecords<'a> {
    /// Starts at the first record of `data`.
    pub fn new(data: &'a [u8], events: &'a EventLookup) -> Self {
        Self {
            data,
            at: 0,
            events,
            queue: Vec::new(),
            ready: Vec::new().into_iter(),
            newest: 0,
            newest_of_last_round: 0,
            ended: false,
            passed: 0,
            cut_short: false,
            compressed: false,
        }
    }

    /// The next record with the index and the layout of its event.
    pub fn next(&mut self) -> Option<(usize, &'a Layout, Raw<'a>)> {
        loop {
            if let Some((_, at)) = self.ready.next() {
                // It was parsed at this offset before.
                let (raw, _) = self.data.get(at..).and_then(Raw::parse)?;
                let (event, layout) = self.events.of(&raw);
                return Some((event, layout, raw));
            }
            if self.ended {
                return None;
            }
            self.read_round();
        }
    }

    /// Reads to the end of a round and releases the records that no later one can precede.
    fn read_round(&mut self) {
        let queued = self.queue.iter().map(|&(_, at)| at);
        self.passed = queued.min().unwrap_or(self.at);
        while let Some((raw, size)) = self.data.get(self.at..).and_then(Raw::parse) {
            let at = self.at;
            // Progress is certain: `Raw::parse` refuses sizes below 8.
            self.at = at.saturating_add(size).saturating_add(trailing(&raw));
            match raw.kind {
                kind::FINISHED_ROUND => {
                    self.release(self.newest_of_last_round);
                    self.newest_of_last_round = self.newest;
                    if self.ready.len() > 0 {
                        return;
                    }
                }
                kind::COMPRESSED | kind::COMPRESSED2 => {
                    self.compressed = true;
                    break;
                }
                n if n < kind::USER_FIRST => {
                    let (_, layout) = self.events.of(&raw);
                    // A record without a time stays after the newest one before it.
                    let time = layout.time(&raw).unwrap_or(self.newest);
                    self.newest = self.newest.max(time);
                    self.queue.push((time, at));
                }
                _ => {}
            }
        }
        self.cut_short = self.at != self.data.len() && !self.compressed;
        self.ended = true;
        self.release(u64::MAX);
    }

    fn release(&mut self, up_to: u64) {
        // Stable and adaptive: the queue is made of a few ascending runs.
        self.queue.sort();
        let n = self.queue.partition_point(|&(time, _)| time <= up_to);
        let rest = self.queue.split_off(n);
        self.ready = std::mem::replace(&mut self.queue, rest).into_iter();
    }
}
