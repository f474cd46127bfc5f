//! An executable, a library, or the image of the vDSO: its headers, its bytes, and where its
//! symbols and debug information are.

mod lookup;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use object::Architecture;

use crate::build_id::hex;
use crate::data_symbols::{self, DataSymbol};
use crate::dwarf::{self, DebugInfo};
use crate::elf::{Layout, Section, Segment};
use crate::elf_symbol_entries::{SHT_DYNSYM, SHT_SYMTAB};
use crate::error::SymbolsError;
use crate::file_bytes::FileBytes;
use crate::mini_debug_info;
use crate::plt;
use crate::separate_debug_file::{self, DebugSearch, Separate};
use crate::symbol_table::{SymbolSource, Symbols};

pub use lookup::FramesIn;

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
    data_symbols: OnceLock<Vec<DataSymbol>>,
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
    /// [`SymbolsError::Read`] if it cannot be read, [`SymbolsError::NotElf`] or [`SymbolsError::Pe`] if it is not an ELF file.
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
    /// [`SymbolsError::NotElf`] or [`SymbolsError::Pe`] if it is not an ELF file.
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
        if data.starts_with(b"MZ") {
            return Err(SymbolsError::Pe { name });
        }
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
            data_symbols: OnceLock::new(),
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

    /// The bytes at an address, fewer than `size` where the segment's contents in the file end.
    #[must_use]
    pub fn bytes_at(&self, svma: u64, size: u64) -> Option<&[u8]> {
        self.layout.bytes_at(&self.data, svma, size)
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

    fn data_symbol_table(&self) -> &[DataSymbol] {
        self.data_symbols.get_or_init(|| {
            let mut files = vec![(&self.layout, &self.data)];
            files.extend(self.separate().map(|one| (&one.layout, &one.data)));
            data_symbols::data_symbols(&files)
        })
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
