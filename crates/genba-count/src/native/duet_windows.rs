//! Reads the windows of a duet from a count file. Nothing in it is trusted.

use std::io;
use std::mem::offset_of;

use genba_engine::count_file_layout::Control;
use genba_engine::duet_layout::{WINDOW_CAPACITY, WINDOWS, Window};

use super::count_file::{Source, table, u32_at, u64_at};

/// Time that a thread spent on one side of a duet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuetWindow {
    /// Number of the thread among those of the run.
    pub thread: u64,
    /// Number of the window in its thread. Windows 2n and 2n + 1 are a pair, one of each side.
    pub number: u32,
    /// Whether it was on the side with edits.
    pub edited: bool,
    /// Executions of blocks with edits.
    pub rounds: u64,
    /// CPU time, nanoseconds.
    pub cpu_nanoseconds: u64,
    /// Page faults of a replica.
    pub page_faults: u64,
}

/// What a duet left in the count file of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuetFile {
    /// The windows, in the order of their ends.
    pub windows: Vec<DuetWindow>,
    /// Number of blocks that were laid down twice.
    pub blocks: u32,
    /// Number of times that an edit was not made because the code was another.
    pub foreign: u32,
    /// Number of pairs of replicas that were not noted.
    pub failed_replicas: u32,
    /// `replica::NOTE_UNCONFINED` and the others of the engine, or 0.
    pub replica_notes: u32,
}

impl DuetFile {
    /// Reads the windows of a process that has ended.
    ///
    /// # Errors
    /// If the file cannot be read, or is too short.
    pub fn read(source: &impl Source) -> io::Result<Self> {
        let control = table(source, 0, size_of::<Control>(), 1, 1)?;
        let field = |offset| u32_at(&control, offset);
        let count = field(offset_of!(Control, windows));
        const SIZE: usize = size_of::<Window>();
        let bytes = table(source, WINDOWS, SIZE, count, WINDOW_CAPACITY)?;
        let window = |bytes: &[u8]| {
            let step = u32_at(bytes, offset_of!(Window, step));
            DuetWindow {
                thread: u64::from(u32_at(bytes, offset_of!(Window, thread))),
                number: step >> 1,
                edited: step & 1 == 1,
                rounds: u64_at(bytes, offset_of!(Window, rounds)),
                cpu_nanoseconds: u64_at(bytes, offset_of!(Window, cpu_nanoseconds)),
                page_faults: u64_at(bytes, offset_of!(Window, page_faults)),
            }
        };
        Ok(Self {
            windows: bytes.chunks_exact(SIZE).map(window).collect(),
            blocks: field(offset_of!(Control, duet_blocks)),
            foreign: field(offset_of!(Control, foreign_edits)),
            failed_replicas: field(offset_of!(Control, replicas_failed)),
            replica_notes: field(offset_of!(Control, replica_notes)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl Source for Bytes {
        fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            // Beyond the control page, the windows are all that the file has.
            let at = if offset >= WINDOWS {
                offset - WINDOWS + 0x1_0000
            } else {
                offset
            } as usize;
            let found = self.0.get(at..at + bytes.len());
            bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }

    fn file(count: u32, words: &[u64]) -> Bytes {
        let mut bytes = vec![0; 0x1_0000];
        let at = offset_of!(Control, windows);
        bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Bytes(bytes)
    }

    #[test]
    fn windows_have_thread_number_side_rounds_and_time() {
        let words = [7 | (5 << 1 | 1) << 32, 100, 4_000_000, 0];
        let found = DuetFile::read(&file(1, &words)).expect("valid");
        let window = DuetWindow {
            thread: 7,
            number: 5,
            edited: true,
            rounds: 100,
            cpu_nanoseconds: 4_000_000,
            page_faults: 0,
        };
        assert_eq!(found.windows, [window]);
    }

    #[test]
    fn counts_beyond_the_file_or_its_capacity_are_errors() {
        assert!(DuetFile::read(&file(2, &[0; 4])).is_err());
        assert!(DuetFile::read(&file(u32::MAX, &[0; 4])).is_err());
    }
}
