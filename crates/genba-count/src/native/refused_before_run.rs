//! What is refused before a run: machines and programs that the engine in the target's process
//! cannot count.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use genba_run::{CommandSpec, RunError, resolve_program};

/// Maximum depth of scripts that are interpreters of scripts, as in the kernel.
const MAX_INTERPRETERS: usize = 5;
/// Bytes of the first line that the kernel reads.
const FIRST_LINE_BYTES: u64 = 256;
/// Bit of `AT_HWCAP2` that says that programs may set the base of %gs (`asm/hwcap2.h`).
const FSGSBASE: u64 = 2;

/// Checks that this machine has what the engine needs; otherwise the reason.
pub fn machine() -> Result<(), String> {
    // SAFETY: reads the auxiliary vector.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    if capabilities & FSGSBASE == 0 {
        return Err("this machine has no FSGSBASE (a processor since 2012 and Linux 5.9)".into());
    }
    if !std::arch::is_x86_feature_detected!("bmi2") {
        return Err("this machine has no BMI2 (a processor since 2013)".into());
    }
    Ok(())
}

/// Checks that the program, or the interpreter of the script, can be counted; otherwise the reason.
pub fn program(spec: &CommandSpec) -> Result<Result<(), String>, RunError> {
    let name = spec.argv.first().ok_or(RunError::EmptyCommand)?;
    let path = spec.environment.get(OsStr::new("PATH"));
    let directory = spec.directory.as_deref();
    let mut program = resolve_program(name, path.as_deref(), directory)?;
    for _ in 0..MAX_INTERPRETERS {
        let file = directory.map_or_else(|| program.clone(), |at| at.join(&program));
        match check_file(&file) {
            Ok(None) => return Ok(Ok(())),
            Ok(Some(interpreter)) => program = interpreter,
            Err(reason) => return Ok(Err(format!("{}: {reason}", file.display()))),
        }
    }
    // The kernel refuses such a script itself.
    Ok(Ok(()))
}

/// Checks that a program that a process is about to execute can be counted; otherwise the reason.
/// `path` is as the process sees it. `None` if the file does not exist, so that nothing will be
/// executed.
pub fn program_in(pid: i32, path: &Path) -> Option<Result<(), String>> {
    let own = format!("/proc/{pid}/");
    let mut path = if let Ok(rest) = path.strip_prefix("/proc/self") {
        Path::new(&own).join(rest)
    } else if let Ok(rest) = path.strip_prefix("/") {
        Path::new(&own).join("root").join(rest)
    } else {
        Path::new(&own).join("cwd").join(path)
    };
    for _ in 0..MAX_INTERPRETERS {
        if !path.exists() {
            return None;
        }
        match check_file(&path) {
            Ok(None) => return Some(Ok(())),
            Ok(Some(interpreter)) => {
                let rest = interpreter.strip_prefix("/").unwrap_or(&interpreter);
                path = Path::new(&own).join("root").join(rest);
            }
            Err(reason) => return Some(Err(reason)),
        }
    }
    Some(Err("its interpreters are scripts themselves".into()))
}

/// Checks a file: `None` for a program that can be counted, the interpreter for a script, otherwise
/// the reason.
fn check_file(path: &Path) -> Result<Option<PathBuf>, String> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let data = file.metadata().map_err(|error| error.to_string())?;
    (file.take(FIRST_LINE_BYTES).read_to_end(&mut head)).map_err(|error| error.to_string())?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.trim_ascii();
        let end = line.iter().position(u8::is_ascii_whitespace);
        let name = &line[..end.unwrap_or(line.len())];
        return Ok(Some(PathBuf::from(OsStr::from_bytes(name))));
    }
    check_elf_header(&head)?;
    if data.mode() & 0o6000 != 0 {
        return Err("it is set-uid or set-gid and would run without its privileges".into());
    }
    if has_capabilities(path) {
        return Err("it has file capabilities and would run without them".into());
    }
    Ok(None)
}

fn check_elf_header(head: &[u8]) -> Result<(), String> {
    if !head.starts_with(b"\x7fELF") {
        return Err("it is neither a program nor a script".into());
    }
    // 64 bits, little-endian; machine 62 is x86-64.
    if !head.starts_with(b"\x7fELF\x02\x01") || head.get(18..20) != Some(&[62, 0]) {
        return Err("it is not a 64-bit x86 program".into());
    }
    Ok(())
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let name = c"security.capability";
    // SAFETY: both strings end with zero; nothing is written, as the size is 0.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_bit_x86_programs_are_accepted() {
        let mut head = vec![0u8; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = 62;
        assert_eq!(check_elf_header(&head), Ok(()));
        head[18] = 183;
        assert!(check_elf_header(&head).is_err());
        head[18] = 62;
        head[4] = 1;
        assert!(check_elf_header(&head).is_err());
        assert!(check_elf_header(b"MZ").is_err());
        assert!(check_elf_header(b"").is_err());
    }
}
