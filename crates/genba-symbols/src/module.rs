//! Modules: files and memory that hold code, as recordings and counts name them.

use std::path::Path;

/// Index of a [`Module`] in the list of modules of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u32);

/// Kind of a module; it decides what offsets count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuleKind {
    /// An executable or library; offsets are file offsets.
    File,
    /// The kernel's own image; offsets are absolute addresses.
    Kernel,
    /// A loadable kernel module; offsets are absolute addresses.
    KernelModule,
    /// The vDSO, which the kernel maps into every process; offsets are from its start.
    Vdso,
    /// Memory without a file; offsets are absolute addresses in the process `pid`.
    Anonymous,
    /// Anonymous memory of a process that left `/tmp/perf-PID.map`; absolute addresses.
    Jit,
    /// No mapping is known there; absolute addresses in the process `pid`.
    Unknown,
}

/// Something that holds code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// Path as the kernel gave it (` (deleted)` kept), or a name in brackets.
    pub path: String,
    /// GNU build id, if the recording has it.
    pub build_id: Option<Vec<u8>>,
    /// Kind of the module.
    pub kind: ModuleKind,
    /// The process, for memory that belongs to one.
    pub pid: Option<i32>,
}

impl Module {
    /// The module's name in output: a path, `[kernel]`, `[vdso]`, …
    #[must_use]
    pub fn display_name(&self) -> &str {
        match self.kind {
            ModuleKind::Kernel => "[kernel]",
            ModuleKind::Vdso => "[vdso]",
            ModuleKind::Jit => "[jit]",
            ModuleKind::Anonymous => "[anonymous]",
            ModuleKind::Unknown => "[unknown]",
            ModuleKind::File | ModuleKind::KernelModule => &self.path,
        }
    }

    /// Whether its code runs in the kernel.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        matches!(self.kind, ModuleKind::Kernel | ModuleKind::KernelModule)
    }

    /// Path of its file without the kernel's ` (deleted)`, and whether that was there.
    #[must_use]
    pub fn file_path(&self) -> (&Path, bool) {
        match self.path.strip_suffix(" (deleted)") {
            Some(path) => (Path::new(path), true),
            None => (Path::new(&self.path), false),
        }
    }
}
