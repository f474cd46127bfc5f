//! The code behind the modules of a recording, opened when it is first asked for.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::ops::Range;

use genba_code::{Binary, CodeFrame, Kallsyms, Symbol};
use genba_profile::perf_map::PerfMap;
use genba_profile::reader::{Module, ModuleId, ModuleKind};

/// What is known of one module.
pub enum Code {
    /// An ELF file.
    Binary(Box<Binary>),
    /// The running kernel.
    Kernel,
    /// What a JIT wrote down about its code.
    Jit(PerfMap),
    /// Nothing, because of this.
    Missing(String),
}

/// A function as far as a module names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Address in the module.
    pub address: u64,
    /// Bytes of code; 0 if unknown.
    pub size: u64,
    /// For people.
    pub name: String,
    /// As in the symbol table, where it differs.
    pub linkage_name: Option<String>,
}

/// All modules of a recording.
pub struct CodeBase {
    modules: Vec<Module>,
    code: Vec<OnceCell<Code>>,
    kernel: OnceCell<Result<Kallsyms, String>>,
    /// Why there are no kernel symbols, if that is known without looking.
    no_kernel: Option<String>,
    /// A kernel symbol and where it was when it was recorded.
    kernel_reference: Option<(String, u64)>,
}

impl CodeBase {
    /// `os_release` is the kernel that the recording names. Reading the kernel's symbols takes
    /// longer than all the rest; `kernel_names` says whether they are wanted.
    pub fn new(
        modules: Vec<Module>,
        os_release: Option<&str>,
        kernel_reference: Option<(String, u64)>,
        kernel_names: bool,
    ) -> Self {
        let code = modules.iter().map(|_| OnceCell::new()).collect();
        let here = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let foreign = os_release
            .filter(|there| *there != here.trim())
            .map(|there| {
                format!(
                    "the recording is of kernel {there}, this machine runs {}",
                    here.trim()
                )
            });
        let unwanted = (!kernel_names).then(|| "kernel symbols were not asked for".to_owned());
        Self {
            modules,
            code,
            kernel: OnceCell::new(),
            no_kernel: foreign.or(unwanted),
            kernel_reference,
        }
    }

    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// The module's name in output: a path, `[kernel]`, `[vdso]`, …
    pub fn module_name(&self, id: ModuleId) -> String {
        let module = self.module(id);
        match module.kind {
            ModuleKind::Kernel => "[kernel]".to_owned(),
            ModuleKind::Vdso => "[vdso]".to_owned(),
            ModuleKind::Jit => "[jit]".to_owned(),
            ModuleKind::Anonymous => "[anonymous]".to_owned(),
            ModuleKind::Unknown => "[unknown]".to_owned(),
            ModuleKind::File | ModuleKind::KernelModule => module.path.clone(),
        }
    }

    pub fn is_kernel(&self, id: ModuleId) -> bool {
        matches!(
            self.module(id).kind,
            ModuleKind::Kernel | ModuleKind::KernelModule
        )
    }

    pub fn code(&self, id: ModuleId) -> &Code {
        self.code[id.0 as usize].get_or_init(|| self.open(self.module(id)))
    }

    fn open(&self, module: &Module) -> Code {
        match module.kind {
            ModuleKind::File => open_file(module),
            ModuleKind::Vdso => open_vdso(),
            ModuleKind::Kernel | ModuleKind::KernelModule => match self.kernel() {
                Ok(_) => Code::Kernel,
                Err(reason) => Code::Missing(reason.clone()),
            },
            ModuleKind::Jit => match module.pid.and_then(PerfMap::for_process) {
                Some(map) => Code::Jit(map),
                None => Code::Missing("its perf map is gone".to_owned()),
            },
            ModuleKind::Anonymous => Code::Missing("memory without a file".to_owned()),
            ModuleKind::Unknown => Code::Missing("no mapping is known there".to_owned()),
        }
    }

    fn kernel(&self) -> &Result<Kallsyms, String> {
        self.kernel.get_or_init(|| match &self.no_kernel {
            Some(reason) => Err(reason.clone()),
            None => {
                let symbols = Kallsyms::load().map_err(|error| error.to_string())?;
                match &self.kernel_reference {
                    Some((name, then)) if symbols.address_of(name) != Some(*then) => Err(
                        "the machine was started anew since: the kernel is elsewhere".to_owned(),
                    ),
                    _ => Ok(symbols),
                }
            }
        })
    }

    /// Address in the module (as `objdump` prints it) of an offset as the recording counts it.
    pub fn address(&self, id: ModuleId, offset: u64) -> u64 {
        match (self.module(id).kind, self.code(id)) {
            (ModuleKind::File | ModuleKind::Vdso, Code::Binary(binary)) => {
                binary.file_offset_to_svma(offset).unwrap_or(offset)
            }
            _ => offset,
        }
    }

    /// The function at an address of a module.
    pub fn function_at(&self, id: ModuleId, address: u64) -> Option<Named> {
        match self.code(id) {
            Code::Binary(binary) => function_in(binary, address),
            Code::Kernel => {
                let kernel = self.kernel().as_ref().ok()?;
                let symbol = kernel.at(address)?;
                Some(Named {
                    address: symbol.address,
                    size: kernel.end_of(address).map_or(0, |end| end - symbol.address),
                    name: symbol.name.to_owned(),
                    linkage_name: None,
                })
            }
            Code::Jit(map) => {
                let symbol = map.find(address)?;
                Some(Named {
                    address: symbol.start,
                    size: symbol.end - symbol.start,
                    name: symbol.name.clone(),
                    linkage_name: None,
                })
            }
            Code::Missing(_) => None,
        }
    }

    /// Functions at an address, inlined ones first.
    pub fn frames_at(&self, id: ModuleId, address: u64) -> Vec<CodeFrame> {
        match self.code(id) {
            Code::Binary(binary) => binary.frames_at(address),
            _ => Vec::new(),
        }
    }

    /// The same for many addresses in this range.
    pub fn frames_in(&self, id: ModuleId, range: Range<u64>) -> impl FnMut(u64) -> Vec<CodeFrame> {
        let mut part = match self.code(id) {
            Code::Binary(binary) => Some(binary.frames_in(range)),
            _ => None,
        };
        move |address| part.as_mut().map_or_else(Vec::new, |part| part.at(address))
    }

    /// Bytes of code in the module, where that is known.
    pub fn text_size(&self, id: ModuleId) -> Option<u64> {
        match self.code(id) {
            Code::Binary(binary) => Some(binary.text_size()),
            _ => None,
        }
    }

    /// Where the symbols are from, in a word.
    pub fn symbols_source(&self, id: ModuleId) -> String {
        match self.code(id) {
            Code::Binary(binary) if binary.has_debug_info() => {
                format!("{}, lines", binary.symbols_source())
            }
            Code::Binary(binary) => binary.symbols_source().to_owned(),
            Code::Kernel => "kallsyms".to_owned(),
            Code::Jit(_) => "perf map".to_owned(),
            Code::Missing(reason) => format!("none: {reason}"),
        }
    }

    /// The ELF file of a module.
    pub fn binary(&self, id: ModuleId) -> Result<&Binary, String> {
        match self.code(id) {
            Code::Binary(binary) => Ok(binary),
            Code::Kernel => Err("the kernel's code cannot be read without its vmlinux".to_owned()),
            Code::Jit(_) => Err("generated code was not kept".to_owned()),
            Code::Missing(reason) => Err(reason.clone()),
        }
    }

    pub fn build_id(&self, id: ModuleId) -> Option<String> {
        let hex = |bytes: &Vec<u8>| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        self.module(id)
            .build_id
            .as_ref()
            .map(hex)
            .or_else(|| match self.code(id) {
                Code::Binary(binary) => binary.build_id(),
                _ => None,
            })
    }
}

/// The vDSO of this process, which is that of every other.
pub fn open_vdso() -> Code {
    match Binary::vdso() {
        Ok(Some(binary)) => Code::Binary(Box::new(binary)),
        Ok(None) => Code::Missing("this process has no vDSO".to_owned()),
        Err(error) => Code::Missing(error.to_string()),
    }
}

/// Opens a module's file, if it is still the one that was recorded.
pub fn open_file(module: &Module) -> Code {
    let path = module
        .path
        .strip_suffix(" (deleted)")
        .unwrap_or(&module.path);
    let deleted = path.len() != module.path.len();
    let binary = match Binary::open(path) {
        Ok(binary) => binary,
        Err(_) if deleted => return Code::Missing("the file was deleted".to_owned()),
        Err(error) => return Code::Missing(error.to_string()),
    };
    let recorded = module.build_id.as_ref().map(|id| genba_code::hex(id));
    match (recorded, binary.build_id()) {
        // The kernel pads short build ids with zeros.
        (Some(then), Some(now)) if !then.starts_with(&now) => {
            Code::Missing("the file has changed since the recording (another build id)".to_owned())
        }
        (None, _) if deleted => {
            Code::Missing("the file was deleted; another is in its place".to_owned())
        }
        _ => Code::Binary(Box::new(binary)),
    }
}

fn function_in(binary: &Binary, address: u64) -> Option<Named> {
    if let Some(symbol) = binary.symbol_at(address) {
        return Some(named(&symbol));
    }
    let range = binary.function_range_at(address)?;
    Some(Named {
        address: range.start,
        size: range.end - range.start,
        name: format!("[{:#x}]", range.start),
        linkage_name: None,
    })
}

/// A symbol as a function of the profile.
pub fn named(symbol: &Symbol) -> Named {
    let brief = genba_code::demangle_brief(&symbol.name);
    let name = genba_code::cut_name(brief.as_deref().unwrap_or(&symbol.name), MAX_NAME);
    Named {
        address: symbol.address,
        size: symbol.size,
        name: name.into_owned(),
        linkage_name: brief.is_some().then(|| symbol.name.clone()),
    }
}

/// Longest name that goes into a profile, bytes.
const MAX_NAME: usize = 1000;
