//! Parses the file in which the plugin keeps its counts. Pure; a target can write to it, and it may
//! be truncated anywhere, so it is not trusted.

use iced_x86::{Decoder, DecoderError, DecoderOptions};

use super::plugin_file_layout::{
    HEADER, MAGIC, NO_FILE, RECORD, block, edge, file, flag, header, kind,
};

/// A block that the plugin counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Number of times that it was entered.
    pub count: u64,
    /// Repetitions of its last instruction.
    pub iterations: u64,
    /// Address of its first instruction in memory.
    pub address: u64,
    /// File (index in [`Counts::files`]) and offset in it.
    pub place: Option<(u32, u64)>,
    /// The last instruction's bytes.
    pub last: &'a [u8],
    /// The instructions' lengths.
    pub lengths: &'a [u8],
}

impl Block<'_> {
    /// Whether the last instruction is not in the block: one that crosses the end of a page ends a
    /// block before it, but the plugin has been shown its first bytes.
    #[must_use]
    pub fn is_last_cut(&self) -> bool {
        self.lengths.len() > 1 && is_cut(self.last)
    }

    /// Bytes before the last instruction.
    #[must_use]
    pub fn before_last(&self) -> u64 {
        let before = self.lengths.split_last().map_or(&[][..], |(_, rest)| rest);
        before.iter().map(|length| u64::from(*length)).sum()
    }
}

/// A control-flow edge between blocks (indices in [`Counts::blocks`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Block that it leaves, after the last instruction.
    pub from: usize,
    /// Block that it enters.
    pub to: usize,
    /// Number of executions.
    pub count: u64,
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts<'a> {
    /// Process id.
    pub pid: i32,
    /// Process of which it is a fork.
    pub parent: Option<i32>,
    /// Whether it exited by itself.
    pub exited: bool,
    /// Whether it executed another program.
    pub executed: bool,
    /// Executions of blocks and edges that were not recorded.
    pub lost: u64,
    /// Number of returns from signal handlers.
    pub signals: u64,
    /// Number of processes that it created and that are not counted.
    pub forks: u64,
    /// Paths of files.
    pub files: Vec<&'a [u8]>,
    /// Blocks.
    pub blocks: Vec<Block<'a>>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Where PLT stubs led on their first call; counts have no meaning here.
    pub bindings: Vec<Edge>,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not one.
    #[error("not a count file of the plugin")]
    Magic,
    /// A record makes no sense.
    #[error("invalid record at {at:#x}")]
    Record {
        /// Offset in the file, bytes.
        at: usize,
    },
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// Reads a file.
///
/// # Errors
/// When it is none, or damaged.
pub fn read(bytes: &[u8]) -> Result<Counts<'_>, ReadError> {
    let field = |at| long(bytes, at).ok_or(ReadError::Magic);
    if field(header::MAGIC)? != MAGIC {
        return Err(ReadError::Magic);
    }
    let flags = field(header::FLAGS)?;
    let pid = |value: u64| i32::try_from(value).ok().filter(|pid| *pid > 0);
    let mut counts = Counts {
        pid: pid(field(header::PID)?).ok_or(ReadError::Magic)?,
        parent: pid(field(header::PARENT)?),
        exited: flags & flag::EXITED != 0,
        executed: flags & flag::EXECUTED != 0,
        lost: field(header::LOST)?,
        signals: field(header::SIGNALS)?,
        forks: field(header::FORKS)?,
        ..Counts::default()
    };
    let used = usize::try_from(field(header::USED)?).unwrap_or(usize::MAX);
    let used = bytes.get(..used).ok_or(ReadError::Record { at: used })?;
    // Places of blocks, in order.
    let mut places: Vec<usize> = Vec::new();
    let mut edges = Vec::new();
    let mut at = HEADER;
    while at < used.len() {
        let wrong = ReadError::Record { at };
        let size = word(used, at + 4).ok_or(wrong)? as usize;
        if size < RECORD || !size.is_multiple_of(8) {
            return Err(wrong);
        }
        let record = at.checked_add(size).and_then(|end| used.get(at..end));
        let record = record.ok_or(wrong)?;
        match word(record, 0) {
            Some(kind::FILE) => counts.files.push(path(record).ok_or(wrong)?),
            Some(kind::BLOCK) => {
                counts.blocks.push(a_block(record).ok_or(wrong)?);
                places.push(at);
            }
            Some(kind @ (kind::EDGE | kind::BINDING)) => {
                edges.push((at, kind, passage(record).ok_or(wrong)?));
            }
            _ => {}
        }
        at += size;
    }
    for (at, kind, (from, to, count)) in edges {
        let index = |place: u64| {
            let place = usize::try_from(place).ok()?;
            places.binary_search(&place).ok()
        };
        let (from, to) = (index(from).zip(index(to))).ok_or(ReadError::Record { at })?;
        let list = match kind {
            kind::EDGE => &mut counts.edges,
            _ => &mut counts.bindings,
        };
        list.push(Edge { from, to, count });
    }
    let files = counts.files.len();
    let known = |block: &Block<'_>| block.place.is_none_or(|(file, _)| (file as usize) < files);
    if let Some(index) = counts.blocks.iter().position(|block| !known(block)) {
        return Err(ReadError::Record { at: places[index] });
    }
    Ok(counts)
}

fn path(record: &[u8]) -> Option<&[u8]> {
    let length = word(record, file::LENGTH)? as usize;
    record.get(file::PATH..file::PATH.checked_add(length)?)
}

fn a_block(record: &[u8]) -> Option<Block<'_>> {
    let instructions = word(record, block::INSTRUCTIONS)? as usize;
    let last = record.get(block::LAST..block::LAST + 16)?;
    let (length, last) = last.split_last()?;
    let file = word(record, block::FILE)?;
    let offset = long(record, block::OFFSET)?;
    Some(Block {
        count: long(record, block::COUNT)?,
        iterations: long(record, block::ITERATIONS)?,
        address: long(record, block::ADDRESS)?,
        place: (file != NO_FILE).then_some((file, offset)),
        last: last.get(..usize::from(*length))?,
        lengths: record.get(block::LENGTHS..block::LENGTHS.checked_add(instructions)?)?,
    })
}

fn passage(record: &[u8]) -> Option<(u64, u64, u64)> {
    Some((
        long(record, edge::FROM)?,
        long(record, edge::TO)?,
        long(record, edge::COUNT)?,
    ))
}

/// Whether the bytes are the beginning of an instruction that is cut off.
fn is_cut(code: &[u8]) -> bool {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    decoder.decode().is_invalid() && decoder.last_error() == DecoderError::NoMoreBytes
}

#[cfg(test)]
#[path = "plugin_file_tests.rs"]
mod tests;
