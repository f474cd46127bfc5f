//! What the tests of all crates share: skips that are counted.
//!
//! **Scope.** A test that needs something this machine lacks (perf events, a compiler, an
//! interpreter) calls [`skip`] and returns. `cargo test` counts it as passed and hides what it
//! printed, so each skip is also appended to the file named by `GENBA_SKIP_LOG`, from which
//! `make test` prints every skipped test with its reason.
//!
//! **What may not be missing.** `GENBA_REQUIRED` lists needs (separated by blanks) that a machine
//! promises: there a skip for one of them fails the test. `.ci/run` sets it.
//!
//! **Not here.** Anything that product code uses.

mod postgres_server;

pub use postgres_server::PostgresServer;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Sampling this user's own processes with `perf_event_open`.
pub const PERF_EVENT: &str = "perf_event";
/// Hardware counters of the processor.
pub const COUNTERS: &str = "counters";
/// A property of the machine or kernel that no package installs.
pub const MACHINE: &str = "machine";
/// An engine that counts executions.
pub const COUNT_ENGINE: &str = "count_engine";

/// Reports that `test` does nothing here because `need` is missing: a program's name,
/// [`PERF_EVENT`], [`COUNTERS`], [`COUNT_ENGINE`] or [`MACHINE`].
///
/// # Panics
/// Where `GENBA_REQUIRED` lists `need`.
pub fn skip(test: &str, need: &str, reason: &str) {
    let required = std::env::var("GENBA_REQUIRED").unwrap_or_default();
    let reason = one_line(reason);
    assert!(
        !required.split_whitespace().any(|one| one == need),
        "{test}: {need} is required here (GENBA_REQUIRED), but: {reason}"
    );
    eprintln!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("GENBA_SKIP_LOG") {
        let line = format!("{test}\t{reason}\n");
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path);
        // One write, so that lines of tests running in parallel are not interleaved.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            panic!("{test}: cannot append to {}: {error}", path.display());
        }
    }
}

/// Whether a program of `PATH` starts (`PROGRAM --version`); skips `test` where it does not. The exit
/// code does not matter (callgrind_annotate's is 255), but for 127: a wrapper without its program.
#[must_use]
pub fn has(test: &str, program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.code() != Some(127));
    if !found {
        skip(test, program, &format!("{program} is not installed"));
    }
    found
}

/// Compiles a C program to `directory/program` with `cc OPTIONS program.c FLAGS`; the path of the
/// result. Skips `test` where there is no compiler.
///
/// # Panics
/// Where the source file cannot be written, or the program does not compile: then the test is
/// broken, and it is not the machine that lacks something.
#[must_use]
pub fn compile_c(
    test: &str,
    directory: &Path,
    source: &str,
    options: &[&str],
    flags: &[&str],
) -> Option<PathBuf> {
    let (input, output) = (directory.join("program.c"), directory.join("program"));
    std::fs::write(&input, source).expect("a source file");
    compile(test, "cc", &input, &output, options, flags).then_some(output)
}

/// Compiles a file by `COMPILER OPTIONS -o OUTPUT INPUT FLAGS`. False, and `test` skipped, where there is no such
/// compiler.
///
/// # Panics
/// Where the file does not compile, as [`compile_c`].
#[must_use]
pub fn compile(
    test: &str,
    compiler: &str,
    input: &Path,
    output: &Path,
    options: &[&str],
    flags: &[&str],
) -> bool {
    let result = Command::new(compiler)
        .args(options)
        .arg("-o")
        .arg(output)
        .arg(input)
        .args(flags)
        .output();
    match result {
        Ok(result) if result.status.success() => true,
        Ok(result) => panic!("{test}: {}", String::from_utf8_lossy(&result.stderr)),
        Err(error) => {
            let need = match compiler {
                "cc" => "gcc",
                other => other,
            };
            skip(test, need, &format!("cannot run {compiler}: {error}"));
            false
        }
    }
}

/// The first lines of a reason, joined: a log has one line for each skip.
fn one_line(reason: &str) -> String {
    let joined = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined,
    }
}

/// Longest reason that is printed, characters.
const MAX_REASON_CHARS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_line_of_bounded_length() {
        assert_eq!(
            one_line("cannot sample:\n  try\tthis\n"),
            "cannot sample: try this"
        );
        assert_eq!(
            one_line(&"ä".repeat(1000)).chars().count(),
            MAX_REASON_CHARS + 1
        );
    }
}
