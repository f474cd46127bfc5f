//! `genba record --snapshot`: cases of the last moments, on request.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{interrupt, json, program, record, run_genba, scratch};

/// A genba that records snapshots, and what it says.
struct Recording {
    child: Child,
    said: BufReader<ChildStderr>,
    directory: PathBuf,
}

impl Recording {
    fn start(directory: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_genba"))
            .arg("record")
            .args(args)
            .current_dir(directory)
            .env_remove("GENBA_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("genba starts");
        let said = BufReader::new(child.stderr.take().expect("piped"));
        Self {
            child,
            said,
            directory: directory.to_owned(),
        }
    }

    /// Reads up to a line with this text.
    fn until(&mut self, text: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.said.read_line(&mut line).expect("text");
            assert!(read > 0, "no {text:?} in: {all}");
            if line.contains(text) {
                return line;
            }
            all.push_str(&line);
        }
    }

    /// The id of the next case that is told of. In its first moments a recording has no samples, nor while the whole
    /// machine stands still: then another is requested.
    fn next_case(&mut self) -> String {
        loop {
            let line = self.until("");
            if line.contains("no snapshot") {
                self.request();
            } else if line.contains(" samples") {
                let id = line
                    .strip_prefix("case ")
                    .and_then(|rest| rest.split_once(':'));
                return id.unwrap_or_else(|| panic!("{line}")).0.to_owned();
            }
        }
    }

    fn request(&self) {
        kill_process(Pid::from_child(&self.child), Signal::USR2).expect("it runs");
    }

    /// The exit code, and what was said up to the end.
    fn end(mut self) -> (i32, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("it was started");
        (status.code().unwrap_or(-1), rest)
    }

    fn cases(&self) -> usize {
        cases(&self.directory)
    }
}

fn cases(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory.join(".genba"));
    entries.map_or(0, |entries| {
        entries
            .flatten()
            .filter(|entry| entry.path().join("case.sqlite").exists())
            .count()
    })
}

/// Share of the samples whose innermost function is this.
fn share(directory: &Path, input: &str, function: &str) -> f64 {
    let profile = json(directory, "profile", &["report", "-i", input, "--json"]);
    let functions = profile["functions"].as_array().expect("functions");
    let found = functions.iter().find(|row| row["function"] == function);
    found
        .and_then(|row| row["self"]["value"].as_f64())
        .unwrap_or(0.0)
}

#[test]
fn snapshot_names_what_was_slow_for_a_moment() {
    let test = "snapshot_names_what_was_slow_for_a_moment";
    let here = scratch();
    let flags = ["-O1", "-g", "-fno-omit-frame-pointer"];
    let Some(slow) = program(test, here.path(), "seldom-slow.c", &flags) else {
        return;
    };
    let slow = slow.to_str().expect("UTF-8");
    if record(test, here.path(), &[], &[slow]).is_none() {
        return;
    }
    let whole = share(here.path(), "recording", "slow_request");
    let mut recording = Recording::start(here.path(), &["--snapshot=200ms", "-g", "--", slow, "2"]);
    recording.until("kill -USR2");
    let first = recording.next_case();
    std::fs::write(here.path().join("go1"), "").expect("a file");
    let second = recording.next_case();
    std::fs::write(here.path().join("go2"), "").expect("a file");
    let (code, said) = recording.end();
    assert_eq!(code, 0, "{said}");
    assert_ne!(first, second);
    // The end of the command is not a reason for one.
    assert_eq!(cases(here.path()), 2, "{said}");
    for case in [&first, &second] {
        let now = share(here.path(), case, "slow_request");
        assert!(now > 0.7 && now > 2.0 * whole, "{now} of {whole}: {said}");
        let page = here.path().join(".genba").join(case).join("case.html");
        let html = std::fs::read_to_string(page).expect("a page");
        assert!(html.contains("slow_request"), "{said}");
        let callers = run_genba(
            here.path(),
            &["report", "-i", case, "--calls", "slow_request"],
        );
        assert!(callers.1.contains("main"), "{callers:?}");
        let listing = run_genba(here.path(), &["annotate", "slow_request", "-i", case]);
        assert!(listing.1.contains("sink"), "{listing:?}");
    }
}

#[test]
fn ctrl_c_writes_a_last_snapshot_of_a_running_process() {
    let test = "ctrl_c_writes_a_last_snapshot_of_a_running_process";
    let here = scratch();
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let mut busy = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .stdin(Stdio::null())
        .spawn()
        .expect("sh starts");
    let pid = busy.id().to_string();
    let mut recording = Recording::start(here.path(), &["--snapshot", "-F", "499", "-p", &pid]);
    recording.until("kill -USR2");
    recording.request();
    let first = recording.next_case();
    recording.until("case.html");
    assert_eq!(recording.cases(), 1);
    interrupt(&recording.child);
    let second = recording.next_case();
    let (code, said) = recording.end();
    busy.kill().expect("it runs");
    busy.wait().expect("it was started");
    assert_eq!(code, 0, "{said}");
    assert_ne!(first, second);
    for case in [&first, &second] {
        let profile = json(here.path(), "profile", &["report", "-i", case, "--json"]);
        let threads = profile["threads"].as_array().expect("threads");
        assert!(
            threads.iter().all(|row| row["pid"] == busy.id()),
            "{threads:?}"
        );
        assert!(profile["samples"].as_u64() > Some(0), "{said}");
    }
}

#[test]
fn end_of_the_command_is_written_if_asked_for() {
    let test = "end_of_the_command_is_written_if_asked_for";
    let here = scratch();
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let load = crate::support::busy_loop(100_000);
    let args = [
        "record",
        "--snapshot",
        "--snapshot-at-end",
        "--",
        "sh",
        "-c",
        &load,
    ];
    let (code, _, said) = run_genba(here.path(), &args);
    assert_eq!(code, 0, "{said}");
    assert_eq!(cases(here.path()), 1, "{said}");
    let args = ["record", "--snapshot", "--", "sh", "-c", &load];
    let (code, _, said) = run_genba(here.path(), &args);
    assert_eq!(code, 0, "{said}");
    assert_eq!(cases(here.path()), 1, "{said}");
    assert!(said.contains("no snapshot was written"), "{said}");
    for refused in [
        &["record", "--snapshot", "-o", "x", "--", "true"][..],
        &["record", "--snapshot-at-end", "--", "true"],
        &["record", "--snapshot", "--sampler", "timer", "--", "true"],
    ] {
        let (code, _, said) = run_genba(here.path(), refused);
        assert_eq!(code, 2, "{refused:?}: {said}");
    }
}
