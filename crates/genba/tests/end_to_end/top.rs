//! `genba top` where there is no terminal: one window, then a table.

use crate::support::{run_genba, scratch};

/// What a window of a command that computes gives with these flags; `None` where nothing can be sampled.
fn window_of_a_loop(test: &str, flag: &str) -> Option<String> {
    let here = scratch();
    let line = ["top", "--window", "1", flag, "--"];
    let line = [&line[..], &["sh", "-c", "while :; do :; done"]].concat();
    let (code, out, err) = run_genba(here.path(), &line);
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &err);
        return None;
    }
    assert_eq!(code, 0, "{err}");
    Some(out)
}

#[test]
fn once_prints_one_window_of_a_running_command() {
    let test = "once_prints_one_window_of_a_running_command";
    let Some(out) = window_of_a_loop(test, "--json") else {
        return;
    };
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["kind"], "profile");
    assert!(document["samples"].as_u64() > Some(0), "{out}");
    let threads = document["thread_times"].as_array().expect("threads");
    let shell = threads.iter().find(|one| one["name"] == "sh");
    assert!(
        shell.is_some_and(|one| one["running"].as_f64() > Some(0.0)),
        "{out}"
    );
    // The shell was ended with genba, or this would never have come here.
}

#[test]
fn window_of_a_process_ends_with_the_time_limit() {
    let test = "window_of_a_process_ends_with_the_time_limit";
    let here = scratch();
    let mut child = std::process::Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .expect("sh starts");
    let pid = child.id().to_string();
    // The window would be longer than any test may take.
    let line = [
        "top",
        "--window",
        "1h",
        "--timeout",
        "1s",
        "--json",
        "-p",
        &pid,
    ];
    let (code, out, err) = run_genba(here.path(), &line);
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &err);
        return;
    }
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert!(document["samples"].as_u64() > Some(0), "{out}");
}

#[test]
fn missing_target_is_a_usage_error() {
    let here = scratch();
    let (code, _, err) = run_genba(here.path(), &["top"]);
    assert_eq!(code, 2);
    assert!(err.contains("give -p PID"), "{err}");
}

#[test]
fn once_shows_how_the_time_of_threads_divides() {
    let test = "once_shows_how_the_time_of_threads_divides";
    let Some(out) = window_of_a_loop(test, "--once") else {
        return;
    };
    let threads = out.split_once("\nTHREADS").expect("the table").1;
    assert!(
        threads.contains("running") && threads.contains("\n  sh "),
        "{out}"
    );
    assert!(
        !threads.contains("genba"),
        "its own processes are not a target: {out}"
    );
}

#[test]
fn window_of_an_idle_process_says_that_it_used_no_cpu() {
    let test = "window_of_an_idle_process_says_that_it_used_no_cpu";
    let here = scratch();
    let mut child = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .expect("sleep starts");
    let pid = child.id().to_string();
    let line = ["top", "--once", "--window", "300ms", "-p", &pid];
    let (code, _, err) = run_genba(here.path(), &line);
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &err);
        return;
    }
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("used no CPU time"), "{err}");
}
