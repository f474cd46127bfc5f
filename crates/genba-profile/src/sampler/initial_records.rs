//! Records of what exists before recording starts: kernel code, threads, mappings of a process.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use genba_symbols::mappings_of_process;

use crate::perfdata::synthesize;

/// The thread ids of a process; empty if it has ended.
pub fn threads(pid: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

/// Records of a running process: the names of its threads and its executable mappings.
pub fn running_process(pid: i32) -> Vec<Vec<u8>> {
    let mut out: Vec<_> = threads(pid)
        .into_iter()
        .map(|tid| thread_name(pid, tid))
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

/// The record of a thread's present name.
pub fn thread_name(pid: i32, tid: i32) -> Vec<u8> {
    let comm = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    synthesize::comm(pid, tid, comm.trim_end(), false, 0)
}

/// Records of the kernel and its modules, as far as this user may know their addresses.
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
        // The kernel shows address zero to users who may not know it.
        (start != 0).then(|| synthesize::kernel_map(start, size, 0, &format!("[{name}]")))
    }));
    out
}

/// The address of the kernel's `_text`, which is among the first symbols of kallsyms.
fn kernel_start() -> Option<u64> {
    const MAX_LINES: usize = 4096;
    let file = BufReader::new(File::open("/proc/kallsyms").ok()?);
    for line in file.lines().take(MAX_LINES) {
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
