//! Names of places in a recording, for views that are made again and again: modules stay open.

use std::collections::HashMap;

use genba_code::{Binary, Kallsyms};
use genba_profile::perf_map::PerfMap;
use genba_profile::reader::{Location, Module, ModuleKind};

/// A function by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The function; an address in brackets where there is no symbol.
    pub function: String,
    /// Path of the module, or `[kernel]`, `[jit]`, `[anonymous]` …
    pub module: String,
    /// Whether it is of the kernel.
    pub kernel: bool,
}

/// Longest name, bytes.
const MAX_NAME: usize = 500;

/// What names places: open files, the kernel's symbols.
#[derive(Default)]
pub struct Names {
    files: HashMap<(String, Option<Vec<u8>>), Option<Binary>>,
    vdso: Option<Option<Binary>>,
    kernel: Option<Option<Kallsyms>>,
    maps: HashMap<i32, (u64, PerfMap)>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names")
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

impl Names {
    /// The name of a place; `before` looks at the byte before it (a return address).
    pub fn of(&mut self, module: &Module, location: Location, before: bool) -> Name {
        let offset = location.offset.saturating_sub(u64::from(before));
        // Each address of its own would be no function: all without a name are one.
        let name = |function: Option<String>, module: &str, kernel: bool| Name {
            function: function.unwrap_or_else(|| "[unknown]".to_owned()),
            module: module.to_owned(),
            kernel,
        };
        match module.kind {
            ModuleKind::File => name(self.in_file(module, offset), &module.path, false),
            ModuleKind::Vdso => {
                let vdso = self
                    .vdso
                    .get_or_insert_with(|| Binary::vdso().ok().flatten());
                let function = vdso.as_ref().and_then(|b| function_in(b, offset));
                name(function, "[vdso]", false)
            }
            ModuleKind::Kernel | ModuleKind::KernelModule => {
                let kernel = self.kernel.get_or_insert_with(|| Kallsyms::load().ok());
                let symbol = kernel.as_ref().and_then(|k| k.at(offset));
                name(symbol.map(|s| s.name.to_owned()), "[kernel]", true)
            }
            ModuleKind::Jit => {
                let map = module.pid.and_then(|pid| self.map(pid));
                let function = map.and_then(|m| m.find(offset)).map(|s| s.name.clone());
                name(function, "[jit]", false)
            }
            ModuleKind::Anonymous => name(None, "[anonymous]", false),
            ModuleKind::Unknown => name(None, "[unknown]", false),
        }
    }

    fn in_file(&mut self, module: &Module, offset: u64) -> Option<String> {
        let key = (module.path.clone(), module.build_id.clone());
        let file = self.files.entry(key).or_insert_with(|| open(module));
        let binary = file.as_ref()?;
        let address = binary.file_offset_to_svma(offset)?;
        function_in(binary, address)
    }

    /// The perf map of a process, read again when it has grown.
    fn map(&mut self, pid: i32) -> Option<&PerfMap> {
        let path = genba_profile::perf_map::path_for(pid);
        let size = std::fs::metadata(&path).map_or(0, |m| m.len());
        let known = self.maps.get(&pid).is_some_and(|(then, _)| *then == size);
        if !known {
            self.maps.insert(pid, (size, PerfMap::read(&path)?));
        }
        self.maps.get(&pid).map(|(_, map)| map)
    }
}

/// Opens a module's file, if it is the one that was recorded.
fn open(module: &Module) -> Option<Binary> {
    let path = module.path.strip_suffix(" (deleted)");
    let binary = Binary::open(path.unwrap_or(&module.path)).ok()?;
    match (&module.build_id, binary.build_id()) {
        // The kernel pads short build ids with zeros.
        (Some(then), Some(now)) if !genba_code::hex(then).starts_with(&now) => None,
        (None, _) if path.is_some() => None,
        _ => Some(binary),
    }
}

fn function_in(binary: &Binary, address: u64) -> Option<String> {
    if let Some(symbol) = binary.symbol_at(address) {
        let brief = genba_code::demangle_brief(&symbol.name);
        let name = genba_code::cut_name(brief.as_deref().unwrap_or(&symbol.name), MAX_NAME);
        return Some(name.into_owned());
    }
    let range = binary.function_range_at(address)?;
    Some(format!("[{:#x}]", range.start))
}
