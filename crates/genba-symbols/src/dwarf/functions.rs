//! The functions of a unit and what was inlined into each.

use std::ops::Range;
use std::sync::OnceLock;

use gimli::{AttributeValue, UnitOffset};

use super::Slice;
use super::attributes::Ranges;
use super::units::{Shared, Unit};

/// A function with code of its own.
pub(super) struct Function {
    pub(super) entry: UnitOffset,
    inlines: OnceLock<Inlines>,
}

struct Address {
    begin: u64,
    end: u64,
    function: u32,
}

/// The functions of a unit.
#[derive(Default)]
pub(super) struct Functions {
    functions: Vec<Function>,
    /// Sorted by beginning.
    addresses: Vec<Address>,
}

/// A call that was inlined.
#[derive(Clone)]
pub(super) struct Inline {
    pub(super) entry: UnitOffset,
    pub(super) call_file: Option<u32>,
    pub(super) call_line: u32,
    pub(super) call_column: u32,
}

#[derive(Default)]
struct Inlines {
    calls: Vec<Inline>,
    /// (depth, begin, end, index of the call), sorted.
    ranges: Vec<(u32, u64, u64, u32)>,
}

/// More nesting than this is not looked at: compilers stay far below.
const MAX_INLINE_DEPTH: u32 = 512;

impl Functions {
    pub(super) fn parse(unit: &Unit) -> Self {
        let mut found = Self::default();
        // What is before the damage in a damaged unit is kept.
        let _ = found.read(unit, None);
        found.sorted()
    }

    /// Those that reach into a window of addresses and are not nested in other functions: the
    /// insides of functions, most of what there is to read, are passed over.
    pub(super) fn parse_part(unit: &Unit, window: &Range<u64>) -> Self {
        let mut found = Self::default();
        let _ = found.read(unit, Some(window));
        found.sorted()
    }

    fn sorted(mut self) -> Self {
        self.addresses
            .sort_by_key(|a| (a.begin, std::cmp::Reverse(a.end)));
        self
    }

    fn read(&mut self, unit: &Unit, window: Option<&Range<u64>>) -> gimli::Result<()> {
        let mut entries = unit.gimli.entries_raw(None)?;
        let mut budget = unit.gimli.header.length_including_self().saturating_mul(2);
        while !entries.is_empty() {
            let entry = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if abbreviation.tag() != gimli::DW_TAG_subprogram {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut ranges = Ranges::default();
            let mut sibling = None;
            for &specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(specification)?;
                ranges.take(unit, &attribute);
                if attribute.name() == gimli::DW_AT_sibling
                    && let AttributeValue::UnitRef(offset) = attribute.value()
                {
                    sibling = Some(offset);
                }
            }
            let function = self.functions.len() as u32;
            let before = self.addresses.len();
            ranges.for_each(unit, &mut budget, |begin, end| {
                if window.is_some_and(|window| end <= window.start || window.end <= begin) {
                    return;
                }
                self.addresses.push(Address {
                    begin,
                    end,
                    function,
                });
            });
            if self.addresses.len() > before {
                self.functions.push(Function {
                    entry,
                    inlines: OnceLock::new(),
                });
            }
            // Forward only, or a file could be read for ever.
            if let (Some(sibling), true) = (sibling, window.is_some())
                && sibling > entries.next_offset()
            {
                entries = unit.gimli.entries_raw(Some(sibling))?;
            }
        }
        Ok(())
    }

    /// The function that covers an address: of several, the one that begins last.
    pub(super) fn at(&self, address: u64) -> Option<&Function> {
        self.functions.get(self.over(address)?.function as usize)
    }

    /// Lowest address and size of the range that holds an address.
    pub(super) fn range_at(&self, address: u64) -> Option<(u64, u64)> {
        let found = self.over(address)?;
        Some((found.begin, found.end))
    }

    /// The range that holds an address: of several, the one that begins last.
    fn over(&self, address: u64) -> Option<&Address> {
        let after = self.addresses.partition_point(|a| a.begin <= address);
        (self.addresses[..after].iter().rev())
            .take(16)
            .find(|a| address < a.end)
    }
}

impl Function {
    /// The calls inlined at an address, the outermost first.
    pub(super) fn inlines_at(&self, unit: &Unit, address: u64) -> Vec<Inline> {
        let inlines = self
            .inlines
            .get_or_init(|| Inlines::parse(unit, self.entry));
        let mut ranges = &inlines.ranges[..];
        let mut found = Vec::new();
        for depth in 0.. {
            let after = ranges.partition_point(|&(d, begin, ..)| (d, begin) <= (depth, address));
            match ranges[..after].last() {
                Some(&(d, _, end, call)) if d == depth && address < end => {
                    found.push(inlines.calls[call as usize].clone());
                }
                _ => break,
            }
            ranges = &ranges[after..];
        }
        found
    }
}

impl Inlines {
    fn parse(unit: &Unit, entry: UnitOffset) -> Self {
        let mut found = Self::default();
        let _ = found.read(unit, entry);
        found.ranges.sort_unstable();
        found
    }

    fn read(&mut self, unit: &Unit, entry: UnitOffset) -> gimli::Result<()> {
        let mut entries = unit.gimli.entries_raw(Some(entry))?;
        let Some(abbreviation) = entries.read_abbreviation()? else {
            return Ok(());
        };
        entries.skip_attributes(abbreviation.attributes())?;
        if !abbreviation.has_children() {
            return Ok(());
        }
        // Depths of the entries whose children are being read: inlined calls, and the nested
        // function that is skipped.
        let mut open: Vec<isize> = Vec::new();
        let mut skipped: Option<isize> = None;
        let mut budget = 1 << 20;
        let mut last = entries.next_offset();
        while !entries.is_empty() && entries.next_depth() > 0 {
            let at = entries.next_offset();
            if !Shared::take(&unit.shared.inline_budget, at.0 - last.0) {
                return Ok(());
            }
            last = at;
            let depth = entries.next_depth();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            while open.last().is_some_and(|&d| d >= depth) {
                open.pop();
            }
            if skipped.is_some_and(|d| d >= depth) {
                skipped = None;
            }
            match abbreviation.tag() {
                gimli::DW_TAG_inlined_subroutine if skipped.is_none() => {
                    let level = open.len() as u32;
                    self.inline(unit, &mut entries, abbreviation, at, level, &mut budget)?;
                    open.push(depth);
                }
                tag => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    if tag == gimli::DW_TAG_subprogram && skipped.is_none() {
                        skipped = Some(depth);
                    }
                }
            }
        }
        Ok(())
    }

    fn inline(
        &mut self,
        unit: &Unit,
        entries: &mut gimli::EntriesRaw<'_, Slice>,
        abbreviation: &gimli::Abbreviation,
        entry: UnitOffset,
        level: u32,
        budget: &mut usize,
    ) -> gimli::Result<()> {
        let mut ranges = Ranges::default();
        let mut call = Inline {
            entry,
            call_file: None,
            call_line: 0,
            call_column: 0,
        };
        for &specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(specification)?;
            let number = || u32::try_from(attribute.udata_value().unwrap_or(0)).unwrap_or(0);
            match attribute.name() {
                gimli::DW_AT_call_file => {
                    if let AttributeValue::FileIndex(index) = attribute.value() {
                        call.call_file = file_index(unit, index);
                    }
                }
                gimli::DW_AT_call_line => call.call_line = number(),
                gimli::DW_AT_call_column => call.call_column = number(),
                _ => ranges.take(unit, &attribute),
            }
        }
        if level >= MAX_INLINE_DEPTH {
            return Ok(());
        }
        let index = self.calls.len() as u32;
        ranges.for_each(unit, budget, |begin, end| {
            self.ranges.push((level, begin, end, index));
        });
        self.calls.push(call);
        Ok(())
    }
}

/// A file index of an attribute. Before DWARF 5, 0 means no file.
pub(super) fn file_index(unit: &Unit, index: u64) -> Option<u32> {
    if index == 0 && unit.gimli.header.version() < 5 {
        return None;
    }
    u32::try_from(index).ok()
}
