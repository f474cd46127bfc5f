//! Calls that take up where the call before stopped: a run of memory handed on piece by piece.
//!
//! A pointer and a length among a call's arguments continue the call before from the same place if
//! that one's pointer plus its length is this one's pointer. One call with the whole run would do.
//! Two numbers that count alike are none: the piece must have been read or written by the call, or
//! just behind it. Or the piece is put behind the one before: what a call reads at its pointer it stores,
//! as many bytes at once, where the call before stopped, whatever buffer the piece was handed on in. Or a letter is
//! handed on by its value: it was read behind the letter of the call before, and is stored behind that.
//! Only calls between which the burst has none from the same place are compared; the
//! first one of a burst is not judged.

use std::collections::VecDeque;

use genba_model::{Burst, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::fast_hash::FastMap;
use crate::last_calls::LastCalls;
use crate::tally::{Seen, Tally};

/// A call instruction that hands on memory in consecutive pieces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PiecewiseCall {
    /// The call instruction.
    pub at: CodePoint,
    /// The callee's entry.
    pub target: CodePoint,
    /// Calls that continue the one before, of those that have one before in their burst.
    pub seen: Seen,
    /// Bytes of a piece, on average.
    pub bytes_per_call: f64,
    /// Pieces of a run, on average.
    pub calls_per_run: f64,
    /// Whether the pieces are put behind one another; else they come from behind one another.
    #[serde(default)]
    pub appended: bool,
    /// The argument that points to the pieces, or that is the letter, by number.
    #[serde(default)]
    pub pointer: usize,
    /// Share of the calls that continue one whose first argument went on by the piece as well: of a
    /// copy, those that one call could do.
    #[serde(default)]
    pub first_goes_on: f64,
}

impl PiecewiseCall {
    /// What describes a call best comes last: that both ends of a copy go on, rather than one of them, which
    /// goes on more often where other pieces come between; then what holds more often.
    fn rank(&self) -> (bool, f64) {
        let copies =
            !self.appended && self.pointer == PAIRS[1].0 && self.first_goes_on >= MIN_COPIED_ON;
        (copies, self.seen.share.value)
    }
}

/// Share of continued pieces whose destination goes on as well from which they are parts of one copy.
const MIN_COPIED_ON: f64 = 0.9;

/// Arguments that may be a pointer and its length, by number.
const PAIRS: [(usize, usize); 4] = [(0, 1), (1, 2), (2, 3), (0, 2)];

/// Arguments that may be a letter, by number.
const LETTERS: [usize; 3] = [0, 1, 2];

/// Loads of a byte before a call that may have brought its letter: others look at what follows it.
const MAX_LOADS_BEFORE: usize = 4;

/// The longest piece: a length above is none, or copying it takes longer than the call.
const MAX_PIECE_BYTES: u64 = 64;

/// Share of the calls that must continue the one before.
const MIN_SHARE: f64 = 0.2;

/// The last calls, whose pieces an access may belong to: callees hand pieces on.
const MAX_CALLS_FOLLOWED: usize = 4;

/// By the number of the pair (behind the pairs that of the letter), and whether pieces are put behind one another.
type Key = (CodePoint, CodePoint, (usize, bool));

/// The last call from a place.
#[derive(Default)]
struct LastCall {
    arguments: [u64; 6],
    /// By the number of the pair: whether the memory of the piece was used since.
    used: [bool; PAIRS.len()],
    /// What was read at the pointer, by as many bytes as the piece has.
    loaded: [Option<u64>; PAIRS.len()],
    /// Where that was stored.
    stored: [Option<u64>; PAIRS.len()],
    /// Where the piece of the call before this one ended.
    end_before: [Option<u64>; PAIRS.len()],
    /// By the number of the letter: where it was read.
    read_at: [Option<u64>; LETTERS.len()],
    /// Where it was stored.
    put_at: [Option<u64>; LETTERS.len()],
    /// Whether the letter of the call before this one was read and stored just before this one's place.
    follows: [Option<(u64, u64)>; LETTERS.len()],
}

impl LastCall {
    fn of(arguments: [u64; 6], loads: &VecDeque<(u64, u64)>) -> Self {
        let read = |&argument: &usize| {
            let letter = arguments[argument] & 0xff;
            let found = loads.iter().rev().find(|one| one.1 & 0xff == letter);
            found.map(|one| one.0)
        };
        let mut all = Self {
            arguments,
            ..Self::default()
        };
        for (read_at, argument) in all.read_at.iter_mut().zip(&LETTERS) {
            *read_at = read(argument);
        }
        all
    }

    /// Whether its letter follows the one of the call before.
    fn puts_behind(&self, letter: usize) -> bool {
        let here = self.read_at[letter].zip(self.put_at[letter]);
        let next = |(read, put): (u64, u64)| (read.wrapping_add(1), put.wrapping_add(1));
        here.is_some() && here == self.follows[letter].map(next)
    }

    fn load(&mut self, address: u64, size: u16, value: u64) {
        self.access(address, size);
        for (loaded, &(pointer, length)) in self.loaded.iter_mut().zip(&PAIRS) {
            if (address, u64::from(size)) == (self.arguments[pointer], self.arguments[length]) {
                *loaded = Some(value);
            }
        }
    }

    fn store(&mut self, address: u64, size: u16, value: u64) {
        self.access(address, size);
        for (put_at, &argument) in self.put_at.iter_mut().zip(&LETTERS) {
            let same = size == 1 && value & 0xff == self.arguments[argument] & 0xff;
            if same && put_at.is_none() {
                *put_at = Some(address);
            }
        }
        let all = self.stored.iter_mut().zip(&self.loaded).zip(&PAIRS);
        for ((stored, loaded), &(_, length)) in all {
            let same = *loaded == Some(value) && self.arguments[length] == u64::from(size);
            if same && stored.is_none() {
                *stored = Some(address);
            }
        }
    }

    /// Where the piece ended that the call stored.
    fn end(&self, pair: usize) -> Option<u64> {
        Some(self.stored[pair]?.wrapping_add(self.arguments[PAIRS[pair].1]))
    }

    fn access(&mut self, address: u64, size: u16) {
        for (used, &(pointer, length)) in self.used.iter_mut().zip(&PAIRS) {
            let (begin, bytes) = (self.arguments[pointer], self.arguments[length]);
            let end = begin.saturating_add(bytes.min(MAX_PIECE_BYTES));
            *used |= address < end && begin < address.saturating_add(u64::from(size));
        }
    }
}

#[derive(Default)]
struct Totals {
    bytes: u64,
    calls: u64,
    first_goes_on: u64,
}

/// Finds calls with consecutive pieces, those with most calls first; of each the pair of arguments
/// that continues most often.
pub(crate) fn piecewise_calls(bursts: &[Burst]) -> Vec<PiecewiseCall> {
    let mut tally: Tally<Key> = Tally::new();
    let mut totals: FastMap<Key, Totals> = FastMap::default();
    let mut last: LastCalls<LastCall> = LastCalls::following(MAX_CALLS_FOLLOWED);
    let mut loads: VecDeque<(u64, u64)> = VecDeque::new();
    for burst in bursts {
        last.clear();
        loads.clear();
        for event in &burst.events {
            let (target, arguments) = match event.what {
                Observed::Call { target, arguments } => (target, arguments),
                Observed::Load {
                    address,
                    size,
                    value,
                } => {
                    last.each_recent(|call| call.load(address, size, value));
                    if size == 1 {
                        loads.push_back((address, value));
                        if loads.len() > MAX_LOADS_BEFORE {
                            loads.pop_front();
                        }
                    }
                    continue;
                }
                Observed::Store {
                    address,
                    size,
                    value,
                    ..
                } => {
                    last.each_recent(|call| call.store(address, size, value));
                    continue;
                }
                _ => continue,
            };
            let place = (event.at, target);
            let mut now = LastCall::of(arguments, &loads);
            let Some(before) = last.before(&place) else {
                last.insert(place, now);
                continue;
            };
            for (pair, end) in now.end_before.iter_mut().enumerate() {
                *end = before.end(pair);
            }
            for letter in 0..LETTERS.len() {
                now.follows[letter] = before.read_at[letter].zip(before.put_at[letter]);
                let key = (event.at, target, (PAIRS.len() + letter, true));
                let continues = before.puts_behind(letter);
                tally.count(key, continues);
                if continues {
                    let one = totals.entry(key).or_default();
                    one.bytes += 1;
                    one.calls += 1;
                }
            }
            for (number, &(pointer, length)) in PAIRS.iter().enumerate() {
                let piece = before.arguments[length];
                let is_piece = before.used[number] && (1..=MAX_PIECE_BYTES).contains(&piece);
                let next = before.arguments[pointer].wrapping_add(piece);
                let continues = is_piece && next == arguments[pointer];
                let appends = before.stored[number].is_some_and(|stored| {
                    (1..=MAX_PIECE_BYTES).contains(&piece)
                        && Some(stored) == before.end_before[number]
                });
                for (appended, continues) in [(false, continues), (true, appends)] {
                    let key = (event.at, target, (number, appended));
                    tally.count(key, continues);
                    if continues {
                        let one = totals.entry(key).or_default();
                        one.bytes += piece;
                        one.calls += 1;
                        let first = before.arguments[0].wrapping_add(piece);
                        one.first_goes_on += u64::from(first == arguments[0]);
                    }
                }
            }
            last.insert(place, now);
        }
        tally.end_of_burst(burst.weight);
    }
    let mut found: Vec<PiecewiseCall> = Vec::new();
    for ((at, target, number), seen) in tally.shares() {
        let share = seen.share.value;
        let Some(total) = totals.get(&(at, target, number)) else {
            continue;
        };
        if share < MIN_SHARE {
            continue;
        }
        let known = found
            .iter_mut()
            .find(|one| one.at == at && one.target == target);
        let one = PiecewiseCall {
            at,
            target,
            seen,
            bytes_per_call: total.bytes as f64 / total.calls.max(1) as f64,
            // Of a run all pieces but the first continue one.
            calls_per_run: 1.0 / (1.0 - share).max(1.0 / seen.executions.max(1) as f64),
            appended: number.1,
            first_goes_on: total.first_goes_on as f64 / total.calls.max(1) as f64,
            pointer: (PAIRS.get(number.0)).map_or_else(|| number.0 - PAIRS.len(), |pair| pair.0),
        };
        match known {
            Some(known) if known.rank() < one.rank() => *known = one,
            None => found.push(one),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{at, burst, call, load, store};

    fn puts(pieces: &[(u64, u64)]) -> Vec<PiecewiseCall> {
        let one = |&(pointer, length): &(u64, u64)| {
            [
                call(0x10, at(0x100), [0x9000, pointer, length, 0, 0, 0]),
                load(0x104, pointer, 1, 0x61),
            ]
        };
        piecewise_calls(&[burst(pieces.iter().flat_map(one).collect())])
    }

    #[test]
    fn numbers_that_count_alike_are_not_pieces() {
        let calls = (0..100u64).flat_map(|one| {
            [
                call(0x10, at(0x100), [0x9000, 0x5000 + one, 1, 0, 0, 0]),
                load(0x104, 0x77_0000 + 4 * one, 4, 7),
            ]
        });
        assert!(piecewise_calls(&[burst(calls.collect())]).is_empty());
    }

    #[test]
    fn pieces_that_follow_one_another_are_found() {
        let pieces: Vec<(u64, u64)> = (0..100).map(|one| (0x1000 + 2 * one, 2)).collect();
        let found = puts(&pieces);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].target), (at(0x10), at(0x100)));
        assert!((found[0].seen.share.value - 1.0).abs() < 1e-12);
        assert!((found[0].bytes_per_call - 2.0).abs() < 1e-12);
        assert!(found[0].calls_per_run > 50.0);
    }

    /// Copies of a byte each to one buffer, every tenth of which from elsewhere (an escaped letter).
    fn copies_with_escapes(from: impl Fn(u64) -> u64) -> Vec<PiecewiseCall> {
        let one = |number: u64| {
            let source = if number % 10 == 9 {
                0x7_0000
            } else {
                from(number)
            };
            [
                call(0x10, at(0x100), [0x9000 + number, source, 1, 0, 0, 0]),
                load(0x104, source, 1, 0x61),
                store(0x108, 0x9000 + number, 1, 0, 0x61),
            ]
        };
        piecewise_calls(&[burst((0..200).flat_map(one).collect())])
    }

    #[test]
    fn copy_whose_both_ends_go_on_is_described_by_its_source() {
        let found = copies_with_escapes(|number| 0x5000 + number);
        assert_eq!((found.len(), found[0].pointer), (1, 1), "{found:?}");
        assert!(found[0].first_goes_on == 1.0 && found[0].seen.share.value < 0.9);
        // Bytes from several places that are put behind one another are not a run.
        let found = copies_with_escapes(|number| 0x5000 + 64 * number);
        assert_eq!((found.len(), found[0].pointer), (1, 0), "{found:?}");
    }

    #[test]
    fn runs_that_begin_elsewhere_end_the_ones_before() {
        let pieces = (0..100u64).map(|one| (0x1000 + 0x100 * (one / 10) + 3 * (one % 10), 3));
        let found = puts(&pieces.collect::<Vec<_>>());
        assert!((found[0].calls_per_run - 10.0).abs() < 1.5);
    }

    /// Calls with one letter in a local variable, which they store where `to` says.
    fn letters(to: impl Fn(u64) -> u64) -> Vec<PiecewiseCall> {
        let one = |number: u64| {
            let letter = 0x61 + number % 26;
            [
                call(0x10, at(0x100), [0x9000, 0x7000, 1, 0, 0, 0]),
                call(0x110, at(0x200), [0x9000, 0x7000, 1, 0, 0, 0]),
                load(0x204, 0x7000, 1, letter),
                store(0x208, to(number), 1, 0, letter),
                store(0x20c, to(number) + 1, 1, 0, 0),
            ]
        };
        piecewise_calls(&[burst((0..100).flat_map(one).collect())])
    }

    #[test]
    fn letters_put_behind_one_another_from_one_variable_are_found() {
        let found = letters(|number| 0x2_0000 + number);
        assert_eq!(found.len(), 2, "who is called, and whom that calls");
        assert!(found.iter().all(|one| one.appended));
        assert!(found[0].seen.share.value > 0.95 && found[0].calls_per_run > 20.0);
    }

    /// Calls with a letter by its value, read and stored where these say.
    fn values(from: impl Fn(u64) -> u64, to: impl Fn(u64) -> u64) -> Vec<PiecewiseCall> {
        let one = |number: u64| {
            let letter = 0x61 + number % 26;
            [
                load(0x8, from(number), 1, letter),
                call(0x10, at(0x100), [0x9000, letter, 0, 0, 0, 0]),
                store(0x108, to(number), 1, 0, letter),
                store(0x10c, to(number) + 1, 1, 0, 0),
            ]
        };
        piecewise_calls(&[burst((0..100).flat_map(one).collect())])
    }

    /// Copies of consecutive pieces to where `to` says.
    fn copies(to: impl Fn(u64) -> u64) -> Vec<PiecewiseCall> {
        let one = |number: u64| {
            [
                call(
                    0x10,
                    at(0x100),
                    [to(number), 0x1000 + 2 * number, 2, 0, 0, 0],
                ),
                load(0x104, 0x1000 + 2 * number, 2, 0x6161),
            ]
        };
        piecewise_calls(&[burst((0..100).flat_map(one).collect())])
    }

    #[test]
    fn copies_behind_one_another_are_told_from_those_to_one_place() {
        let of_run = copies(|number| 0x9000 + 2 * number);
        assert!((of_run[0].first_goes_on - 1.0).abs() < 1e-12);
        let to_one_place = copies(|_| 0x9000);
        assert_eq!((to_one_place.len(), to_one_place[0].pointer), (1, 1));
        assert!(to_one_place[0].first_goes_on < 1e-12);
    }

    #[test]
    fn letters_handed_on_by_value_are_found() {
        let found = values(|number| 0x1_0000 + number, |number| 0x2_0000 + number);
        assert_eq!(found.len(), 1);
        assert!(found[0].appended && found[0].pointer == 1);
        assert!((found[0].bytes_per_call - 1.0).abs() < 1e-12 && found[0].calls_per_run > 20.0);
    }

    #[test]
    fn letters_of_a_table_and_letters_that_are_counted_are_not_a_run() {
        let to = |number| 0x2_0000 + number;
        assert!(
            values(|number| 0x1_0000 + number * 7 % 64, to).is_empty(),
            "encoded"
        );
        assert!(
            values(|number| 0x1_0000 + number, |_| 0x2_0000).is_empty(),
            "one place"
        );
    }

    #[test]
    fn letters_that_go_elsewhere_are_not_a_run() {
        assert!(letters(|number| 0x2_0000 + 64 * number).is_empty());
        assert!(letters(|_| 0x2_0000).is_empty(), "one state");
    }

    #[test]
    fn words_from_elsewhere_and_large_blocks_are_not_pieces() {
        let words: Vec<(u64, u64)> = (0..100)
            .map(|one| (0x1000 + 64 * (one * 7 % 100), 5))
            .collect();
        assert!(puts(&words).is_empty());
        let blocks: Vec<(u64, u64)> = (0..100).map(|one| (0x1000 + 4096 * one, 4096)).collect();
        assert!(puts(&blocks).is_empty());
        let same: Vec<(u64, u64)> = (0..100).map(|_| (0x1000, 0)).collect();
        assert!(puts(&same).is_empty(), "nothing is handed on");
    }
}
