//! Questions by address.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gimli::{AttributeValue, UnitOffset};

use super::attributes::string;
use super::functions::{Functions, file_index};
use super::lines::{Lines, Place};
use super::load::DwarfFile;
use super::split_units::SplitFiles;
use super::units::{Unit, Units};
use crate::demangle::demangle_brief;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// Path as the compiler recorded it, made absolute with its directory where it was
    /// relative; see [`SourceCache`](crate::SourceCache) to find the file here.
    pub file: Option<Arc<str>>,
    /// Line from 1; `None` for code that belongs to no line.
    pub line: Option<u32>,
    /// Column from 1.
    pub column: Option<u32>,
}

/// One of the functions that an address is in, after inlining.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeFrame {
    /// Name, demangled, without parameters.
    pub function: Option<Arc<str>>,
    /// Where control is in it: for the innermost frame the line of the address, for others
    /// that of the call.
    pub file: Option<Arc<str>>,
    /// Line from 1.
    pub line: Option<u32>,
    /// Column from 1.
    pub column: Option<u32>,
    /// Whether this function was inlined into the next frame's.
    pub inlined: bool,
}

/// The translation unit of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileUnit {
    /// Main source file.
    pub name: Option<String>,
    /// Directory of the compilation.
    pub directory: Option<String>,
    /// Compiler and options (`DW_AT_producer`): GNU compilers record their options here.
    pub producer: Option<String>,
    /// Language (`C11`, `C_plus_plus_14`, `Rust`), as DWARF calls it without `DW_LANG_`.
    pub language: Option<String>,
}

/// What the debug information says of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Name, demangled, without parameters.
    pub name: Option<Arc<str>>,
    /// Name in the symbol table, where it is recorded.
    pub linkage_name: Option<String>,
    /// First address of the contiguous part that holds the address asked for.
    pub begin: u64,
    /// Address after it.
    pub end: u64,
    /// File that declares it.
    pub file: Option<Arc<str>>,
    /// Line of its declaration.
    pub line: Option<u32>,
    /// Whether it has a type: without one it returns nothing.
    pub returns_value: bool,
}

/// What an entry and those that it refers to say of a function.
#[derive(Debug, Default)]
struct Named {
    name: Option<Arc<str>>,
    linkage: Option<String>,
    file: Option<Arc<str>>,
    line: Option<u32>,
    has_type: bool,
}

/// The debug information of a binary.
pub(crate) struct DebugInfo {
    units: Arc<Units>,
    /// By file (the place in memory of what its units share) and offset.
    names: Mutex<HashMap<(usize, usize), Arc<Named>>>,
}

/// What is read of a unit.
struct Part<'a> {
    lines: Option<&'a Lines>,
    functions: &'a Functions,
    /// There may be more functions than these.
    few: bool,
}

/// Debug information for questions about addresses in a window: of its units no more is read
/// than they take.
pub(crate) struct DebugPart<'a> {
    info: &'a DebugInfo,
    window: Range<u64>,
    /// By their place in memory, which they do not leave.
    units: Vec<(*const Unit, Option<Lines>, Option<Functions>)>,
}

impl DebugPart<'_> {
    /// As [`DebugInfo::frames_at`].
    pub(crate) fn frames_at(&mut self, address: u64) -> Vec<CodeFrame> {
        if !self.window.contains(&address) {
            return self.info.frames_at(address);
        }
        for unit in self.info.units.at(address) {
            if !self.units.iter().any(|known| std::ptr::eq(known.0, unit)) {
                let lines = unit.lines_in(&self.window);
                let functions = unit.full().functions_in(&self.window);
                self.units.push((unit, lines, functions));
            }
        }
        let units = &self.units;
        self.info.frames(address, &mut |unit| {
            let own = units.iter().find(|known| std::ptr::eq(known.0, unit));
            let lines = own.and_then(|own| own.1.as_ref());
            let functions = own.and_then(|own| own.2.as_ref());
            Part {
                lines: lines.or_else(|| unit.lines()),
                functions: functions.unwrap_or_else(|| unit.full().functions()),
                few: functions.is_some(),
            }
        })
    }
}

/// How many entries a chain of references may pass.
const MAX_REFERENCES: usize = 16;

impl DebugInfo {
    /// `code` is where code is, sorted; `path` is that of the file; `None` if there is no unit
    /// in the file.
    pub(crate) fn new(
        file: DwarfFile,
        sup: Option<DwarfFile>,
        code: Vec<(u64, u64)>,
        path: Option<&Path>,
    ) -> Option<Self> {
        let none = SplitFiles::default;
        let sup = sup.map(|file| Arc::new(Units::new(file, None, Vec::new(), none())));
        let units = Units::new(file, sup, code, SplitFiles::beside(path));
        (!units.is_empty()).then(|| Self {
            units: Arc::new(units),
            names: Mutex::new(HashMap::new()),
        })
    }

    /// Number of units whose functions are in `.dwo` files that were asked for and not found,
    /// and the first such file.
    pub(crate) fn missing_split_units(&self) -> Option<(usize, &Path)> {
        self.units.shared.split_files.missing()
    }

    pub(crate) fn line_at(&self, address: u64) -> Option<SourceLocation> {
        self.units.at(address).find_map(|unit| {
            let lines = unit.lines()?;
            Some(location(unit, lines.at(address)?))
        })
    }

    /// Frames, innermost first; empty where neither a function nor a line is known.
    pub(crate) fn frames_at(&self, address: u64) -> Vec<CodeFrame> {
        self.frames(address, &mut |unit| Part {
            lines: unit.lines(),
            functions: unit.full().functions(),
            few: false,
        })
    }

    /// For many questions about a few addresses.
    pub(crate) fn part(&self, window: Range<u64>) -> DebugPart<'_> {
        DebugPart {
            info: self,
            window,
            units: Vec::new(),
        }
    }

    fn frames<'a>(
        &'a self,
        address: u64,
        part: &mut dyn FnMut(&'a Unit) -> Part<'a>,
    ) -> Vec<CodeFrame> {
        let mut best = Vec::new();
        for unit in self.units.at(address) {
            let part = part(unit);
            let place = part
                .lines
                .and_then(|lines| lines.at(address))
                .map(|place| location(unit, place));
            let function = part.functions.at(address).or_else(|| {
                // It may be nested in another function.
                part.few
                    .then(|| unit.full().functions().at(address))
                    .flatten()
            });
            let unit = unit.full();
            let Some(function) = function else {
                if let (Some(place), true) = (place, best.is_empty()) {
                    best.push(frame(None, place, false));
                }
                continue;
            };
            let mut here = place.unwrap_or(SourceLocation {
                file: None,
                line: None,
                column: None,
            });
            let mut frames = Vec::new();
            for call in function.inlines_at(unit, address).iter().rev() {
                let caller = location(
                    unit,
                    Place {
                        file: call.call_file.unwrap_or(u32::MAX),
                        line: call.call_line,
                        column: call.call_column,
                    },
                );
                let name = self.named(unit, call.entry).name.clone();
                frames.push(frame(name, std::mem::replace(&mut here, caller), true));
            }
            let name = self.named(unit, function.entry).name.clone();
            frames.push(frame(name, here, false));
            return frames;
        }
        best
    }

    pub(crate) fn function_at(&self, address: u64) -> Option<FunctionInfo> {
        self.units.at(address).find_map(|unit| {
            let unit = unit.full();
            let functions = unit.functions();
            let function = functions.at(address)?;
            let (begin, end) = functions.range_at(address)?;
            let named = self.named(unit, function.entry);
            Some(FunctionInfo {
                name: named.name.clone(),
                linkage_name: named.linkage.clone(),
                begin,
                end,
                file: named.file.clone(),
                line: named.line,
                returns_value: named.has_type,
            })
        })
    }

    pub(crate) fn compile_unit_at(&self, address: u64) -> Option<CompileUnit> {
        // Of units that overlap, the one that has a line for the address.
        let unit = self
            .units
            .at(address)
            .find(|u| u.lines().is_some_and(|l| l.at(address).is_some()))
            .or_else(|| self.units.at(address).next())?;
        Some(CompileUnit {
            name: unit.full().name(),
            directory: unit.comp_dir(),
            producer: unit.full().producer(),
            language: unit
                .full()
                .language
                .and_then(|language| language.static_string())
                .map(|l| l.trim_start_matches("DW_LANG_").to_owned()),
        })
    }

    fn named(&self, unit: &Unit, entry: UnitOffset) -> Arc<Named> {
        let Some(offset) = entry.to_debug_info_offset(&unit.gimli.header) else {
            return Arc::default();
        };
        // By the file: split units have files of their own.
        let key = (Arc::as_ptr(&unit.shared) as usize, offset.0);
        let lock = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(named) = lock().get(&key) {
            return Arc::clone(named);
        }
        let named = Arc::new(self.resolve(unit, entry));
        lock().insert(key, Arc::clone(&named));
        named
    }

    fn resolve(&self, unit: &Unit, entry: UnitOffset) -> Named {
        let mut found = Named::default();
        let mut plain = None;
        let mut at = Some((unit, entry));
        for _ in 0..MAX_REFERENCES {
            let Some((unit, entry)) = at.take() else {
                break;
            };
            let Ok(Some(next)) = read(unit, entry, &mut found, &mut plain) else {
                break;
            };
            at = match next {
                AttributeValue::UnitRef(offset) => Some((unit, offset)),
                AttributeValue::DebugInfoRef(offset) => {
                    // A reference within the file that the unit is of.
                    if std::ptr::eq(&*unit.shared, &*self.units.shared) {
                        self.units.holding(offset)
                    } else if let Some(within) = offset.to_unit_offset(&unit.gimli.header) {
                        Some((unit, within))
                    } else {
                        self.sup().and_then(|sup| sup.holding(offset))
                    }
                }
                AttributeValue::DebugInfoRefSup(offset) => {
                    self.sup().and_then(|sup| sup.holding(offset))
                }
                _ => None,
            };
        }
        let demangled = found.linkage.as_deref().and_then(demangle_brief);
        found.name = demangled
            .or(plain)
            .or_else(|| found.linkage.clone())
            .map(Arc::from);
        found
    }

    fn sup(&self) -> Option<&Units> {
        self.units.shared.sup.as_deref()
    }
}

/// Reads what an entry says of names and declaration, without overwriting what is known, and
/// the reference to the entry that says more.
fn read(
    unit: &Unit,
    entry: UnitOffset,
    found: &mut Named,
    plain: &mut Option<String>,
) -> gimli::Result<Option<AttributeValue<super::Slice>>> {
    let mut entries = unit.gimli.entries_raw(Some(entry))?;
    let Some(abbreviation) = entries.read_abbreviation()? else {
        return Ok(None);
    };
    let mut next = None;
    for &specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(specification)?;
        match attribute.name() {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name
                if found.linkage.is_none() =>
            {
                found.linkage = string(unit, attribute.value());
            }
            gimli::DW_AT_name if plain.is_none() => *plain = string(unit, attribute.value()),
            gimli::DW_AT_decl_line if found.line.is_none() => {
                found.line = attribute
                    .udata_value()
                    .and_then(|line| u32::try_from(line).ok())
                    .filter(|&line| line != 0);
            }
            gimli::DW_AT_decl_file if found.file.is_none() => {
                if let AttributeValue::FileIndex(index) = attribute.value() {
                    found.file =
                        file_index(unit, index).and_then(|index| unit.files()?.path(unit, index));
                }
            }
            gimli::DW_AT_type => found.has_type = true,
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                next = Some(attribute.value());
            }
            _ => {}
        }
    }
    Ok(next)
}

fn location(unit: &Unit, place: Place) -> SourceLocation {
    SourceLocation {
        file: unit.files().and_then(|files| files.path(unit, place.file)),
        line: (place.line != 0).then_some(place.line),
        column: (place.column != 0).then_some(place.column),
    }
}

fn frame(function: Option<Arc<str>>, at: SourceLocation, inlined: bool) -> CodeFrame {
    CodeFrame {
        function,
        file: at.file,
        line: at.line,
        column: at.column,
        inlined,
    }
}
