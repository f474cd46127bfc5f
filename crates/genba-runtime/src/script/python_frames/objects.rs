//! Strings and bytes of CPython.

use super::super::thread_memory::{Memory, word_at};

/// Bytes of a name and of a line table.
const MAX_NAME: usize = 1000;
const MAX_LINES: usize = 1 << 20;

/// The text of a string object, whose characters are at these offsets: of ASCII, of others.
pub fn text(memory: &impl Memory, object: u64, data: [u64; 2]) -> Option<String> {
    const LENGTH: usize = 16;
    const STATE: usize = 32;
    let head: [u8; 40] = memory.bytes(object)?;
    let length = (word_at(&head, LENGTH) as usize).min(MAX_NAME);
    let state = word_at(&head, STATE) as u32;
    // interned: 2 bits, kind: 3, compact: 1, ascii: 1.
    let (kind, compact, ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    if !compact {
        return None;
    }
    let at = object.wrapping_add(data[usize::from(!ascii)]);
    let width = match kind {
        1 | 2 | 4 => kind as usize,
        _ => return None,
    };
    let mut bytes = vec![0; length * width];
    if !bytes.is_empty() {
        memory.fill(at, &mut bytes)?;
    }
    let point = |c: &[u8]| c.iter().rev().fold(0u32, |n, &b| n << 8 | u32::from(b));
    let points = bytes.chunks_exact(width).map(point);
    Some(
        points
            .map(|p| char::from_u32(p).unwrap_or('\u{fffd}'))
            .collect(),
    )
}

/// The bytes of a bytes object.
pub fn bytes_object(memory: &impl Memory, object: u64) -> Option<Vec<u8>> {
    const SIZE: u64 = 16;
    const DATA: u64 = 32;
    let size = memory.word(object.wrapping_add(SIZE))? as usize;
    let mut bytes = vec![0; size.min(MAX_LINES)];
    if !bytes.is_empty() {
        memory.fill(object.wrapping_add(DATA), &mut bytes)?;
    }
    Some(bytes)
}
