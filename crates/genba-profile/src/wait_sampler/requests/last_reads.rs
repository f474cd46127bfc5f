//! The last read of each thread: what it took in is likely to be in the target's memory still.

use std::collections::HashMap;

use super::read_contents::{MAX_LOOKED_AT, TLS_HEAD, read_contents};
use super::request_log::{CallEvent, CallRecord};

/// Most reads that are looked at in a round.
const MAX_LOOKS: usize = 16;
/// Most threads.
const MAX_THREADS: usize = 1_000;

/// Fills a buffer with another process's memory from an address on; returns how many bytes that are.
pub type ReadMemory<'a> = dyn FnMut(i32, u64, &mut [u8]) -> usize + 'a;

#[derive(Clone, Copy, Debug)]
struct Read {
    pid: i32,
    time: u64,
    descriptor: u64,
    buffer: u64,
    length: u64,
}

/// Reads since the last look.
#[derive(Debug, Default)]
pub struct LastReads {
    /// Descriptor and buffer of the read that a thread is in.
    entered: HashMap<i32, (u64, u64)>,
    returned: HashMap<i32, Read>,
}

impl LastReads {
    /// Takes a record in.
    pub fn add(&mut self, record: &CallRecord) {
        match record.event {
            CallEvent::Enter {
                number,
                first,
                second,
            } if has_buffer(number) && self.entered.len() < MAX_THREADS => {
                self.entered.insert(record.tid, (first, second));
            }
            CallEvent::Exit { number, result } if has_buffer(number) => {
                let Some((descriptor, buffer)) = self.entered.remove(&record.tid) else {
                    return;
                };
                if result > 0 && self.returned.len() < MAX_THREADS {
                    let read = Read {
                        pid: record.pid,
                        time: record.time,
                        descriptor,
                        buffer,
                        length: result as u64,
                    };
                    self.returned.insert(record.tid, read);
                }
            }
            CallEvent::Ends | CallEvent::Lost => {
                self.entered.remove(&record.tid);
                self.returned.remove(&record.tid);
            }
            _ => {}
        }
    }

    /// What the last reads had, as records of the moments at which they returned. `is_wanted` says which process and
    /// descriptor are to be looked at.
    pub fn look(
        &mut self,
        read_memory: &mut ReadMemory<'_>,
        is_wanted: &dyn Fn(i32, u64) -> bool,
    ) -> Vec<CallRecord> {
        let mut bytes = vec![0; TLS_HEAD + MAX_LOOKED_AT];
        let reads = self.returned.drain();
        let wanted = reads.filter(|(_, read)| is_wanted(read.pid, read.descriptor));
        let mut found = Vec::new();
        for (tid, read) in wanted.take(MAX_LOOKS) {
            let most = TLS_HEAD + MAX_LOOKED_AT.min(read.length as usize);
            let before = read.buffer.wrapping_sub(TLS_HEAD as u64);
            let mut count = read_memory(read.pid, before, &mut bytes[..most]);
            // A buffer may be the first of its page.
            let mut head = TLS_HEAD;
            if count <= TLS_HEAD {
                count = read_memory(read.pid, read.buffer, &mut bytes[..most - TLS_HEAD]);
                head = 0;
            }
            if count <= head {
                continue;
            }
            let (before, content) = bytes[..count].split_at(head);
            found.push(CallRecord {
                time: read.time,
                pid: read.pid,
                tid,
                event: CallEvent::Contents {
                    descriptor: read.descriptor,
                    contents: read_contents(before, content, read.length),
                },
            });
        }
        found
    }
}

/// Whether the second argument of a call is the buffer that it reads into.
fn has_buffer(number: i64) -> bool {
    matches!(number, libc::SYS_read | libc::SYS_recvfrom)
}

#[cfg(test)]
mod tests {
    use super::super::read_contents::ReadContents;
    use super::*;

    fn record(time: u64, event: CallEvent) -> CallRecord {
        CallRecord {
            time,
            pid: 1,
            tid: 5,
            event,
        }
    }

    fn read(reads: &mut LastReads, time: u64, buffer: u64, result: i64) {
        let (number, first, second) = (libc::SYS_read, 10, buffer);
        let entry = CallEvent::Enter {
            number,
            first,
            second,
        };
        reads.add(&record(time, entry));
        reads.add(&record(time + 1, CallEvent::Exit { number, result }));
    }

    /// Memory from 4096 on.
    fn memory(content: &[u8]) -> impl FnMut(i32, u64, &mut [u8]) -> usize {
        move |_, address, buffer| {
            let Some(at) = address.checked_sub(4096) else {
                return 0;
            };
            let rest = content.get(at as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            count
        }
    }

    #[test]
    fn the_last_read_of_a_thread_is_looked_at_once() {
        let mut reads = LastReads::default();
        read(&mut reads, 10, 4000, 20);
        read(&mut reads, 20, 4096 + 100, 13);
        let mut content = vec![0; 200];
        content[100..113].copy_from_slice(&[0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 255, 255]);
        let found = reads.look(&mut memory(&content), &|_, _| true);
        let event = CallEvent::Contents {
            descriptor: 10,
            contents: ReadContents::Http2 { requests: 0 },
        };
        assert_eq!(found, [record(21, event)]);
        assert!(reads.look(&mut memory(&content), &|_, _| true).is_empty());
    }

    #[test]
    fn a_buffer_at_the_start_of_its_page_is_read_without_what_stands_before() {
        let mut reads = LastReads::default();
        read(&mut reads, 10, 4096, 5);
        let found = reads.look(&mut memory(&[22, 3, 1, 2, 0]), &|_, _| true);
        assert!(matches!(
            found[0].event,
            CallEvent::Contents {
                contents: ReadContents::Encrypted,
                ..
            }
        ));
    }

    #[test]
    fn failed_reads_and_descriptors_that_are_not_wanted_are_not_looked_at() {
        let mut reads = LastReads::default();
        read(&mut reads, 10, 4096, -11);
        assert!(reads.look(&mut memory(&[1; 9]), &|_, _| true).is_empty());
        read(&mut reads, 10, 4096, 9);
        assert!(reads.look(&mut memory(&[1; 9]), &|_, _| false).is_empty());
        read(&mut reads, 10, 40, 9);
        assert!(reads.look(&mut memory(&[1; 9]), &|_, _| true).is_empty());
    }
}
