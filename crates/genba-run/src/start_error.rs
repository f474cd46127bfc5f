//! Maps the failed stage and errno of a start to an error that says what to do.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::protocol::stage;
use crate::{CommandSpec, RunError};

/// The error of a child that did not become the target. `program` is the path given to `execve`,
/// `bytes` the size of arguments and environment.
pub fn failure(
    spec: &CommandSpec,
    program: &Path,
    bytes: usize,
    step: u64,
    errno: u64,
) -> RunError {
    let source = io::Error::from_raw_os_error(errno as i32);
    let start = |step| RunError::Start {
        program: spec.program(),
        step,
        source: io::Error::from_raw_os_error(errno as i32),
    };
    match step {
        stage::CLONE => start("cannot create a process"),
        stage::GROUP => start("cannot set its process group"),
        stage::STREAM => start("cannot set its streams"),
        stage::EXTRA => RunError::Descriptor {
            number: spec.pass_fd.as_ref().map_or(-1, |pass| pass.number),
            why: source.to_string(),
        },
        stage::AFFINITY => RunError::Affinity {
            cpus: spec.cpus.clone().unwrap_or_default(),
            source,
        },
        stage::DIRECTORY => RunError::Directory {
            path: spec.directory.clone().unwrap_or_default(),
            source,
        },
        stage::EXEC => exec(spec, program, bytes, errno as i32),
        stage::MEMORY => start("no memory for the request"),
        stage::KILLED => RunError::KilledBeforeStart {
            program: spec.program(),
        },
        _ => RunError::Protocol,
    }
}

fn exec(spec: &CommandSpec, program: &Path, bytes: usize, errno: i32) -> RunError {
    let path = program.to_owned();
    let place = match &spec.directory {
        Some(directory) => directory.join(program),
        None => path.clone(),
    };
    match errno {
        libc::ENOENT if place.exists() => missing_interpreter(path, &place),
        libc::ENOENT => RunError::NoSuchFile { path },
        libc::EACCES if place.is_dir() => RunError::IsDirectory { path },
        libc::EACCES | libc::EPERM => match script_interpreter(&place) {
            Some(interpreter)
                if rustix::fs::access(&place, rustix::fs::Access::EXEC_OK).is_ok() =>
            {
                RunError::BadInterpreter { path, interpreter }
            }
            _ => RunError::NotExecutable { path },
        },
        libc::ENOEXEC => RunError::BadFormat { path },
        libc::ELIBBAD | libc::ENOTDIR | libc::ELOOP => missing_interpreter(path, &place),
        libc::E2BIG => RunError::TooLong {
            program: spec.program(),
            bytes,
        },
        _ => RunError::Start {
            program: spec.program(),
            step: "cannot execute it",
            source: io::Error::from_raw_os_error(errno),
        },
    }
}

fn missing_interpreter(path: PathBuf, place: &Path) -> RunError {
    let interpreter =
        script_interpreter(place).unwrap_or_else(|| "(the dynamic loader)".to_owned());
    RunError::BadInterpreter { path, interpreter }
}

/// The interpreter that the first line of a script names.
fn script_interpreter(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    let file = std::fs::File::open(file).ok()?;
    file.take(256).read_to_end(&mut start).ok()?;
    interpreter_of(&start)
}

fn interpreter_of(start: &[u8]) -> Option<String> {
    let line = start
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let word = line
        .split(|&byte| matches!(byte, b' ' | b'\t'))
        .find(|word| !word.is_empty())?;
    // A carriage return at the end is the classic cause; `{:?}` makes it visible.
    Some(format!("{:?}", String::from_utf8_lossy(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_of_scripts() {
        assert_eq!(
            interpreter_of(b"#! /bin/sh -e\nx").as_deref(),
            Some("\"/bin/sh\"")
        );
        assert_eq!(
            interpreter_of(b"#!/bin/sh\r\nx").as_deref(),
            Some("\"/bin/sh\\r\"")
        );
        assert_eq!(interpreter_of(b"\x7fELF"), None);
        assert_eq!(interpreter_of(b"#!"), None);
    }
}
