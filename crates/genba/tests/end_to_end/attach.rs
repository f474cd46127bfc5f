//! Recording processes that run already: several, those that they started, and until when.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{busy_loop, json, record, run_genba, scratch};

/// A process that is ended with the test, also by a panic.
struct Running(Child);

impl Running {
    /// Starts a line of the shell in `directory`.
    fn line(directory: &Path, line: &str) -> Self {
        let child = Command::new("sh")
            .args(["-c", line])
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("sh starts");
        Self(child)
    }

    fn id(&self) -> i64 {
        i64::from(self.0.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The ids of the processes of a recording.
fn recorded(directory: &Path, file: &str) -> BTreeSet<i64> {
    let document = json(directory, "profile", &["report", "-i", file, "--json"]);
    let threads = document["threads"].as_array().expect("threads");
    threads
        .iter()
        .filter_map(|row| row["pid"].as_i64())
        .collect()
}

const BUSY: &str = "while :; do :; done";

#[test]
fn several_processes_are_recorded_for_a_time() {
    let here = scratch();
    let test = "several_processes_are_recorded_for_a_time";
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let mut both = [
        Running::line(here.path(), BUSY),
        Running::line(here.path(), BUSY),
    ];
    let pids = format!("{},{}", both[0].id(), both[1].id());
    let args = ["record", "-o", "two", "-p", &pids, "--timeout", "1s"];
    let (code, _, said) = run_genba(here.path(), &args);
    assert_eq!(code, 0, "{said}");
    for one in &mut both {
        assert!(one.0.try_wait().expect("a child").is_none(), "it was ended");
    }
    let found = recorded(here.path(), "two");
    assert!(found.contains(&both[0].id()), "{found:?}");
    assert!(found.contains(&both[1].id()), "{found:?}");
}

#[test]
fn workers_that_run_already_are_recorded_until_the_command_ends() {
    let here = scratch();
    let test = "workers_that_run_already_are_recorded_until_the_command_ends";
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    // The worker is busy; the master waits for it and ends it when its input is closed.
    let line = format!("({BUSY}) & echo $! >pid; read end; kill $!");
    let mut master = Running::line(here.path(), &line);
    let file = here.path().join("pid");
    let worker: i64 = loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().parse().expect("a number");
        }
        std::thread::yield_now();
    };
    let pid = master.id().to_string();
    let load = busy_loop(300_000);
    let args = [
        "record", "-o", "workers", "-p", &pid, "--", "sh", "-c", &load,
    ];
    let (code, _, said) = run_genba(here.path(), &args);
    drop(master.0.stdin.take());
    master.0.wait().expect("it ends");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("had started is recorded as well"), "{said}");
    let found = recorded(here.path(), "workers");
    assert!(found.contains(&worker), "{found:?}");
    // The command is what bounds the time, not what is recorded.
    assert!(
        found.iter().all(|pid| [worker, master.id()].contains(pid)),
        "{found:?}"
    );
}

#[test]
fn process_that_waits_gets_a_hint() {
    let here = scratch();
    let test = "process_that_waits_gets_a_hint";
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let idle = Running::line(here.path(), "exec sleep 1000");
    // Until it sleeps: its call of execve is work.
    let name = format!("/proc/{}/wchan", idle.id());
    let stat = format!("/proc/{}/stat", idle.id());
    while !std::fs::read_to_string(&stat)
        .unwrap_or_default()
        .contains("(sleep) S")
    {
        assert!(Path::new(&name).exists(), "it ended");
        std::thread::yield_now();
    }
    let pid = idle.id().to_string();
    let (code, _, said) = run_genba(here.path(), &["record", "-p", &pid, "--timeout", "200ms"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("genba wait -p PID"), "{said}");
}

#[test]
fn recording_ends_with_the_last_process_and_ends_the_command() {
    let here = scratch();
    let test = "recording_ends_with_the_last_process_and_ends_the_command";
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let mut ending = Running::line(here.path(), "while ! test -e go; do :; done");
    // A command that never ends by itself lets the process end.
    let pid = ending.id().to_string();
    let line = "echo >go; exec sleep 1000";
    let args = ["record", "-p", &pid, "--", "sh", "-c", line];
    let child = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(args)
        .current_dir(here.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("genba starts");
    ending.0.wait().expect("it ends");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn numbers_that_are_not_processes_are_refused() {
    let here = scratch();
    for (pids, about) in [
        ("0", "not the id of a process"),
        ("1,x", "invalid value 'x'"),
        ("2147483647", "there is no such process"),
    ] {
        let (code, _, said) = run_genba(here.path(), &["record", "-p", pids]);
        assert_ne!(code, 0, "{said}");
        assert!(said.contains(about), "{said}");
    }
}

#[test]
fn running_process_gets_a_page_and_its_events_are_counted() {
    let here = scratch();
    let test = "running_process_gets_a_page_and_its_events_are_counted";
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let busy = Running::line(here.path(), BUSY);
    let pid = busy.id().to_string();
    let args = ["investigate", "-p", &pid, "--seconds", "1.5s", "--json"];
    let found = json(here.path(), "investigation", &args);
    assert_eq!(found["attached"]["pids"][0].as_i64(), Some(busy.id()));
    assert!(found["profile"]["samples"].as_u64() > Some(0));
    assert_eq!(found["workload"]["command"][0], "sh");
    assert!(found["runs"]["runs"].as_array().is_some_and(Vec::is_empty));
    let case = found["case"].as_str().expect("an id");
    let page = here.path().join(".genba").join(case).join("case.html");
    let html = std::fs::read_to_string(page).expect("the page");
    assert!(html.contains(&format!("process {pid}, watched for")));
    let again = json(
        here.path(),
        "investigation",
        &["case", "show", case, "--json"],
    );
    assert_eq!(again["attached"], found["attached"]);
    // As perf: the command bounds the time and is not counted.
    let args = ["stat", "--json", "-e", "task-clock", "-p", &pid];
    let stat = json(
        here.path(),
        "stat",
        &[&args[..], &["--", "sleep", "0.3"]].concat(),
    );
    let clock = &stat["counters"][0];
    assert_eq!(clock["state"], "counted", "{stat}");
    assert!(clock["value"]["value"].as_f64() > Some(0.0), "{stat}");
    assert!(stat["wall"]["value"].as_f64() >= Some(0.3), "{stat}");
}

#[test]
fn process_and_command_exclude_each_other_where_one_is_measured() {
    let here = scratch();
    for verb in ["investigate", "explain"] {
        let (code, _, said) = run_genba(here.path(), &[verb, "-p", "1", "--", "true"]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("exclude each other"), "{said}");
        let (code, _, said) = run_genba(here.path(), &[verb, "-p", "2147483647"]);
        assert_ne!(code, 0, "{said}");
        assert!(said.contains("there is no such process"), "{said}");
    }
    assert!(!here.path().join(".genba").exists(), "a case was left");
}
