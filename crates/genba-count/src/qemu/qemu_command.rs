//! qemu's command line, and the programs that interpret scripts.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use genba_run::{CommandSpec, RunError, resolve_program};

/// Maximum depth of scripts that are interpreters of scripts, as in the kernel.
const MAX_INTERPRETERS: usize = 5;
/// Bytes of the first line that the kernel reads.
const FIRST_LINE_BYTES: u64 = 256;

/// A program that qemu can load, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Path of the file.
    pub path: PathBuf,
    /// Its `argv[0]`.
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
}

/// What a file is, by its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A program for x86-64.
    Program,
    /// A script: its interpreter and, perhaps, an argument.
    Script(PathBuf, Option<OsString>),
    /// Neither.
    Other,
}

fn kind(head: &[u8]) -> Kind {
    // ELF, 64 bits, little-endian; machine 62 is x86-64.
    if head.starts_with(b"\x7fELF\x02\x01") && head.get(18..20) == Some(&[62, 0]) {
        return Kind::Program;
    }
    let Some(line) = head.strip_prefix(b"#!") else {
        return Kind::Other;
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let at = line.iter().position(blank).unwrap_or(line.len());
    let (interpreter, argument) = (&line[..at], line[at..].trim_ascii());
    if interpreter.is_empty() {
        return Kind::Other;
    }
    let argument = (!argument.is_empty()).then(|| OsString::from_vec(argument.to_vec()));
    Kind::Script(PathBuf::from(OsStr::from_bytes(interpreter)), argument)
}

/// Returns the program that the kernel would load; the inner error is the reason why there is none.
///
/// # Errors
/// If the command is empty or not found.
pub fn program(spec: &CommandSpec) -> Result<Result<Program, String>, RunError> {
    let name = spec.argv.first().ok_or(RunError::EmptyCommand)?;
    let path = spec.environment.get("PATH".as_ref());
    let directory = spec.directory.as_deref();
    let mut program = Program {
        path: resolve_program(name, path.as_deref(), directory)?,
        name: name.clone(),
        arguments: spec.argv[1..].to_vec(),
    };
    for _ in 0..MAX_INTERPRETERS {
        let file = match directory {
            Some(directory) => directory.join(&program.path),
            None => program.path.clone(),
        };
        let mut head = Vec::new();
        let read =
            File::open(&file).and_then(|file| file.take(FIRST_LINE_BYTES).read_to_end(&mut head));
        if let Err(error) = read {
            return Ok(Err(format!("cannot read {}: {error}", file.display())));
        }
        match kind(&head) {
            Kind::Program => return Ok(Ok(program)),
            Kind::Script(interpreter, argument) => {
                let script = std::mem::replace(&mut program.path, interpreter);
                program.name = program.path.clone().into_os_string();
                program.arguments.insert(0, script.into_os_string());
                if let Some(argument) = argument {
                    program.arguments.insert(0, argument);
                }
            }
            Kind::Other => {
                return Ok(Err(format!(
                    "{} is neither a 64-bit x86 program nor a script",
                    file.display()
                )));
            }
        }
    }
    Ok(Err(
        "too many interpreters are scripts themselves; name the program".to_owned(),
    ))
}

/// Returns the command under qemu with the plugin, which writes into `directory`.
#[must_use]
pub fn wrap(
    spec: &CommandSpec,
    qemu: &Path,
    program: Program,
    plugin: &Path,
    directory: &Path,
    transfers: bool,
    children: bool,
) -> CommandSpec {
    let mut wrapped = spec.clone();
    let mut argument = OsString::from("file=");
    argument.push(escape(plugin));
    argument.push(",dir=");
    argument.push(escape(directory));
    argument.push(format!(
        ",transfers={},children={}",
        u8::from(transfers),
        u8::from(children)
    ));
    let mut argv: Vec<OsString> = vec![
        qemu.into(),
        // No other root directory, and all features of the processor that qemu has.
        "-L".into(),
        "/".into(),
        "-cpu".into(),
        "max".into(),
        "-plugin".into(),
        argument,
        "-0".into(),
        program.name,
        program.path.into_os_string(),
    ];
    argv.extend(program.arguments);
    wrapped.argv = argv;
    // Each of these variables is an option of qemu's.
    for name in [
        "PLUGIN",
        "CPU",
        "LOG",
        "LOG_FILENAME",
        "STRACE",
        "SINGLESTEP",
        "GDB",
        "STACK_SIZE",
        "SET_ENV",
        "UNSET_ENV",
        "ARGV0",
        "UNAME",
        "GUEST_BASE",
        "RESERVED_VA",
        "RAND_SEED",
        "PAGESIZE",
        "LD_PREFIX",
    ] {
        wrapped.environment.remove(format!("QEMU_{name}"));
    }
    wrapped
}

/// Escapes commas, which separate options, by doubling them.
fn escape(path: &Path) -> OsString {
    let mut bytes = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        bytes.push(*byte);
        if *byte == b',' {
            bytes.push(b',');
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_programs_are_distinguished() {
        let script = |interpreter: &str, argument: Option<&str>| {
            Kind::Script(interpreter.into(), argument.map(Into::into))
        };
        assert_eq!(kind(b"#!/bin/sh\nexit"), script("/bin/sh", None));
        assert_eq!(
            kind(b"#! /usr/bin/env -S a b \n"),
            script("/usr/bin/env", Some("-S a b"))
        );
        assert_eq!(kind(b"#!\n"), Kind::Other);
        assert_eq!(kind(b""), Kind::Other);
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(18, 0);
        assert_eq!(kind(&[elf.as_slice(), &[62, 0]].concat()), Kind::Program);
        assert_eq!(kind(&[elf.as_slice(), &[183, 0]].concat()), Kind::Other);
    }

    #[test]
    fn argv_0_is_kept_and_commas_are_escaped() {
        let spec = CommandSpec::direct(["true", "-x"]);
        let program = program(&spec).expect("there is a true").expect("a program");
        assert!(program.path.is_absolute());
        let wrapped = wrap(
            &spec,
            Path::new("/usr/bin/qemu-x86_64"),
            program,
            Path::new("/tmp/a,b/p.so"),
            Path::new("/tmp/d"),
            true,
            false,
        );
        assert!(
            wrapped
                .argv
                .contains(&"file=/tmp/a,,b/p.so,dir=/tmp/d,transfers=1,children=0".into())
        );
        assert!(wrapped.argv.contains(&"true".into()));
        assert_eq!(wrapped.argv.last(), Some(&"-x".into()));
    }
}
