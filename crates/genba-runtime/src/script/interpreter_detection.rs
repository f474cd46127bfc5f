//! Detection of the interpreter that a process runs, its version, and where its variables are.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use genba_symbols::{Mapping, mappings_of_process};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use super::python311_frames::Python;
use super::ruby31_frames::Ruby;
use super::thread_memory::{Memory, ProcessMemory};

/// A runtime that was found.
pub enum Runtime {
    /// CPython 3.11.
    Python(Box<Python>),
    /// CRuby 3.1.
    Ruby(Box<Ruby>),
}

/// Outcome of the detection in one process.
pub enum Detected {
    /// No interpreter of Python or Ruby is mapped, or its file cannot be read.
    Nothing,
    /// A runtime whose frames can be read, and its name with the version.
    Known(Runtime, String),
    /// Name and version of a runtime whose layout is not known.
    Unknown(String),
}

/// Largest file of an interpreter that is read, bytes.
const MAX_FILE: u64 = 512 << 20;

/// Whether a module is the program or library of an interpreter of Python or Ruby, by its name.
#[must_use]
pub fn may_be_interpreter(module: &str) -> bool {
    is_python(module) || is_ruby(module)
}

fn is_python(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with("python") || name.starts_with("libpython")
}

fn is_ruby(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with("ruby") || name.starts_with("libruby")
}

/// Detects the interpreter among the mappings of a process.
#[must_use]
pub fn detect(pid: i32) -> Detected {
    let mut tried: Vec<String> = Vec::new();
    for map in mappings_of_process(pid).unwrap_or_default() {
        let python = is_python(&map.path);
        if !may_be_interpreter(&map.path) || !map.is_executable() || tried.contains(&map.path) {
            continue;
        }
        tried.push(map.path.clone());
        let Some(file) = read(pid, &map.path) else {
            continue;
        };
        let Some(module) = Loaded::new(&file, &map) else {
            continue;
        };
        let found = if python {
            self::python(pid, &module)
        } else {
            self::ruby(pid, &module)
        };
        if let Some(found) = found {
            return found;
        }
    }
    Detected::Nothing
}

fn read(pid: i32, path: &str) -> Option<Vec<u8>> {
    let inside = PathBuf::from(format!("/proc/{pid}/root{path}"));
    let file = File::open(&inside)
        .or_else(|_| File::open(Path::new(path)))
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// An ELF file of a process, and where it is loaded.
struct Loaded<'f> {
    file: ElfFile64<'f, Endianness>,
    /// Difference of addresses in the process to those in the file.
    bias: u64,
}

impl<'f> Loaded<'f> {
    fn new(bytes: &'f [u8], map: &Mapping) -> Option<Self> {
        const PAGE: u64 = 4096;
        let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
        let endian = file.endian();
        let headers = file.elf_header().program_headers(endian, bytes).ok()?;
        let segment = headers.iter().find(|p| {
            let offset = p.p_offset(endian);
            p.p_type(endian) == object::elf::PT_LOAD
                && offset & !(PAGE - 1) <= map.offset
                && map.offset < offset.saturating_add(p.p_filesz(endian))
                && p.p_flags(endian).0 & object::elf::PF_X.0 != 0
        })?;
        let own = segment
            .p_vaddr(endian)
            .wrapping_sub(segment.p_offset(endian))
            .wrapping_add(map.offset);
        Some(Self {
            bias: map.start.wrapping_sub(own),
            file,
        })
    }

    /// The address of a variable in the process.
    fn variable(&self, name: &str) -> Option<u64> {
        let symbols = self.file.dynamic_symbols().chain(self.file.symbols());
        let mut defined = symbols.filter(|s| s.is_definition());
        let symbol = defined.find(|s| s.name() == Ok(name))?;
        Some(symbol.address().wrapping_add(self.bias))
    }

    /// Address of the module number for thread-local variables, and the variable's offset.
    fn thread_variable(&self, name: &str) -> Option<(u64, u64)> {
        let mut symbols = self.file.dynamic_symbols();
        let symbol = symbols.find(|s| s.name() == Ok(name))?;
        let mut relocations = self.file.dynamic_relocations()?;
        let (at, _) = relocations.find(|(_, relocation)| {
            let kind = object::RelocationFlags::Elf {
                r_type: object::elf::R_X86_64_DTPMOD64,
            };
            relocation.flags() == kind
                && relocation.target() == object::RelocationTarget::Symbol(symbol.index())
        })?;
        Some((at.wrapping_add(self.bias), symbol.address()))
    }
}

fn python(pid: i32, module: &Loaded<'_>) -> Option<Detected> {
    let runtime = module.variable("_PyRuntime")?;
    let memory = ProcessMemory(pid);
    // Since 3.11 there is a variable that says which version this is.
    let Some(at) = module.variable("Py_Version") else {
        return Some(Detected::Unknown("CPython before 3.11".to_owned()));
    };
    let version = memory.bytes(at).map(u32::from_le_bytes)?;
    const FINAL: u32 = 0xf;
    let (major, minor, micro) = (version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
    let is_final = version >> 4 & 0xf == FINAL;
    let name = format!(
        "CPython {major}.{minor}.{micro}{}",
        if is_final { "" } else { " (a pre-release)" }
    );
    match (major, minor, is_final, module.variable("PyCode_Type")) {
        (3, 11, true, Some(code)) => {
            let python = Box::new(Python::new(runtime, code));
            Some(Detected::Known(Runtime::Python(python), name))
        }
        _ => Some(Detected::Unknown(name)),
    }
}

fn ruby(pid: i32, module: &Loaded<'_>) -> Option<Detected> {
    let at = module.variable("ruby_version")?;
    let vm = module.variable("ruby_current_vm_ptr")?;
    let text = ProcessMemory(pid).some(at, 16);
    let text = text.split(|&b| b == 0).next().unwrap_or_default();
    let version = String::from_utf8_lossy(text).into_owned();
    let name = format!("CRuby {version}");
    match module.thread_variable("ruby_current_ec") {
        Some((number, offset)) if version.starts_with("3.1.") => {
            let ruby = Box::new(Ruby::new((number, offset), vm));
            Some(Detected::Known(Runtime::Ruby(ruby), name))
        }
        _ => Some(Detected::Unknown(name)),
    }
}
