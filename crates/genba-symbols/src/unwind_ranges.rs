//! Where functions begin and end by the tables for unwinding: all that a stripped binary says.

use std::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, RunTimeEndian, UnwindSection};

use crate::elf::Layout;

/// More functions than any real binary has.
const MAX_RANGES: usize = 8 << 20;

/// Code ranges of the frame descriptions in `.eh_frame`, sorted, without overlap. What follows
/// a damaged entry is left out.
pub(crate) fn from_eh_frame(layout: &Layout, data: &[u8]) -> Vec<Range<u64>> {
    let find = |name: &str| layout.sections.iter().find(|section| section.name == name);
    let Some(section) = find(".eh_frame") else {
        return Vec::new();
    };
    let Some(bytes) = layout.section_data(data, section) else {
        return Vec::new();
    };
    let endian = if layout.little_endian {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    let eh_frame = EhFrame::from(EndianSlice::new(bytes, endian));
    let mut bases = BaseAddresses::default().set_eh_frame(section.address);
    if let Some(text) = find(".text") {
        bases = bases.set_text(text.address);
    }
    if let Some(got) = find(".got") {
        bases = bases.set_got(got.address);
    }
    let mut ranges = Vec::new();
    let mut entries = eh_frame.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        let (begin, length) = (fde.initial_address(), fde.len());
        // A linker that drops a function leaves its description at address 0.
        if begin == 0 || length == 0 {
            continue;
        }
        ranges.push(begin..begin.saturating_add(length));
        if ranges.len() >= MAX_RANGES {
            break;
        }
    }
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, before| next.start < before.end);
    ranges
}

/// The range that holds an address.
pub(crate) fn find(ranges: &[Range<u64>], address: u64) -> Option<Range<u64>> {
    let after = ranges.partition_point(|range| range.start <= address);
    let range = ranges.get(after.checked_sub(1)?)?;
    range.contains(&address).then(|| range.clone())
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn address_outside_all_ranges_has_none() {
        let ranges = [0x10..0x20, 0x30..0x31];
        assert_eq!(find(&ranges, 0x0f), None);
        assert_eq!(find(&ranges, 0x10), Some(0x10..0x20));
        assert_eq!(find(&ranges, 0x1f), Some(0x10..0x20));
        assert_eq!(find(&ranges, 0x20), None);
        assert_eq!(find(&ranges, 0x30), Some(0x30..0x31));
        assert_eq!(find(&ranges, 0x31), None);
    }
}
