//! What the end-to-end tests share: genba itself, test programs, skips that are seen.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A directory of the test's own.
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

/// genba's exit code and what it wrote to standard output and error.
pub fn told(directory: &Path, args: &[&str]) -> (i32, String, String) {
    let output = genba(directory, args);
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// genba's answer; the test fails with its error output if it failed.
pub fn answer(directory: &Path, args: &[&str]) -> String {
    let output = genba(directory, args);
    assert!(
        output.status.success(),
        "genba {args:?}: {:?}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// genba's answer as JSON, its envelope checked.
pub fn json(directory: &Path, kind: &str, args: &[&str]) -> Value {
    let text = answer(directory, args);
    let value: Value = serde_json::from_str(&text).expect("one JSON document and nothing else");
    assert_eq!(value["schema"], "genba/1");
    assert_eq!(value["kind"], kind);
    value
}

/// A program of `testdata/`, compiled with `flags`; `None`, with a without a compiler.
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

/// Whether a tool is there; skips if not.
pub fn has(test: &str, tool: &str) -> bool {
    let found = Command::new(tool)
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    if !found {
        genba_testing::skip(test, tool, &format!("{tool} is not installed"));
    }
    found
}

/// Records a command; `None`, with a where this machine cannot sample with these options.
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

/// A shell line that works so many rounds.
pub fn rounds(count: u32) -> String {
    format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done")
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
