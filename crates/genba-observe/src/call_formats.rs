//! Formats that calls hand over, as the library read them: formats made at run time, or passed through functions of
//! the user's own, are in no instruction.
//!
//! A library reads the letters of a directive one by one, whatever it does about the text between them. So a format
//! is known up to that text: its directives, with a mark between those that do not follow one another.
//!
//! Source: ISO C 7.21.6.1 (directives begin with `%`).

use genba_model::{Burst, BurstEvent, CodePoint, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::{CallStack, Change};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::FastMap;

/// A call instruction with the formats that it handed over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallFormats {
    /// The call instruction.
    pub at: CodePoint,
    /// The callee's entry.
    pub target: CodePoint,
    /// Calls that began and ended in a burst and read their format.
    pub calls: u64,
    /// Directives of the formats with the part of the calls, most first.
    pub formats: Vec<(String, f64)>,
}

/// Bytes of a format that are looked at.
const MAX_FORMAT_BYTES: u64 = 256;

/// Formats that are kept of a call: wrappers for messages have dozens.
const MAX_FORMATS: usize = 32;

/// Text that was not read letter by letter.
const TEXT: char = '…';

/// A call that has not returned, and what was read of its format: places behind its start, and letters.
struct Open {
    at: CodePoint,
    target: CodePoint,
    depth: usize,
    format: u64,
    letters: Vec<(u16, u8)>,
}

type Formats = FastMap<(CodePoint, CodePoint), FastMap<String, u64>>;

/// The formats of all calls of functions that take one, in order of their place.
pub(crate) fn call_formats(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<CallFormats> {
    let mut seen = Formats::default();
    for burst in bursts {
        let mut stack = CallStack::default();
        let mut open: Vec<Open> = Vec::new();
        for event in &burst.events {
            match stack.event(event) {
                Change::Entered => open.extend(begun(&stack, code)),
                Change::Retargeted => {
                    let depth = stack.frames().len();
                    open.retain(|one| one.depth < depth);
                    open.extend(begun(&stack, code));
                }
                Change::Left(_) => {
                    let depth = stack.frames().len();
                    while let Some(one) = open.pop_if(|one| one.depth > depth) {
                        ended(one, &mut seen);
                    }
                }
                Change::Lost => open.clear(),
                Change::None => {}
            }
            if let Some(top) = open.last_mut() {
                top.read(event);
            }
        }
    }
    let mut found: Vec<CallFormats> = (seen.into_iter())
        .map(|((at, target), formats)| {
            let calls = formats.values().sum::<u64>();
            let mut formats: Vec<(String, f64)> = (formats.into_iter())
                .map(|(text, times)| (text, times as f64 / calls.max(1) as f64))
                .collect();
            formats.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            CallFormats {
                at,
                target,
                calls,
                formats,
            }
        })
        .collect();
    found.sort_by_key(|one| (one.at, one.target));
    found
}

fn begun(stack: &CallStack, code: &dyn CodeKnowledge) -> Option<Open> {
    let frame = stack.frames().last()?;
    let format = code.format_argument(frame.target)?;
    Some(Open {
        at: frame.call,
        target: frame.target,
        depth: stack.frames().len(),
        format: *frame.arguments.get(usize::from(format))?,
        letters: Vec::new(),
    })
}

impl Open {
    fn read(&mut self, event: &BurstEvent) {
        let Observed::Load {
            address,
            size: 1,
            value,
        } = event.what
        else {
            return;
        };
        let place = address.wrapping_sub(self.format);
        if place < MAX_FORMAT_BYTES {
            self.letters.push((place as u16, value as u8));
        }
    }

    /// The directives of what was read; `None` if that was nothing.
    fn directives(mut self) -> Option<String> {
        self.letters.sort_unstable();
        self.letters.dedup();
        let mut text = String::new();
        let mut next = 0u16;
        for (place, letter) in self.letters {
            if letter == 0 {
                break;
            }
            if place > next {
                text.push(TEXT);
            }
            next = place + 1;
            text.push(char::from(letter));
        }
        (!text.is_empty()).then_some(text)
    }
}

fn ended(one: Open, seen: &mut Formats) {
    let formats = seen.entry((one.at, one.target)).or_default();
    let Some(text) = one.directives() else {
        return;
    };
    if formats.len() < MAX_FORMATS || formats.contains_key(&text) {
        *formats.entry(text).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, FORMATTER, at, block, burst, call, in_library, load, ret};

    /// A call at 0x10 whose format lies at `address`, of which these places are read letter by letter.
    fn formatted(address: u64, letters: &[(u64, u8)]) -> Vec<BurstEvent> {
        let mut events = vec![call(0x10, FORMATTER, [address, 0, 0, 0, 0, 0])];
        events.push(in_library(block(FORMATTER.address, 50)));
        // A vector of the text, and a byte of something else.
        events.push(in_library(load(0x904, address, 32, 0x6425_203a)));
        events.push(in_library(load(0x908, address + 5000, 1, 0x25)));
        let byte = |&(place, letter): &(u64, u8)| load(0x90c, address + place, 1, letter.into());
        events.extend(letters.iter().map(byte).map(in_library));
        events.push(in_library(ret(0x910, 0)));
        events.push(block(0x15, 2));
        events
    }

    #[test]
    fn directives_are_what_the_library_reads_letter_by_letter() {
        let short = formatted(
            0x7000,
            &[(2, b'%'), (3, b'0'), (3, b'0'), (4, b'8'), (5, b'x')],
        );
        let two = formatted(
            0x7100,
            &[(0, b'%'), (1, b'd'), (4, b'%'), (5, b's'), (6, 0)],
        );
        let events = [short.clone(), short.clone(), two, short].concat();
        let found = call_formats(&[burst(events)], &AllOwn);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].target), (at(0x10), FORMATTER));
        assert_eq!(found[0].calls, 4);
        let formats = [("…%08x".to_owned(), 0.75), ("%d…%s".to_owned(), 0.25)];
        assert_eq!(found[0].formats, formats);
    }

    #[test]
    fn calls_of_other_functions_and_calls_without_an_end_have_no_format() {
        let mut open = formatted(0x7000, &[(0, b'%'), (1, b'd')]);
        open.truncate(5);
        assert!(call_formats(&[burst(open)], &AllOwn).is_empty());
        let other = vec![
            call(0x10, at(0x100), [0x7000, 0, 0, 0, 0, 0]),
            block(0x100, 5),
            load(0x104, 0x7000, 1, b'%'.into()),
            ret(0x110, 0),
            block(0x15, 2),
        ];
        assert!(call_formats(&[burst(other)], &AllOwn).is_empty());
    }
}
