//! A program that is run natively and counted by the engine in its own process.

use std::path::Path;

use genba_count::{CountRequest, Engine, native::Native};
use genba_model::RawCounts;
use genba_run::{CommandSpec, Output};

use super::{compile, count, functions, module};

/// A program that was run natively and counted, with its output.
pub struct Ran {
    pub counts: RawCounts,
    pub native: Vec<u8>,
    pub counted: Vec<u8>,
    pub status: i32,
}

/// The command of a program whose output goes to a file.
pub fn spec(program: &Path, output: &Path) -> CommandSpec {
    let mut spec = CommandSpec::direct([program]);
    spec.stdout = Output::File(output.to_owned());
    spec
}

/// Compiles a program, runs it natively and counted, and asserts that output and exit status are the
/// same; the directory holds `program`. Skips the test where the engine cannot count it.
pub fn run(
    test: &str,
    source: &str,
    flags: &[&str],
    children: bool,
) -> Option<(Ran, tempfile::TempDir)> {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path(), test, source, flags)?;
    let output = directory.path().join("output");
    let mut launcher = genba_run::Launcher::new().expect("a launcher");
    let cancel = genba_run::Cancel::new().expect("a token");
    let native = launcher
        .run(&spec(&program, &output), &cancel)
        .expect("it runs");
    let native_output = std::fs::read(&output).expect("its output");
    let request = CountRequest {
        spec: spec(&program, &output),
        transfers: genba_count::Transfers::None,
        children,
        observe: None,
        native_exit: None,
    };
    if let Err(error) = Native.check(&request) {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error.to_string());
        return None;
    }
    let counts = count(&Native, &request).expect("counts");
    let ran = Ran {
        counts,
        native: native_output,
        counted: std::fs::read(&output).expect("its output"),
        status: match native.record.exit {
            genba_model::ExitKind::Code(code) => code,
            genba_model::ExitKind::Signal { signal, .. } => 128 + signal,
            _ => -1,
        },
    };
    assert_eq!(ran.native, ran.counted, "{test}: the output differs");
    assert_eq!(
        ran.status, ran.counts.exit,
        "{test}: the exit status differs"
    );
    Some((ran, directory))
}

/// Counts of a function's instructions, in order.
pub fn of(ran: &Ran, program: &Path, function: &str) -> Vec<u64> {
    let module = module(&ran.counts.processes[0], program);
    let (start, size) = functions(program)[function];
    let inside = |address: &u64| (start..start + size).contains(address);
    (module.instructions.iter())
        .filter(|one| inside(&one.address))
        .map(|one| one.count)
        .collect()
}
