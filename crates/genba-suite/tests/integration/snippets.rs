//! Generated scripts in real interpreters. No test compares measured times.

use std::path::Path;
use std::process::Command;

use genba_run::{Cancel, Launcher, Shell};
use genba_suite::snippet::{Language, Mode, Part, Snippet};
use genba_suite::{Exclusion, Session, SuiteError, Work, parse_executables};

/// The interpreter; `None` and a recorded skip if there is none.
fn interpreter(test: &str, language: Language) -> Option<String> {
    let candidates = match language {
        Language::Ruby => ["ruby", "ruby3.1"],
        Language::Python => ["python3", "python"],
    };
    let there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found = candidates.into_iter().find(there);
    if found.is_none() {
        genba_testing::skip(test, candidates[0], &format!("no {candidates:?} here"));
    }
    found.map(ToOwned::to_owned)
}

fn snippet(language: Language, interpreter: &str, prelude: &str, script: &str) -> Snippet {
    Snippet {
        language,
        interpreter: vec![interpreter.to_owned()],
        preludes: vec![Part::new("prelude", prelude)],
        script: Part::new("script of \"x\"", script),
        teardowns: Vec::new(),
        loop_count: None,
        required_version: None,
    }
}

fn measure(loop_count: u64) -> Mode {
    Mode::Measure {
        loop_count,
        warm_up: true,
    }
}

struct Outcome {
    success: bool,
    stdout: String,
    /// With lines of the script translated.
    stderr: String,
}

fn run(snippet: &Snippet, mode: Mode) -> Outcome {
    let runner = snippet.language.runner();
    let script = runner.generate(snippet, mode).expect("a script");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(format!("x.{}", runner.extension()));
    std::fs::write(&path, &script.text).expect("a file");
    let output = Command::new(&snippet.interpreter[0])
        .arg(&path)
        .env_remove("GENBA_METRICS_FD")
        .output()
        .expect("a run");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Outcome {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: script.map.translate(&stderr, &path.to_string_lossy()),
    }
}

fn names(stderr: &str) -> Vec<&str> {
    let words = stderr
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    words
        .filter(|name| *name != "iterations_per_second")
        .collect()
}

const REPORTED: [&str; 5] = [
    "per_iteration",
    "per_iteration_user",
    "per_iteration_system",
    "with_loop",
    "empty_loop",
];

#[test]
fn the_script_runs_loop_count_times_in_the_scope_of_the_prelude() {
    let cases = [
        (
            Language::Ruby,
            "count = 0\nat_exit { print count }",
            "count += 1",
        ),
        (Language::Python, "count = 0\nimport sys", "count += 1"),
    ];
    let name = "the_script_runs_loop_count_times_in_the_scope_of_the_prelude";
    for (language, prelude, script) in cases {
        let Some(interpreter) = interpreter(name, language) else {
            continue;
        };
        let mut snippet = snippet(language, &interpreter, prelude, script);
        if language == Language::Python {
            snippet.teardowns = vec![Part::new("teardown", "sys.stdout.write(str(count))")];
        }
        // With a round that does not count before those that do, and without.
        let cases = [
            (1, true, 2),
            (1, false, 1),
            (10, true, 13),
            (400, true, 500),
            (1003, true, 251 + 1003),
            (1003, false, 1003),
        ];
        for (loop_count, warm_up, expected) in cases {
            let outcome = run(
                &snippet,
                Mode::Measure {
                    loop_count,
                    warm_up,
                },
            );
            assert!(outcome.success, "{}", outcome.stderr);
            assert_eq!(
                outcome.stdout,
                expected.to_string(),
                "{language:?} {loop_count}"
            );
            assert_eq!(names(&outcome.stderr), REPORTED);
        }
    }
}

#[test]
fn heredocs_imports_and_control_flow_are_kept_unchanged() {
    let name = "heredocs_imports_and_control_flow_are_kept_unchanged";
    let cases = [
        // A comment at the end, a heredoc, a frozen literal, `next`.
        (
            Language::Ruby,
            "# frozen_string_literal: true\nx = 'é'",
            "x # \"end",
        ),
        (Language::Ruby, "x = <<A\n  b\nA", "y = <<A\n #{x}\nA"),
        (
            Language::Ruby,
            "# frozen_string_literal: true",
            "abort unless 'a'.frozen?",
        ),
        (Language::Ruby, "x = 1", "next if x == 1; abort"),
        (Language::Ruby, "", ""),
        // Imports that no function may hold, strings across lines, `continue`, closures.
        (
            Language::Python,
            "from __future__ import annotations\nfrom math import *",
            "sqrt(2)",
        ),
        (
            Language::Python,
            "x = '''a\n b'''",
            "if x != 'a\\n b': raise SystemExit(1)",
        ),
        (
            Language::Python,
            "x = 1",
            "if x: continue\nraise SystemExit(1)",
        ),
        (
            Language::Python,
            "def f(n):\n    return n and f(n - 1)",
            "f(3)",
        ),
        (Language::Python, "", ""),
    ];
    for (language, prelude, script) in cases {
        let Some(interpreter) = interpreter(name, language) else {
            continue;
        };
        let snippet = snippet(language, &interpreter, prelude, script);
        for mode in [measure(3), Mode::Calibrate { seconds: 1e-3 }] {
            let outcome = run(&snippet, mode);
            assert!(outcome.success, "{script:?}: {}", outcome.stderr);
            assert!(!outcome.stderr.is_empty());
        }
    }
}

#[test]
fn errors_name_the_part_and_line_of_the_users_code() {
    let name = "errors_name_the_part_and_line_of_the_users_code";
    let cases = [
        (Language::Ruby, "a = 1\nb = nosuch", "x", "prelude, line 2"),
        (
            Language::Ruby,
            "a = 1",
            "a\n\nnosuch",
            "script of \"x\", line 3",
        ),
        (Language::Ruby, "a = 1", "a\n)", "script of \"x\", line 2"),
        (Language::Ruby, "", "break", "left the loop"),
        (
            Language::Python,
            "a = 1\nb = nosuch",
            "x",
            "prelude, line 2",
        ),
        (
            Language::Python,
            "a = 1",
            "a\n\nnosuch",
            "script of \"x\", line 3",
        ),
        (Language::Python, "a = 1", "a\n)", "script of \"x\", line 2"),
        (Language::Python, "", "break", "left the loop"),
        (Language::Python, "", "return", "left its function"),
    ];
    for (language, prelude, script, expected) in cases {
        let Some(interpreter) = interpreter(name, language) else {
            continue;
        };
        let snippet = snippet(language, &interpreter, prelude, script);
        let outcome = run(&snippet, measure(10));
        assert!(!outcome.success);
        assert!(
            outcome.stderr.contains(expected),
            "{language:?} {script:?}: {}",
            outcome.stderr
        );
    }
}

/// A session of a file with the given text, made ready.
fn ready(file: &str, text: &str, executables: &str) -> Session {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(file);
    std::fs::write(&path, text).expect("a file");
    let executables = match executables {
        "" => Vec::new(),
        text => parse_executables(text).expect("executables"),
    };
    let mut session = Session::open(Path::new(&path), &executables).expect("a suite");
    let (mut launcher, cancel) = launcher();
    let mut quiet = |_: &str| {};
    session
        .build(&mut launcher, &cancel, &mut quiet)
        .expect("builds");
    session
        .prepare(&mut launcher, &cancel, 0.01, &mut quiet)
        .expect("ready");
    session
}

fn launcher() -> (Launcher, Cancel) {
    (
        Launcher::new().expect("a launcher"),
        Cancel::new().expect("a token"),
    )
}

fn script_of(session: &Session, benchmark: usize, variant: usize) -> String {
    let Work::Direct(words) = &session.suite().benchmarks[benchmark].variants[variant].work else {
        panic!("a command");
    };
    let path = words.last().expect("a path");
    std::fs::read_to_string(path).expect("the script")
}

#[test]
fn executables_share_one_loop_count() {
    let name = "executables_share_one_loop_count";
    let Some(ruby) = interpreter(name, Language::Ruby) else {
        return;
    };
    let text = "benchmark:\n  a: x = 1\n  b:\n    sleep 0.2\n";
    let session = ready("x.yml", text, &format!("one::{ruby}; two::{ruby} -W0"));
    assert_eq!(session.excluded(), []);
    for benchmark in 0..2 {
        let scripts = [0, 1].map(|variant| script_of(&session, benchmark, variant));
        assert_eq!(scripts[0], scripts[1]);
    }
    // 200 ms per iteration where 10 ms are asked for: one iteration, the minimum.
    assert!(script_of(&session, 1, 0).contains("__genba_total = 1\n"));
    let plans = session.plans(&Shell::default()).expect("plans");
    assert_eq!(plans.len(), 2);
    assert_eq!(plans[1].variants[0].command, format!("{ruby}: sleep 0.2"));
    // Nothing is asserted about the cost of `a`.
    assert_eq!(plans[1].primary, "per_iteration");
    for plan in &plans {
        plan.check().expect("plans that the driver takes");
    }
}

#[test]
fn snippets_that_cannot_run_are_excluded_with_the_reason() {
    let name = "snippets_that_cannot_run_are_excluded_with_the_reason";
    let Some(ruby) = interpreter(name, Language::Ruby) else {
        return;
    };
    let text = "
prelude: a = 1
loop_count: 10
benchmark:
  - {name: good, script: a}
  - {name: bad, script: \"a\\nfrob\"}
  - {name: future, script: a, required_ruby_version: '99.1'}
  - {name: gone, script: exit}
";
    let session = ready("x.yml", text, &ruby);
    let reason = |variant: &str| {
        let found = |exclusion: &&Exclusion| exclusion.variant == variant;
        let exclusion = session.excluded().iter().find(found).expect("excluded");
        exclusion.reason.clone()
    };
    assert_eq!(session.suite().benchmarks[0].variants.len(), 1);
    let bad = reason("bad");
    assert!(
        bad.contains("script of \"bad\", line 2") && bad.contains("frob"),
        "{bad}"
    );
    assert!(reason("future").contains("needs Ruby 99.1"));
    assert!(reason("gone").contains("ended before"));
    let missing = ready("x.yml", text, "no-such-ruby");
    assert!(missing.suite().benchmarks.is_empty());
    assert!(missing.excluded()[0].reason.contains("no-such-ruby"));
}

#[test]
fn builds_run_in_the_suites_directory_and_stop_at_a_failure() {
    let text = |second: &str| {
        format!(
            "[suite]\nname = \"x\"\n[[build]]\ncommand = \"echo built > made\"\n[[build]]\n\
             command = '{second}'\n[[system]]\nname = \"s\"\n[[operation]]\nname = \"o\"\n\
             command = \"true\"\n"
        )
    };
    let session = ready("x.toml", &text("grep -q built made"), "");
    let plans = session.plans(&Shell::None).expect("plans");
    assert_eq!(plans[0].variants[0].command, "true");
    plans[0].check().expect("a plan that the driver takes");

    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.toml");
    std::fs::write(&path, text("echo no such thing >&2; exit 7")).expect("a file");
    let session = Session::open(&path, &[]).expect("a suite");
    let (mut launcher, cancel) = launcher();
    let error = session
        .build(&mut launcher, &cancel, &mut |_| {})
        .expect_err("a failure");
    assert!(matches!(error, SuiteError::Build { .. }), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("exit code 7") && error.contains("no such thing"),
        "{error}"
    );
}
