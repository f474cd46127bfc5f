//! The last moments of a recording that is being written, for live views.
//!
//! Records of mappings and names are retained from the start, samples only within a window of
//! time. What was read is freed on disk. Only for recordings of [`crate::record`] and
//! [`crate::attach`] by perf events: their layout is known.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::ReadError;
use crate::perfdata::file_header::HEADER_SIZE;
use crate::perfdata::record::{Raw, kind};
use crate::reader::Recording;
use crate::side_records::{SideRecords, word};

/// Offset in the header of the field for the offset of the records.
const DATA_OFFSET: usize = 40;
/// Offset in the header of the field for the size of the records.
const DATA_SIZE: usize = 48;
/// Offset in the header of the bits for feature sections; there are none yet.
const FEATURES: usize = 72;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// When records other than samples take more bytes than this, those of ended processes are
/// discarded.
const MAX_OTHER_BYTES: usize = 4 << 20;

/// The last moments of a recording that is being written.
#[derive(Debug)]
pub struct RecordingTail {
    file: File,
    at: u64,
    head: Vec<u8>,
    others: SideRecords,
    samples: VecDeque<(u64, Vec<u8>)>,
    rest: Vec<u8>,
    window: u64,
    newest: u64,
    /// Number of samples read since the start.
    pub samples_read: u64,
}

impl RecordingTail {
    /// Opens a recording; `None` as long as its header is not written. Samples of the last
    /// `window` nanoseconds are retained.
    ///
    /// # Errors
    /// When the file cannot be read or its header is malformed.
    pub fn open(path: &Path, window: u64) -> io::Result<Option<Self>> {
        let file = match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut head = vec![0; HEADER_SIZE];
        if file.read_at(&mut head, 0)? < HEADER_SIZE {
            return Ok(None);
        }
        let begins = word(&head, DATA_OFFSET).unwrap_or(0);
        // Header, attribute and ids: a recording of a thousand CPUs has some kilobytes of them.
        if begins < HEADER_SIZE as u64 || begins > CHUNK as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.resize(begins as usize, 0);
        if file.read_at(&mut head, 0)? < head.len() {
            return Ok(None);
        }
        head[FEATURES..HEADER_SIZE].fill(0);
        Ok(Some(Self {
            file,
            at: begins,
            head,
            others: SideRecords::default(),
            samples: VecDeque::new(),
            rest: Vec::new(),
            window,
            newest: 0,
            samples_read: 0,
        }))
    }

    /// Reads the records that were written since the last call.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self) -> io::Result<()> {
        loop {
            let had = self.rest.len();
            self.rest.resize(had + CHUNK, 0);
            let n = self.file.read_at(&mut self.rest[had..], self.at)?;
            self.rest.truncate(had + n);
            self.at += n as u64;
            self.take_records();
            if n < CHUNK {
                break;
            }
        }
        let begins = self.head.len() as u64;
        let read = self.at.saturating_sub(begins) as i64;
        // SAFETY: only numbers go in; a file system that cannot do it leaves the file as it is.
        unsafe {
            let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            libc::fallocate(self.file.as_raw_fd(), how, begins as i64, read);
        }
        let oldest = self.newest.saturating_sub(self.window);
        // Each CPU's samples are in order, those of several nearly so.
        self.samples.retain(|&(time, _)| time >= oldest);
        if self.others.bytes() > MAX_OTHER_BYTES {
            self.others.discard_ended(oldest);
        }
        Ok(())
    }

    fn take_records(&mut self) {
        let mut done = 0;
        while let Some((raw, size)) = Raw::parse(&self.rest[done..]) {
            let bytes = &self.rest[done..done + size];
            // Behind identifier and sizes: address, process and thread, time; in others the last
            // three words are process and thread, time, CPU.
            let time_at = if raw.kind == kind::SAMPLE {
                24
            } else {
                size.saturating_sub(16)
            };
            let time = word(bytes, time_at).unwrap_or(0);
            if raw.kind == kind::SAMPLE {
                self.newest = self.newest.max(time);
                self.samples_read += 1;
                self.samples.push_back((time, bytes.to_vec()));
            } else if raw.kind < kind::USER_FIRST {
                self.others.add(bytes, time);
            }
            done += size;
        }
        self.rest.drain(..done);
    }

    /// Sets the window, ns.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Discards the samples in the window.
    pub fn clear(&mut self) {
        self.samples.clear();
    }

    /// The number of samples in the window.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// The window as the bytes of a recording.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.head.clone();
        for record in self.others.iter() {
            out.extend(record);
        }
        for (_, record) in &self.samples {
            out.extend(record);
        }
        let size = (out.len() - self.head.len()) as u64;
        out[DATA_SIZE..DATA_SIZE + 8].copy_from_slice(&size.to_le_bytes());
        out
    }

    /// The window as a recording.
    ///
    /// # Errors
    /// When the bytes are not a recording.
    pub fn recording(&self) -> Result<Recording, ReadError> {
        Recording::from_bytes(self.bytes(), "the recording in progress")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use crate::perfdata::synthesize;
    use crate::perfdata::writer::{Writer, WrittenEvent};
    use crate::sampler::sys_attr_for_tests;

    fn sample(pid: i32, time: u64) -> Vec<u8> {
        let mut body = 0x40_0000u64.to_le_bytes().to_vec();
        body.extend(pid.to_le_bytes());
        body.extend(pid.to_le_bytes());
        body.extend(time.to_le_bytes());
        body.extend([0; 8]);
        body.extend(1u64.to_le_bytes());
        let mut out = kind::SAMPLE.to_le_bytes().to_vec();
        out.extend(2u16.to_le_bytes());
        out.extend((body.len() as u16 + 8).to_le_bytes());
        out.extend(body);
        out
    }

    #[test]
    fn samples_in_the_window_are_retained_with_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("growing");
        assert!(RecordingTail::open(&path, 100).unwrap().is_none());
        let event = WrittenEvent {
            attr: sys_attr_for_tests(),
            name: "cpu-clock".to_owned(),
            ids: vec![1],
        };
        let mut writer = Writer::create(&path, event).unwrap();
        writer
            .append(&synthesize::comm(7, 7, "seven", true, 0))
            .unwrap();
        for time in (1000..2000).step_by(10) {
            writer.append(&sample(7, time)).unwrap();
        }
        writer.finish_round().unwrap();
        writer.flush().unwrap();
        let mut tail = RecordingTail::open(&path, 100).unwrap().unwrap();
        tail.read().unwrap();
        assert_eq!((tail.samples_read, tail.samples()), (100, 11));
        writer.append(&sample(7, 2000)).unwrap();
        writer.flush().unwrap();
        tail.read().unwrap();
        assert_eq!((tail.samples_read, tail.samples()), (101, 11));
        let all = tail
            .recording()
            .unwrap()
            .load(&ReadOptions::default())
            .unwrap();
        assert_eq!(all.samples.len(), 11);
        assert_eq!(all.samples[10].time, 2000);
        assert_eq!(all.tables.thread(all.samples[0].thread).comm, "seven");
        tail.clear();
        assert_eq!(tail.samples(), 0);
    }
}
