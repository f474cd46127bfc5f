//! The line table of a unit.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{ColumnType, Reader as _};

use super::Slice;
use super::attributes::string;
use super::line_program::{self, Row};
use super::units::{Shared, Unit};

#[derive(Clone, Copy, Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: (u32, u32),
}

/// A place in the line table; the file is an index for [`Files::path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The header of a unit's line table: the names of its files, made when asked for.
pub(super) struct Files {
    program: gimli::IncompleteLineProgram<Slice>,
    comp_dir: Option<String>,
    paths: Vec<OnceLock<Option<Arc<str>>>>,
}

/// The rows of a unit's line table, or those that speak for a part of its addresses.
pub(super) struct Lines {
    /// Sorted by start.
    sequences: Vec<Sequence>,
    rows: Vec<Row>,
}

impl Files {
    pub(super) fn parse(unit: &Unit) -> Option<Self> {
        let program = unit
            .dwarf()
            .debug_line
            .program(
                unit.line_offset?,
                unit.gimli.encoding().address_size,
                None,
                None,
            )
            .ok()?;
        Some(Self {
            comp_dir: unit.comp_dir(),
            paths: (0..=program.header().file_names().len())
                .map(|_| OnceLock::new())
                .collect(),
            program,
        })
    }

    /// Path of a file, with its directory and the unit's directory where they are relative.
    pub(super) fn path(&self, unit: &Unit, index: u32) -> Option<Arc<str>> {
        let slot = self.paths.get(index as usize)?;
        slot.get_or_init(|| self.render(unit, index).map(Arc::from))
            .clone()
    }

    fn render(&self, unit: &Unit, index: u32) -> Option<String> {
        let header = self.program.header();
        let file = header.file(index.into())?;
        let name = string(unit, file.path_name())?;
        let mut path = String::new();
        let version = header.version();
        if !name.starts_with('/') {
            let directory = file
                .directory(header)
                .filter(|_| version >= 5 || file.directory_index() != 0)
                .and_then(|value| string(unit, value));
            if !directory.as_deref().is_some_and(|d| d.starts_with('/')) {
                path.push_str(self.comp_dir.as_deref().unwrap_or(""));
            }
            push(&mut path, directory.as_deref().unwrap_or(""));
        }
        push(&mut path, &name);
        Some(path)
    }
}

impl Lines {
    pub(super) fn parse(unit: &Unit, files: &Files) -> Option<Self> {
        let bytes = files.program.header().raw_program_buf().len();
        if !Shared::take(&unit.shared.line_budget, bytes) {
            return None;
        }
        let mut rows = Rows::new(unit, None);
        rows.run(&files.program);
        Some(rows.finish())
    }

    /// The rows that speak for addresses in a window alone: most of the time of reading all goes
    /// into keeping them. `None` when too much was read in this way: then read the whole.
    pub(super) fn parse_part(unit: &Unit, files: &Files, window: &Range<u64>) -> Option<Self> {
        let bytes = files.program.header().raw_program_buf().len();
        if !Shared::take(&unit.shared.part_budget, bytes) {
            return None;
        }
        let mut rows = Rows::new(unit, Some(window.clone()));
        rows.run(&files.program);
        Some(rows.finish())
    }

    /// Addresses that the table covers.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sequences.iter().map(|s| (s.start, s.end))
    }

    /// The row that holds at an address.
    pub(super) fn at(&self, address: u64) -> Option<Place> {
        let after = self.sequences.partition_point(|s| s.start <= address);
        // Sequences overlap only in files that are odd; look at a few.
        let sequence = self.sequences[..after]
            .iter()
            .rev()
            .take(8)
            .find(|s| address < s.end)?;
        let rows = &self.rows[sequence.rows.0 as usize..sequence.rows.1 as usize];
        let after = rows.partition_point(|r| r.address <= address);
        let row = rows.get(after.checked_sub(1)?)?;
        Some(Place {
            file: row.file,
            line: row.line,
            column: row.column,
        })
    }
}

/// Rows being gathered, sequence after sequence.
struct Rows<'a> {
    unit: &'a Unit,
    window: Option<Range<u64>>,
    lines: Lines,
    /// Where the present sequence begins in the rows.
    start: usize,
    /// Its first address.
    first: Option<u64>,
    /// The last row that is not in the window and yet may speak for its beginning.
    before: Option<Row>,
    last: u64,
    sorted: bool,
}

impl<'a> Rows<'a> {
    fn new(unit: &'a Unit, window: Option<Range<u64>>) -> Self {
        Self {
            unit,
            window,
            lines: Lines {
                sequences: Vec::new(),
                rows: Vec::new(),
            },
            start: 0,
            first: None,
            before: None,
            last: 0,
            sorted: true,
        }
    }

    /// A damaged program gives the rows before the damage.
    fn run(&mut self, program: &gimli::IncompleteLineProgram<Slice>) {
        let plain = line_program::run(
            program.header(),
            self,
            |rows, row| rows.row(row),
            |rows, end| rows.end_sequence(end),
        );
        if plain {
            return;
        }
        *self = Self::new(self.unit, self.window.take());
        let mut rows = program.clone().rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            if row.end_sequence() {
                self.end_sequence(row.address());
                continue;
            }
            self.row(Row {
                address: row.address(),
                file: u32::try_from(row.file_index()).unwrap_or(u32::MAX),
                line: row
                    .line()
                    .map_or(0, |l| u32::try_from(l.get()).unwrap_or(0)),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                },
            });
        }
    }

    #[inline]
    fn row(&mut self, new: Row) {
        self.first.get_or_insert(new.address);
        self.sorted &= self.last <= new.address;
        self.last = new.address;
        if let Some(window) = &self.window {
            if new.address >= window.end {
                return;
            }
            if new.address < window.start {
                if self.before.is_none_or(|row| row.address <= new.address) {
                    self.before = Some(new);
                }
                return;
            }
        }
        match self.lines.rows[self.start..].last_mut() {
            // The last row of an address is the one that holds.
            Some(last) if last.address == new.address => *last = new,
            _ => self.lines.rows.push(new),
        }
    }

    fn end_sequence(&mut self, end: u64) {
        let rows = &mut self.lines.rows;
        match self.first {
            Some(first) if first < end && self.unit.is_code(first) => {
                if let Some(before) = self.before {
                    rows.insert(self.start, before);
                }
                if !self.sorted {
                    rows[self.start..].sort_by_key(|r| r.address);
                }
                self.lines.sequences.push(Sequence {
                    start: first,
                    end,
                    rows: (self.start as u32, rows.len() as u32),
                });
            }
            _ => rows.truncate(self.start),
        }
        self.start = rows.len();
        self.first = None;
        self.before = None;
        self.last = 0;
        self.sorted = true;
    }

    /// Without the rows of a sequence that does not end.
    fn finish(mut self) -> Lines {
        self.lines.rows.truncate(self.start);
        self.lines.rows.shrink_to_fit();
        self.lines.sequences.sort_unstable_by_key(|s| s.start);
        self.lines
    }
}

fn push(path: &mut String, part: &str) {
    if part.is_empty() {
        return;
    }
    if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}
