//! What the end-to-end tests share: running genba, compiling test programs, recorded skips.
#![allow(dead_code)]

pub mod browser;
pub mod case_server;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A temporary directory, removed at the end of the test.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// genba, run in `directory`.
pub fn genba(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(args)
        .current_dir(directory)
        .env_remove("GENBA_HOME")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .expect("genba starts")
}

/// Runs genba; returns its exit code, standard output and standard error.
pub fn run_genba(directory: &Path, args: &[&str]) -> (i32, String, String) {
    let output = genba(directory, args);
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Sends SIGINT, as Ctrl-C does. By system call: minimal Debian has no program `kill`.
pub fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it was started");
}

/// Runs genba and returns its standard output; a run that fails fails the test with its error
/// output.
pub fn stdout_of(directory: &Path, args: &[&str]) -> String {
    let output = genba(directory, args);
    assert!(
        output.status.success(),
        "genba {args:?}: {:?}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs genba and returns its JSON document, with `schema` and `kind` checked.
pub fn json(directory: &Path, kind: &str, args: &[&str]) -> Value {
    let text = stdout_of(directory, args);
    let value: Value = serde_json::from_str(&text).expect("one JSON document and nothing else");
    assert_eq!(value["schema"], "genba/1");
    assert_eq!(value["kind"], kind);
    value
}

/// A program of `testdata/`, compiled with `flags`; `None` and a recorded skip without a
/// compiler.
pub fn program(test: &str, directory: &Path, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(source);
    let stem = path.file_stem().expect("a name").to_owned();
    let out = directory.join(stem);
    let compiler = match path.extension().and_then(|ending| ending.to_str()) {
        Some("cc") => "g++",
        Some("rs") => "rustc",
        _ => "gcc",
    };
    let result = Command::new(compiler)
        .args(flags)
        .arg(&path)
        .arg("-o")
        .arg(&out)
        .output();
    match result {
        Err(error) => {
            genba_testing::skip(test, compiler, &format!("{compiler}: {error}"));
            None
        }
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            Some(out)
        }
    }
}

/// Whether a tool is installed; records a skip if it is not.
pub fn tool_exists(test: &str, tool: &str) -> bool {
    genba_testing::has(test, tool)
}

/// Records a command and returns standard error; `None` and a recorded skip where this machine
/// cannot sample with these options.
pub fn record(test: &str, directory: &Path, options: &[&str], command: &[&str]) -> Option<String> {
    let mut args = vec!["record", "--output", "null", "-o", "recording"];
    args.extend(options);
    args.push("--");
    args.extend(command);
    let output = genba(directory, &args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(4) {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &said);
        return None;
    }
    assert!(output.status.success(), "{args:?}: {said}");
    Some(said)
}

/// A shell line that iterates this many times.
pub fn busy_loop(count: u32) -> String {
    format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done")
}

/// Options that make the metric `work`, which [`reported_work`] writes, the primary one.
pub const METRIC_WORK: [&str; 4] = ["--metric-fd", "work:units", "--metric", "work"];

/// A shell line that reports the metric `work`: the value of a shell arithmetic expression, times
/// 10 000, with a scatter of ±2 % that depends on the number of runs before it and on nothing
/// else. Verdicts about it are the same on every machine, however busy.
pub fn reported_work(units: &str) -> String {
    format!(
        "echo >>runs; n=$(wc -l <runs); \
         echo work $(( ({units}) * (9800 + (n * n * 31 + n * 17) % 401) )) >&$GENBA_METRICS_FD"
    )
}

/// The comparison of a variant in a metric.
pub fn comparison<'a>(document: &'a Value, variant: &str, metric: &str) -> &'a Value {
    let all = document["comparisons"].as_array().expect("comparisons");
    all.iter()
        .find(|one| one["variant"] == variant && one["metric"] == metric)
        .unwrap_or_else(|| panic!("no comparison of {variant} in {metric}: {all:?}"))
}

/// A document's notes as text.
pub fn notes(document: &Value) -> String {
    document["notes"].to_string()
}
