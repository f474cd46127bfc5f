//! Detection of the interpreter that a process runs, its version, and where its variables are.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use genba_symbols::{Mapping, mappings_of_process};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use super::python_frames::Python;
use super::python_layout::Layout;
use super::ruby_frames::{ContextPlace, Ruby, ThreadModule, Variable, Variables};
use super::ruby_layout::RubyLayout;
use super::thread_memory::{Memory, ProcessMemory};

/// A runtime that was found.
pub enum Runtime {
    /// CPython.
    Python(Box<Python>),
    /// CRuby.
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
            self::python(pid, &module, &map.path)
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

    /// Addresses and bytes of all variables of the file in the process.
    fn variables(&self) -> Vec<(u64, u64)> {
        let endian = self.file.endian();
        let segments = self.file.elf_program_headers().iter().filter(|p| {
            p.p_type(endian) == object::elf::PT_LOAD
                && p.p_flags(endian).0 & object::elf::PF_W.0 != 0
        });
        segments
            .map(|p| (p.p_vaddr(endian).wrapping_add(self.bias), p.p_memsz(endian)))
            .collect()
    }

    /// Whose thread-local variables these are; `None` if it has none.
    fn thread_module(&self) -> Option<ThreadModule> {
        let endian = self.file.endian();
        let mut headers = self.file.elf_program_headers().iter();
        if headers.any(|p| p.p_type(endian) == object::elf::PT_INTERP) {
            return Some(ThreadModule::Program);
        }
        let kind = object::RelocationFlags::Elf {
            r_type: object::elf::R_X86_64_DTPMOD64,
        };
        let symbols: Vec<_> = self.file.dynamic_symbols().collect();
        let is_own = |target| match target {
            object::RelocationTarget::Symbol(index) => {
                let symbol = symbols.iter().find(|symbol| symbol.index() == index);
                symbol.is_none_or(ObjectSymbol::is_definition)
            }
            _ => true,
        };
        let mut relocations = self.file.dynamic_relocations()?;
        let (at, _) = relocations.find(|(_, one)| one.flags() == kind && is_own(one.target()))?;
        Some(ThreadModule::NumberAt(at.wrapping_add(self.bias)))
    }

    /// Offset of a thread-local variable; of every word where the symbol was stripped.
    fn thread_offsets(&self, name: &str) -> Vec<u64> {
        const WORD: u64 = 8;
        const MAX_WORDS: u64 = 64;
        let mut symbols = self.file.dynamic_symbols().chain(self.file.symbols());
        if let Some(symbol) = symbols.find(|s| s.is_definition() && s.name() == Ok(name)) {
            return vec![symbol.address()];
        }
        let endian = self.file.endian();
        let mut headers = self.file.elf_program_headers().iter();
        let variables = headers.find(|p| p.p_type(endian) == object::elf::PT_TLS);
        let size = variables.map_or(0, |p| p.p_memsz(endian));
        (0..(size / WORD).min(MAX_WORDS))
            .map(|n| n * WORD)
            .collect()
    }
}

fn python(pid: i32, module: &Loaded<'_>, path: &str) -> Option<Detected> {
    let runtime = module.variable("_PyRuntime")?;
    let code_type = module.variable("PyCode_Type");
    let memory = ProcessMemory(pid);
    // Since 3.11 there is a variable that says which version this is.
    let Some(at) = module.variable("Py_Version") else {
        let name = match version_in_name(path) {
            Some(minor) => format!("CPython 3.{minor}"),
            None => "CPython before 3.11 (the name of its file does not say which)".to_owned(),
        };
        let layout = version_in_name(path).and_then(Layout::of);
        return Some(detected(layout, runtime, code_type, name));
    };
    let version = memory.bytes(at).map(u32::from_le_bytes)?;
    const FINAL: u32 = 0xf;
    let (major, minor, micro) = (version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
    let is_final = version >> 4 & 0xf == FINAL;
    let is_free_threaded = (major, minor) >= (3, 13) && is_free_threaded(&memory, runtime);
    let name = format!(
        "CPython {major}.{minor}.{micro}{}{}",
        if is_final { "" } else { " (a pre-release)" },
        if is_free_threaded {
            " (without the GIL)"
        } else {
            ""
        }
    );
    let readable = major == 3 && is_final && !is_free_threaded;
    let layout = readable.then(|| Layout::of(minor)).flatten();
    Some(detected(layout, runtime, code_type, name))
}

fn detected(
    layout: Option<&'static Layout>,
    runtime: u64,
    code_type: Option<u64>,
    name: String,
) -> Detected {
    match layout.zip(code_type) {
        Some((layout, code_type)) => {
            let python = Box::new(Python::new(layout, runtime, code_type));
            Detected::Known(Runtime::Python(python), name)
        }
        None => Detected::Unknown(name),
    }
}

/// The minor version in the name of an interpreter's file: `python3.9`, `libpython3.8.so.1.0`.
fn version_in_name(path: &str) -> Option<u32> {
    let name = path.rsplit('/').next()?;
    let rest = name.strip_prefix("lib").unwrap_or(name);
    let digits = rest.strip_prefix("python3.")?;
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let end = end.unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// Whether 3.13 or later was built without the GIL: `_PyRuntime.debug_offsets.free_threaded`. Its objects have other heads.
fn is_free_threaded(memory: &ProcessMemory, runtime: u64) -> bool {
    const FREE_THREADED: u64 = 16;
    memory.word(runtime.wrapping_add(FREE_THREADED)) == Some(1)
}

fn ruby(pid: i32, module: &Loaded<'_>) -> Option<Detected> {
    let at = module.variable("ruby_version")?;
    let text = ProcessMemory(pid).some(at, 16);
    let text = text.split(|&b| b == 0).next().unwrap_or_default();
    let version = String::from_utf8_lossy(text).into_owned();
    let name = format!("CRuby {version}");
    let layout = RubyLayout::of(&version);
    let context = layout.and_then(|layout| match layout.context_per_thread {
        true => Some(ContextPlace::PerThread {
            module: module.thread_module()?,
            offsets: module.thread_offsets("ruby_current_ec"),
        }),
        false => {
            let variable = module.variable("ruby_current_execution_context_ptr")?;
            Some(ContextPlace::OfLockHolder(variable))
        }
    });
    Some(match layout.zip(context) {
        Some((layout, context)) => {
            let variable = |name| Variable::of_symbol(module.variable(name));
            let variables = Variables {
                vm: variable("ruby_current_vm_ptr"),
                identifiers: variable("ruby_global_symbols"),
                all: module.variables(),
            };
            let ruby = Box::new(Ruby::new(layout, context, variables));
            Detected::Known(Runtime::Ruby(ruby), name)
        }
        None => Detected::Unknown(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_the_name_of_the_file() {
        assert_eq!(version_in_name("/usr/bin/python3.9"), Some(9));
        assert_eq!(version_in_name("/opt/lib/libpython3.10.so.1.0"), Some(10));
        assert_eq!(version_in_name("/opt/lib/libpython3.8m.so"), Some(8));
        assert_eq!(version_in_name("/usr/bin/python3"), None);
        assert_eq!(version_in_name("/usr/lib/libpython3.so"), None);
    }
}
