//! Makes a process start identically under both engines: no address randomisation, equally aligned
//! stack, environment in the same order.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use genba_run::{CommandSpec, resolve_program};

/// Disables address randomisation for the processes that this thread starts.
///
/// # Errors
/// The reason, where it is forbidden (seccomp).
pub fn disable_address_randomisation() -> Result<(), String> {
    // SAFETY: it takes a number and changes only how this thread's children are laid out.
    let before = unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    if before == -1 {
        let error = std::io::Error::last_os_error();
        return Err(format!(
            "personality(ADDR_NO_RANDOMIZE) is refused, so addresses are randomised: {error}"
        ));
    }
    Ok(())
}

/// Required alignment of the strings on the stack and parity of the words above the stack pointer,
/// so that stack pointers are equal modulo 64 although the kernel's auxiliary vector has more
/// entries than qemu's.
#[derive(Clone, Copy)]
pub struct Stack {
    /// Whether argc, argv and envp with their terminators are an odd number of words.
    pub odd: bool,
    /// Whether the lowest address of the strings is in the upper half of 16 bytes.
    pub upper: bool,
}

/// Returns the requirement for an engine.
///
/// The kernel (fs/binfmt_elf.c, create_elf_tables) rounds the lowest address of the strings down to
/// 16 bytes, puts 7 bytes of platform and 16 random bytes below, then the auxiliary vector. qemu
/// 7.2 (linux-user/elfload.c) puts 8 bytes of platform, rounds, then 16 random bytes and 18
/// entries. Each rounds at the end. valgrind's stack pointer is then the kernel's modulo 64.
pub fn stack() -> Stack {
    let vector = std::fs::read("/proc/self/auxv").unwrap_or_default();
    let more = (vector.len() / 16) as i64 - 18;
    let further = |stack: Stack| 16 * (more + i64::from(stack.upper) - i64::from(stack.odd));
    let all = [(true, false), (false, true), (false, false), (true, true)];
    (all.into_iter())
        .map(|(odd, upper)| Stack { odd, upper })
        .find(|stack| further(*stack) % 64 == 0)
        .unwrap_or(Stack {
            odd: true,
            upper: false,
        })
}

/// Adds one or two environment variables so that the requirement is met.
pub fn pad(spec: &mut CommandSpec, preload: &Path, stack: Stack) {
    let words = |variables: usize| 1 + spec.argv.len() + 1 + variables + 1;
    // LD_PRELOAD is always present; valgrind sets it itself.
    let others = spec
        .environment
        .changes
        .keys()
        .filter(|name| *name != "LD_PRELOAD");
    let variables = others.count() + 1;
    let mut bytes: usize = (spec.argv.iter().chain(spec.argv.first()))
        .map(|text| text.len() + 1)
        .sum();
    for (name, value) in &spec.environment.changes {
        if name != "LD_PRELOAD" {
            bytes += name.len() + 1 + value.as_ref().map_or(0, |value| value.len()) + 1;
        }
    }
    bytes += "LD_PRELOAD=".len() + preload.as_os_str().len() + 1;
    let second = (words(variables + 1) % 2 == 1) != stack.odd;
    let (first_name, second_name) = ("ALIGNMENT", "ALIGNMENT_OF_WORDS");
    bytes += first_name.len() + 2;
    if second {
        bytes += second_name.len() + 2;
        spec.environment.set(second_name, "");
    }
    // Eight bytes at the top of the stack belong to the kernel, and to qemu.
    let lowest = |padding: usize| (0x10000 - 8 - bytes - padding) % 16;
    let wanted = if stack.upper { 12 } else { 4 };
    let padding = (0..16).find(|padding| lowest(*padding) == wanted);
    spec.environment
        .set(first_name, "x".repeat(padding.expect("one of sixteen")));
}

/// Wraps qemu in a program that makes it keep the order of the environment.
///
/// # Errors
/// The reason, where it cannot be compiled.
pub fn environment_in_order() -> Result<(), String> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    DONE.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Ok(qemu) = resolve_program(OsStr::new("qemu-x86_64"), Some(&path), None) else {
            // Reported where the engine is looked for.
            return Ok(());
        };
        let directory = stand_in(&qemu)?;
        let mut before = OsString::from(directory);
        before.push(":");
        before.push(&path);
        // SAFETY: once, and what runs beside it in this process reads the environment through
        // std alone, which locks it.
        unsafe { std::env::set_var("PATH", before) };
        Ok(())
    })
    .clone()
}

/// Compiles the wrapper; the directory that contains it.
fn stand_in(qemu: &Path) -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("qemu-in-order");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/qemu-in-order.c");
    let unfinished = directory.join(format!("{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let output = Command::new("cc")
        .arg(format!("-DQEMU={:?}", qemu.to_string_lossy()))
        .arg(source)
        .arg("-o")
        .arg(&unfinished)
        .output()
        .map_err(|error| format!("no cc, for qemu to keep the environment's order: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    // Another run of the tests may be executing it.
    std::fs::rename(&unfinished, directory.join("qemu-x86_64"))
        .map_err(|error| error.to_string())?;
    Ok(directory)
}
