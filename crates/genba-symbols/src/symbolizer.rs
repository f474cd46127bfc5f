//! From places in modules to functions, lines and code: one symbolizer for reports, annotations
//! and live views. Modules are opened when they are first asked for, and stay open.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::binary::Binary;
use crate::build_id::{hex, same_build_id};
use crate::demangle::{cut_name, demangle_brief};
use crate::dwarf::CodeFrame;
use crate::error::SymbolsError;
use crate::kernel_symbols::KernelSymbols;
use crate::module::{Module, ModuleId, ModuleKind};
use crate::perf_map::PerfMap;
use crate::symbol_table::Symbol;

/// Longest function name that a symbolizer gives, bytes.
const MAX_NAME: usize = 1000;

/// Why a module of .NET or Windows has no names; without its path, which stands beside it.
const PE_FILE: &str = "PE file (.NET, Windows), whose symbols genba does not read";

/// The code of a module, as far as it could be opened.
#[derive(Debug)]
pub enum ModuleCode {
    /// An ELF file.
    Binary(Box<Binary>),
    /// The running kernel; its symbols are the [`Symbolizer`]'s.
    Kernel,
    /// The perf map that a JIT compiler wrote.
    Jit(PerfMap),
    /// Nothing; the reason.
    Missing(String),
}

impl ModuleCode {
    /// Opens a module's file, if it is still the one that was recorded.
    #[must_use]
    pub fn open_file(module: &Module) -> Self {
        let (path, deleted) = module.file_path();
        let binary = match Binary::open(path) {
            Ok(binary) => binary,
            Err(_) if deleted => return Self::Missing("the file was deleted".to_owned()),
            Err(SymbolsError::Pe { .. }) => return Self::Missing(PE_FILE.to_owned()),
            Err(error) => return Self::Missing(error.to_string()),
        };
        match (&module.build_id, binary.build_id_bytes()) {
            (Some(recorded), Some(now)) if !same_build_id(recorded, now) => Self::Missing(
                "the file has changed since the recording (another build id)".to_owned(),
            ),
            (None, _) if deleted => {
                Self::Missing("the file was deleted; another is in its place".to_owned())
            }
            _ => Self::Binary(Box::new(binary)),
        }
    }

    /// The vDSO of this process, which is that of every other.
    #[must_use]
    pub fn open_vdso() -> Self {
        match Binary::vdso() {
            Ok(Some(binary)) => Self::Binary(Box::new(binary)),
            Ok(None) => Self::Missing("this process has no vDSO".to_owned()),
            Err(error) => Self::Missing(error.to_string()),
        }
    }
}

/// A function as its module names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Address in the module.
    pub address: u64,
    /// Bytes of code; 0 if unknown.
    pub size: u64,
    /// Demangled name without parameters; an address in brackets where there is no symbol.
    pub name: String,
    /// Name in the symbol table, where it differs.
    pub linkage_name: Option<String>,
}

impl FunctionSymbol {
    fn new(address: u64, end: u64, name: &str) -> Self {
        Self {
            address,
            size: end.saturating_sub(address),
            name: cut_name(name, MAX_NAME).into_owned(),
            linkage_name: None,
        }
    }

    /// The function at an address of a binary: by its symbols, else by its unwind tables.
    fn in_binary(binary: &Binary, address: u64) -> Option<Self> {
        if let Some(symbol) = binary.symbol_at(address) {
            return Some(Self::from(&symbol));
        }
        let range = binary.function_range_at(address)?;
        let name = format!("[{:#x}]", range.start);
        Some(Self::new(range.start, range.end, &name))
    }
}

impl From<&Symbol> for FunctionSymbol {
    fn from(symbol: &Symbol) -> Self {
        let brief = demangle_brief(&symbol.name);
        Self {
            linkage_name: brief.is_some().then(|| symbol.name.clone()),
            ..Self::new(
                symbol.address,
                symbol.end(),
                brief.as_deref().unwrap_or(&symbol.name),
            )
        }
    }
}

/// The code of all modules of a recording.
#[derive(Debug)]
pub struct Symbolizer {
    modules: Vec<Module>,
    code: Vec<OnceCell<ModuleCode>>,
    ids: HashMap<Module, ModuleId>,
    kernel: KernelSymbols,
}

impl Symbolizer {
    /// A symbolizer for these modules; a [`ModuleId`] is the index in them.
    #[must_use]
    pub fn new(modules: Vec<Module>, kernel: KernelSymbols) -> Self {
        Self {
            code: modules.iter().map(|_| OnceCell::new()).collect(),
            ids: HashMap::new(),
            modules,
            kernel,
        }
    }

    /// The id of a module, which is added if it is not known: for views of recordings that
    /// grow. A perf map that has grown since it was read is read again.
    pub fn add(&mut self, module: &Module) -> ModuleId {
        if let Some(&id) = self.ids.get(module) {
            let cell = &mut self.code[id.0 as usize];
            if let (Some(ModuleCode::Jit(map)), Some(pid)) = (cell.get(), module.pid)
                && map.is_outdated(pid)
            {
                *cell = OnceCell::new();
            }
            return id;
        }
        let id = ModuleId(self.modules.len() as u32);
        self.modules.push(module.clone());
        self.code.push(OnceCell::new());
        self.ids.insert(module.clone(), id);
        id
    }

    /// Names the functions of a module that a process generated, instead of the perf map that it left.
    pub fn set_generated(&mut self, id: ModuleId, functions: PerfMap) {
        self.code[id.0 as usize] = OnceCell::from(ModuleCode::Jit(functions));
    }

    /// A module.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// The module's name in output: a path, `[kernel]`, `[vdso]`, …
    #[must_use]
    pub fn module_name(&self, id: ModuleId) -> String {
        self.module(id).display_name().to_owned()
    }

    /// Whether a module's code runs in the kernel.
    #[must_use]
    pub fn is_kernel(&self, id: ModuleId) -> bool {
        self.module(id).is_kernel()
    }

    /// The code of a module, opened if it is not yet.
    pub fn code(&self, id: ModuleId) -> &ModuleCode {
        self.code[id.0 as usize].get_or_init(|| self.open(self.module(id)))
    }

    fn open(&self, module: &Module) -> ModuleCode {
        match module.kind {
            ModuleKind::File => ModuleCode::open_file(module),
            ModuleKind::Vdso => ModuleCode::open_vdso(),
            ModuleKind::Kernel | ModuleKind::KernelModule => match self.kernel.get() {
                Ok(_) => ModuleCode::Kernel,
                Err(reason) => ModuleCode::Missing(reason.to_owned()),
            },
            ModuleKind::Jit => match module.pid.and_then(PerfMap::for_process) {
                Some(map) => ModuleCode::Jit(map),
                None => ModuleCode::Missing("its perf map is gone".to_owned()),
            },
            ModuleKind::Anonymous => ModuleCode::Missing("memory without a file".to_owned()),
            ModuleKind::Unknown => ModuleCode::Missing("no mapping is known there".to_owned()),
        }
    }

    /// Address in the module (as `objdump` prints it) of an offset as the recording counts it.
    #[must_use]
    pub fn address(&self, id: ModuleId, offset: u64) -> u64 {
        match (self.module(id).kind, self.code(id)) {
            (ModuleKind::File | ModuleKind::Vdso, ModuleCode::Binary(binary)) => {
                binary.file_offset_to_svma(offset).unwrap_or(offset)
            }
            _ => offset,
        }
    }

    /// The function at an address of a module.
    #[must_use]
    pub fn function_at(&self, id: ModuleId, address: u64) -> Option<FunctionSymbol> {
        match self.code(id) {
            ModuleCode::Binary(binary) => FunctionSymbol::in_binary(binary, address),
            ModuleCode::Kernel => {
                let kernel = self.kernel.get().ok()?;
                let symbol = kernel.at(address)?;
                let end = kernel.end_of(address).unwrap_or(symbol.address);
                Some(FunctionSymbol::new(symbol.address, end, symbol.name))
            }
            ModuleCode::Jit(map) => {
                let symbol = map.find(address)?;
                Some(FunctionSymbol::new(symbol.start, symbol.end, &symbol.name))
            }
            ModuleCode::Missing(_) => None,
        }
    }

    /// The first address after this one at which a symbol of a file begins.
    #[must_use]
    pub fn next_symbol_address(&self, id: ModuleId, address: u64) -> Option<u64> {
        match self.code(id) {
            ModuleCode::Binary(binary) => binary.next_symbol_address(address),
            _ => None,
        }
    }

    /// Functions at an address, inlined ones first.
    #[must_use]
    pub fn frames_at(&self, id: ModuleId, address: u64) -> Vec<CodeFrame> {
        match self.code(id) {
            ModuleCode::Binary(binary) => binary.frames_at(address),
            _ => Vec::new(),
        }
    }

    /// As [`Self::frames_at`], for many addresses in this range.
    pub fn frames_in(&self, id: ModuleId, range: Range<u64>) -> impl FnMut(u64) -> Vec<CodeFrame> {
        let mut part = match self.code(id) {
            ModuleCode::Binary(binary) => Some(binary.frames_in(range)),
            _ => None,
        };
        move |address| part.as_mut().map_or_else(Vec::new, |part| part.at(address))
    }

    /// Bytes of code in the module, where that is known.
    #[must_use]
    pub fn text_size(&self, id: ModuleId) -> Option<u64> {
        match self.code(id) {
            ModuleCode::Binary(binary) => Some(binary.text_size()),
            _ => None,
        }
    }

    /// Where the symbols are from, in a word, and what could not be had.
    #[must_use]
    pub fn symbols_source(&self, id: ModuleId) -> String {
        match self.code(id) {
            ModuleCode::Binary(binary) => {
                let mut text = binary.symbols_source().to_owned();
                if binary.has_debug_info() {
                    text.push_str(", lines");
                }
                for problem in binary.problems() {
                    text.push_str("; ");
                    text.push_str(&problem);
                }
                text
            }
            ModuleCode::Kernel => "kallsyms".to_owned(),
            ModuleCode::Jit(_) => "perf map".to_owned(),
            ModuleCode::Missing(reason) => format!("none: {reason}"),
        }
    }

    /// The ELF file of a module.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub fn binary(&self, id: ModuleId) -> Result<&Binary, String> {
        match self.code(id) {
            ModuleCode::Binary(binary) => Ok(binary),
            ModuleCode::Kernel => {
                Err("the kernel's code cannot be read without its vmlinux".to_owned())
            }
            ModuleCode::Jit(_) => Err("generated code was not recorded".to_owned()),
            ModuleCode::Missing(reason) => Err(reason.clone()),
        }
    }

    /// The build id of a module in hexadecimal, of the recording or else of the file.
    #[must_use]
    pub fn build_id(&self, id: ModuleId) -> Option<String> {
        let recorded = self.module(id).build_id.as_deref().map(hex);
        recorded.or_else(|| match self.code(id) {
            ModuleCode::Binary(binary) => binary.build_id(),
            _ => None,
        })
    }
}
