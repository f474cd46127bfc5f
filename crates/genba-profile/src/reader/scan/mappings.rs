//! Mapping records: modules, the kernel, and code that a process generated.

use std::path::Path;

use super::Scan;
use crate::perfdata::record::{self, misc};
use crate::reader::address_space::Mapping;
use crate::reader::generated_code::GeneratedMappings;
use crate::reader::sample_tables::{Module, ModuleId, ModuleKind};

impl Scan<'_> {
    pub(super) fn map(&mut self, mmap: record::MmapRecord, flags: u16) {
        if !mmap.executable {
            return;
        }
        let end = mmap.start.saturating_add(mmap.len);
        let in_kernel = mmap.pid == -1 || flags & misc::CPUMODE == misc::KERNEL;
        let kind = if !in_kernel {
            module_kind(&mmap.path)
        } else if mmap.path.starts_with("[kernel") || mmap.path.starts_with("[guest.kernel") {
            ModuleKind::Kernel
        } else {
            ModuleKind::KernelModule
        };
        if kind == ModuleKind::Kernel
            && let Some((_, symbol)) = mmap.path.rsplit_once(']')
            && !symbol.is_empty()
            && self.tables.kernel_reference.is_none()
        {
            // The offset of the kernel's mapping is the address of the symbol that its name ends with.
            self.tables.kernel_reference = Some((symbol.to_owned(), mmap.pgoff));
        }
        let id = match kind {
            ModuleKind::Kernel => self.kernel_id(),
            ModuleKind::Anonymous => self.anonymous_id(mmap.pid, &mmap.path),
            _ => self.module_id(&mmap, kind),
        };
        let to_offset = match kind {
            ModuleKind::File => mmap.pgoff.wrapping_sub(mmap.start),
            ModuleKind::Vdso => mmap.start.wrapping_neg(),
            _ => 0,
        };
        let map = Mapping {
            start: mmap.start,
            end,
            module: id,
            to_offset,
        };
        let space = if in_kernel {
            &mut self.kernel
        } else {
            &mut self.processes.entry(mmap.pid).or_default().space
        };
        self.maps += space.insert(map);
    }

    fn module_id(&mut self, mmap: &record::MmapRecord, kind: ModuleKind) -> ModuleId {
        let build_id = mmap
            .build_id
            .clone()
            .or_else(|| self.build_ids.get(&mmap.path).cloned());
        let key = (mmap.path.clone(), mmap.inode, build_id);
        if let Some(&id) = self.modules.get(&key) {
            return id;
        }
        let copy = self.artifacts.copy_of(&key.0).and_then(Path::to_str);
        let id = self.tables.add_module(Module {
            path: copy.map_or_else(|| key.0.clone(), str::to_owned),
            build_id: key.2.clone(),
            kind,
            pid: None,
        });
        self.modules.insert(key, id);
        id
    }

    /// Opens the generated code saved of this process; once per process.
    fn find_generated(&mut self, pid: i32) {
        let process = self.processes.entry(pid).or_default();
        if process.generated.is_some() {
            return;
        }
        let generated = self.artifacts.generated(pid).map(|generated| {
            let module = self.tables.add_module(Module {
                path: generated.path.clone(),
                build_id: None,
                kind: ModuleKind::File,
                pid: None,
            });
            GeneratedMappings::new(generated, module)
        });
        let first = generated.as_ref().and_then(GeneratedMappings::next_time);
        self.next_change = self.next_change.min(first.unwrap_or(u64::MAX));
        process.generated = Some(generated);
    }

    /// Maps the generated code of all processes as it was at this time.
    #[cold]
    pub(super) fn advance(&mut self, time: u64) {
        self.next_change = u64::MAX;
        for process in self.processes.values_mut() {
            if let Some(Some(generated)) = &mut process.generated {
                if generated.advance(time) {
                    process.space.changed();
                    self.generation += 1;
                }
                let next = generated.next_time().unwrap_or(u64::MAX);
                self.next_change = self.next_change.min(next);
            }
        }
    }

    pub(super) fn kernel_id(&mut self) -> ModuleId {
        let tables = &mut self.tables;
        let build_ids = &self.build_ids;
        *self.kernel_module.get_or_insert_with(|| {
            tables.add_module(Module {
                path: "[kernel]".to_owned(),
                build_id: build_ids.get("[kernel.kallsyms]").cloned(),
                kind: ModuleKind::Kernel,
                pid: None,
            })
        })
    }

    fn anonymous_id(&mut self, pid: i32, path: &str) -> ModuleId {
        self.find_generated(pid);
        let process = self.processes.entry(pid).or_default();
        let tables = &mut self.tables;
        *process.anonymous.get_or_insert_with(|| {
            let jit = Path::new(&genba_symbols::perf_map_path(pid)).exists();
            tables.add_module(Module {
                path: if path.is_empty() { "[anonymous]" } else { path }.to_owned(),
                build_id: None,
                kind: if jit {
                    ModuleKind::Jit
                } else {
                    ModuleKind::Anonymous
                },
                pid: Some(pid),
            })
        })
    }
}

fn module_kind(path: &str) -> ModuleKind {
    if path == "[vdso]" {
        return ModuleKind::Vdso;
    }
    let no_file = path.is_empty()
        || path.starts_with("//anon")
        || path.starts_with('[')
        || path.starts_with("/memfd:")
        || path.starts_with("anon_inode:")
        || path.starts_with("/anon_hugepage")
        || path.starts_with("/SYSV")
        || path.starts_with("/dev/zero");
    if no_file {
        ModuleKind::Anonymous
    } else {
        ModuleKind::File
    }
}
