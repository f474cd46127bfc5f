//! Strings and bytes of CPython 3.11, and what is in them.

use super::super::thread_memory::{Memory, word_at};

/// Bytes of a name and of a line table.
const MAX_NAME: usize = 1000;
const MAX_LINES: usize = 1 << 20;

/// The text of a string object.
pub fn text(memory: &impl Memory, object: u64) -> Option<String> {
    const LENGTH: usize = 16;
    const STATE: usize = 32;
    const ASCII_DATA: u64 = 48;
    const DATA: u64 = 72;
    let head: [u8; 40] = memory.bytes(object)?;
    let length = (word_at(&head, LENGTH) as usize).min(MAX_NAME);
    let state = word_at(&head, STATE) as u32;
    // interned: 2 bits, kind: 3, compact: 1, ascii: 1.
    let (kind, compact, ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    if !compact {
        return None;
    }
    let at = object.wrapping_add(if ascii { ASCII_DATA } else { DATA });
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

/// Decodes a location table (Objects/locations.md): ends of stretches in code units, and lines.
pub fn decode_lines(table: &[u8], first_line: u32) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut next = || {
        let byte = table.get(at).copied();
        at += 1;
        byte
    };
    let (mut unit, mut line) = (0u32, i64::from(first_line));
    while let Some(head) = next() {
        let (code, length) = (head >> 3 & 15, u32::from(head & 7) + 1);
        let number = |next: &mut dyn FnMut() -> Option<u8>| {
            let (mut value, mut shift) = (0u64, 0);
            while let Some(byte) = next() {
                if shift < 64 {
                    value |= u64::from(byte & 63) << shift;
                }
                shift += 6;
                if byte & 64 == 0 {
                    break;
                }
            }
            value
        };
        let signed = |value: u64| {
            let size = (value >> 1) as i64;
            if value & 1 == 1 { -size } else { size }
        };
        let mut known = true;
        match code {
            // Short forms: the columns follow in one byte.
            0..=9 => {
                next();
            }
            // The same, or one or two lines on; two bytes of columns.
            10..=12 => {
                line += i64::from(code) - 10;
                next();
                next();
            }
            13 => line += signed(number(&mut next)),
            14 => {
                line += signed(number(&mut next));
                for _ in 0..3 {
                    number(&mut next);
                }
            }
            _ => known = false,
        }
        unit = unit.saturating_add(length);
        let shown = if known {
            u32::try_from(line).unwrap_or(0)
        } else {
            0
        };
        out.push((unit, shown));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_line_table_does_not_panic(table in prop::collection::vec(any::<u8>(), 0..60)) {
            let lines = decode_lines(&table, 5);
            prop_assert!(lines.windows(2).all(|w| w[0].0 < w[1].0));
        }
    }
}
