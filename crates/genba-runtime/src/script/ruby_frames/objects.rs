//! Strings and arrays of CRuby.

use super::super::ruby_layout::RubyLayout;
use super::super::thread_memory::{Memory, word_at};

pub const TYPE: u64 = 0x1f;
pub const T_STRING: u64 = 5;
pub const T_ARRAY: u64 = 7;
pub const T_IMEMO: u64 = 0x1a;
/// Which kind of internal object, in the flags.
pub const IMEMO_SHIFT: u64 = 12;
pub const IMEMO_ISEQ: u64 = 7;
/// Strings that lie elsewhere, and arrays that do not.
pub const USER1: u64 = 1 << 13;

/// Bytes of a name.
const MAX_NAME: usize = 1000;
/// A path is a string, or an array of the path as given and the real one.
pub fn path(memory: &impl Memory, layout: &RubyLayout, object: u64) -> Option<String> {
    let flags = memory.word(object)?;
    if flags & TYPE != T_ARRAY {
        return string(memory, layout, object);
    }
    const EMBEDDED: u64 = 16;
    const POINTER: u64 = 32;
    let items = if flags & USER1 != 0 {
        object.checked_add(EMBEDDED)?
    } else {
        memory.word(object.checked_add(POINTER)?)?
    };
    string(memory, layout, memory.word(items)?)
}

/// The text of a string.
pub fn string(memory: &impl Memory, layout: &RubyLayout, object: u64) -> Option<String> {
    const LENGTH: usize = 16;
    const POINTER: usize = 24;
    let head: [u8; 40] = memory.bytes(object)?;
    let flags = word_at(&head, 0);
    if flags & TYPE != T_STRING {
        return None;
    }
    let elsewhere = flags & USER1 != 0;
    let (length, from) = match (elsewhere, layout.string_has_length) {
        (true, _) => (word_at(&head, LENGTH), word_at(&head, POINTER)),
        (false, true) => (word_at(&head, LENGTH), object.checked_add(POINTER as u64)?),
        (false, false) => (flags >> 14 & 0x1f, object.checked_add(LENGTH as u64)?),
    };
    let mut bytes = vec![0; usize::try_from(length).ok()?.min(MAX_NAME)];
    if !bytes.is_empty() {
        memory.fill(from, &mut bytes)?;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
