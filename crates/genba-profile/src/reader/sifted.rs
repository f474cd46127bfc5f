//! The records that a sieve lets through, in time order: as [`super::order`], of pieces that
//! others have gone over.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use super::crew::Foreman;
use super::piece::{End, Piece, What};
use super::sieve::{Sieve, Tally};
use crate::perfdata::record::{Raw, SampleRecord};

/// Number of a piece among those that were put together (upper half), and of its entry.
type Place = u64;

/// Bits of a [`Place`] for the entry: a piece has fewer, as a record has 8 bytes at least.
const ENTRY_BITS: u32 = 32;

/// A record that was let through.
pub enum Item<'a> {
    /// A sample of the event, with its `misc` bits.
    Sample(SampleRecord<'static>, u16),
    /// No sample.
    Other(Option<Raw<'a>>),
}

/// The entries of a round.
#[derive(Default)]
struct Round {
    places: Range<Place>,
    /// What is not later than this has been decided upon.
    decided: Option<u64>,
}

/// Gives what is let through in time order.
pub struct Sifted<'c, 'a, 's> {
    foreman: Foreman<'c, 'a>,
    sieve: Sieve<'s, 's>,
    /// Bytes of all records.
    len: usize,
    /// Pieces that may be asked for again, the last one being read.
    pieces: VecDeque<Piece>,
    /// Number of the first of them.
    first: usize,
    /// The entry to be read next.
    next: Place,
    /// The last round, of which something may be held back yet, and this one.
    rounds: [Round; 2],
    queue: Vec<(u64, Place)>,
    ready: std::vec::IntoIter<(u64, Place)>,
    newest: u64,
    newest_of_last_round: u64,
    ended: bool,
    /// All samples of the event so far.
    pub tally: Tally,
    /// Samples whose fields end beyond them.
    pub damaged: u64,
    /// The data end in the middle of a record.
    pub cut_short: bool,
    /// A compressed record was met.
    pub compressed: bool,
}

impl<'c, 'a, 's> Sifted<'c, 'a, 's> {
    /// Starts at the first record of so many bytes.
    pub(super) fn new(foreman: Foreman<'c, 'a>, len: usize, sieve: Sieve<'s, 's>) -> Self {
        Self {
            foreman,
            sieve,
            len,
            pieces: VecDeque::new(),
            first: 0,
            next: 0,
            rounds: Default::default(),
            queue: Vec::new(),
            ready: Vec::new().into_iter(),
            newest: 0,
            newest_of_last_round: 0,
            ended: false,
            tally: Tally::default(),
            damaged: 0,
            cut_short: false,
            compressed: false,
        }
    }

    /// The next record.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        let place = loop {
            if let Some((_, place)) = self.ready.next() {
                break place;
            }
            if self.ended {
                return Ok(None);
            }
            self.give_back();
            self.read_round()?;
        };
        let (piece, entry) = self.index(place);
        let piece = &self.pieces[piece];
        let entry = &piece.entries[entry];
        Ok(Some(match entry.what {
            What::Sample | What::Taken => {
                let (record, misc) = piece.sample(entry);
                Item::Sample(record, misc)
            }
            _ => Item::Other(piece.others.record(entry)),
        }))
    }

    /// Index of the piece among those kept, and of the entry in it.
    #[inline]
    fn index(&self, place: Place) -> (usize, usize) {
        let entry = place & ((1 << ENTRY_BITS) - 1);
        ((place >> ENTRY_BITS) as usize - self.first, entry as usize)
    }

    /// Gives pieces back that nothing refers to any more.
    fn give_back(&mut self) {
        let queued = self.queue.iter().map(|&(_, place)| place).min();
        let held = self.rounds[0].places.start;
        let oldest = (queued.unwrap_or(held).min(held) >> ENTRY_BITS) as usize;
        // The last one is being read.
        while self.first < oldest && self.pieces.len() > 1 {
            if let Some(piece) = self.pieces.pop_front() {
                self.foreman.used(piece);
            }
            self.first += 1;
        }
    }

    /// Goes on with the next piece, if there is one.
    fn next_piece(&mut self) -> io::Result<bool> {
        let at = match self.pieces.back().map(|piece| piece.end) {
            None => 0,
            Some(End::Next(at)) => at,
            Some(End::Compressed(_)) => {
                self.compressed = true;
                return Ok(false);
            }
            Some(End::NoRecord(at)) => {
                self.cut_short = at != self.len;
                return Ok(false);
            }
            Some(End::Unread) => return Ok(false),
        };
        if at >= self.len {
            return Ok(false);
        }
        let piece = self.foreman.piece(at)?;
        self.tally.join(&piece.tally);
        self.damaged += piece.damaged;
        self.pieces.push_back(piece);
        self.next = ((self.first + self.pieces.len() - 1) as u64) << ENTRY_BITS;
        Ok(true)
    }

    /// Reads up to the end of a round and makes ready what cannot be overtaken any more.
    fn read_round(&mut self) -> io::Result<()> {
        loop {
            let ends = self.read_entries();
            if ends {
                self.end_round(self.newest_of_last_round);
                self.newest_of_last_round = self.newest;
                if self.ready.len() > 0 {
                    return Ok(());
                }
            } else if !self.next_piece()? {
                self.ended = true;
                self.end_round(u64::MAX);
                return Ok(());
            }
        }
    }

    /// Reads to the end of a round or of the piece; whether it was that of a round.
    fn read_entries(&mut self) -> bool {
        let first = (self.next & ((1 << ENTRY_BITS) - 1)) as usize;
        let Some(piece) = self.pieces.back_mut() else {
            return false;
        };
        let Piece {
            entries, others, ..
        } = piece;
        for entry in entries.get_mut(first..).unwrap_or_default() {
            let place = self.next;
            self.next += 1;
            let taken = match entry.what {
                What::Sample => {
                    // Without a time of its own it could not be put in its place later.
                    !entry.is_timed() || self.sieve.lets(entry.task, entry.ip)
                }
                What::Other => {
                    if let Some(raw) = others.record(entry) {
                        self.sieve.other(&raw);
                    }
                    true
                }
                What::Round => return true,
                What::Taken | What::Passed => false,
            };
            // Without a time of its own a record keeps its place in the file.
            let time = if entry.is_timed() {
                entry.time
            } else {
                self.newest
            };
            self.newest = self.newest.max(time);
            if taken {
                self.queue.push((time, place));
                if entry.what == What::Sample {
                    entry.what = What::Taken;
                }
            }
        }
        false
    }

    /// Ends a round: what is later than `up_to` stays, the rest is decided upon and made ready.
    /// Nothing of the round before this one is later.
    fn end_round(&mut self, up_to: u64) {
        self.rounds[1].places.end = self.next;
        // Seldom: most rounds have no new map, and what was denied would be denied again.
        if self.sieve.changed() {
            self.decide(0);
            self.decide(1);
        }
        self.rounds.swap(0, 1);
        self.rounds[0].decided = Some(up_to);
        self.rounds[1] = Round {
            places: self.next..self.next,
            decided: None,
        };
        // Stable and adaptive: the queue is made of a few ascending runs.
        self.queue.sort();
        let n = self.queue.partition_point(|&(time, _)| time <= up_to);
        let rest = self.queue.split_off(n);
        self.ready = std::mem::replace(&mut self.queue, rest).into_iter();
    }

    /// Puts what the sieve lets through now, and did not before, into the queue.
    fn decide(&mut self, round: usize) {
        let Round { places, decided } = &self.rounds[round];
        if places.is_empty() {
            return;
        }
        let (first, from) = self.index(places.start);
        let (last, to) = self.index(places.end);
        let numbers = places.start >> ENTRY_BITS..;
        let pieces = self.pieces.range_mut(first..=last).enumerate();
        for ((index, piece), number) in pieces.zip(numbers) {
            let from = if index == 0 { from } else { 0 };
            let to = if first + index == last {
                to
            } else {
                piece.entries.len()
            };
            for (entry, at) in piece.entries[from..to].iter_mut().zip(from as u64..) {
                let held = entry.what == What::Sample
                    && decided.is_none_or(|decided| entry.time > decided);
                if held && self.sieve.lets_now(entry.ip) {
                    entry.what = What::Taken;
                    self.queue.push((entry.time, number << ENTRY_BITS | at));
                }
            }
        }
    }
}
