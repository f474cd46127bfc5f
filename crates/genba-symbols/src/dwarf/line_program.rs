//! Running line programs quickly.
//!
//! A line table of a large unit is some 400,000 instructions, nearly all of a handful of kinds.
//! These are run here, without the registers that nothing asks for; a program with any other
//! instruction, or a damaged one, is left to gimli's interpreter.

use gimli::{LineProgramHeader, constants};

use super::Slice;

/// A row of the table, as far as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) address: u64,
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Gives `row` each row and `end` the address at the end of each sequence. False if the program
/// is not as most are; what was given until then is void.
pub(super) fn run<S>(
    header: &LineProgramHeader<Slice>,
    state: &mut S,
    row: impl FnMut(&mut S, Row),
    end: impl FnMut(&mut S, u64),
) -> bool {
    let encoding = header.line_encoding();
    let standard = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    let base = header.opcode_base();
    let lengths = header.standard_opcode_lengths().slice();
    if header.address_size() != 8
        || header.version() > 5
        || encoding.maximum_operations_per_instruction != 1
        || encoding.line_range == 0
        || !(10..=13).contains(&base)
        || lengths != &standard[..usize::from(base - 1)]
    {
        return false;
    }
    execute(header, state, row, end).is_some()
}

/// What a sequence starts with.
const START: Row = Row {
    address: 0,
    file: 1,
    line: 1,
    column: 0,
};

fn execute<S>(
    header: &LineProgramHeader<Slice>,
    state: &mut S,
    mut row: impl FnMut(&mut S, Row),
    mut end: impl FnMut(&mut S, u64),
) -> Option<()> {
    let encoding = header.line_encoding();
    let base = header.opcode_base();
    let unit = u64::from(encoding.minimum_instruction_length);
    // What each special opcode adds to address and line.
    let steps: Vec<(u64, i32)> = (0..=u8::MAX)
        .map(|opcode| {
            let adjusted = opcode.saturating_sub(base);
            (
                u64::from(adjusted / encoding.line_range) * unit,
                i32::from(encoding.line_base) + i32::from(adjusted % encoding.line_range),
            )
        })
        .collect();
    let steps: &[(u64, i32); 256] = steps.first_chunk()?;
    let mut input = header.raw_program_buf().slice();
    let mut now = START;
    while let Some((&opcode, rest)) = input.split_first() {
        input = rest;
        if opcode >= base {
            let (address, line) = steps[usize::from(opcode)];
            now.address = now.address.checked_add(address)?;
            now.line = now.line.checked_add_signed(line)?;
            row(state, now);
            continue;
        }
        match constants::DwLns(opcode) {
            constants::DwLns(0) => {
                let length = usize::try_from(unsigned(&mut input)?).ok()?;
                let (body, rest) = input.split_at_checked(length)?;
                input = rest;
                let (&opcode, mut body) = body.split_first()?;
                match constants::DwLne(opcode) {
                    constants::DW_LNE_end_sequence => {
                        end(state, now.address);
                        now = START;
                    }
                    constants::DW_LNE_set_address => {
                        let address = little(header, body.first_chunk()?);
                        // It goes back, or to nowhere: gimli knows what that means.
                        if address < now.address || address >= u64::MAX - 1 {
                            return None;
                        }
                        now.address = address;
                    }
                    constants::DW_LNE_set_discriminator => {
                        unsigned(&mut body)?;
                    }
                    _ => return None,
                }
            }
            constants::DW_LNS_copy => row(state, now),
            constants::DW_LNS_advance_pc => {
                let advance = unsigned(&mut input)?.checked_mul(unit)?;
                now.address = now.address.checked_add(advance)?;
            }
            constants::DW_LNS_advance_line => {
                let advance = i32::try_from(signed(&mut input)?).ok()?;
                now.line = now.line.checked_add_signed(advance)?;
            }
            constants::DW_LNS_set_file => now.file = u32::try_from(unsigned(&mut input)?).ok()?,
            constants::DW_LNS_set_column => {
                now.column = u32::try_from(unsigned(&mut input)?).ok()?;
            }
            constants::DW_LNS_const_add_pc => {
                now.address = now.address.checked_add(steps[255].0)?;
            }
            constants::DW_LNS_negate_stmt
            | constants::DW_LNS_set_basic_block
            | constants::DW_LNS_set_prologue_end
            | constants::DW_LNS_set_epilogue_begin => {}
            _ => return None,
        }
    }
    Some(())
}

fn little(header: &LineProgramHeader<Slice>, bytes: &[u8; 8]) -> u64 {
    use gimli::{Endianity as _, Reader as _};
    let endian = header.raw_program_buf().endian();
    endian.read_u64(bytes)
}

#[inline]
fn unsigned(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        // Longer numbers are gimli's.
        if shift > 56 {
            return None;
        }
    }
}

#[inline]
fn signed(input: &mut &[u8]) -> Option<i64> {
    let mut value = 0i64;
    let mut shift = 0;
    loop {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= i64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            let negative = byte & 0x40 != 0;
            return Some(if negative {
                value | (-1 << shift)
            } else {
                value
            });
        }
        if shift > 56 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::{EndianSlice, RunTimeEndian};
    use proptest::prelude::*;

    /// A section with one program of version 4 with an empty list of files.
    fn section(program: &[u8], line_base: i8, line_range: u8) -> Vec<u8> {
        let mut header = vec![1, 1, 1, line_base.cast_unsigned(), line_range, 13];
        header.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
        header.extend([0, 0]);
        let mut section = Vec::new();
        let length = 2 + 4 + header.len() + program.len();
        section.extend((length as u32).to_le_bytes());
        section.extend(4u16.to_le_bytes());
        section.extend((header.len() as u32).to_le_bytes());
        section.extend(header);
        section.extend(program);
        section
    }

    /// A row, or the address at the end of a sequence.
    type Event = Result<Row, u64>;

    fn by_gimli(program: gimli::IncompleteLineProgram<Slice>) -> Vec<Event> {
        let mut rows = program.rows();
        let mut events = Vec::new();
        while let Ok(Some((_, row))) = rows.next_row() {
            events.push(if row.end_sequence() {
                Err(row.address())
            } else {
                Ok(Row {
                    address: row.address(),
                    file: row.file_index() as u32,
                    line: row.line().map_or(0, |line| line.get() as u32),
                    column: match row.column() {
                        gimli::ColumnType::LeftEdge => 0,
                        gimli::ColumnType::Column(column) => column.get() as u32,
                    },
                })
            });
        }
        events
    }

    fn instruction() -> impl Strategy<Value = Vec<u8>> {
        let number = prop_oneof![
            (0u8..128).prop_map(|n| vec![n]),
            (128u8.., 0u8..128).prop_map(|(a, b)| vec![a, b]),
            (128u8.., 128u8.., 0u8..128).prop_map(|(a, b, c)| vec![a, b, c]),
        ];
        prop_oneof![
            8 => (13u8..).prop_map(|opcode| vec![opcode]),
            4 => (2u8..6, number.clone()).prop_map(|(op, n)| [vec![op], n].concat()),
            2 => prop::sample::select(&[1u8, 6, 7, 8, 10, 11][..]).prop_map(|op| vec![op]),
            1 => (0u64..0x10_0000).prop_map(|address| {
                [&[0, 9, 2][..], &address.to_le_bytes()].concat()
            }),
            1 => Just(vec![0, 1, 1]),
            1 => number.prop_map(|n| {
                let length = 1 + n.len() as u8;
                [vec![0, length, 4], n].concat()
            }),
        ]
    }

    fn check(program: &[u8], line_base: i8, line_range: u8) -> Result<bool, TestCaseError> {
        let bytes = section(program, line_base, line_range);
        // A leak of a few bytes: the slices that this module works on live for ever.
        let bytes: &'static [u8] = Vec::leak(bytes);
        let section = gimli::DebugLine::from(EndianSlice::new(bytes, RunTimeEndian::Little));
        let program = section.program(gimli::DebugLineOffset(0), 8, None, None);
        let program = program.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let mut events: Vec<Event> = Vec::new();
        let plain = run(
            program.header(),
            &mut events,
            |events, row| events.push(Ok(row)),
            |events, end| events.push(Err(end)),
        );
        if plain {
            prop_assert_eq!(events, by_gimli(program));
        }
        Ok(plain)
    }

    proptest! {
        #[test]
        fn line_rows_equal_gimlis(
            instructions in prop::collection::vec(instruction(), 0..60),
            line_base in -10i8..3,
            line_range in 1u8..20,
        ) {
            check(&instructions.concat(), line_base, line_range)?;
        }

        #[test]
        fn line_rows_of_arbitrary_programs_equal_gimlis(program in prop::collection::vec(any::<u8>(), 0..60)) {
            check(&program, -5, 14)?;
        }
    }

    #[test]
    fn compiled_line_programs_take_the_fast_path() {
        let mut program = vec![0, 9, 2];
        program.extend(0x40_1000u64.to_le_bytes());
        program.extend([3, 9, 1, 5, 7, 0x83, 6, 0, 2, 4, 1, 0x21, 2, 8, 0, 1, 1]);
        assert!(check(&program, -5, 14).unwrap());
    }
}
