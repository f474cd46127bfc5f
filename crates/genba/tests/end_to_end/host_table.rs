//! `genba host calibrate` and `genba host table`, from outside.
#![cfg(target_arch = "x86_64")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::scratch;
use serde_json::Value;

/// genba with a cache of its own.
fn genba(cache: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(args)
        .env("XDG_CACHE_HOME", cache)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .output()
        .expect("genba starts")
}

/// What it printed and what it said, if this machine can measure.
fn done(test: &str, cache: &Path, args: &[&str]) -> Option<(String, String)> {
    let output = genba(cache, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(4) {
        genba_testing::skip(test, genba_testing::MACHINE, &said);
        return None;
    }
    assert!(output.status.success(), "{args:?}: {said}");
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), said))
}

fn document(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).expect("one JSON document and nothing else");
    assert_eq!(value["schema"], "genba/1");
    assert_eq!(value["kind"], "host-table");
    value
}

fn kept(cache: &Path) -> PathBuf {
    let directory = cache.join("genba/host-tables");
    let files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("a directory of tables")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn table_is_measured_once_and_stored() {
    let scratch = scratch();
    let cache = scratch.path();
    let test = "table_is_measured_once_and_stored";
    let Some((first, said)) = done(test, cache, &["host", "table", "--json"]) else {
        return;
    };
    let first = document(&first);
    assert!(
        said.contains("no table of this host is stored yet"),
        "{said}"
    );
    let file = kept(cache);
    assert!(
        said.contains(file.to_str().expect("a plain path")),
        "{said}"
    );
    assert!(
        first["frequency_hz"]
            .as_f64()
            .is_some_and(|hertz| hertz > 5e8)
    );
    let entries = first["entries"].as_array().expect("entries");
    for form in [
        "add r64, r64",
        "div r64 [small]",
        "div r64 [large]",
        "load [L1]",
    ] {
        let entry = entries
            .iter()
            .find(|entry| entry["form"] == form)
            .expect(form);
        let latency = &entry["latency_cycles"];
        for part in ["value", "low", "high"] {
            assert!(latency[part].is_f64(), "{form}: {latency}");
        }
    }
    let add = entries
        .iter()
        .find(|entry| entry["form"] == "add r64, r64")
        .expect("an addition");
    assert!(add["reciprocal_throughput_cycles"]["value"].is_f64());

    // The same again, without measuring.
    let (second, said) = done(test, cache, &["host", "table", "--json"]).expect("as before");
    assert_eq!(document(&second), first);
    assert_eq!(said, "");

    let (text, _) = done(test, cache, &["host", "table"]).expect("as before");
    for part in [
        "GHz",
        "latency",
        "throughput",
        "div r64 [large]",
        "ns",
        "/s",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }

    // Calibrating measures always.
    let (again, said) = done(test, cache, &["host", "calibrate", "--json"]).expect("as before");
    assert!(said.contains("stored in"), "{said}");
    assert_ne!(document(&again), first);
    assert_eq!(kept(cache), file);
}

#[test]
fn damaged_tables_are_remeasured() {
    let scratch = scratch();
    let cache = scratch.path();
    let test = "damaged_tables_are_remeasured";
    if done(test, cache, &["host", "calibrate", "--budget", "300ms"]).is_none() {
        return;
    }
    let file = kept(cache);
    let whole = fs::read(&file).expect("a table");
    for damage in [&whole[..whole.len() / 2], b"\xff\xfe"] {
        fs::write(&file, damage).expect("written");
        let (text, said) = done(test, cache, &["host", "table", "--json"]).expect("as before");
        document(&text);
        assert!(
            said.contains("no table of this host is stored yet"),
            "{said}"
        );
    }
}

#[test]
fn table_that_cannot_be_stored_is_printed_with_a_note() {
    let scratch = scratch();
    let file = scratch.path().join("file");
    fs::write(&file, "in the way").expect("written");
    let test = "table_that_cannot_be_stored_is_printed_with_a_note";
    let Some((text, said)) = done(
        test,
        &file,
        &["host", "calibrate", "--budget", "300ms", "--json"],
    ) else {
        return;
    };
    document(&text);
    assert!(said.contains("cannot store the host table in"), "{said}");
    assert!(
        said.contains(file.to_str().expect("a plain path")),
        "{said}"
    );
}

#[test]
fn invalid_cpu_and_budget_are_errors() {
    let scratch = scratch();
    for (args, code, about) in [
        (
            &["host", "calibrate", "--cpu", "100000"][..],
            2,
            "CPU 100000",
        ),
        (&["host", "calibrate", "--cpu", "x"], 2, "--cpu"),
        (&["host", "calibrate", "--budget", "soon"], 2, "--budget"),
        (&["host", "table", "extra"], 2, "extra"),
    ] {
        let output = genba(scratch.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(about), "{args:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}
