//! `genba try` and `genba diff` on real programs, by the binary.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/try")
}

/// A copy of an example, in a directory whose temporary files are its own.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new(example: &str) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("tmp")).expect("made");
        let tree = root.path().join("tree");
        fs::create_dir(&tree).expect("made");
        for entry in fs::read_dir(examples().join(example))
            .expect("the example")
            .flatten()
        {
            fs::copy(entry.path(), tree.join(entry.file_name())).expect("copied");
        }
        Self { root }
    }

    fn tree(&self) -> PathBuf {
        self.root.path().join("tree")
    }

    fn genba(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_genba"))
            .current_dir(self.tree())
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("GENBA_DIR", self.root.path().join("cases"))
            .args(args)
            .output()
            .expect("genba runs")
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.genba(args);
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{args:?}: {errors}");
        serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
    }

    /// Every file of the tree but what genba keeps, with its content.
    fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.tree()).expect("the tree").flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        files
            .map(|entry| (entry.path(), fs::read(entry.path()).expect("read")))
            .collect()
    }

    fn assert_no_temporary_files(&self) {
        let left: Vec<_> = fs::read_dir(self.root.path().join("tmp"))
            .expect("there")
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn have(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = programs
        .iter()
        .find(|name| !std::env::split_paths(&path).any(|directory| directory.join(name).exists()));
    if let Some(missing) = missing {
        genba_testing::skip(test, missing, &format!("{missing} is not installed"));
    }
    missing.is_none()
}

fn tried<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["tried"].as_array().expect("a list");
    all.iter()
        .find(|one| one["name"] == name)
        .unwrap_or_else(|| panic!("{name} in {all:?}"))
}

/// Link-time optimisation inlines the small function of another translation unit: far fewer
/// instructions. The tree is unchanged and no temporary file is left.
#[test]
fn lto_is_kept_where_a_small_function_is_in_another_translation_unit() {
    let test = "lto_is_kept_where_a_small_function_is_in_another_translation_unit";
    if !have(test, &["g++", "make", "gcc-ar"]) {
        return;
    }
    let place = Place::new("two-units");
    let before = place.content();
    let document = place.json(&[
        "try",
        "--json",
        "--metric",
        "exact-instructions",
        "--with",
        "LTO",
        "--budget",
        "10min",
        "--layouts",
        "1",
        "--build",
        "make",
        "--clean",
        "make clean",
        "--",
        "./mix",
        "1000000",
    ]);
    assert_eq!(document["kind"], "trial");
    assert_eq!(before, place.content());
    place.assert_no_temporary_files();
    if document["notes"].to_string().contains("not counted") {
        let notes = document["notes"].to_string();
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &notes);
        return;
    }
    let lto = tried(&document, "LTO");
    assert!(lto["pairs"].as_u64() > Some(0), "{lto}");
    assert_eq!(lto["outcome"], "gain", "{lto}");
    assert_eq!(document["keep"]["variant"], "LTO");
    assert_eq!(document["variants"][0]["name"], "baseline");
    assert_eq!(document["comparisons"][0]["metric"], "exact-instructions");
}

/// Where the variants differ, samples of both show that LTO inlined the callee into `main`.
#[test]
fn the_differential_profile_shows_a_callee_inlined_by_lto() {
    let test = "the_differential_profile_shows_a_callee_inlined_by_lto";
    if !have(test, &["g++", "make", "gcc-ar"]) {
        return;
    }
    let place = Place::new("two-units");
    let document = place.json(&[
        "try",
        "--json",
        "--metric",
        "cpu",
        "--with",
        "LTO",
        "--budget",
        "25s",
        "--layouts",
        "0",
        "--build",
        "make",
        "--clean",
        "make clean",
        "--",
        "./mix",
        "20000000",
    ]);
    // No difference was shown on a busy machine, or nothing can be sampled here.
    let Some(diff) = document["differences"].get(0) else {
        genba_testing::skip(
            test,
            genba_testing::PERF_EVENT,
            &format!("nothing can be sampled here: {}", document["notes"]),
        );
        return;
    };
    let functions = diff["functions"].as_array().expect("a list");
    let Some(step) = functions.iter().find(|one| one["function"] == "step") else {
        genba_testing::skip(
            test,
            genba_testing::PERF_EVENT,
            &format!("too few samples: {}", diff["notes"]),
        );
        return;
    };
    assert_eq!(step["moved"][0]["into"], "main", "{step}");
    assert_eq!(step["moved"][0]["how"], "inlined", "{step}");
}

/// Variants that do not build, crash, time out or print different output are reported with the
/// reason; the others are measured.
#[test]
fn failing_variants_are_reported_with_the_reason_and_the_others_are_measured() {
    let test = "failing_variants_are_reported_with_the_reason_and_the_others_are_measured";
    if !have(test, &["gcc", "make", "patch"]) {
        return;
    }
    let place = Place::new("nothing-helps");
    let source = fs::read_to_string(place.tree().join("chain.c")).expect("read");
    let line = "    printf(\"%lu\\n\", value);";
    assert!(source.contains(line));
    let number = source.lines().position(|one| one == line).expect("there") + 1;
    let patch = |name: &str, new: &str| {
        let text = format!(
            "--- a/chain.c\n+++ b/chain.c\n@@ -{number} +{number} @@\n-{line}\n+    {new}\n"
        );
        fs::write(place.root.path().join(name), text).expect("written");
        place.root.path().join(name).display().to_string()
    };
    let broken = patch("broken.diff", "this is no C;");
    let crash = patch("crash.diff", "*(volatile char *)0 = 1;");
    let hang = patch("hang.diff", "unsigned sleep(unsigned); for (;;) sleep(9);");
    let other = patch("other.diff", "printf(\"%lu\\n\", value + 1);");
    let unfit = place.root.path().join("unfit.diff");
    fs::write(&unfit, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").expect("written");
    let unfit = unfit.display().to_string();
    let before = place.content();
    let document = place.json(&[
        "try",
        "--json",
        "--budget",
        "2min",
        "--layouts",
        "0",
        "--no-diff",
        "--timeout",
        "10s",
        "--build",
        "make",
        "--clean",
        "make clean",
        "--patch",
        &broken,
        "--patch",
        &crash,
        "--patch",
        &hang,
        "--patch",
        &other,
        "--patch",
        &unfit,
        "--flags",
        "fine=-O1",
        "--",
        "./chain",
        "1000000",
    ]);
    for (name, word) in [
        ("broken.diff", "error"),
        ("crash.diff", "signal"),
        ("hang.diff", "time"),
        ("other.diff", "prints something else"),
        ("unfit.diff", "cannot be applied"),
    ] {
        let one = tried(&document, name);
        assert_eq!(one["outcome"], "failed", "{one}");
        let reason = one["reason"].as_str().expect("a reason").to_lowercase();
        assert!(reason.contains(word), "{name}: {reason}");
    }
    let fine = tried(&document, "fine");
    assert_ne!(fine["outcome"], "failed", "{fine}");
    assert_eq!(before, place.content());
    place.assert_no_temporary_files();
}

/// A build that names the tree by its absolute path would write into it from a copy.
#[test]
fn a_build_that_would_write_into_the_tree_is_refused() {
    let place = Place::new("nothing-helps");
    let tree = place.tree();
    // A build that names the tree by its absolute path.
    let build = format!(
        "gcc -O2 -o chain chain.c && date > '{}/stamp'",
        tree.display()
    );
    let script = place.root.path().join("build.sh");
    fs::write(&script, format!("#!/bin/sh\n{build}\n")).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("set");
    let out = place.genba(&[
        "try",
        "--with",
        "-O3",
        "--budget",
        "3s",
        "--build",
        &script.display().to_string(),
        "--",
        "./chain",
        "1000",
    ]);
    assert!(!out.status.success());
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(
        errors.contains("stamp") && errors.contains("absolute path"),
        "{errors}"
    );
    place.assert_no_temporary_files();
}

/// After a SIGKILL the experiment is resumed, no run is repeated and the temporary files of the
/// killed process are removed.
#[test]
fn a_killed_experiment_is_resumed_without_repeating_runs() {
    let test = "a_killed_experiment_is_resumed_without_repeating_runs";
    if !have(test, &["gcc", "make"]) {
        return;
    }
    let place = Place::new("nothing-helps");
    let mut child = Command::new(env!("CARGO_BIN_EXE_genba"))
        .current_dir(place.tree())
        .env("TMPDIR", place.root.path().join("tmp"))
        .args([
            "try",
            "--metric",
            "cpu",
            "--with",
            "-O3,frame pointers",
            "--layouts",
            "0",
            "--budget",
            "8s",
        ])
        .args([
            "--no-diff",
            "--build",
            "make",
            "--clean",
            "make clean",
            "--",
            "./chain",
            "3000000",
        ])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("genba runs");
    // Until the first runs are in the journal.
    let mut waited = 0;
    let case = loop {
        let out = place.genba(&["case", "list", "--json"]);
        let list: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        let cases = list["cases"].as_array().cloned().unwrap_or_default();
        let begun = cases.iter().find(|one| one["runs"].as_u64() > Some(3));
        if let Some(id) = begun.and_then(|one| one["id"].as_str()) {
            break id.to_owned();
        }
        if child.try_wait().expect("asked").is_some() || waited > 600 {
            genba_testing::skip(
                test,
                genba_testing::MACHINE,
                "there was no case to interrupt",
            );
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        waited += 1;
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    child.kill().expect("killed");
    child.wait().expect("gone");
    let out = place.genba(&["case", "resume", &case]);
    let (answer, errors) = (
        String::from_utf8_lossy(&out.stdout).into_owned(),
        String::from_utf8_lossy(&out.stderr).into_owned(),
    );
    if errors.contains("is complete") {
        genba_testing::skip(
            test,
            genba_testing::MACHINE,
            "it was too quick to be interrupted",
        );
        return;
    }
    assert!(out.status.success(), "{errors}");
    assert!(answer.contains("resumed"), "{answer}");
    place.assert_no_temporary_files();
}

/// Two files of counts are compared without samples.
#[test]
fn counts_are_compared_without_samples() {
    let test = "counts_are_compared_without_samples";
    if !have(test, &["gcc"]) {
        return;
    }
    let place = Place::new("nothing-helps");
    let mut files = Vec::new();
    for level in ["-O0", "-O2"] {
        let program = format!("./chain{level}");
        let mut gcc = Command::new("gcc");
        gcc.current_dir(place.tree())
            .args([level, "-g", "chain.c", "-o", &program]);
        assert!(gcc.status().expect("gcc").success());
        let file = format!("counts{level}.json");
        let out = place.genba(&["count", "--once", "-o", &file, "--", &program, "100000"]);
        if !out.status.success() {
            genba_testing::skip(test, genba_testing::COUNT_ENGINE, "nothing counts here");
            return;
        }
        files.push(file);
    }
    let document = place.json(&["diff", "--json", &files[0], &files[1]]);
    assert_eq!(document["kind"], "profile-diff");
    let functions = document["functions"].as_array().expect("a list");
    let main = functions
        .iter()
        .find(|one| one["function"] == "main")
        .expect("main");
    let count = |side: usize| main["instructions"][side].as_u64().expect("a number");
    assert!(count(0) > count(1), "{main}");
}
