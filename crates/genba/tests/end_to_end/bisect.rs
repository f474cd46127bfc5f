//! `genba bisect` on real programs, a git history and a source file. No test compares measured
//! times.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::scratch;
use serde_json::Value;

/// Burns so much work, `extra` times more from `at` on: `burn N AT EXTRA WORK`.
const BURN: &str = "#include <stdlib.h>
int main(int c, char **v) {
  long n = atol(v[1]), at = atol(v[2]), work = atol(v[4]);
  if (n >= at) work += (long)(work * atof(v[3]));
  volatile unsigned long x = 1;
  for (long i = 0; i < work; i++) x = x * 6364136223846793005UL + 1;
  return c > 9;
}
";

fn compiled(test: &str, directory: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let path = directory.join(format!("{name}.c"));
    std::fs::write(&path, source).unwrap();
    let out = directory.join(name);
    match Command::new("gcc")
        .args(["-O1", "-o"])
        .arg(&out)
        .arg(&path)
        .status()
    {
        Ok(status) => {
            assert!(status.success());
            Some(out)
        }
        Err(error) => {
            genba_testing::skip(test, "gcc", &format!("gcc: {error}"));
            None
        }
    }
}

/// genba in `directory`, its temporary files in a directory of the test's own that must be empty
/// afterwards.
fn genba(directory: &Path, args: &[&str]) -> Output {
    let temporary = directory.join("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(args)
        .current_dir(directory)
        .env_remove("GENBA_HOME")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let left: Vec<_> = std::fs::read_dir(&temporary)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    output
}

fn json(directory: &Path, args: &[&str]) -> Value {
    let output = genba(directory, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{args:?}: {:?}\n{said}",
        output.status
    );
    let value: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&value["schema"], &value["kind"]),
        (&"genba/1".into(), &"bisection".into())
    );
    value
}

/// Whether instructions were counted; else the test is skipped by name.
fn counted(test: &str, document: &Value) -> bool {
    let notes = document["notes"].to_string();
    if notes.contains("not counted") {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &notes);
        return false;
    }
    true
}

#[test]
fn exact_counts_find_a_step_in_a_logarithm_of_runs() {
    let name = "exact_counts_find_a_step_in_a_logarithm_of_runs";
    let here = scratch();
    let Some(burn) = compiled(name, here.path(), "burn", BURN) else {
        return;
    };
    let burn = burn.to_str().unwrap();
    let command = [
        "bisect", "range", "--param", "N=1..256", "--json", "--metric",
    ];
    let command = [
        &command[..],
        &[
            "exact-instructions",
            "--",
            burn,
            "{N}",
            "137",
            "0.02",
            "100000",
        ],
    ];
    let document = json(here.path(), &command.concat());
    if !counted(name, &document) {
        return;
    }
    assert_eq!(document["culprit"]["name"], "N=137");
    assert_eq!(document["culprit"]["before"], "N=136");
    assert!(document["confidence"].as_f64().unwrap() > 0.999);
    assert!(
        document["runs"].as_u64().unwrap() <= 2 * 2 + 8 + 2,
        "{}",
        document["runs"]
    );
    assert!(!document["tests"].as_array().unwrap().is_empty());
    // The same again from the case.
    let list = genba(here.path(), &["case", "list"]);
    assert!(
        String::from_utf8_lossy(&list.stdout).contains("bisection"),
        "{list:?}"
    );
}

#[test]
fn a_noisy_step_is_found_and_verified() {
    let here = scratch();
    let work = crate::support::reported_work("{N} < 41 ? 10 : 13");
    let document = json(
        here.path(),
        &[
            &["bisect", "range", "--param", "N=1..64", "--json"][..],
            &crate::support::METRIC_WORK,
            &["--seed", "7", "--budget", "10m", "--", "sh", "-c", &work],
        ]
        .concat(),
    );
    assert_eq!(document["culprit"]["name"], "N=41", "{document}");
    assert_eq!(document["culprit"]["verified"], true);
    assert_eq!(document["deterministic"], false);
    let ratio = document["culprit"]["ratio"]["value"].as_f64().unwrap();
    assert!((1.25..1.35).contains(&ratio), "{ratio}");
    let comparisons = document["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 2, "the ends and the step");
    assert_eq!(document["variants"][0]["name"], "N=1");
}

#[test]
fn a_single_element_and_a_pair_that_acts_together_are_found() {
    let name = "a_single_element_and_a_pair_that_acts_together_are_found";
    let here = scratch();
    let Some(burn) = compiled(name, here.path(), "burn", BURN) else {
        return;
    };
    let items: String = (0..20).map(|item| format!("item{item}\n")).collect();
    std::fs::write(here.path().join("items"), items).unwrap();
    // No process of its own for it: all of them are counted.
    let script = "n=0; on=,; while read item; do on=$on$item,; done < \"$1\"
        case $on in *,item13,*) n=1;; esac
        case $on in *,item3,*) case $on in *,item8,*) n=$((n+2));; esac;; esac
        exec \"$0\" $n 1 $n 200000";
    let command = [
        "bisect",
        "set",
        "--items-file",
        "items",
        "--metric",
        "exact-instructions",
        "--json",
        "--",
        "sh",
        "-c",
        script,
        burn.to_str().unwrap(),
        "{ITEMS_FILE}",
    ];
    let document = json(here.path(), &command);
    if !counted(name, &document) {
        return;
    }
    let names: Vec<&str> = document["culprits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|culprit| culprit["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["item3 + item8", "item13"], "{document}");
}

/// Runs git; `None` where there is none.
fn git(directory: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.email=a@example.org", "-c", "user.name=A"])
        .args(args)
        .output()
        .ok()?;
    assert!(output.status.success(), "{args:?}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// Names, times and contents of all files of a tree, `.git` included.
fn state(directory: &Path) -> String {
    let script = "find . -printf '%p %s %T@\\n' | sort; find . -type f | sort | xargs sha256sum";
    let output = Command::new("sh")
        .current_dir(directory)
        .args(["-c", script])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_regression_in_a_history_of_120_commits_is_found() {
    let name = "a_regression_in_a_history_of_120_commits_is_found";
    let here = scratch();
    let tree = here.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    if git(&tree, &["init", "-q", "."]).is_none() {
        genba_testing::skip(name, "git", "there is no git");
        return;
    }
    if compiled(name, here.path(), "burn", BURN).is_none() {
        return;
    }
    for revision in 1..=120 {
        let work = if revision >= 77 { 300_000 } else { 200_000 };
        // Every eleventh does not compile, the one right before the culprit neither.
        let broken = revision % 11 == 5 || revision == 76;
        let source = format!(
            "int main(void) {{ volatile unsigned x = {revision}; for (int i = 0; i < {work}; i++) \
             x++; return 0; }}\n{}",
            if broken { "broken\n" } else { "" }
        );
        std::fs::write(tree.join("prog.c"), source).unwrap();
        git(&tree, &["add", "."]).unwrap();
        git(&tree, &["commit", "-qm", &format!("revision {revision}")]).unwrap();
    }
    let first = git(&tree, &["rev-list", "--max-parents=0", "HEAD"]).unwrap();
    let before = state(&tree);
    let command = [
        "bisect",
        "git",
        "--good",
        &first,
        "--repository",
        "tree",
        "--build",
        "gcc -O1 -o prog prog.c",
        "--metric",
        "exact-instructions",
        "--json",
        "--",
        "./prog",
    ];
    let document = json(here.path(), &command);
    assert_eq!(state(&tree), before, "the user's tree is as it was");
    if !counted(name, &document) {
        return;
    }
    // Builds at once: none goes on until four have begun. The search and its answer are the same.
    let started = here.path().join("started");
    let build = format!(
        "echo >> {0}; until [ $(wc -l < {0}) -ge 4 ]; do sleep 0.01; done; gcc -O1 -o prog prog.c",
        started.display()
    );
    let mut at_once = command.to_vec();
    at_once[7] = &build;
    at_once.splice(8..8, ["--jobs", "4", "--build-timeout", "5min"]);
    let parallel = json(here.path(), &at_once);
    assert_eq!(
        parallel["culprit"]["elements"],
        document["culprit"]["elements"]
    );
    assert_eq!(parallel["runs"], document["runs"]);
    assert_eq!(state(&tree), before, "the user's tree is as it was");
    let culprit = &document["culprit"];
    assert!(
        culprit["detail"].as_str().unwrap().ends_with("revision 77"),
        "{culprit}"
    );
    // The unbuildable one between cannot be acquitted, and is named.
    assert_eq!(
        culprit["elements"].as_array().unwrap().len(),
        2,
        "{culprit}"
    );
    let skipped = document["skipped"].as_array().unwrap();
    assert!(
        skipped[0]["reason"].as_str().unwrap().contains("broken"),
        "{skipped:?}"
    );
    assert!(
        document["runs"].as_u64().unwrap() <= 2 * 2 + 7 + 2,
        "{}",
        document["runs"]
    );
}

/// A C file as a method JIT generates it: one function, a labelled block for each instruction;
/// the block of one of them is expensive to compile.
fn generated() -> String {
    let mut out = String::from(
        "#define P1(x) (((x) * 7u) ^ ((x) >> 3))\n#define P2(x) P1(P1(P1(x)))\n\
         #define P3(x) P2(P2(x))\ntypedef unsigned long VALUE;\n\
         static VALUE helper(VALUE a, VALUE b) { return a * 31 + b; }\n\
         VALUE _mjit0(VALUE *stack, VALUE self) {\n    VALUE reg = self;\n",
    );
    let names = [
        "putself",
        "getlocal",
        "opt_plus",
        "send",
        "branchunless",
        "leave",
    ];
    for block in 0..70 {
        let name = if block == 41 {
            "invokesuper"
        } else {
            names[block % names.len()]
        };
        out.push_str(&format!("label_{block}: /* {name} */\n    {{\n"));
        for slot in 0..12 {
            out.push_str(&format!(
                "        stack[{slot}] = helper(stack[{slot}] + {block}, reg);\n"
            ));
        }
        for slot in 0..if block == 41 { 20 } else { 0 } {
            let at = slot % 12;
            out.push_str(&format!(
                "        stack[{at}] = P3(stack[{at}] + reg) + P3(reg + {slot});\n"
            ));
        }
        let target = (block * 7 + 3) % 70;
        out.push_str(&format!(
            "        if (stack[{}] > reg) goto label_{target};\n        reg += stack[0];\n    }}\n",
            block % 12
        ));
    }
    out.push_str("    return reg;\n}\n");
    out
}

/// A compiler whose cost is known: `gcc` checks the file, and the cost reported is the number of
/// lines plus 500 for every use of the macro `P3`, with a scatter of ±2 %.
const COMPILER: &str = "gcc -fsyntax-only -w {FILE} || exit 1; echo >>runs; n=$(wc -l <runs); \
    lines=$(grep -c '[^[:space:]]' {FILE}); uses=$(grep -o 'P3(' {FILE} | wc -l); \
    echo work $(( (lines + 500 * uses) * (9800 + (n * n * 31 + n * 17) % 401) )) \
    >&$GENBA_METRICS_FD";

#[test]
fn the_expensive_block_of_a_source_file_is_found() {
    let name = "the_expensive_block_of_a_source_file_is_found";
    let here = scratch();
    if compiled(name, here.path(), "burn", BURN).is_none() {
        return;
    }
    let source = generated();
    assert!(source.lines().count() >= 1_000);
    let file = here.path().join("mjit.c");
    std::fs::write(&file, &source).unwrap();
    let document = json(
        here.path(),
        &[
            &["bisect", "source", "mjit.c", "--budget", "10m", "--json"][..],
            &crate::support::METRIC_WORK,
            &["--seed", "7", "--", "sh", "-c", COMPILER],
        ]
        .concat(),
    );
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        source,
        "the user's file is unchanged"
    );
    let culprit = &document["culprit"];
    assert!(
        culprit["name"].as_str().unwrap().contains("invokesuper"),
        "{culprit}"
    );
    let ratio = culprit["ratio"]["value"].as_f64().unwrap();
    assert!(ratio > 2.5, "{ratio}");
    assert_eq!(document["metric"], "work");
    let ranking = document["ranking"].as_array().unwrap();
    assert!(ranking[0]["effect"]["low"].as_f64().unwrap() > 0.0);
    let runs = document["runs"].as_u64().unwrap();
    compiles_of_cvise(name, here.path(), &source, runs);
}

/// Asserts that cvise with an equivalent test (the file compiles and has most of the cost) needs
/// more compiles than `genba_runs`. It is ended as soon as it has made more.
fn compiles_of_cvise(name: &str, here: &Path, source: &str, genba_runs: u64) {
    let place = here.join("cvise");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("mjit.c"), source).unwrap();
    let count = place.join("count");
    std::fs::write(&count, "").unwrap();
    let test = place.join("test.sh");
    let uses = source.matches("P3(").count();
    let script = format!(
        "#!/bin/sh\necho >> '{}'\ngcc -fsyntax-only -w mjit.c 2>/dev/null || exit 1\n\
         test $(grep -o 'P3(' mjit.c | wc -l) -ge {}\n",
        count.display(),
        uses / 2
    );
    std::fs::write(&test, script).unwrap();
    std::fs::set_permissions(&test, std::fs::Permissions::from_mode(0o755)).unwrap();
    let started = Command::new("cvise")
        .current_dir(&place)
        .args(["--n", "1", "./test.sh", "mjit.c"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let Ok(mut cvise) = started else {
        genba_testing::skip(
            name,
            "cvise",
            "cvise is not installed: not compared with it",
        );
        return;
    };
    let made = || {
        std::fs::read_to_string(&count)
            .unwrap_or_default()
            .lines()
            .count() as u64
    };
    let finished = loop {
        if let Some(status) = cvise.try_wait().unwrap() {
            break Some(status);
        }
        if made() > genba_runs {
            break None;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let needed = made();
    if finished.is_none() {
        let group = rustix::process::Pid::from_child(&cvise);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        let _ = cvise.wait();
    }
    match finished {
        Some(status) if !status.success() => {
            genba_testing::skip(
                name,
                "cvise",
                &format!("cvise does not work here: {status}"),
            );
        }
        _ => assert!(
            needed > genba_runs,
            "cvise: {needed} compiles, genba: {genba_runs}"
        ),
    }
}

#[test]
fn invalid_arguments_are_refused_and_a_dry_run_runs_nothing() {
    let here = scratch();
    let fails = |code: i32, args: &[&str], word: &str| {
        let output = genba(here.path(), args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
    };
    let refused = |args: &[&str], word: &str| fails(2, args, word);
    refused(
        &["bisect", "range", "--param", "N=1..9", "--", "true"],
        "{N}",
    );
    refused(
        &["bisect", "range", "--param", "N=1", "--", "true", "{N}"],
        "two values",
    );
    refused(&["bisect", "set", "--items", "a,a", "--", "true"], "twice");
    refused(
        &["bisect", "source", "none.c", "--", "cc", "{FILE}"],
        "none.c",
    );
    refused(&["bisect", "source", "none.c", "--", "cc", "x"], "{FILE}");
    refused(&["bisect", "git", "--good", "x", "--", "true"], "git");
    // The ends must run; that the target fails there is no usage error.
    let command = [
        "bisect", "range", "--param", "N=0..9", "--", "sh", "-c", "exit {N}",
    ];
    fails(3, &command, "N=9");
    let dry = [
        "bisect",
        "range",
        "--dry-run",
        "--param",
        "N=0..9",
        "--",
        "touch",
        "made-{N}",
    ];
    let here = scratch();
    let output = genba(here.path(), &dry);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("10 values"));
    assert!(!here.path().join("made-0").exists() && !here.path().join(".genba").exists());
}
