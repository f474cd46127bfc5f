//! The records of a ring buffer that the kernel overwrites (`perf_event_attr.write_backward`), from a copy of its bytes.
//!
//! The kernel puts each record before the one that it wrote last, and goes on at the end of the buffer when it has
//! reached its begin. Behind the head thus stands the newest record, behind that the one before it, and so
//! on, up to bytes that were never written (zero) or a record whose end is overwritten already
//! (Linux, `tools/perf/util/mmap.c`, `overwrite_rb_find_range`).

use std::ops::Range;

use crate::perfdata::record::Raw;

/// The bytes of a ring from its head on. `data` has a length that is a power of two; the head is the kernel's, which
/// counts down from 0.
pub fn unwrap(data: &[u8], head: u64) -> Vec<u8> {
    let start = head as usize & data.len().wrapping_sub(1);
    let (end, begin) = data.split_at(start.min(data.len()));
    [begin, end].concat()
}

/// The records of an unwrapped ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwritten {
    /// Where each whole record is, with its header, the newest first.
    pub records: Vec<Range<usize>>,
    /// Whether older records were overwritten.
    pub full: bool,
}

/// Finds the whole records of an unwrapped ring.
pub fn records(unwrapped: &[u8]) -> Overwritten {
    let mut records = Vec::new();
    let mut at = 0;
    while let Some((_, size)) = unwrapped.get(at..).and_then(Raw::parse) {
        records.push(at..at + size);
        at += size;
    }
    // A header has a type and a size: what was never written has neither.
    let header = unwrapped.get(at..).and_then(|rest| rest.first_chunk::<8>());
    Overwritten {
        full: header.is_none_or(|header| *header != [0; 8]),
        records,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A ring as the kernel writes it.
    struct Kernel {
        data: Vec<u8>,
        head: u64,
    }

    impl Kernel {
        fn write(&mut self, number: u32, words: u16) {
            let size = 8 + words * 8;
            let mut record = number.to_le_bytes().to_vec();
            record.extend(0u16.to_le_bytes());
            record.extend(size.to_le_bytes());
            record.resize(usize::from(size), number as u8);
            self.head = self.head.wrapping_sub(u64::from(size));
            let mask = self.data.len() - 1;
            for (offset, byte) in record.into_iter().enumerate() {
                self.data[(self.head as usize + offset) & mask] = byte;
            }
        }

        fn numbers(&self) -> (Vec<u32>, bool) {
            let unwrapped = unwrap(&self.data, self.head);
            let found = records(&unwrapped);
            let number = |range: &Range<usize>| {
                let (raw, size) = Raw::parse(&unwrapped[range.clone()]).unwrap();
                assert_eq!(size, range.len());
                assert!(raw.body.iter().all(|&byte| byte == raw.kind as u8));
                raw.kind
            };
            (found.records.iter().map(number).collect(), found.full)
        }
    }

    #[test]
    fn newest_record_comes_first_and_unwritten_bytes_end_the_ring() {
        let mut ring = Kernel {
            data: vec![0; 128],
            head: 0,
        };
        assert_eq!(ring.numbers(), (vec![], false));
        ring.write(1, 2);
        ring.write(2, 4);
        assert_eq!(ring.numbers(), (vec![2, 1], false));
        // 24 + 40 + 64 bytes: exactly full.
        ring.write(3, 7);
        assert_eq!(ring.numbers(), (vec![3, 2, 1], true));
        // The end of the first is overwritten.
        ring.write(4, 0);
        assert_eq!(ring.numbers(), (vec![4, 3, 2], true));
    }

    proptest! {
        #[test]
        fn last_records_that_fit_are_found(sizes in prop::collection::vec(0u16..12, 0..60)) {
            let mut ring = Kernel { data: vec![0; 256], head: 0 };
            for (number, &words) in sizes.iter().enumerate() {
                ring.write(number as u32 + 1, words);
            }
            let mut left = 256usize;
            let mut expected = Vec::new();
            for (number, &words) in sizes.iter().enumerate().rev() {
                let size = 8 + usize::from(words) * 8;
                if size > left {
                    break;
                }
                left -= size;
                expected.push(number as u32 + 1);
            }
            let all: usize = sizes.iter().map(|&words| 8 + usize::from(words) * 8).sum();
            prop_assert_eq!(ring.numbers(), (expected, all >= 256));
        }

        #[test]
        fn no_bytes_panic(data in prop::collection::vec(any::<u8>(), 128..=128), head: u64) {
            let unwrapped = unwrap(&data, head);
            prop_assert_eq!(unwrapped.len(), data.len());
            let _ = records(&unwrapped);
        }
    }
}
