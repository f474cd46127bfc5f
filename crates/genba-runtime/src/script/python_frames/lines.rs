//! Lines of instructions: ends of stretches of instructions, in code units of two bytes, and their lines; 0 where there is none.

use super::super::python_layout::LineFormat;

/// Decodes the line table of a code object.
pub fn decode(format: LineFormat, table: &[u8], first_line: u32) -> Vec<(u32, u32)> {
    match format {
        LineFormat::Increments => increments(table, first_line),
        LineFormat::Ranges => ranges(table, first_line),
        LineFormat::Locations => locations(table, first_line),
    }
}

/// `co_lnotab`: pairs of increments of the address in bytes and of the line (Objects/lnotab_notes.txt).
fn increments(table: &[u8], first_line: u32) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    let (mut address, mut line) = (0u32, i64::from(first_line));
    for pair in table.chunks_exact(2) {
        if pair[0] > 0 {
            address += u32::from(pair[0]);
            out.push((address / 2, u32::try_from(line).unwrap_or(0)));
        }
        line += i64::from(pair[1] as i8);
    }
    out.push((u32::MAX, u32::try_from(line).unwrap_or(0)));
    out
}

/// `co_linetable` of 3.10: pairs of the length of a range in bytes and of the line's increment, −128 for no line.
fn ranges(table: &[u8], first_line: u32) -> Vec<(u32, u32)> {
    const NO_LINE: i8 = -128;
    let mut out = Vec::new();
    let (mut address, mut line) = (0u32, i64::from(first_line));
    for pair in table.chunks_exact(2) {
        let step = pair[1] as i8;
        if step != NO_LINE {
            line += i64::from(step);
        }
        if pair[0] == 0 {
            continue;
        }
        address += u32::from(pair[0]);
        let shown = match step {
            NO_LINE => 0,
            _ => u32::try_from(line).unwrap_or(0),
        };
        out.push((address / 2, shown));
    }
    out
}

/// A location table of 3.11 and later (Objects/locations.md).
fn locations(table: &[u8], first_line: u32) -> Vec<(u32, u32)> {
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

    /// The line of each code unit.
    fn by_unit(format: LineFormat, table: &[u8], units: u32) -> Vec<u32> {
        let lines = decode(format, table, 10);
        let line = |unit| {
            let index = lines.partition_point(|&(end, _)| end <= unit);
            lines.get(index).map_or(0, |&(_, line)| line)
        };
        (0..units).map(line).collect()
    }

    #[test]
    fn lines_of_the_old_formats_are_those_of_dis() {
        // As 3.9 and 3.10 compile: def f(): / for i in x: / y / (end of the loop: no line) / return.
        let table = [0, 1, 4, 1, 4, 0xff, 4, 2];
        let found = by_unit(LineFormat::Increments, &table, 7);
        assert_eq!(found, [11, 11, 12, 12, 11, 11, 13]);
        let table = [4, 1, 4, 1, 2, 0x80, 0, 5, 2, 0xfc];
        let found = by_unit(LineFormat::Ranges, &table, 7);
        assert_eq!(found, [11, 11, 12, 12, 0, 13, 0]);
    }

    proptest! {
        #[test]
        fn arbitrary_line_table_does_not_panic(table in prop::collection::vec(any::<u8>(), 0..60)) {
            for format in [LineFormat::Increments, LineFormat::Ranges, LineFormat::Locations] {
                let lines = decode(format, &table, 5);
                prop_assert!(lines.windows(2).all(|w| w[0].0 <= w[1].0));
            }
        }
    }
}
