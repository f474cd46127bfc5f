//! Records of threads and mappings, which explain samples that come long after them, in bounded memory.

use std::collections::{BTreeSet, HashMap};

use crate::perfdata::record::{Raw, kind};

/// Records other than samples. Those of processes that ended long ago can be discarded.
#[derive(Debug, Default)]
pub(crate) struct SideRecords {
    records: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    /// Time of the end and id of processes that have ended.
    ended: Vec<(u64, i32)>,
}

impl SideRecords {
    /// Retains a record, with its header, of this time, ns.
    pub(crate) fn add(&mut self, record: &[u8], time: u64) {
        if let Some((raw, _)) = Raw::parse(record)
            && raw.kind == kind::EXIT
            && let (Some(task), Some(thread)) = (word(record, 8), word(record, 16))
            && task as u32 == thread as u32
        {
            self.ended.push((time, task as i32));
        }
        self.bytes += record.len();
        self.records.push((time, record.to_vec()));
    }

    /// Bytes of the records that are retained.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The records in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.records.iter().map(|(_, record)| record.as_slice())
    }

    /// Discards the records of processes that ended before `oldest`.
    pub(crate) fn discard_ended(&mut self, oldest: u64) {
        let gone = self.ended.iter().filter(|&&(time, _)| time < oldest);
        let gone: HashMap<i32, u64> = gone.map(|&(time, pid)| (pid, time)).collect();
        self.ended.retain(|&(time, _)| time >= oldest);
        // The number of a process may be another's by now.
        let is_gone = |time: u64, pid: i32| gone.get(&pid).is_some_and(|&end| time <= end);
        self.records
            .retain(|(time, record)| !process(record).is_some_and(|pid| is_gone(*time, pid)));
        self.count_bytes();
    }

    /// Replaces all records from before `oldest` by what `now` says of their processes: a process that
    /// maps and unmaps for ever has no end of records.
    pub(crate) fn renew(&mut self, oldest: u64, now: &dyn Fn(i32) -> Vec<Vec<u8>>) {
        let old = self.records.iter().filter(|&&(time, _)| time < oldest);
        let pids: BTreeSet<i32> = old.filter_map(|(_, record)| process(record)).collect();
        let kernel = |record: &[u8]| process(record) == Some(KERNEL);
        self.records
            .retain(|(time, record)| *time >= oldest || kernel(record));
        let running = pids.into_iter().filter(|&pid| pid > 0).flat_map(now);
        let renewed: Vec<_> = running.map(|record| (0, record)).collect();
        self.records.splice(0..0, renewed);
        self.count_bytes();
    }

    fn count_bytes(&mut self) {
        self.bytes = self.records.iter().map(|(_, record)| record.len()).sum();
    }
}

/// The process of the mappings of kernel code.
const KERNEL: i32 = -1;

/// The process that a record is about: the first word behind the header of all of these.
fn process(record: &[u8]) -> Option<i32> {
    word(record, 8).map(|word| word as i32)
}

/// The 8 bytes at an offset as a number; `None` if they are not there.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfdata::synthesize;

    fn names(of: &SideRecords) -> Vec<i32> {
        of.iter().filter_map(process).collect()
    }

    #[test]
    fn records_of_processes_that_ended_before_are_discarded() {
        let mut side = SideRecords::default();
        for pid in [7, 8] {
            side.add(&synthesize::comm(pid, pid, "one", true, 10), 10);
            side.add(&synthesize::task(kind::EXIT, pid, 1, pid, 1, 20), 20);
        }
        // The end of a thread is not that of its process.
        side.add(&synthesize::comm(9, 9, "two", true, 10), 10);
        side.add(&synthesize::task(kind::EXIT, 9, 9, 11, 9, 20), 20);
        side.discard_ended(20);
        assert_eq!(names(&side), [7, 7, 8, 8, 9, 9]);
        side.add(&synthesize::comm(8, 8, "again", true, 30), 30);
        side.discard_ended(21);
        assert_eq!(names(&side), [9, 9, 8]);
        assert_eq!(side.bytes(), side.iter().map(<[u8]>::len).sum::<usize>());
    }

    #[test]
    fn old_records_are_replaced_by_those_of_now() {
        let mut side = SideRecords::default();
        side.add(&synthesize::kernel_map(1 << 63, 10, 0, "[kernel]"), 0);
        for time in 0..100 {
            side.add(&synthesize::comm(7, 7, "old", true, time), time);
        }
        side.add(&synthesize::comm(8, 8, "gone", true, 5), 5);
        side.renew(98, &|pid| match pid {
            7 => vec![synthesize::comm(7, 7, "now", true, 0)],
            _ => Vec::new(),
        });
        assert_eq!(names(&side), [7, KERNEL, 7, 7]);
        assert_eq!(side.bytes(), side.iter().map(<[u8]>::len).sum::<usize>());
    }
}
