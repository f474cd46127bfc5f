//! Single-stepping: a program run natively and stopped after every instruction by the trap flag. It
//! has the same processor, kernel and auxiliary vector as under genba's own engine, so nothing may
//! differ.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use genba_symbols::Mapping;
use object::{Object, ObjectSegment};

/// Executions by module and address.
pub type Executions = BTreeMap<(String, u64), u64>;

/// Single-steps a program; its executions, and its status as a shell gives it. `None` if it takes
/// more than `most` instructions.
///
/// # Errors
/// The reason, where it cannot be started or traced.
pub fn step(
    argv: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
    output: &Path,
    most: u64,
) -> Result<Option<(Executions, i32)>, String> {
    let said = |error: std::io::Error| format!("{}: {error}", argv[0].to_string_lossy());
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).env_clear().envs(environment);
    command.current_dir(directory);
    command.stdin(File::open(directory.join("text")).map_err(said)?);
    let output = File::create(output).map_err(said)?;
    command
        .stderr(output.try_clone().map_err(said)?)
        .stdout(output);
    // SAFETY: one system call, in the child.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    // The child stops when it has executed the program; this thread waits for that, not std.
    let child = command.spawn().map_err(said)?;
    let pid = child.id() as libc::pid_t;
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let mut pages: HashMap<u64, Option<Mapping>> = HashMap::new();
    let (mut before, mut total) = (0, 0);
    let mut status = wait(pid)?;
    while libc::WIFSTOPPED(status) {
        if libc::WSTOPSIG(status) != libc::SIGTRAP {
            // The interrupted instruction would be counted twice.
            kill(pid)?;
            return Err(format!("{}: it gets a signal", argv[0].to_string_lossy()));
        }
        let at = std::mem::offset_of!(libc::user_regs_struct, rip) as u64;
        let pc = peek(libc::PTRACE_PEEKUSER, pid, at);
        // The trap comes after every repetition of a string instruction, which counts once.
        if pc != before || !repeats(peek(libc::PTRACE_PEEKTEXT, pid, pc)) {
            *counts.entry(pc).or_default() += 1;
            total += 1;
        }
        before = pc;
        pages.entry(pc & !4095).or_insert_with(|| mapping(pid, pc));
        if total > most {
            kill(pid)?;
            return Ok(None);
        }
        // SAFETY: our own child, which is stopped.
        if unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) } != 0 {
            return Err(said(std::io::Error::last_os_error()));
        }
        status = wait(pid)?;
    }
    let status = std::process::ExitStatus::from_raw(status);
    let status = (status.code()).unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Some((placed(&counts, &pages), status)))
}

/// Differences that are allowed, with their reasons.
pub fn may_differ(module: &str, function: &str) -> bool {
    // The vDSO reads the clock again if the kernel updates it meanwhile.
    if module == "[vdso]" {
        return true;
    }
    // The order of libraries in memory: one may be mapped into a gap between the engine's mappings.
    let by_address = ["_dl_find_object", "_dlfo_"];
    module.contains("/ld-linux") && by_address.iter().any(|name| function.contains(name))
}

fn kill(pid: libc::pid_t) -> Result<(), String> {
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    while !ended(wait(pid)?) {}
    Ok(())
}

fn ended(status: i32) -> bool {
    libc::WIFEXITED(status) || libc::WIFSIGNALED(status)
}

fn wait(pid: libc::pid_t) -> Result<i32, String> {
    let mut status = 0;
    // SAFETY: our own child; writes the status.
    match unsafe { libc::waitpid(pid, &mut status, 0) } {
        -1 => Err(format!("waitpid: {}", std::io::Error::last_os_error())),
        _ => Ok(status),
    }
}

fn peek(what: libc::c_uint, pid: libc::pid_t, at: u64) -> u64 {
    // SAFETY: our own child, which is stopped; what cannot be read is −1.
    unsafe { libc::ptrace(what, pid, at, 0) as u64 }
}

/// Whether an instruction is a repeated string instruction.
fn repeats(bytes: u64) -> bool {
    let bytes = bytes.to_le_bytes();
    let prefix = |byte: &&u8| matches!(**byte, 0xF2 | 0xF3 | 0x66 | 0x67 | 0x40..=0x4F);
    let prefixes = bytes.iter().take_while(prefix).count();
    let repeated = bytes[..prefixes]
        .iter()
        .any(|byte| matches!(byte, 0xF2 | 0xF3));
    let code = bytes.get(prefixes).copied().unwrap_or(0);
    repeated && matches!(code, 0x6C..=0x6F | 0xA4..=0xA7 | 0xAA..=0xAF)
}

/// Returns the mapping at an address.
fn mapping(pid: libc::pid_t, pc: u64) -> Option<Mapping> {
    let mappings = genba_symbols::mappings_of_process(pid).ok()?;
    mappings.into_iter().find(|mapping| mapping.contains(pc))
}

/// Converts addresses to those of modules.
fn placed(counts: &HashMap<u64, u64>, pages: &HashMap<u64, Option<Mapping>>) -> Executions {
    let paths: HashSet<&str> = (pages.values().flatten())
        .map(|mapping| mapping.path.as_str())
        .collect();
    let segments: HashMap<&str, Vec<(u64, u64, u64)>> = (paths.into_iter())
        .map(|path| (path, segments(path)))
        .collect();
    let mut executions = Executions::new();
    for (&pc, &count) in counts {
        let place = pages.get(&(pc & !4095)).and_then(|mapping| {
            let mapping = mapping.as_ref()?;
            let offset = mapping.file_offset(pc);
            let (begin, _, address) = (segments.get(mapping.path.as_str())?.iter())
                .find(|(begin, size, _)| (*begin..begin + size).contains(&offset))?;
            Some((mapping.path.clone(), offset - begin + address))
        });
        let place = place.unwrap_or_else(|| ("[generated]".to_owned(), pc));
        *executions.entry(place).or_default() += count;
    }
    executions
}

/// Returns offset, size and address of each segment of a file.
fn segments(path: &str) -> Vec<(u64, u64, u64)> {
    if path == "[vdso]" {
        return vec![(0, u64::MAX, 0)];
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(file) = object::File::parse(bytes.as_slice()) else {
        return Vec::new();
    };
    let of = |segment: object::Segment<'_, '_>| {
        let (offset, size) = segment.file_range();
        (offset, size, segment.address())
    };
    file.segments().map(of).collect()
}

#[test]
fn repeated_string_instructions_are_recognised() {
    let word = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    assert!(repeats(word(&[0xF3, 0x48, 0xAB])));
    assert!(repeats(word(&[0xF2, 0xAE])));
    assert!(repeats(word(&[0x66, 0xF3, 0xA5])));
    // pause, ret with a prefix, and a string instruction that is not repeated.
    assert!(!repeats(word(&[0xF3, 0x90])));
    assert!(!repeats(word(&[0xF3, 0xC3])));
    assert!(!repeats(word(&[0x48, 0xAB])));
}
