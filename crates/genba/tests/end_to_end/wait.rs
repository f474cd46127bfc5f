//! `genba wait` from end to end, of programs whose waiting is known. No time is asserted on but what the
//! programs themselves make certain.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{run_genba, scratch};
use serde_json::Value;

/// The document of a command with genba's exit code; `None`, with a skip, where this machine cannot
/// watch threads.
pub fn waits(
    test: &str,
    directory: &Path,
    options: &[&str],
    command: &[&str],
) -> Option<(Value, i32)> {
    let mut arguments = vec!["wait", "--json=waits.json"];
    arguments.extend(options);
    if !command.is_empty() {
        arguments.push("--");
        arguments.extend(command);
    }
    let (code, _, said) = run_genba(directory, &arguments);
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &said);
        return None;
    }
    assert!(!said.contains("panicked"), "{said}");
    let text = fs::read_to_string(directory.join("waits.json"));
    let text = text.unwrap_or_else(|error| panic!("{arguments:?}: {error}, {code}: {said}"));
    let all: Value = serde_json::from_str(&text).expect("one JSON document");
    assert_eq!(all["schema"], "genba/1");
    assert_eq!(all["kind"], "waits");
    hold(&all);
    Some((all, code))
}

pub fn list<'a>(all: &'a Value, name: &str) -> &'a [Value] {
    all[name].as_array().expect("a list")
}

pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// Checks what holds for any program.
fn hold(all: &Value) {
    assert!(number(&all["wall_seconds"]) > 0.0, "{all}");
    let cpu = &all["on_cpu"];
    let (low, value, high) = (&cpu["low"], &cpu["value"], &cpu["high"]);
    let shares = [low, value, high].map(number);
    assert!(shares.is_sorted(), "{cpu}");
    assert!(shares[0] >= 0.0 && shares[2] <= 1.0, "{cpu}");
    assert!(!list(all, "sources").is_empty(), "{all}");
    for one in list(all, "threads") {
        let parts = ["running", "runnable", "blocked", "unknown"].map(|name| number(&one[name]));
        assert!(parts.iter().all(|&part| part >= 0.0), "{one}");
        let mut before = 0.0;
        for span in list(one, "timeline") {
            let (from, to) = (number(&span["from"]), number(&span["to"]));
            assert!(before <= from && from <= to, "{one}");
            before = to;
        }
    }
    let path = list(all, "critical_path");
    let shares = path.iter().map(|step| number(&step["share"]["value"]));
    let sum: f64 = shares.sum();
    // A list that is full leaves the shortest steps out: a shell starts dozens of processes.
    let least = if path.len() < 50 { 0.98 } else { 0.5 };
    assert!(sum == 0.0 || (least..1.02).contains(&sum), "{sum}: {all}");
    for one in list(all, "waits") {
        assert_ne!(one["reason"], "running", "{one}");
    }
    for one in list(all, "findings") {
        let gain = &one["predicted_speedup"];
        let (low, value) = (number(&gain["low"]), number(&gain["value"]));
        assert!(low >= 1.0 && low <= value, "{one}");
        assert!(value <= number(&gain["high"]), "{one}");
    }
}

/// Whether something was waited for in one of these ways.
fn waited_for(all: &Value, reasons: &[&str]) -> bool {
    let reason = |one: &Value| one["reason"].as_str().map(str::to_owned);
    let mut all = list(all, "waits").iter().filter_map(reason);
    all.any(|one| reasons.contains(&one.as_str()))
}

#[test]
fn a_command_that_sleeps_waits() {
    let test = "a_command_that_sleeps_waits";
    let directory = scratch();
    let here = directory.path();
    let Some((all, code)) = waits(test, here, &[], &["sh", "-c", "sleep 0.5; :"]) else {
        return;
    };
    assert_eq!(code, 0);
    assert!(number(&all["wall_seconds"]) >= 0.5, "{all}");
    assert!(waited_for(&all, &["sleep", "child"]), "{all}");
    assert_eq!(all["command"][0], "sh");
    let (code, text, said) = run_genba(here, &["wait", "--", "sh", "-c", "sleep 0.3; echo done"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        text.contains("done\n") && text.contains("\nwall "),
        "{text}"
    );
    assert!(
        text.contains("waiting") && text.contains("\nTHREADS"),
        "{text}"
    );
}

#[test]
fn both_ends_of_a_pipe_are_watched() {
    let test = "both_ends_of_a_pipe_are_watched";
    let directory = scratch();
    let line = "(sleep 0.5; echo late) | cat >/dev/null";
    let Some((all, code)) = waits(test, directory.path(), &[], &["sh", "-c", line]) else {
        return;
    };
    assert_eq!(code, 0);
    let threads = list(&all, "threads");
    let has = |name: &str| threads.iter().any(|one| one["name"] == name);
    assert!(has("cat") && has("sleep"), "{threads:?}");
    assert!(waited_for(&all, &["pipe", "child", "sleep"]), "{all}");
}

/// What three threads wait for that hold one lock `times` times each and sleep for 1 ms meanwhile.
fn waits_of_contended(test: &str, here: &Path, times: &str) -> Option<Value> {
    let flags = ["-g", "-O1", "-pthread"];
    let prog = crate::support::program(test, here, "contended.c", &flags)?;
    let prog = prog.to_str().expect("a plain path");
    let (all, code) = waits(test, here, &[], &[prog, "sleep", times])?;
    assert_eq!(code, 0);
    Some(all)
}

#[test]
fn threads_that_share_a_lock_are_seen_waiting_for_it() {
    let test = "threads_that_share_a_lock_are_seen_waiting_for_it";
    let directory = scratch();
    let here = directory.path();
    // The lock is held while its holder sleeps: that takes 1 ms × 3 threads × 200 on any machine.
    let Some(all) = waits_of_contended(test, here, "200") else {
        return;
    };
    assert!(number(&all["wall_seconds"]) >= 0.6, "{all}");
    let threads = list(&all, "threads");
    let clerks = threads.iter().filter(|one| {
        let name = one["name"].as_str().unwrap_or_default();
        name.starts_with("clerk-")
    });
    assert_eq!(clerks.count(), 3, "{threads:?}");
    assert!(waited_for(&all, &["lock"]), "{all}");
    let lock = list(&all, "waits")
        .iter()
        .find(|one| one["reason"] == "lock")
        .expect("it was found");
    assert_eq!(lock["waiter"]["function"], "post", "{lock}");
}

#[test]
fn page_has_a_timeline_of_the_threads() {
    let test = "page_has_a_timeline_of_the_threads";
    let directory = scratch();
    let here = directory.path();
    let page = ["--html", "page.html"];
    let Some((_, code)) = waits(test, here, &page, &["sh", "-c", "sleep 0.3; :"]) else {
        return;
    };
    assert_eq!(code, 0);
    let page = fs::read_to_string(here.join("page.html")).expect("the page");
    assert!(page.contains("<h2>Timeline</h2>"), "{page}");
    assert!(page.contains("<h2>Threads</h2>"), "{page}");
}

#[test]
fn case_of_waits_has_off_cpu_functions_and_a_flame_graph_of_wall_time() {
    let test = "case_of_waits_has_off_cpu_functions_and_a_flame_graph_of_wall_time";
    let directory = scratch();
    let here = directory.path();
    let Some(all) = waits_of_contended(test, here, "100") else {
        return;
    };
    // Stacks are the threads' wall time, no more and no less.
    let sum = |list: &[Value], name: &str| list.iter().map(|one| number(&one[name])).sum::<f64>();
    let (stacks, threads) = (
        sum(list(&all, "stacks"), "seconds"),
        sum(list(&all, "threads"), "wall"),
    );
    assert!(
        (stacks - threads).abs() < 1e-6 * threads,
        "{stacks} {threads}"
    );
    let known = |tid: &Value| list(&all, "threads").iter().any(|one| &one["tid"] == tid);
    for one in list(&all, "wake_ups") {
        assert!(known(&one["waker"]) && known(&one["woken"]), "{one}");
        assert_ne!(one["waker"], one["woken"]);
    }
    // A lock that names its owner is held while that sleeps: somebody releases it to somebody.
    assert!(!list(&all, "wake_ups").is_empty(), "{all}");

    let off = crate::support::json(here, "off-cpu", &["report", "--off-cpu", "--json"]);
    let (part, whole) = (
        number(&off["off_cpu_seconds"]),
        number(&off["thread_seconds"]),
    );
    assert!(part > 0.0 && part <= whole, "{off}");
    let post = list(&off, "functions")
        .iter()
        .find(|one| one["function"] == "post");
    let post = post.unwrap_or_else(|| panic!("post waits: {off}"));
    assert!(number(&post["self_seconds"]) > 0.0, "{post}");
    let reasons = list(post, "reasons");
    assert!(reasons.iter().any(|one| one["reason"] == "lock"), "{post}");
    let (code, text, said) = run_genba(here, &["report", "latest", "--off-cpu"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        text.contains("\nFUNCTIONS") && text.contains("\nSTACKS"),
        "{text}"
    );

    let (code, _, said) = run_genba(here, &["flame", "latest"]);
    assert_eq!(code, 0, "{said}");
    let svg = fs::read_to_string(here.join("flame.svg")).expect("the graph");
    assert!(svg.contains("off a CPU") && svg.contains("[lock"), "{svg}");
    let collapsed = ["flame", "--off-cpu", "--collapsed", "-o", "-"];
    let (code, lines, said) = run_genba(here, &collapsed);
    assert_eq!(code, 0, "{said}");
    assert!(
        lines
            .lines()
            .all(|line| line.contains("];") || line.contains("] ")),
        "{lines}"
    );
    assert!(lines.contains(";post;"), "{lines}");

    let (code, shown, said) = run_genba(here, &["case", "show"]);
    assert_eq!(code, 0, "{said}");
    assert!(shown.contains("\nTHREADS"), "{shown}");
    // There are no samples to show.
    let (code, _, said) = run_genba(here, &["report", "latest"]);
    assert_eq!(code, 2);
    assert!(said.contains("--off-cpu"), "{said}");
}

#[test]
fn without_waits_off_cpu_names_the_command_that_records_them() {
    let directory = scratch();
    let here = directory.path();
    fs::write(here.join("some.data"), "PERFILE2").expect("a file");
    for arguments in [
        &["report", "--off-cpu"][..],
        &["flame", "--off-cpu"],
        &["report", "some.data", "--off-cpu"],
        &["flame", "--off-cpu", "-i", "some.data"],
    ] {
        let (code, text, said) = run_genba(here, arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(
            said.contains("genba wait -- COMMAND"),
            "{arguments:?}: {said}"
        );
        assert!(text.is_empty());
    }
    let (code, _, said) = run_genba(here, &["report", "a", "-i", "b"]);
    assert_eq!(code, 2);
    assert!(said.contains("given twice"), "{said}");
}

#[test]
fn failed_command_is_reported_after_what_was_seen() {
    let test = "failed_command_is_reported_after_what_was_seen";
    let directory = scratch();
    let here = directory.path();
    let Some((all, code)) = waits(test, here, &[], &["sh", "-c", "sleep 0.2; exit 7"]) else {
        return;
    };
    assert_eq!(code, 3);
    assert!(number(&all["wall_seconds"]) >= 0.2, "{all}");
}

#[test]
fn process_that_is_attached_to_survives() {
    let test = "process_that_is_attached_to_survives";
    let directory = scratch();
    let mut watched = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let pid = watched.id().to_string();
    let found = ["--timeout", "--seconds"].map(|time| {
        let options = ["-p", &pid, time, "0.5"];
        waits(test, directory.path(), &options, &[])
    });
    let alive = watched.try_wait().expect("a child").is_none();
    watched.kill().expect("it is ours");
    watched.wait().expect("it ends");
    assert!(alive, "it was ended");
    for (all, code) in found.into_iter().flatten() {
        assert_eq!(code, 0);
        assert_eq!(all["pid"].as_u64(), pid.parse().ok());
        assert!(waited_for(&all, &["sleep"]), "{all}");
    }
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    let directory = scratch();
    let here = directory.path();
    for (arguments, about) in [
        (&["wait"][..], "for example: -- ls -l"),
        (&["wait", "-p", "1", "--", "true"], "cannot be used with"),
        (
            &["wait", "--seconds", "3", "--", "true"],
            "cannot be used with",
        ),
        (&["wait", "--seconds", "3"], "--pid"),
        (&["wait", "--json", "--html", "-", "--", "true"], "--html -"),
        (
            &["wait", "--", "no-such-command-anywhere"],
            "no-such-command-anywhere",
        ),
    ] {
        let (code, text, said) = run_genba(here, arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(
            said.contains(about) && text.is_empty(),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn time_of_hundreds_of_short_threads_is_classified() {
    let test = "time_of_hundreds_of_short_threads_is_classified";
    let directory = scratch();
    let source = "import threading, time\n\
                  threads = [threading.Thread(target=time.sleep, args=(0.4,)) for _ in range(300)]\n\
                  [thread.start() for thread in threads]\n\
                  [thread.join() for thread in threads]\n";
    let script = directory.path().join("sleepers.py");
    fs::write(&script, source).expect("it can be written");
    let command = ["python3", script.to_str().expect("UTF-8")];
    let Some((all, _)) = waits(test, directory.path(), &[], &command) else {
        return;
    };
    let totals = &all["all_threads"];
    assert!(number(&totals["threads"]) >= 301.0, "{totals}");
    let wall = number(&totals["wall"]);
    let parts = ["running", "runnable", "blocked", "unknown"].map(|part| number(&totals[part]));
    assert!(
        (parts.iter().sum::<f64>() - wall).abs() < 1e-6 * wall,
        "{totals}"
    );
    // All but the first sleep for most of their lives: seen once, that is known of all of them.
    assert!(number(&totals["unknown"]) < 0.05 * wall, "{totals}");
}
