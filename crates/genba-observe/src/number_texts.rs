//! Which functions that take floating-point numbers write whole numbers only: digits, a sign and an end of text, with no
//! point and no exponent.
//!
//! What a function writes is what it and all that it calls store, one or two bytes at a time. Wider stores are its
//! variables, or copies of what was written before.
//!
//! Source: redis 7.2 (f3c6f9c2f44a): whole numbers were written by the routine for any floating-point number.

use genba_model::{Burst, BurstEvent, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::{CallStack, Change};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;
use crate::tally::{Seen, Tally};

/// A function that takes floating-point numbers and writes digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberText {
    /// The function's entry.
    pub target: CodePoint,
    /// Share of the calls that write a whole number and nothing else, among those that began and ended in a burst and
    /// stored a byte.
    pub whole: Seen,
}

/// Digits of the longest number: more are not one.
const MAX_DIGITS: u32 = 20;

/// What a call stored byte by byte.
#[derive(Clone, Copy, Default)]
struct Written {
    digits: u32,
    others: bool,
}

impl Written {
    fn add(&mut self, event: &BurstEvent) {
        let Observed::Store { size, value, .. } = event.what else {
            return;
        };
        let bytes = value.to_le_bytes();
        for byte in bytes
            .iter()
            .take(usize::from(size))
            .take_while(|_| size <= 2)
        {
            match byte {
                b'0'..=b'9' => self.digits += 1,
                b'-' | b'+' | 0 => {}
                _ => self.others = true,
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.digits = self.digits.saturating_add(other.digits);
        self.others |= other.others;
    }

    fn is_empty(&self) -> bool {
        self.digits == 0 && !self.others
    }

    fn is_number(&self) -> bool {
        (1..=MAX_DIGITS).contains(&self.digits) && !self.others
    }
}

/// The functions with vector arguments that write whole numbers in some of their calls, those with most calls first.
pub(crate) fn number_texts(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<NumberText> {
    let mut vector: FastMap<CodePoint, bool> = FastMap::default();
    let mut takes_vector = |target: CodePoint| {
        let known =
            || code.is_own(target.module) && code.arguments(target).is_some_and(|it| it.vector);
        *vector.entry(target).or_insert_with(known)
    };
    let mut tally: Tally<CodePoint> = Tally::new();
    for burst in bursts {
        let mut stack = CallStack::default();
        let mut open: Vec<(CodePoint, Written)> = Vec::new();
        for event in &burst.events {
            match stack.event(event) {
                Change::Entered | Change::Retargeted => {
                    let frames = stack.frames();
                    open.truncate(frames.len().saturating_sub(1));
                    open.extend(
                        frames
                            .last()
                            .map(|frame| (frame.target, Written::default())),
                    );
                }
                Change::Left(frames) => {
                    for _ in 0..frames {
                        let Some((target, written)) = open.pop() else {
                            break;
                        };
                        if let Some(below) = open.last_mut() {
                            below.1.join(written);
                        }
                        if !written.is_empty() && takes_vector(target) {
                            tally.count(target, written.is_number());
                        }
                    }
                }
                Change::Lost => open.clear(),
                Change::None => {}
            }
            if let Some(top) = open.last_mut() {
                top.1.add(event);
            }
        }
        tally.end_of_burst(burst.weight);
    }
    let shares = tally.shares().into_iter();
    (shares.filter(|one| one.1.share.value > 0.0))
        .map(|(target, whole)| NumberText { target, whole })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, FLOAT_WRITER, at, block, burst, call, ret, store};

    /// A call of `target` whose callee stores these letters and a word of its own.
    fn written(target: CodePoint, letters: &[u8]) -> Vec<BurstEvent> {
        let mut events = vec![
            call(0x10, target, [0; 6]),
            block(target.address, 3),
            call(target.address + 4, at(0x200), [0; 6]),
            block(0x200, 9),
            store(0x204, 0x9000, 8, 0, 0x4142_4344_4546_4748),
        ];
        let letter = |(place, &byte): (u64, &u8)| store(0x208, 0x7000 + place, 1, 0, byte.into());
        events.extend((0u64..).zip(letters).map(letter));
        events.push(ret(0x20c, 0));
        events.push(block(target.address + 9, 1));
        events.push(ret(target.address + 10, 0));
        events.push(block(0x15, 2));
        events
    }

    #[test]
    fn calls_that_write_digits_alone_are_told_from_those_with_a_point() {
        let events = [
            written(FLOAT_WRITER, b"-200\0"),
            written(FLOAT_WRITER, b"7"),
            written(FLOAT_WRITER, b"0.5"),
            written(FLOAT_WRITER, b"1e22"),
            written(at(0x100), b"12"),
        ];
        let found = number_texts(&[burst(events.concat())], &AllOwn);
        assert_eq!(found.len(), 1, "one function takes a number");
        assert_eq!(found[0].target, FLOAT_WRITER);
        assert_eq!(found[0].whole.executions, 4);
        assert!((found[0].whole.share.value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn calls_that_store_no_byte_say_nothing() {
        assert!(number_texts(&[burst(written(FLOAT_WRITER, b""))], &AllOwn).is_empty());
    }
}
