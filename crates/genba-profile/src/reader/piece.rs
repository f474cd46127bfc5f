//! A piece of the records, gone over on its own: what is known of it does not depend on what is
//! before it, but for where its first record begins.
//!
//! That place can be guessed, so that pieces can be gone over in any order and by several threads.
//! Who puts them together keeps a piece only if the one before it ended where this one begins.

use super::events::Events;
use super::sieve::Tally;
use crate::perfdata::file::trailing;
use crate::perfdata::record::{Brief, HEADER_SIZE, QuickLayout, Raw, SampleRecord, kind, misc};

/// Bytes of the largest piece that is allowed.
pub const MAX_PIECE: usize = 1 << 30;

/// Largest size that a record can have: the field has 16 bits.
pub const MAX_RECORD: usize = 1 << 16;

/// What an entry of a piece is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// A sample of the event.
    #[default]
    Sample,
    /// The same, already let through.
    Taken,
    /// Another record; [`Piece::other`] has it.
    Other,
    /// A record without further interest but for its time.
    Passed,
    /// The end of a round.
    Round,
}

/// A record in short: 32 bytes, as memory is what going over records costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Time, ns; see [`Entry::is_timed`].
    pub time: u64,
    /// Instruction pointer of a sample.
    pub ip: u64,
    /// Process and thread of a sample, as in [`Brief`]. Of another record: where it begins among
    /// the piece's [`Others`].
    pub task: u64,
    /// Weight of a sample; if [`LONG`], the index of its fields among those of the piece.
    weight: u32,
    cpu: u16,
    /// The processor's mode ([`misc::CPUMODE`]), and the bits below.
    flags: u8,
    /// What it is.
    pub what: What,
}

/// The record has a time of its own.
const TIMED: u8 = 1 << 3;
/// The sample's fields need more room.
const LONG: u8 = 1 << 4;

impl Entry {
    /// Whether it has a time of its own; else it keeps its place.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.flags & TIMED != 0
    }
}

/// Why the going over ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Nobody has gone over it.
    #[default]
    Unread,
    /// The next record begins at or beyond the end of the piece, at this place.
    Next(usize),
    /// There is no whole record at this place.
    NoRecord(usize),
    /// The record at this place is compressed.
    Compressed(usize),
}

/// What was found in a piece. Places are counted from the first byte of all records.
#[derive(Debug, Default)]
pub struct Piece {
    /// Where the first record begins.
    pub start: usize,
    /// Where and why it ends.
    pub end: End,
    /// The records, in the order of the file.
    pub entries: Vec<Entry>,
    /// Those of them that are no samples.
    pub others: Others,
    /// Fields of samples that do not fit into an entry.
    long: Vec<Brief>,
    /// The event's samples added up.
    pub tally: Tally,
    /// Samples whose fields end beyond them.
    pub damaged: u64,
}

/// Records, whole, one after the other.
#[derive(Debug, Default)]
pub struct Others(Vec<u8>);

impl Others {
    /// The record of an entry that is [`What::Other`].
    pub fn record(&self, entry: &Entry) -> Option<Raw<'_>> {
        let bytes = self.0.get(usize::try_from(entry.task).ok()?..)?;
        Raw::parse(bytes).map(|(raw, _)| raw)
    }
}

impl Piece {
    /// Forgets everything but the memory; the next record is at `start`.
    pub fn clear(&mut self, start: usize) {
        self.start = start;
        self.end = End::Unread;
        self.entries.clear();
        self.others.0.clear();
        self.long.clear();
        self.tally = Tally::default();
        self.damaged = 0;
    }

    /// An entry's sample as far as it is known: without its stack. With its `misc` bits.
    #[inline]
    pub fn sample(&self, entry: &Entry) -> (SampleRecord<'static>, u16) {
        let mut record = SampleRecord {
            ip: entry.ip,
            pid: (entry.task as u32).cast_signed(),
            tid: ((entry.task >> 32) as u32).cast_signed(),
            time: entry.time,
            cpu: u32::from(entry.cpu),
            period: u64::from(entry.weight),
            ..SampleRecord::default()
        };
        if entry.flags & LONG != 0
            && let Some(brief) = self.long.get(entry.weight as usize)
        {
            record.addr = brief.addr;
            record.cpu = brief.cpu;
            record.period = brief.period;
        }
        (record, u16::from(entry.flags) & misc::CPUMODE)
    }

    #[inline(always)]
    fn push_sample(&mut self, brief: &Brief, flags: u16, timed: bool) {
        let mut entry = Entry {
            time: brief.time,
            ip: brief.ip,
            task: brief.task,
            weight: brief.period as u32,
            cpu: brief.cpu as u16,
            flags: (flags & misc::CPUMODE) as u8 | if timed { TIMED } else { 0 },
            what: What::Sample,
        };
        if brief.addr != 0
            || u64::from(entry.weight) != brief.period
            || u32::from(entry.cpu) != brief.cpu
        {
            entry.flags |= LONG;
            // No piece has more bytes than this has room for.
            entry.weight = self.long.len() as u32;
            self.long.push(*brief);
        }
        self.entries.push(entry);
    }

    fn push(&mut self, what: What, time: Option<u64>) {
        self.entries.push(Entry {
            time: time.unwrap_or(0),
            task: self.others.0.len() as u64,
            flags: if time.is_some() { TIMED } else { 0 },
            what,
            ..Entry::default()
        });
    }

    /// A record of which nothing but the time matters.
    fn pass(&mut self, time: Option<u64>) {
        // Without a time of its own it has that of others.
        let Some(time) = time else { return };
        match self.entries.last_mut() {
            Some(last) if last.what == What::Passed => last.time = last.time.max(time),
            _ => self.push(What::Passed, Some(time)),
        }
    }
}

/// Goes over pieces for one event.
pub struct Walker<'a> {
    /// The events.
    pub events: &'a Events,
    /// The layout of samples, if there is one event and they can be read quickly.
    pub quick: Option<QuickLayout>,
    /// The event whose samples are wanted.
    pub wanted: usize,
}

/// Samples of the same weight one after the other: clocks give all of them.
#[derive(Clone, Copy, Default)]
struct Run {
    samples: u64,
    weight: u64,
}

impl Walker<'_> {
    /// Goes on with a piece that is [`End::Unread`] so far, up to the first record that begins at
    /// `limit` or beyond. `data` begins at the place `origin` and need not hold the whole piece:
    /// gives where to go on.
    pub fn walk(
        &self,
        data: &[u8],
        origin: usize,
        from: usize,
        limit: usize,
        piece: &mut Piece,
    ) -> usize {
        let mut run = Run::default();
        let mut at = from;
        while at < limit {
            let Some(rest) = data.get(at - origin..) else {
                break;
            };
            if let Some(quick) = &self.quick
                && let Some((brief, misc, size)) = quick.sample(rest)
            {
                run.add(brief.period, &mut piece.tally);
                piece.push_sample(&brief, misc, true);
                at += size;
                continue;
            }
            let Some((raw, size)) = Raw::parse(rest) else {
                break;
            };
            if matches!(raw.kind, kind::COMPRESSED | kind::COMPRESSED2) {
                piece.end = End::Compressed(at);
                break;
            }
            // Below 8 would stand still; `Raw::parse` has refused it.
            at = at.saturating_add(size).saturating_add(trailing(&raw));
            self.record(&raw, &rest[..size], piece, &mut run);
        }
        run.end(&mut piece.tally);
        if at >= limit {
            piece.end = End::Next(at);
        }
        at
    }

    fn record(&self, raw: &Raw<'_>, whole: &[u8], piece: &mut Piece, run: &mut Run) {
        if raw.kind == kind::FINISHED_ROUND {
            piece.push(What::Round, None);
            return;
        }
        if raw.kind >= kind::USER_FIRST {
            return;
        }
        let (event, layout) = self.events.of(raw);
        let time = layout.time(raw);
        if raw.kind != kind::SAMPLE {
            piece.push(What::Other, time);
            piece.others.0.extend_from_slice(whole);
            return;
        }
        if event != self.wanted {
            piece.pass(time);
            return;
        }
        let Some(sample) = layout.sample(raw.body) else {
            piece.damaged += 1;
            piece.pass(time);
            return;
        };
        run.add(sample.period, &mut piece.tally);
        let task =
            u64::from(sample.pid.cast_unsigned()) | u64::from(sample.tid.cast_unsigned()) << 32;
        let brief = Brief {
            ip: sample.ip,
            task,
            time: sample.time,
            addr: sample.addr,
            period: sample.period,
            cpu: sample.cpu,
        };
        piece.push_sample(&brief, raw.misc, time.is_some());
    }
}

impl Run {
    #[inline(always)]
    fn add(&mut self, weight: u64, tally: &mut Tally) {
        if weight != self.weight {
            self.end(tally);
            self.weight = weight;
        }
        self.samples += 1;
    }

    fn end(&mut self, tally: &mut Tally) {
        tally.add(self.samples, self.weight);
        self.samples = 0;
    }
}

/// Where a record probably begins, at `from` or somewhat beyond: there a chain of records begins
/// that could be. `data` begins at the place `origin`.
pub fn guess(data: &[u8], origin: usize, from: usize) -> Option<usize> {
    // Records are multiples of 8 bytes.
    let first = from.next_multiple_of(8);
    (first..first + MAX_RECORD)
        .step_by(8)
        .take_while(|&at| at - origin + HEADER_SIZE <= data.len())
        .find(|&at| is_chain(data, at - origin))
}

/// Whether so many records, one behind the other, could be: more than chance gives.
fn is_chain(data: &[u8], mut at: usize) -> bool {
    const LINKS: usize = 64;
    for _ in 0..LINKS {
        let Some(header) = data.get(at..).and_then(<[u8]>::first_chunk::<HEADER_SIZE>) else {
            // Up to where it is known it could be.
            return true;
        };
        let header = u64::from_le_bytes(*header);
        let (kind, size) = (header as u32, (header >> 48) as usize);
        let known = (1..32).contains(&kind) || (kind::USER_FIRST..96).contains(&kind);
        if !known || size < HEADER_SIZE || size % 8 != 0 {
            return false;
        }
        at += size;
    }
    true
}
