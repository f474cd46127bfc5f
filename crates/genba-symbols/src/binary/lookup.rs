//! Questions to a [`Binary`]: symbols, functions, inlined frames and lines by address and by name.

use std::ops::Range;
use std::sync::Arc;

use super::Binary;
use crate::data_symbols::{self, DataSymbol};
use crate::dwarf::{CodeFrame, CompileUnit, DebugPart, FunctionInfo, SourceLocation};
use crate::elf::Layout;
use crate::elf_symbol_entries::{self, SHT_DYNSYM, SHT_SYMTAB};
use crate::error::SymbolsError;
use crate::file_bytes::FileBytes;
use crate::separate_debug_file::Found;
use crate::symbol_table::{Symbol, SymbolSource, string_range};
use crate::unwind_ranges;

impl Binary {
    /// The symbol that holds an address.
    #[must_use]
    pub fn symbol_at(&self, svma: u64) -> Option<Symbol> {
        self.symbol_table().at(svma)
    }

    /// The variable that holds an address.
    #[must_use]
    pub fn variable_at(&self, svma: u64) -> Option<&DataSymbol> {
        data_symbols::at(self.data_symbol_table(), svma)
    }

    /// All symbols of code by address, the best alias of each address.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.symbol_table().iter()
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
        let name = symbol.display_name();
        let name = crate::demangle::cut_name(&name, MAX_OPERAND_NAME);
        Some(match svma - symbol.address {
            0 => name.into_owned(),
            offset => format!("{name}+{offset:#x}"),
        })
    }

    /// The first address after this one at which a symbol begins.
    #[must_use]
    pub fn next_symbol_address(&self, svma: u64) -> Option<u64> {
        self.symbol_table().next_address(svma)
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

    /// Begin and end of the code around an address: as [`Self::function_range_at`], and where nothing of
    /// `.eh_frame` describes it (`-fno-asynchronous-unwind-tables`, assembly) as its symbol says.
    #[must_use]
    pub fn code_range_at(&self, svma: u64) -> Option<Range<u64>> {
        let of_symbol = || {
            let symbol = self.symbol_at(svma)?;
            Some(symbol.address..symbol.address.checked_add(symbol.size)?)
        };
        self.function_range_at(svma)
            .or_else(|| of_symbol().filter(|range| range.contains(&svma)))
    }

    /// Where the symbols are from: `symtab`; `build-id`, `debuglink` or `debuginfod` (a separate
    /// file, found that way); `gnu_debugdata` (in the file, compressed); `dynsym` (exported
    /// functions only) or `none: stripped`.
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
            "none: stripped"
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
                "split DWARF not found for {missing} compile unit(s), the first in {}",
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
