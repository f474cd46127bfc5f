//! The units of a file and the addresses that they cover.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, Reader as _, Section as _, UnitType};

use super::Slice;
use super::attributes::{Ranges, string};
use super::functions::Functions;
use super::lines::{Files, Lines};
use super::load::DwarfFile;
use super::split_units::{self, SplitFiles, SplitReference};

/// Most address ranges that the units of a file may have together.
const MAX_RANGES: usize = 4 << 20;

/// What the units of one file share.
pub(super) struct Shared {
    pub(super) file: DwarfFile,
    /// The supplementary file (dwz) that entries refer to.
    pub(super) sup: Option<Arc<Units>>,
    /// Where code is, sorted; empty if not known.
    pub(super) code: Vec<(u64, u64)>,
    /// How many line rows may still be made: each byte of a line program makes one at most,
    /// so that an honest file never needs more than the section has bytes.
    pub(super) line_budget: AtomicUsize,
    /// How many bytes of line programs may still be run for the rows of a part: who wants many
    /// parts is better served by the whole.
    pub(super) part_budget: AtomicUsize,
    /// How many bytes of entries may still be walked for inlined functions.
    pub(super) inline_budget: AtomicUsize,
    /// Where the functions of skeleton units are.
    pub(super) split_files: SplitFiles,
}

impl Shared {
    pub(super) fn new(
        file: DwarfFile,
        sup: Option<Arc<Units>>,
        code: Vec<(u64, u64)>,
        split_files: SplitFiles,
    ) -> Self {
        let line_bytes = file.dwarf.debug_line.reader().len();
        let info_bytes = file.dwarf.debug_info.reader().len();
        Self {
            file,
            sup,
            code,
            line_budget: AtomicUsize::new(line_bytes),
            part_budget: AtomicUsize::new(line_bytes.saturating_mul(2)),
            // Functions that nest in functions are walked with each of those.
            inline_budget: AtomicUsize::new(info_bytes.saturating_mul(8)),
            split_files,
        }
    }

    /// Takes from a budget; false, and nothing taken, if it does not suffice.
    pub(super) fn take(budget: &AtomicUsize, amount: usize) -> bool {
        budget
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(amount)
            })
            .is_ok()
    }
}

/// A unit, its parts read when asked for.
pub(super) struct Unit {
    pub(super) shared: Arc<Shared>,
    /// Without its line program, which would be read for every unit of the file.
    pub(super) gimli: gimli::Unit<Slice>,
    pub(super) line_offset: Option<gimli::DebugLineOffset>,
    name: Option<AttributeValue<Slice>>,
    comp_dir: Option<AttributeValue<Slice>>,
    /// Directory of the compilation, where another file records it.
    pub(super) directory: Option<String>,
    /// `DW_AT_GNU_dwo_id`, or the id in the header of a skeleton.
    pub(super) dwo_id: Option<gimli::DwoId>,
    dwo_name: Option<AttributeValue<Slice>>,
    split: OnceLock<Option<Box<Unit>>>,
    producer: Option<AttributeValue<Slice>>,
    pub(super) language: Option<gimli::DwLang>,
    files: OnceLock<Option<Files>>,
    lines: OnceLock<Option<Lines>>,
    functions: OnceLock<Functions>,
}

impl Unit {
    pub(super) fn dwarf(&self) -> &gimli::Dwarf<Slice> {
        &self.shared.file.dwarf
    }

    pub(super) fn sup_dwarf(&self) -> Option<&gimli::Dwarf<Slice>> {
        Some(&self.shared.sup.as_ref()?.shared.file.dwarf)
    }

    /// Whether code can be at this address: linkers leave entries of functions that they
    /// removed behind, at address 0 or so.
    pub(super) fn is_code(&self, address: u64) -> bool {
        let code = &self.shared.code;
        if code.is_empty() {
            return true;
        }
        let after = code.partition_point(|&(start, _)| start <= address);
        after > 0 && address < code[after - 1].1
    }

    /// The files of the line table.
    pub(super) fn files(&self) -> Option<&Files> {
        self.files.get_or_init(|| Files::parse(self)).as_ref()
    }

    pub(super) fn lines(&self) -> Option<&Lines> {
        self.lines
            .get_or_init(|| Lines::parse(self, self.files()?))
            .as_ref()
    }

    /// The rows for these addresses alone; `None` if they are read already, or should be.
    pub(super) fn lines_in(&self, window: &Range<u64>) -> Option<Lines> {
        if self.lines.get().is_some() {
            return None;
        }
        Lines::parse_part(self, self.files()?, window)
    }

    /// The functions that reach into these addresses, as far as they are found quickly; `None`
    /// if all are read already.
    pub(super) fn functions_in(&self, window: &Range<u64>) -> Option<Functions> {
        if self.functions.get().is_some() {
            return None;
        }
        Some(Functions::parse_part(self, window))
    }

    pub(super) fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| Functions::parse(self))
    }

    /// The unit that has the functions of this one: itself, or the one that it is the skeleton
    /// of.
    pub(super) fn full(&self) -> &Self {
        let split = self.split.get_or_init(|| {
            let reference = SplitReference {
                name: self.dwo_name?,
                id: self.dwo_id?,
            };
            split_units::find(self, &reference).map(Box::new)
        });
        split.as_deref().unwrap_or(self)
    }

    pub(super) fn name(&self) -> Option<String> {
        string(self, self.name?)
    }

    pub(super) fn comp_dir(&self) -> Option<String> {
        match self.comp_dir {
            Some(directory) => string(self, directory),
            None => self.directory.clone(),
        }
    }

    pub(super) fn producer(&self) -> Option<String> {
        string(self, self.producer?)
    }
}

struct UnitRange {
    begin: u64,
    end: u64,
    unit: u32,
    /// Least beginning of this range and all that end later.
    min_begin: u64,
}

/// All units of a file.
pub(super) struct Units {
    pub(super) shared: Arc<Shared>,
    units: Vec<Unit>,
    /// Sorted by end.
    ranges: Vec<UnitRange>,
}

impl Units {
    /// Reads the roots of all units. Units that are damaged are left out; a damaged header
    /// ends the reading, since nothing says where the next one is.
    pub(super) fn new(
        file: DwarfFile,
        sup: Option<Arc<Units>>,
        code: Vec<(u64, u64)>,
        split_files: SplitFiles,
    ) -> Self {
        let shared = Arc::new(Shared::new(file, sup, code, split_files));
        let mut units = Vec::new();
        let mut ranges = Vec::new();
        let mut budget = MAX_RANGES;
        let mut abbreviations = AbbreviationBudget::new(&shared.file.dwarf);
        let mut headers = shared.file.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if matches!(
                header.type_(),
                UnitType::Type { .. } | UnitType::SplitType { .. }
            ) || !abbreviations.allow(header.debug_abbrev_offset())
            {
                continue;
            }
            let Some((unit, own)) = root(&shared, header) else {
                continue;
            };
            let index = units.len() as u32;
            let before = ranges.len();
            let mut push = |begin, end| {
                ranges.push(UnitRange {
                    begin,
                    end,
                    unit: index,
                    min_begin: 0,
                });
            };
            own.for_each(&unit, &mut budget, &mut push);
            if ranges.len() == before
                && !matches!(header.type_(), UnitType::Partial)
                && let Some(lines) = unit.lines()
            {
                lines.ranges().for_each(|(begin, end)| {
                    ranges.push(UnitRange {
                        begin,
                        end,
                        unit: index,
                        min_begin: 0,
                    });
                });
            }
            units.push(unit);
        }
        ranges.sort_unstable_by_key(|r| (r.end, r.unit));
        let mut min = u64::MAX;
        for range in ranges.iter_mut().rev() {
            min = min.min(range.begin);
            range.min_begin = min;
        }
        Self {
            shared,
            units,
            ranges,
        }
    }

    /// The units that cover an address, a few at most.
    pub(super) fn at(&self, address: u64) -> impl Iterator<Item = &Unit> {
        let first = self.ranges.partition_point(|r| r.end <= address);
        self.ranges[first..]
            .iter()
            .take_while(move |r| r.min_begin <= address)
            .take(MAX_CANDIDATES)
            .filter(move |r| r.begin <= address)
            .map(|r| &self.units[r.unit as usize])
    }

    /// The unit with an entry at this offset of `.debug_info`, and the offset within it.
    pub(super) fn holding(
        &self,
        offset: gimli::DebugInfoOffset,
    ) -> Option<(&Unit, gimli::UnitOffset)> {
        let start = |unit: &Unit| unit.gimli.header.debug_info_offset().map_or(0, |o| o.0);
        let after = self.units.partition_point(|unit| start(unit) <= offset.0);
        let unit = &self.units[after.checked_sub(1)?];
        let within = offset.to_unit_offset(&unit.gimli.header)?;
        Some((unit, within))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}

/// How many ranges are looked at for one address; more than a few overlap only in files that
/// were made to.
const MAX_CANDIDATES: usize = 256;

pub(super) fn root(
    shared: &Arc<Shared>,
    header: gimli::UnitHeader<Slice>,
) -> Option<(Unit, Ranges)> {
    let dwarf = &shared.file.dwarf;
    let abbreviations = dwarf.abbreviations(&header).ok()?;
    let encoding = header.encoding();
    let header_type = header.type_();
    let gimli = gimli::Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
            encoding,
            dwarf.file_type,
        ),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(
            encoding,
            dwarf.file_type,
        ),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(
            encoding,
            dwarf.file_type,
        ),
        line_program: None,
        dwo_id: None,
        header,
    };
    let mut unit = Unit {
        shared: Arc::clone(shared),
        gimli,
        line_offset: None,
        name: None,
        comp_dir: None,
        directory: None,
        dwo_id: match header_type {
            UnitType::Skeleton(id) => Some(id),
            _ => None,
        },
        dwo_name: None,
        split: OnceLock::new(),
        producer: None,
        language: None,
        files: OnceLock::new(),
        lines: OnceLock::new(),
        functions: OnceLock::new(),
    };
    let mut attributes = Vec::new();
    {
        let mut entries = unit.gimli.entries_raw(None).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        entries
            .read_attributes(abbreviation.attributes(), &mut attributes)
            .ok()?;
    }
    // The bases first: other attributes are indices that need them.
    for attribute in &attributes {
        let value = attribute.value();
        match (attribute.name(), &value) {
            (gimli::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                unit.gimli.str_offsets_base = *base;
            }
            (
                gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base,
                AttributeValue::DebugAddrBase(base),
            ) => unit.gimli.addr_base = *base,
            (
                gimli::DW_AT_rnglists_base | gimli::DW_AT_GNU_ranges_base,
                AttributeValue::DebugRngListsBase(base),
            ) => unit.gimli.rnglists_base = *base,
            (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(offset)) => {
                unit.line_offset = Some(*offset);
            }
            (gimli::DW_AT_language, AttributeValue::Language(language)) => {
                unit.language = Some(*language);
            }
            (gimli::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) => unit.dwo_id = Some(*id),
            (gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name, _) => unit.dwo_name = Some(value),
            (gimli::DW_AT_name, _) => unit.name = Some(value),
            (gimli::DW_AT_comp_dir, _) => unit.comp_dir = Some(value),
            (gimli::DW_AT_producer, _) => unit.producer = Some(value),
            _ => {}
        }
    }
    let mut ranges = Ranges::default();
    for attribute in &attributes {
        ranges.take(&unit, attribute);
        if attribute.name() == gimli::DW_AT_low_pc
            && let Ok(Some(low)) = dwarf.attr_address(&unit.gimli, attribute.value())
        {
            unit.gimli.low_pc = low;
        }
    }
    Some((unit, ranges))
}

/// Refuses abbreviation tables that overlap: each would be kept whole, and a file of units
/// that each start a little further into one table would need its size squared.
struct AbbreviationBudget {
    section: Slice,
    seen: HashSet<usize>,
    left: usize,
}

impl AbbreviationBudget {
    fn new(dwarf: &gimli::Dwarf<Slice>) -> Self {
        let section = *dwarf.debug_abbrev.reader();
        Self {
            section,
            seen: HashSet::new(),
            left: section.len().saturating_mul(2),
        }
    }

    fn allow(&mut self, offset: gimli::DebugAbbrevOffset) -> bool {
        if self.seen.contains(&offset.0) {
            return true;
        }
        let mut table = self.section;
        if table.skip(offset.0).is_err() {
            return false;
        }
        let before = table.len();
        // A table that is damaged is read up to the damage by gimli as well.
        let _ = skip_table(&mut table, self.left);
        let length = before - table.len();
        if length > self.left {
            return false;
        }
        self.left -= length;
        self.seen.insert(offset.0);
        true
    }
}

fn skip_table(table: &mut Slice, limit: usize) -> gimli::Result<()> {
    let start = table.len();
    while start - table.len() <= limit && table.read_uleb128()? != 0 {
        table.skip_leb128()?; // tag
        table.read_u8()?; // has children
        loop {
            let name = table.read_uleb128()?;
            let form = table.read_uleb128()?;
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                table.skip_leb128()?;
            }
            if name == 0 && form == 0 {
                break;
            }
        }
    }
    Ok(())
}
