//! An executable, a library, or the image of the vDSO: all that can be asked of it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use object::Architecture;

use crate::build_id::hex;
use crate::dwarf::{
    self, CodeFrame, CompileUnit, DebugInfo, DebugPart, FunctionInfo, SourceLocation,
};
use crate::elf::{Layout, Section, Segment};
use crate::elf_symbol_entries::{self, SHT_DYNSYM, SHT_SYMTAB};
use crate::error::SymbolsError;
use crate::file_bytes::FileBytes;
use crate::mini_debug_info;
use crate::plt;
use crate::separate_debug_file::{self, DebugSearch, Found, Separate};
use crate::symbol_table::{Symbol, SymbolSource, Symbols, string_range};
use crate::unwind_ranges;

/// A file of code. Everything beyond its headers is read when it is first asked for, and kept;
/// it can be shared between threads.
///
/// Addresses are those of the file as linked ("svma", what `objdump` and `nm` print); see
/// [`Self::file_offset_to_svma`] for how a running program's addresses come to them.
pub struct Binary {
    name: String,
    path: Option<PathBuf>,
    data: FileBytes,
    layout: Layout,
    search: DebugSearch,
    separate: OnceLock<separate_debug_file::Search>,
    mini_debug_info: OnceLock<Option<(Layout, FileBytes)>>,
    symbols: OnceLock<Symbols>,
    unwind_ranges: OnceLock<Vec<Range<u64>>>,
    debug: OnceLock<Result<Option<DebugInfo>, String>>,
}

impl std::fmt::Debug for Binary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Binary")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Binary {
    /// Opens a file; separate debug files are looked for in the usual places.
    ///
    /// # Errors
    /// [`SymbolsError::Read`] if it cannot be read, [`SymbolsError::NotElf`] if it is no ELF file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SymbolsError> {
        Self::open_with(path, DebugSearch::default())
    }

    /// Opens a file, looking for separate debug files in the places given.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(path: impl AsRef<Path>, search: DebugSearch) -> Result<Self, SymbolsError> {
        let path = path.as_ref();
        let data = FileBytes::open(path)?;
        Self::new(
            data,
            path.display().to_string(),
            Some(path.to_owned()),
            search,
        )
    }

    /// An image in memory; `name` is for messages. A separate debug file is found by build id
    /// only.
    ///
    /// # Errors
    /// [`SymbolsError::NotElf`] if it is no ELF file.
    pub fn from_bytes(
        bytes: impl Into<Arc<[u8]>>,
        name: impl Into<String>,
    ) -> Result<Self, SymbolsError> {
        let data = FileBytes::Memory(bytes.into());
        Self::new(data, name.into(), None, DebugSearch::default())
    }

    fn new(
        data: FileBytes,
        name: String,
        path: Option<PathBuf>,
        search: DebugSearch,
    ) -> Result<Self, SymbolsError> {
        let layout = Layout::parse(&data).map_err(|reason| SymbolsError::NotElf {
            name: name.clone(),
            reason,
        })?;
        Ok(Self {
            name,
            path,
            data,
            layout,
            search,
            separate: OnceLock::new(),
            mini_debug_info: OnceLock::new(),
            symbols: OnceLock::new(),
            unwind_ranges: OnceLock::new(),
            debug: OnceLock::new(),
        })
    }

    /// Path or name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// GNU build id in hexadecimal.
    #[must_use]
    pub fn build_id(&self) -> Option<String> {
        self.layout.build_id.as_deref().map(hex)
    }

    /// GNU build id.
    #[must_use]
    pub fn build_id_bytes(&self) -> Option<&[u8]> {
        self.layout.build_id.as_deref()
    }

    /// Architecture of the code.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.layout.architecture
    }

    /// Address at which the execution of a program begins; 0 for none.
    #[must_use]
    pub fn entry_point(&self) -> u64 {
        self.layout.entry
    }

    /// Whether it is loaded wherever there is room: libraries and position-independent
    /// executables.
    #[must_use]
    pub fn is_pie(&self) -> bool {
        const ET_DYN: u16 = 3;
        self.layout.kind == ET_DYN
    }

    /// The parts that are loaded.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.layout.segments
    }

    /// The sections; empty if the file has none.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.layout.sections
    }

    /// Bytes of code: of executable sections, of executable segments where there are none.
    #[must_use]
    pub fn text_size(&self) -> u64 {
        let sections = self.layout.sections.iter().filter(|s| s.executable);
        let size = sections.fold(0u64, |sum, s| sum.saturating_add(s.size));
        if size > 0 {
            return size;
        }
        let segments = self.layout.segments.iter().filter(|s| s.executable);
        segments.fold(0u64, |sum, s| sum.saturating_add(s.file_size))
    }

    /// The address in the module of what is at this offset of the file. For a mapping of a
    /// process: `svma = file_offset_to_svma(address - mapping.start + mapping.offset)`.
    #[must_use]
    pub fn file_offset_to_svma(&self, offset: u64) -> Option<u64> {
        // Mappings are whole pages and share the page on a border of two segments; the
        // executable one is meant.
        let holds = |s: &&Segment| {
            offset
                .checked_sub(s.file_offset)
                .is_some_and(|within| within < s.file_size)
        };
        let segments = || self.layout.segments.iter().filter(holds);
        let segment = segments()
            .find(|s| s.executable)
            .or_else(|| segments().next())?;
        segment.address.checked_add(offset - segment.file_offset)
    }

    /// The offsets of the file that come to be at these addresses of the module, the inverse of
    /// [`Self::file_offset_to_svma`]: all that may, where segments share bytes of the file.
    #[must_use]
    pub fn svma_to_file_offsets(&self, svma: Range<u64>) -> Vec<Range<u64>> {
        let within = |s: &Segment| {
            let start = svma.start.max(s.address);
            let end = svma.end.min(s.address.saturating_add(s.file_size));
            let offset = |address: u64| s.file_offset.saturating_add(address - s.address);
            (start < end).then(|| offset(start)..offset(end))
        };
        self.layout.segments.iter().filter_map(within).collect()
    }

    /// The bytes at an address, fewer than `size` where the segment's contents in the file end.
    #[must_use]
    pub fn bytes_at(&self, svma: u64, size: u64) -> Option<&[u8]> {
        self.layout.bytes_at(&self.data, svma, size)
    }

    /// The symbol that holds an address.
    #[must_use]
    pub fn symbol_at(&self, svma: u64) -> Option<Symbol> {
        self.symbol_table().at(svma)
    }

    /// All symbols of code by address, the best alias of each address.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.symbol_table().iter()
    }

    /// How many addresses have a symbol.
    #[must_use]
    pub fn symbol_count(&self) -> usize {
        self.symbol_table().len()
    }

    /// All symbols at exactly this address, the best first.
    #[must_use]
    pub fn aliases(&self, svma: u64) -> Vec<Symbol> {
        self.symbol_table().aliases(svma)
    }

    /// Symbols of this name: as in the table, demangled, or demangled without parameters.
    #[must_use]
    pub fn find(&self, name: &str) -> Vec<Symbol> {
        self.symbol_table().find(name)
    }

    /// Whether some symbol's name in the tables may have this word in it. The names are searched
    /// as they lie in the file, which is far cheaper than reading the symbols.
    #[must_use]
    pub fn may_name(&self, word: &str) -> bool {
        let finder = memchr::memmem::Finder::new(word.as_bytes());
        let found = |layout: &Layout, data: &FileBytes, kind: u32| {
            let tables = layout.sections.iter().filter(|s| s.kind == kind);
            let strings = tables.filter_map(|table| string_range(layout, table));
            strings.into_iter().any(|(start, size)| {
                let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
                let bytes = range.and_then(|(start, size)| {
                    data.get(start..start.saturating_add(size).min(data.len()))
                });
                bytes.is_some_and(|bytes| finder.find(bytes).is_some())
            })
        };
        // The symbol table of a separate file is read where the own one has no code in it.
        let own_table = || {
            let mut tables = self.layout.sections.iter();
            let table = tables.find(|s| s.kind == SHT_SYMTAB);
            table.is_some_and(|table| {
                elf_symbol_entries::symbols(&self.layout, &self.data, table)
                    .any(|s| s.is_code(&self.layout))
            })
        };
        found(&self.layout, &self.data, SHT_SYMTAB)
            || found(&self.layout, &self.data, SHT_DYNSYM)
            || (!own_table()
                && (self
                    .separate()
                    .is_some_and(|s| found(&s.layout, &s.data, SHT_SYMTAB))
                    || self
                        .mini_debug_info()
                        .is_some_and(|(layout, data)| found(layout, data, SHT_SYMTAB))))
    }

    /// The symbols of code, the best alias of each address, whose name in the table has this
    /// word in it.
    pub fn symbols_with(&self, word: &str) -> impl Iterator<Item = Symbol> + '_ {
        self.symbol_table().with_word(word)
    }

    /// `name+0x10` (demangled) for an address inside a symbol, for operands of instructions.
    #[must_use]
    pub fn name_address(&self, svma: u64) -> Option<String> {
        let symbol = self.symbol_at(svma)?;
        let name = crate::demangle::cut_name(symbol.display_name(), MAX_OPERAND_NAME);
        Some(match svma - symbol.address {
            0 => name.into_owned(),
            offset => format!("{name}+{offset:#x}"),
        })
    }

    /// Begin and end of the code that one entry of `.eh_frame` describes: a function, or a
    /// part of one that the compiler moved away. For addresses without a symbol.
    #[must_use]
    pub fn function_range_at(&self, svma: u64) -> Option<Range<u64>> {
        let ranges = self
            .unwind_ranges
            .get_or_init(|| unwind_ranges::from_eh_frame(&self.layout, &self.data));
        unwind_ranges::find(ranges, svma)
    }

    /// Where the symbols are from: `symtab`; `build-id`, `debuglink` or `debuginfod` (a separate
    /// file, found that way); `gnu_debugdata` (in the file, compressed); `dynsym` (exported
    /// functions only) or `none`.
    #[must_use]
    pub fn symbols_source(&self) -> &'static str {
        let symbols = self.symbol_table();
        if symbols.has(SymbolSource::Symtab) {
            "symtab"
        } else if symbols.has(SymbolSource::Debug) {
            match self.separate().map(|s| s.found) {
                Some(Found::DebugLink) => "debuglink",
                Some(Found::Debuginfod) => "debuginfod",
                _ => "build-id",
            }
        } else if symbols.has(SymbolSource::MiniDebugInfo) {
            "gnu_debugdata"
        } else if symbols.has(SymbolSource::Dynsym) {
            "dynsym"
        } else {
            "none"
        }
    }

    /// What could not be had of symbols and debug information although it should be there, a
    /// sentence each; of what has been asked for so far.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(reason) = self
            .separate
            .get()
            .and_then(|s| s.debuginfod_error.as_ref())
        {
            problems.push(format!("debuginfod: {reason}"));
        }
        if let Some(Err(reason)) = self.debug.get() {
            problems.push(format!("debug information is unusable: {reason}"));
        }
        if let Some(Ok(Some(debug))) = self.debug.get()
            && let Some((missing, first)) = debug.missing_split_units()
        {
            problems.push(format!(
                "split DWARF of {missing} units was not found (first: {})",
                first.display()
            ));
        }
        problems
    }

    /// Whether there is debug information that can be used.
    #[must_use]
    pub fn has_debug_info(&self) -> bool {
        self.debug_info().is_some()
    }

    /// Why there is none although there should be.
    ///
    /// # Errors
    /// [`SymbolsError::Dwarf`] if the file has debug information that is damaged.
    pub fn check_debug_info(&self) -> Result<(), SymbolsError> {
        match self.load_debug() {
            Ok(_) => Ok(()),
            Err(reason) => Err(SymbolsError::Dwarf {
                name: self.name.clone(),
                reason: reason.clone(),
            }),
        }
    }

    /// Functions at an address, inlined ones first, the one that the symbol table names last.
    /// Without debug information the symbol alone; empty where there is not even that.
    #[must_use]
    pub fn frames_at(&self, svma: u64) -> Vec<CodeFrame> {
        let frames = self
            .debug_info()
            .map_or_else(Vec::new, |d| d.frames_at(svma));
        self.with_symbol(frames, svma)
    }

    /// For [`Self::frames_at`] of many addresses in one function, or as near to one another:
    /// reads the debug information for these alone.
    #[must_use]
    pub fn frames_in(&self, window: Range<u64>) -> FramesIn<'_> {
        FramesIn {
            binary: self,
            part: self.debug_info().map(|debug| debug.part(window)),
        }
    }

    /// The symbol as the outermost function, where debug information has none.
    fn with_symbol(&self, mut frames: Vec<CodeFrame>, svma: u64) -> Vec<CodeFrame> {
        if frames.last().is_none_or(|f| f.function.is_none()) {
            let name = self.symbol_at(svma).map(|s| Arc::from(s.display_name()));
            match frames.last_mut() {
                Some(frame) => frame.function = name,
                None if name.is_some() => frames.push(CodeFrame {
                    function: name,
                    file: None,
                    line: None,
                    column: None,
                    inlined: false,
                }),
                None => {}
            }
        }
        frames
    }

    /// File and line of an address, of the innermost function: cheaper than
    /// [`Self::frames_at`], as it reads line tables only.
    #[must_use]
    pub fn line_at(&self, svma: u64) -> Option<SourceLocation> {
        self.debug_info()?.line_at(svma)
    }

    /// What the debug information says of the function at an address (not of those inlined).
    #[must_use]
    pub fn function_at(&self, svma: u64) -> Option<FunctionInfo> {
        self.debug_info()?.function_at(svma)
    }

    /// The translation unit of an address.
    #[must_use]
    pub fn compile_unit_at(&self, svma: u64) -> Option<CompileUnit> {
        self.debug_info()?.compile_unit_at(svma)
    }

    fn separate(&self) -> Option<&Separate> {
        let find = || separate_debug_file::find(self.path.as_deref(), &self.layout, &self.search);
        self.separate.get_or_init(find).file.as_ref()
    }

    /// The file in `.gnu_debugdata`.
    fn mini_debug_info(&self) -> Option<&(Layout, FileBytes)> {
        self.mini_debug_info
            .get_or_init(|| mini_debug_info::load(&self.layout, &self.data))
            .as_ref()
    }

    fn symbol_table(&self) -> &Symbols {
        self.symbols.get_or_init(|| {
            let mut symbols = Symbols::default();
            let own = (&self.layout, &self.data);
            let add = |symbols: &mut Symbols, kind, source| {
                symbols.add_table(own.0, own.1, kind, source, own.0)
            };
            let full = add(&mut symbols, SHT_SYMTAB, SymbolSource::Symtab)
                || self.separate().is_some_and(|s| {
                    let source = SymbolSource::Debug;
                    symbols.add_table(&s.layout, &s.data, SHT_SYMTAB, source, &self.layout)
                });
            if !full {
                add(&mut symbols, SHT_DYNSYM, SymbolSource::Dynsym);
                // It has the functions that `.dynsym` does not.
                if let Some((layout, data)) = self.mini_debug_info() {
                    let source = SymbolSource::MiniDebugInfo;
                    symbols.add_table(layout, data, SHT_SYMTAB, source, &self.layout);
                }
            }
            plt::add(&mut symbols, &self.layout, &self.data);
            symbols.finish(&self.layout);
            symbols
        })
    }

    fn debug_info(&self) -> Option<&DebugInfo> {
        self.load_debug().as_ref().ok()?.as_ref()
    }

    fn load_debug(&self) -> &Result<Option<DebugInfo>, String> {
        self.debug.get_or_init(|| {
            let own = dwarf::load(&self.data)?;
            let (file, path, layout) = match own {
                Some(file) => (file, self.path.as_deref(), &self.layout),
                None => {
                    let Some(separate) = self.separate() else {
                        return Ok(None);
                    };
                    let Some(file) = dwarf::load(&separate.data)? else {
                        return Ok(None);
                    };
                    (file, Some(separate.path.as_path()), &separate.layout)
                }
            };
            let sup = match separate_debug_file::find_supplementary(path, layout, &self.search) {
                Some(data) => dwarf::load(&data)?,
                None => None,
            };
            Ok(DebugInfo::new(file, sup, self.code_ranges(), path))
        })
    }

    /// Where code is, sorted and without overlap of the ends.
    fn code_ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = self
            .layout
            .sections
            .iter()
            .filter(|s| s.executable && s.size > 0)
            .map(|s| (s.address, s.address.saturating_add(s.size)))
            .collect();
        ranges.sort_unstable();
        ranges
    }
}

/// Answers for a few addresses of a [`Binary`].
pub struct FramesIn<'a> {
    binary: &'a Binary,
    part: Option<DebugPart<'a>>,
}

impl std::fmt::Debug for FramesIn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FramesIn")
            .field("binary", &self.binary)
            .finish_non_exhaustive()
    }
}

impl FramesIn<'_> {
    /// As [`Binary::frames_at`].
    pub fn at(&mut self, svma: u64) -> Vec<CodeFrame> {
        let part = self.part.as_mut();
        let frames = part.map_or_else(Vec::new, |part| part.frames_at(svma));
        self.binary.with_symbol(frames, svma)
    }
}

/// Longest name in an operand, bytes.
const MAX_OPERAND_NAME: usize = 200;
