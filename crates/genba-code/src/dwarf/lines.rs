//! The line table of a unit.

use std::sync::{Arc, OnceLock};

use gimli::{ColumnType, Reader as _};

use super::Slice;
use super::attributes::string;
use super::units::{Shared, Unit};

#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    file: u32,
    line: u32,
    column: u32,
}

#[derive(Clone, Copy, Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: (u32, u32),
}

/// A place in the line table; the file is an index for [`Lines::file`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The rows of a unit, and the names of its files when asked for.
pub(super) struct Lines {
    header: gimli::LineProgramHeader<Slice>,
    comp_dir: Option<String>,
    /// Sorted by start.
    sequences: Vec<Sequence>,
    rows: Vec<Row>,
    files: Vec<OnceLock<Option<Arc<str>>>>,
}

impl Lines {
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
        let header = program.header().clone();
        let bytes = header.raw_program_buf().len();
        if !Shared::take(&unit.shared.line_budget, bytes) {
            return None;
        }
        let mut lines = Self {
            comp_dir: unit.comp_dir(),
            sequences: Vec::new(),
            rows: Vec::new(),
            files: (0..=header.file_names().len())
                .map(|_| OnceLock::new())
                .collect(),
            header,
        };
        let mut start = 0;
        let mut rows = program.rows();
        // A damaged program gives the rows before the damage.
        while let Ok(Some((_, row))) = rows.next_row() {
            if row.end_sequence() {
                lines.end_sequence(unit, start, row.address());
                start = lines.rows.len();
                continue;
            }
            let new = Row {
                address: row.address(),
                file: u32::try_from(row.file_index()).unwrap_or(u32::MAX),
                line: row
                    .line()
                    .map_or(0, |l| u32::try_from(l.get()).unwrap_or(0)),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                },
            };
            match lines.rows[start..].last_mut() {
                // The last row of an address is the one that holds.
                Some(last) if last.address == new.address => *last = new,
                _ => lines.rows.push(new),
            }
        }
        lines.rows.truncate(start);
        lines.rows.shrink_to_fit();
        lines.sequences.sort_unstable_by_key(|s| s.start);
        Some(lines)
    }

    fn end_sequence(&mut self, unit: &Unit, start: usize, end: u64) {
        let sorted = self.rows[start..].is_sorted_by_key(|r| r.address);
        match self.rows.get(start) {
            Some(first) if first.address < end && unit.is_code(first.address) => {
                let begin = first.address;
                if !sorted {
                    self.rows[start..].sort_by_key(|r| r.address);
                }
                self.sequences.push(Sequence {
                    start: begin,
                    end,
                    rows: (start as u32, self.rows.len() as u32),
                });
            }
            _ => self.rows.truncate(start),
        }
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

    /// Path of a file, with its directory and the unit's directory where they are relative.
    pub(super) fn file(&self, unit: &Unit, index: u32) -> Option<Arc<str>> {
        let slot = self.files.get(index as usize)?;
        slot.get_or_init(|| self.render(unit, index).map(Arc::from))
            .clone()
    }

    fn render(&self, unit: &Unit, index: u32) -> Option<String> {
        let file = self.header.file(index.into())?;
        let name = string(unit, file.path_name())?;
        let mut path = String::new();
        let version = self.header.version();
        if !name.starts_with('/') {
            let directory = file
                .directory(&self.header)
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

fn push(path: &mut String, part: &str) {
    if part.is_empty() {
        return;
    }
    if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}
