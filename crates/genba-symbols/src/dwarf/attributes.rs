//! Attributes that several readers need: strings and address ranges.

use gimli::{AttributeValue, Reader as _, Section as _};

use super::Slice;
use super::units::Unit;
use crate::demangle::MAX_MANGLED;

/// Address ranges as an entry gives them, whatever the form.
#[derive(Default)]
pub(super) struct Ranges {
    low: Option<u64>,
    high: Option<u64>,
    size: Option<u64>,
    list: Option<AttributeValue<Slice>>,
}

impl Ranges {
    /// Takes the attribute if it is about ranges.
    pub(super) fn take(&mut self, unit: &Unit, attribute: &gimli::Attribute<Slice>) {
        let address = || {
            unit.gimli
                .unit_ref(unit.dwarf())
                .attr_address(attribute.value())
        };
        match attribute.name() {
            gimli::DW_AT_low_pc => self.low = address().ok().flatten(),
            gimli::DW_AT_high_pc => match attribute.udata_value() {
                Some(size) => self.size = Some(size),
                None => self.high = address().ok().flatten(),
            },
            gimli::DW_AT_ranges => self.list = Some(attribute.value()),
            _ => {}
        }
    }

    /// Calls `each` with every range that is not empty, until the budget is spent.
    pub(super) fn for_each(&self, unit: &Unit, budget: &mut usize, mut each: impl FnMut(u64, u64)) {
        let mut give = |begin: u64, end: u64| {
            if begin < end && unit.is_code(begin) {
                each(begin, end);
            }
        };
        if let Some(list) = &self.list {
            let unit = unit.gimli.unit_ref(unit.dwarf());
            let Ok(Some(mut ranges)) = unit.attr_ranges(*list) else {
                return;
            };
            while *budget > 0 {
                *budget -= 1;
                match ranges.next() {
                    Ok(Some(range)) => give(range.begin, range.end),
                    _ => return,
                }
            }
            return;
        }
        *budget = budget.saturating_sub(1);
        match (self.low, self.high, self.size) {
            (Some(low), Some(high), _) => give(low, high),
            (Some(low), None, Some(size)) => give(low, low.saturating_add(size)),
            _ => {}
        }
    }
}

/// A string attribute, cut at [`MAX_MANGLED`] bytes: finding the end of a string must not
/// cost more than that, however many entries share it.
pub(super) fn string(unit: &Unit, value: AttributeValue<Slice>) -> Option<String> {
    let dwarf = unit.dwarf();
    let from = |section: &Slice, offset: usize| {
        let mut slice = *section;
        slice.skip(offset).ok()?;
        Some(slice)
    };
    let slice = match value {
        AttributeValue::DebugStrRef(offset) => from(dwarf.debug_str.reader(), offset.0)?,
        AttributeValue::DebugLineStrRef(offset) => from(dwarf.debug_line_str.reader(), offset.0)?,
        AttributeValue::DebugStrRefSup(offset) => {
            from(unit.sup_dwarf()?.debug_str.reader(), offset.0)?
        }
        AttributeValue::DebugStrOffsetsIndex(index) => {
            let offset = dwarf.string_offset(&unit.gimli, index).ok()?;
            from(dwarf.debug_str.reader(), offset.0)?
        }
        AttributeValue::String(slice) => slice,
        _ => return None,
    };
    let bytes = slice.slice();
    let bytes = &bytes[..bytes.len().min(MAX_MANGLED)];
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
