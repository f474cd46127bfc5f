//! Flags of perf stat and perf record: intervals, groups, threads, whole CPUs. By events that every machine has.

use std::process::{Command, Stdio};

use crate::support::{busy_loop, genba, json, record, run_genba, scratch, stdout_of};
use serde_json::Value;

fn value(counters: &Value, event: &str) -> f64 {
    let counters = counters.as_array().expect("counters").iter();
    let mut found = counters.filter(|counter| counter["event"] == event);
    found
        .next()
        .and_then(|counter| counter["value"]["value"].as_f64())
        .unwrap_or(0.0)
}

/// Whether counting is refused here, which is recorded as a skip.
fn is_refused(test: &str, code: i32, said: &str) -> bool {
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, said);
    }
    code == 4
}

#[test]
fn intervals_add_up_to_the_totals() {
    let test = "intervals_add_up_to_the_totals";
    let here = scratch();
    let line = busy_loop(300_000);
    let args = [
        "stat",
        "--json",
        "-I",
        "20",
        "-e",
        "task-clock,page-faults",
        "--",
        "sh",
        "-c",
        &line,
    ];
    let (code, text, said) = run_genba(here.path(), &args);
    if is_refused(test, code, &said) {
        return;
    }
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let intervals = document["intervals"].as_array().expect("intervals");
    assert!(intervals.len() >= 2, "{document}");
    for event in ["task-clock", "page-faults"] {
        let sum: f64 = intervals
            .iter()
            .map(|one| value(&one["counters"], event))
            .sum();
        let total = value(&document["counters"], event);
        assert!(
            total > 0.0 && (sum / total - 1.0).abs() < 1e-6,
            "{event}: {sum} of {total}"
        );
    }
    let ends: Vec<f64> = (intervals.iter())
        .map(|one| one["end_seconds"].as_f64().expect("seconds"))
        .collect();
    assert!(ends.is_sorted() && ends[0] >= 0.02, "{ends:?}");
    // As text, a line for each event and interval.
    let text = stdout_of(
        here.path(),
        &[
            "stat",
            "-I",
            "10000",
            "-e",
            "task-clock,page-faults",
            "--",
            "true",
        ],
    );
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("#   time"));
    let first: Vec<&str> = lines.skip(1).take(2).collect();
    assert!(
        first[0].contains("msec task-clock") && first[1].contains("page-faults"),
        "{text}"
    );
    let (code, _, said) = run_genba(here.path(), &["stat", "-I", "100", "-r", "3", "--", "true"]);
    assert!(code == 2 && said.contains("omit -r"), "{said}");
    let (code, _, said) = run_genba(here.path(), &["stat", "-I", "1", "--", "true"]);
    assert!(code == 2 && said.contains("at least 10"), "{said}");
}

#[test]
fn events_of_a_group_are_counted_together_or_not_at_all() {
    let here = scratch();
    let events = "{task-clock,page-faults},{context-switches,cpu-migrations}:k";
    let (code, text, said) =
        run_genba(here.path(), &["stat", "--json", "-e", events, "--", "true"]);
    if is_refused("stat -e {…}", code, &said) {
        return;
    }
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let counters = document["counters"].as_array().expect("counters");
    let states: Vec<(&str, &str)> = (counters.iter())
        .map(|one| {
            (
                one["event"].as_str().unwrap(),
                one["state"].as_str().unwrap(),
            )
        })
        .collect();
    let names: Vec<&str> = states.iter().map(|one| one.0).collect();
    assert!(
        names[0].starts_with("task-clock") && names[2].starts_with("context-switches"),
        "{names:?}"
    );
    assert!(
        states[0].1 == states[1].1 && states[2].1 == states[3].1,
        "{states:?}"
    );
    assert_eq!(states[0].1, "counted");
    for events in ["{task-clock", "{task-clock}x", "{}", "{task-clock}:S"] {
        let (code, _, said) = run_genba(here.path(), &["stat", "-e", events, "--", "true"]);
        assert_eq!(code, 2, "{events}: {said}");
    }
}

#[test]
fn threads_of_a_process_have_counters_of_their_own() {
    let test = "threads_of_a_process_have_counters_of_their_own";
    let here = scratch();
    let mut busy = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .stdin(Stdio::null())
        .spawn()
        .expect("sh starts");
    let pid = busy.id().to_string();
    let args = [
        "stat",
        "--json",
        "--per-thread",
        "-p",
        &pid,
        "--seconds",
        "0.3",
        "-e",
        "task-clock",
    ];
    let (code, text, said) = run_genba(here.path(), &args);
    busy.kill().expect("it runs");
    busy.wait().expect("it was started");
    if is_refused(test, code, &said) {
        return;
    }
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let threads = document["threads"].as_array().expect("threads");
    assert_eq!(threads.len(), 1, "{document}");
    assert_eq!(
        (&threads[0]["name"], threads[0]["tid"].to_string()),
        (&Value::from("sh"), pid)
    );
    let own = value(&threads[0]["counters"], "task-clock");
    let all = value(&document["counters"], "task-clock");
    assert!(own > 0.0 && (own / all - 1.0).abs() < 0.2, "{own} of {all}");
    let (code, _, said) = run_genba(here.path(), &["stat", "--per-thread", "--", "true"]);
    assert!(code == 2 && said.contains("--pid"), "{said}");
}

#[test]
fn whole_cpus_are_counted_where_that_is_permitted() {
    let here = scratch();
    let line = busy_loop(100_000);
    let args = [
        "stat",
        "--json",
        "-a",
        "-e",
        "task-clock",
        "--",
        "sh",
        "-c",
        &line,
    ];
    let output = genba(here.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => {
            let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let clock = value(&document["counters"], "task-clock");
            let wall = document["wall"]["value"].as_f64().expect("seconds") * 1e3;
            // Of every CPU all the time.
            let cpus =
                std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
            assert!(
                clock > 0.8 * wall * cpus.min(1.0),
                "{clock} ms of {wall} ms"
            );
        }
        Some(4) => assert!(said.contains("kernel.perf_event_paranoid"), "{said}"),
        other => panic!("{other:?}: {said}"),
    }
    let (code, _, said) = run_genba(here.path(), &["stat", "-C", "9999", "--", "true"]);
    assert!(code == 4 && said.contains("no CPU 9999"), "{said}");
    let (code, _, said) = run_genba(here.path(), &["stat", "-a", "-p", "1"]);
    assert_eq!(code, 2, "{said}");
}

#[test]
fn recordings_take_the_highest_rate_and_records_of_switches() {
    let here = scratch();
    let line = busy_loop(30_000);
    let options = ["-F", "max", "--switch-events"];
    if record("record -F max", here.path(), &options, &["sh", "-c", &line]).is_none() {
        return;
    }
    let allowed = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let report = json(
        here.path(),
        "profile",
        &["report", "--json", "-i", "recording"],
    );
    let rate = report["event"]["frequency_hz"].as_u64().expect("a rate");
    // The kernel lowers its limit when sampling takes long.
    let allowed: u64 = allowed.expect("a limit").trim().parse().expect("a number");
    assert!(
        rate >= allowed.min(1000) && report["samples"].as_u64() > Some(0),
        "{rate} of {allowed}"
    );
}

#[test]
fn topdown_is_measured_or_names_what_is_missing() {
    let here = scratch();
    let load = busy_loop(100_000);
    let args = ["stat", "--topdown", "--json", "--", "sh", "-c", &load];
    let (code, text, said) = run_genba(here.path(), &args);
    if code != 0 {
        assert_eq!(code, 4, "{said}");
        assert!(
            said.contains("family") && said.contains("genba explain"),
            "{said}"
        );
        assert!(text.is_empty(), "{text}");
        genba_testing::skip(
            "topdown_is_measured_or_names_what_is_missing",
            genba_testing::COUNTERS,
            &said,
        );
        return;
    }
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let categories = document["topdown"]["categories"].as_array();
    let categories = categories.unwrap_or_else(|| panic!("{document}"));
    let shares: f64 = categories
        .iter()
        .filter_map(|one| one["share"].as_f64())
        .sum();
    // Counters that were multiplexed do not add up exactly.
    assert!((0.7..1.3).contains(&shares), "{document}");
    assert_eq!(categories[0]["name"], "retiring");
    assert_eq!(
        categories[0]["parts"].as_array().map(Vec::len),
        Some(2),
        "{document}"
    );
}
