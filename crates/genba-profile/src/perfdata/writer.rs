//! Writing `perf.data` as a stream: memory does not grow with the recording.
//!
//! The header is written first with a data size of zero and completed at the end; the file of a
//! recorder that was killed can be read all the same.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::feature_sections::bit;
use super::file_header::{HEADER_SIZE, MAGIC};
use super::record::kind;

/// The description of host and command in the file.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub os_release: String,
    /// Name and version of the recorder.
    pub version: String,
    /// Machine architecture.
    pub arch: String,
    /// Number of CPUs configured and online.
    pub cpus: (u32, u32),
    /// The recorder's command line.
    pub command: Vec<String>,
    /// Times of the first and the last sample, ns.
    pub sample_time: Option<(u64, u64)>,
    /// Build id of the running kernel.
    pub kernel_build_id: Option<Vec<u8>>,
}

/// The one event of the file.
#[derive(Clone, Debug)]
pub struct WrittenEvent {
    /// The attribute as passed to the kernel.
    pub attr: Vec<u8>,
    /// The name with modifiers.
    pub name: String,
    /// Ids of its instances (one per CPU and thread).
    pub ids: Vec<u64>,
}

/// A `perf.data` file that is being written.
#[derive(Debug)]
pub struct Writer {
    out: BufWriter<File>,
    event: WrittenEvent,
    data_start: u64,
    written: u64,
}

impl Writer {
    /// Creates the file, readable by its owner only: stack copies may contain secrets. An existing
    /// file is replaced, not overwritten: another process may have it mapped.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, event: WrittenEvent) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|m| m.is_file()) {
            fs::remove_file(path)?;
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        let mut writer = Self {
            out: BufWriter::with_capacity(1 << 16, file),
            data_start: data_start(&event),
            event,
            written: 0,
        };
        let header = writer.header(0, 0);
        writer.out.write_all(&header)?;
        // A reader needs event and layout even if this process is killed now.
        writer.out.flush()?;
        Ok(writer)
    }

    /// Appends whole records.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.written += records.len() as u64;
        self.out.write_all(records)
    }

    /// Marks that all ring buffers have been drained once (see `reader::time_order`).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish_round(&mut self) -> io::Result<()> {
        let mut record = [0u8; 8];
        record[..4].copy_from_slice(&kind::FINISHED_ROUND.to_le_bytes());
        record[6..].copy_from_slice(&8u16.to_le_bytes());
        self.append(&record)
    }

    /// Writes buffered records to the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Bytes of records appended so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes the description and completes the header.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(&mut self, description: &Description) -> io::Result<()> {
        let sections = sections(description, &self.event);
        let mut offset = self.data_start + self.written + sections.len() as u64 * 16;
        let mut bits = 0u64;
        for (number, data) in &sections {
            bits |= 1 << number;
            self.out.write_all(&offset.to_le_bytes())?;
            self.out.write_all(&(data.len() as u64).to_le_bytes())?;
            offset += data.len() as u64;
        }
        for (_, data) in &sections {
            self.out.write_all(data)?;
        }
        self.out.flush()?;
        let header = self.header(self.written, bits);
        // Nothing is buffered now, so the file may be used directly.
        let file = self.out.get_mut();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header[..HEADER_SIZE])
    }

    /// Header, ids and attribute.
    fn header(&self, data_size: u64, features: u64) -> Vec<u8> {
        let ids_size = self.event.ids.len() as u64 * 8;
        let attr_size = self.event.attr.len() as u64 + 16;
        let attr_start = HEADER_SIZE as u64 + ids_size;
        let mut out = MAGIC.to_vec();
        let numbers = [
            HEADER_SIZE as u64,
            attr_size,
            attr_start,
            attr_size,
            self.data_start,
            data_size,
            0,
            0,
            features,
            0,
            0,
            0,
        ];
        out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        out.extend(self.event.ids.iter().flat_map(|n| n.to_le_bytes()));
        out.extend(&self.event.attr);
        out.extend((HEADER_SIZE as u64).to_le_bytes());
        out.extend(ids_size.to_le_bytes());
        out
    }
}

fn data_start(event: &WrittenEvent) -> u64 {
    (HEADER_SIZE + event.ids.len() * 8 + event.attr.len() + 16) as u64
}

/// The feature sections in ascending order of their bits, as the format requires.
fn sections(d: &Description, event: &WrittenEvent) -> Vec<(u32, Vec<u8>)> {
    let mut out = Vec::new();
    if let Some(id) = &d.kernel_build_id {
        out.push((bit::BUILD_ID, build_id(id)));
    }
    let text = |s: &str| {
        let mut v = Vec::new();
        string(&mut v, s);
        v
    };
    out.push((bit::HOSTNAME, text(&d.hostname)));
    out.push((bit::OSRELEASE, text(&d.os_release)));
    out.push((bit::VERSION, text(&d.version)));
    out.push((bit::ARCH, text(&d.arch)));
    let mut cpus = d.cpus.0.to_le_bytes().to_vec();
    cpus.extend(d.cpus.1.to_le_bytes());
    out.push((bit::NRCPUS, cpus));
    let mut command = (d.command.len() as u32).to_le_bytes().to_vec();
    for word in &d.command {
        string(&mut command, word);
    }
    out.push((bit::CMDLINE, command));
    let mut desc = 1u32.to_le_bytes().to_vec();
    desc.extend((event.attr.len() as u32).to_le_bytes());
    desc.extend(&event.attr);
    desc.extend((event.ids.len() as u32).to_le_bytes());
    string(&mut desc, &event.name);
    desc.extend(event.ids.iter().flat_map(|n| n.to_le_bytes()));
    out.push((bit::EVENT_DESC, desc));
    if let Some((first, last)) = d.sample_time {
        let mut times = first.to_le_bytes().to_vec();
        times.extend(last.to_le_bytes());
        out.push((bit::SAMPLE_TIME, times));
    }
    out
}

/// Appends a string of the feature sections: length padded to 64, bytes, NULs.
fn string(out: &mut Vec<u8>, text: &str) {
    let padded = (text.len() + 1).next_multiple_of(64);
    out.extend((padded as u32).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(std::iter::repeat_n(0, padded - text.len()));
}

fn build_id(id: &[u8]) -> Vec<u8> {
    const MISC_KERNEL_WITH_SIZE: u16 = 1 | 1 << 15;
    let mut name = b"[kernel.kallsyms]\0".to_vec();
    name.resize(name.len().next_multiple_of(8), 0);
    let len = id.len().min(20);
    let mut bytes = [0u8; 24];
    bytes[..len].copy_from_slice(&id[..len]);
    bytes[20] = len as u8;
    let size = 8 + 4 + 24 + name.len();
    let mut out = kind::HEADER_BUILD_ID.to_le_bytes().to_vec();
    out.extend(MISC_KERNEL_WITH_SIZE.to_le_bytes());
    out.extend((size as u16).to_le_bytes());
    out.extend((-1i32).to_le_bytes());
    out.extend(bytes);
    out.extend(name);
    out
}
