//! `genba bench` on real commands: what must hold on any machine, however busy. Verdicts are
//! asserted on metrics that the commands report, never on measured times.

use std::process::Command;

use crate::support::{
    METRIC_WORK, busy_loop, comparison, genba, json, notes, reported_work, scratch, stdout_of,
};
use serde_json::Value;

#[test]
fn three_times_the_work_is_slower_and_the_document_keeps_its_contract() {
    let here = scratch();
    let (one, three) = (reported_work("1"), reported_work("3"));
    let document = json(
        here.path(),
        "comparison",
        &[
            &["bench", "--json", "--seed", "1"][..],
            &METRIC_WORK,
            &["-n", "one", &one, "-n", "three", &three],
        ]
        .concat(),
    );
    let found = comparison(&document, "three", "work");
    assert_eq!(found["baseline"], "one");
    assert_eq!(found["verdict"], "slower");
    assert!(found["pairs"].as_u64().unwrap() >= 13);
    let value = check_comparison(found);
    assert!((2.9..3.1).contains(&value), "{found}");
    // Of measured times only what holds whatever the machine does: the verdict follows from the
    // interval.
    check_comparison(comparison(&document, "three", "cpu"));
    check_comparison(comparison(&document, "three", "wall"));
    let first = &document["variants"][0];
    assert_eq!(
        (&first["name"], &first["command"]),
        (&"one".into(), &Value::from(one))
    );
    let runs = first["runs"].as_u64().unwrap();
    for metric in ["wall", "user", "system", "cpu", "max_rss"] {
        let metric = &first["metrics"][metric];
        assert!(metric["median"]["low"].as_f64() <= metric["median"]["high"].as_f64());
        assert_eq!(metric["values"].as_array().unwrap().len() as u64, runs);
    }
    assert_eq!(first["metrics"]["wall"]["unit"], "seconds");
    assert_eq!(first["metrics"]["max_rss"]["unit"], "bytes");
    assert_eq!(document["ranks"], serde_json::json!([["one"], ["three"]]));
    // The case has what was printed, and its page is there.
    let case = document["case"].as_str().unwrap();
    assert!(
        here.path()
            .join(".genba")
            .join(case)
            .join("case.html")
            .is_file()
    );
}

/// Checks that the interval is in order and that the verdict agrees with it; returns the ratio.
fn check_comparison(found: &Value) -> f64 {
    let end = |name: &str| found["ratio"][name].as_f64().unwrap();
    let (low, value, high) = (end("low"), end("value"), end("high"));
    assert!(0.0 < low && low <= value && value <= high, "{found}");
    match found["verdict"].as_str().unwrap() {
        "faster" => assert!(high <= 1.0, "{found}"),
        "slower" => assert!(low >= 1.0, "{found}"),
        "same" => assert!(0.989 < low && high < 1.011, "{found}"),
        other => assert_eq!(other, "undecided"),
    }
    assert_eq!(
        (found["delta"].as_f64(), found["alpha"].as_f64()),
        (Some(0.01), Some(0.05))
    );
    value
}

#[test]
fn a_command_against_itself_has_the_same_memory_and_a_fixed_number_of_pairs() {
    let here = scratch();
    let document = json(
        here.path(),
        "comparison",
        &[
            "bench",
            "--json",
            "-r",
            "30",
            "--no-case",
            "-N",
            "true",
            "true",
        ],
    );
    let names: Vec<&str> = (document["variants"].as_array().unwrap().iter())
        .map(|variant| variant["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["true", "true (2)"]);
    assert_eq!(comparison(&document, "true (2)", "wall")["pairs"], 30);
    let rss = &comparison(&document, "true (2)", "max_rss")["ratio"]["value"];
    assert!((rss.as_f64().unwrap() - 1.0).abs() < 0.1, "{rss}");
    assert!(document["case"].is_null() && !here.path().join(".genba").exists());
}

#[test]
fn variants_that_fail_or_print_something_else_are_excluded_and_exit_code_is_3() {
    let here = scratch();
    let output = genba(
        here.path(),
        &[
            "bench",
            "--json",
            "-r",
            "3",
            "--check-output",
            "--timeout",
            "5s",
            "-n",
            "good",
            "echo same",
            "-n",
            "alike",
            "printf 'same\\n'",
            "-n",
            "other",
            "echo different",
            "-n",
            "broken",
            "echo why not >&2; exit 9",
            "-n",
            "hangs",
            "sleep 1000",
        ],
    );
    assert_eq!(output.status.code(), Some(3));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document all the same");
    let reason = |name: &str| -> String {
        let all = document["variants"].as_array().unwrap();
        let variant = all.iter().find(|one| one["name"] == name).unwrap();
        variant["excluded"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(
        (reason("good"), reason("alike")),
        (String::new(), String::new())
    );
    assert!(
        reason("other").contains("something else than good"),
        "{}",
        reason("other")
    );
    assert_eq!(reason("broken"), "exited with code 9: why not");
    assert!(reason("hangs").contains("time-out"), "{}", reason("hangs"));
    assert!(notes(&document).contains("byte for byte"));
    assert_eq!(comparison(&document, "alike", "wall")["pairs"], 3);
}

#[test]
fn commands_that_cannot_be_measured_exit_with_2_or_3() {
    let here = scratch();
    let code = |args: &[&str]| genba(here.path(), args).status.code();
    assert_eq!(code(&["bench", "exit 3", "false"]), Some(3));
    assert_eq!(code(&["bench", "-N", "./not-there-at-all"]), Some(2));
    assert_eq!(code(&["bench", "--metric", "speed", "true"]), Some(2));
    assert_eq!(code(&["bench", "-L", "x", "1,2", "true"]), Some(2));
    assert_eq!(code(&["bench", "--delta", "1", "true"]), Some(2));
    assert_eq!(code(&["bench"]), Some(2));
    assert_eq!(
        code(&["bench", "-i", "-r", "2", "--no-case", "false"]),
        Some(0)
    );
    // What never ran leaves no case.
    assert!(!here.path().join(".genba").exists());
}

#[test]
fn metrics_of_the_target_come_from_fd_json_and_regex() {
    let here = scratch();
    let script = r#"echo "rate {rate} op/s" >&$GENBA_METRICS_FD; echo '{"lat":{"p99":{rate}.5}}'; echo "size={rate},000" >&2"#;
    let document = json(
        here.path(),
        "comparison",
        &[
            "bench",
            "--json",
            "-r",
            "8",
            "--metric",
            "rate",
            "--metric-fd",
            "rate:op/s",
            "--metric-json",
            "p99:ms=/lat/p99",
            "--metric-regex",
            "size:bytes=size=(\\S+)",
            "-L",
            "rate",
            "5,10",
            "-n",
            "r{rate}",
            script,
        ],
    );
    let rate = comparison(&document, "r10", "rate");
    assert_eq!(rate["verdict"], "faster");
    assert!((rate["ratio"]["value"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(comparison(&document, "r10", "p99")["verdict"], "slower");
    let metrics = &document["variants"][1]["metrics"];
    assert_eq!(metrics["size"]["median"]["value"], 10_000.0);
    assert_eq!(metrics["rate"]["unit"], "op/s");
    assert_eq!(metrics["rate"]["direction"], "more_is_better");
    assert_eq!(document["variants"][1]["parameters"]["rate"], "10");
    assert_eq!(document["metric"], "rate");
}

#[test]
fn parameters_are_combined_and_prepare_and_conclude_surround_every_run() {
    let here = scratch();
    let document = json(
        here.path(),
        "comparison",
        &[
            "bench",
            "--json",
            "-r",
            "2",
            "-w",
            "1",
            "--no-case",
            "-L",
            "a",
            "x,y",
            "-P",
            "b",
            "0",
            "1",
            "-D",
            "0.5",
            "-s",
            "echo s{a}{b} >>log",
            "-p",
            "echo p{a}{b} >>log",
            "-C",
            "echo c{a}{b} >>log",
            "--cleanup",
            "echo u{a}{b} >>log",
            "echo r{a}{b} >>log",
        ],
    );
    assert_eq!(document["variants"].as_array().unwrap().len(), 6);
    let log = std::fs::read_to_string(here.path().join("log")).expect("the log");
    let count = |what: char| log.lines().filter(|line| line.starts_with(what)).count();
    assert_eq!((count('s'), count('u')), (6, 6));
    assert_eq!((count('p'), count('r'), count('c')), (18, 18, 18));
    let lines: Vec<&str> = log.lines().collect();
    for (index, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with('r'))
    {
        assert_eq!(lines[index - 1][1..], line[1..]);
        assert_eq!(lines[index + 1][1..], line[1..]);
    }
}

#[test]
fn a_fixed_seed_fixes_the_order_of_runs() {
    let here = scratch();
    let order = |seed: &str| {
        let file = format!("order-{seed}");
        let _ = std::fs::remove_file(here.path().join(&file));
        let (a, b) = (format!("echo a >>{file}"), format!("echo b >>{file}"));
        let args = ["bench", "--no-case", "--seed", seed, "-r", "20", &a, &b];
        stdout_of(here.path(), &args);
        std::fs::read_to_string(here.path().join(file)).expect("the order")
    };
    let one = order("1");
    assert_eq!(one, order("1"));
    assert_ne!(one, order("2"));
    assert!(!one.starts_with(&"a\nb\n".repeat(20)));
    assert_eq!(one.lines().filter(|line| *line == "a").count(), 20);
}

#[test]
fn the_empty_loop_is_subtracted_from_the_cost_of_an_iteration() {
    let here = scratch();
    let (empty, full) = (reported_work("100"), reported_work("1100"));
    let document = json(
        here.path(),
        "comparison",
        &[
            &["bench", "--json", "-r", "15", "--seed", "1"][..],
            &METRIC_WORK,
            &["--per-iteration", "10000", "--subtract", "empty"],
            &["-n", "empty", &empty, "-n", "full", &full],
        ]
        .concat(),
    );
    let costs = document["iterations"].as_array().unwrap();
    let cost = (costs.iter().find(|one| one["metric"] == "work")).expect("a cost");
    assert_eq!(
        (&cost["variant"], &cost["subtracted"]),
        (&"full".into(), &"empty".into())
    );
    // 1000 units of 10 000 each, over 10 000 iterations.
    let each = cost["cost"]["value"].as_f64().unwrap();
    assert!((970.0..1030.0).contains(&each), "{each}");
}

#[test]
fn start_of_the_shell_is_measured_where_commands_are_short() {
    let here = scratch();
    let args = [
        "bench",
        "--json",
        "--runs",
        "3",
        "--no-case",
        "true; true",
        "exit 0",
    ];
    let found = json(here.path(), "comparison", &args);
    let hazards = found["hazards"].as_array().expect("hazards");
    let shell = hazards.iter().find(|one| one["id"] == "shell");
    let text = shell.expect("a shell of some milliseconds")["text"].to_string();
    assert!(text.contains("the shell alone takes"), "{text}");
}

#[test]
fn exports_have_the_formats_of_hyperfine() {
    let here = scratch();
    stdout_of(
        here.path(),
        &[
            "bench",
            "-r",
            "3",
            "-N",
            "--export-json",
            "out.json",
            "--export-csv",
            "out.csv",
            "--export-markdown",
            "out.md",
            "true",
            "echo x",
        ],
    );
    let read = |name: &str| std::fs::read_to_string(here.path().join(name)).expect(name);
    let document: Value = serde_json::from_str(&read("out.json")).expect("JSON");
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["times"].as_array().unwrap().len(), 3);
    assert!(read("out.csv").starts_with("command,mean,stddev,median,user,system,min,max"));
    assert!(read("out.md").starts_with('|'));
}

#[test]
fn an_interruption_leaves_a_document_a_case_and_no_process() {
    let here = scratch();
    let child = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args([
            "bench",
            "--json",
            "--budget",
            "1000s",
            "--delta",
            "0",
            "-n",
            "a",
            "echo >>ran; true",
            "-n",
            "b",
            "echo >>ran; :",
        ])
        .args(["--cleanup", "echo done >>cleaned"])
        .current_dir(here.path())
        .env_remove("GENBA_HOME")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("genba starts");
    let ran = here.path().join("ran");
    let began = std::time::Instant::now();
    while std::fs::metadata(&ran).map_or(0, |data| data.len()) < 40 {
        assert!(began.elapsed().as_secs() < 120, "nothing runs");
        std::thread::yield_now();
    }
    crate::support::interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    if output.status.code() == Some(0) {
        genba_testing::skip(
            "an_interruption_leaves_a_document_a_case_and_no_process",
            genba_testing::MACHINE,
            "the measurement ended by itself before",
        );
        return;
    }
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert!(notes(&document).contains("interrupted"));
    assert!(document["variants"][0]["runs"].as_u64().unwrap() > 5);
    let cleaned = std::fs::read_to_string(here.path().join("cleaned")).expect("cleaned up");
    assert_eq!(cleaned.lines().count(), 2);
    let cases = stdout_of(here.path(), &["case", "list"]);
    assert!(cases.contains("interrupted"), "{cases}");
}

#[test]
fn hardware_events_are_counted_where_available() {
    let here = scratch();
    let (one, two) = (busy_loop(2_000), busy_loop(20_000));
    let args = [
        "bench",
        "--json",
        "--no-case",
        "-r",
        "8",
        "--metric",
        "instructions:u",
        "-n",
        "one",
        &one,
        "-n",
        "two",
        &two,
    ];
    let output = genba(here.path(), &args);
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let counted = !document["variants"][0]["metrics"]["instructions:u"].is_null();
    if !counted {
        assert!(
            notes(&document).contains("did not count"),
            "{}",
            notes(&document)
        );
        genba_testing::skip(
            "hardware_events_are_counted_where_available",
            genba_testing::COUNTERS,
            "no hardware counters here",
        );
        return;
    }
    let found = comparison(&document, "two", "instructions:u");
    assert_eq!(found["verdict"], "slower");
    assert!(found["ratio"]["low"].as_f64().unwrap() > 4.0, "{found}");
}
