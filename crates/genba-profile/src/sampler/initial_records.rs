//! What is there before recording begins: kernel code, threads, and maps of a process.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use genba_symbols::mappings_of_process;

use crate::perfdata::synthesize;

/// Threads of a process; empty if it is gone.
pub fn threads(pid: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

/// Records for a running process: the names of its threads and its code.
pub fn running(pid: i32) -> Vec<Vec<u8>> {
    let mut out: Vec<_> = threads(pid)
        .into_iter()
        .map(|tid| named(pid, tid))
        .collect();
    let mappings = mappings_of_process(pid).unwrap_or_default();
    out.extend(
        mappings
            .iter()
            .filter(|mapping| mapping.is_executable())
            .map(|mapping| synthesize::user_map(pid, pid, mapping, 0)),
    );
    out
}

/// The name that a thread has now.
pub fn named(pid: i32, tid: i32) -> Vec<u8> {
    let comm = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    synthesize::comm(pid, tid, comm.trim_end(), false, 0)
}

/// Records for the kernel and its modules, as far as their addresses may be known.
pub fn kernel_maps() -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    if let Some(start) = kernel_start() {
        // x86-64 keeps a gigabyte for the image; modules follow (Documentation/arch/x86/x86_64/mm.rst).
        const IMAGE_END: u64 = 0xffff_ffff_c000_0000;
        let end = if start < IMAGE_END {
            IMAGE_END
        } else {
            u64::MAX
        };
        out.push(synthesize::kernel_map(
            start,
            end - start,
            start,
            "[kernel.kallsyms]_text",
        ));
    }
    let modules = fs::read_to_string("/proc/modules").unwrap_or_default();
    out.extend(modules.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let (name, size) = (fields.next()?, fields.next()?.parse().ok()?);
        let address = fields.find(|f| f.starts_with("0x"))?;
        let start = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
        // Zero is what those see who may not know.
        (start != 0).then(|| synthesize::kernel_map(start, size, 0, &format!("[{name}]")))
    }));
    out
}

/// Address of the kernel's `_text`, which stands among the first of its symbols.
fn kernel_start() -> Option<u64> {
    const NEAR_THE_TOP: usize = 4096;
    let file = BufReader::new(File::open("/proc/kallsyms").ok()?);
    for line in file.lines().take(NEAR_THE_TOP) {
        let line = line.ok()?;
        let mut fields = line.split_whitespace();
        let (address, _, name) = (fields.next()?, fields.next()?, fields.next()?);
        if name == "_text" || name == "_stext" {
            let start = u64::from_str_radix(address, 16).ok()?;
            return (start != 0).then_some(start);
        }
    }
    None
}
