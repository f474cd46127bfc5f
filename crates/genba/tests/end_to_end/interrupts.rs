//! Every verb that runs something × every signal that ends genba: exit code, process tree, temporary
//! files, state of the case.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{run_genba, scratch};
use rustix::process::{Pid, Signal, kill_process};

/// What the user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    One(Signal),
    TwiceInt,
}

const ALL: [End; 5] = [
    End::One(Signal::INT),
    End::One(Signal::TERM),
    End::One(Signal::HUP),
    End::One(Signal::KILL),
    End::TwiceInt,
];

/// Longest time in which something must have happened. Far more than it takes: no test waits for it
/// unless genba is broken.
const LIMIT: Duration = Duration::from_secs(30);

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A place in which a genba runs that is then ended.
struct Place {
    directory: tempfile::TempDir,
    temporary: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = scratch();
        let temporary = directory.path().join("tmp");
        fs::create_dir(&temporary).expect("made");
        Self {
            directory,
            temporary,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A shell line that writes its process id and then waits, with a child, until it is ended.
    fn waiting(&self) -> String {
        let ids = self.path().join("ids");
        format!(
            "echo $$ >>{0}; sleep 1000 & echo $! >>{0}; wait",
            ids.display()
        )
    }

    fn start(&self, arguments: &[&str]) -> Child {
        // Under nohup genba ignores hangups, as it should.
        Command::new("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_genba")])
            .args(arguments)
            .current_dir(self.path())
            .env_remove("GENBA_HOME")
            .env("TMPDIR", &self.temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.path().join("err")).expect("a file"))
            .spawn()
            .expect("genba starts")
    }

    /// The ids that the commands have written, once there are two of the run in progress.
    fn processes(&self) -> Vec<Pid> {
        let text = fs::read_to_string(self.path().join("ids")).unwrap_or_default();
        let ids = text.lines().filter_map(|line| line.trim().parse().ok());
        ids.filter_map(Pid::from_raw).collect()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path().join("err")).unwrap_or_default()
    }

    /// Ends genba, and checks what is left.
    fn end(&self, genba: Child, end: End, what: &str) {
        self.end_with(genba, end, what, end != End::One(Signal::KILL));
    }

    /// The same; whether its temporary files must be gone.
    fn end_with(&self, mut genba: Child, end: End, what: &str, leaves_nothing: bool) {
        let pid = Pid::from_child(&genba);
        match end {
            End::One(signal) => kill_process(pid, signal).expect("it runs"),
            End::TwiceInt => {
                kill_process(pid, Signal::INT).expect("it runs");
                // The second may come too late.
                let _ = kill_process(pid, Signal::INT);
            }
        }
        let status = genba.wait().expect("it ends");
        let said = self.said();
        match end {
            End::One(Signal::KILL) => assert_eq!(status.signal(), Some(9), "{what}: {said}"),
            _ => assert_eq!(status.code(), Some(130), "{what}: {said}"),
        }
        self.wait_for_processes(what);
        if leaves_nothing {
            assert_eq!(self.left(), Vec::<String>::new(), "{what}: {said}");
        }
        // Nothing but cases that can be read, and none that is said to run.
        let (code, cases, said) = run_genba(self.path(), &["case", "list", "--json"]);
        assert_eq!(code, 0, "{what}: {said}");
        assert!(!cases.contains("\"running\""), "{what}: {cases}");
        assert!(!cases.contains("\"complete\""), "{what}: {cases}");
    }

    /// Waits until the commands have ended.
    fn wait_for_processes(&self, what: &str) {
        let gone = |pid: &Pid| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            // A zombie is nobody's business but its parent's.
            stat.map_or(true, |stat| stat.contains(") Z "))
        };
        wait_until(&format!("{what}: the process tree is gone"), || {
            self.processes().iter().all(gone)
        });
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.temporary)
            .expect("a directory")
            .flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

/// The verbs, each with a command that waits: `LINE` is replaced by the shell line.
const VERBS: [&[&str]; 17] = [
    &["investigate", "LINE"],
    &["explain", "LINE"],
    &["count", "--once", "LINE"],
    &["count", "LINE"],
    &["observe", "main", "LINE"],
    &["stat", "LINE"],
    &["record", "LINE"],
    &["wait", "LINE"],
    &["bench", "LINE"],
    &["gate", "LINE", "true"],
    &["sweep", "--param", "N=1,2", "LINE; : {N}"],
    &["ablate", "--without", "a: true", "LINE"],
    &["try", "--with", "bind symbols at start", "LINE"],
    &[
        "grow",
        "--param",
        "N=100,200,400",
        "--",
        "sh",
        "-c",
        "LINE; : {N}",
    ],
    &[
        "bisect",
        "range",
        "--param",
        "N=1,2,3",
        "--",
        "sh",
        "-c",
        "LINE; : {N}",
    ],
    &[
        "bisect",
        "set",
        "--items",
        "a,b",
        "--",
        "sh",
        "-c",
        "LINE; : {ITEMS}",
    ],
    &["host", "doctor", "--", "sh", "-c", "LINE"],
];

fn matrix(ends: &[End], verbs: &[&[&str]]) {
    for verb in verbs {
        for &end in ends {
            let place = Place::new();
            let line = place.waiting();
            let words: Vec<String> = (verb.iter())
                .map(|word| word.replace("LINE", &line))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut genba = place.start(&words);
            let what = format!("{verb:?} {end:?}");
            wait_until(&format!("{what}: the command runs"), || {
                let ended = genba.try_wait().expect("a child");
                assert!(ended.is_none(), "{what}: {ended:?}: {}", place.said());
                place.processes().len() >= 2
            });
            place.end(genba, end, &what);
        }
    }
}

#[test]
fn every_verb_ends_as_promised_at_every_signal() {
    matrix(&ALL, &VERBS);
}

#[test]
fn a_count_by_callgrind_ends_as_promised_at_every_signal() {
    let test = "a_count_by_callgrind_ends_as_promised_at_every_signal";
    if crate::support::tool_exists(test, "valgrind") {
        matrix(
            &ALL,
            &[&["count", "--once", "--engine", "callgrind", "LINE"]],
        );
    }
}

/// Runs that an investigation of a short command makes: to measure, to count events, to sample, to
/// count executions.
const RUNS_OF_INVESTIGATION: usize = 5;

#[test]
fn an_investigation_ends_as_promised_in_every_stage() {
    for ended in 1..RUNS_OF_INVESTIGATION {
        let late = format!("echo >>runs; [ $(wc -l <runs) -gt {ended} ] || exit 0; LINE");
        let verb: &[&str] = &["investigate", "--budget", "1ms", &late];
        matrix(&ALL, &[verb]);
    }
}

/// The verbs that build the program, each with a build that waits.
const BUILDS: [&[&str]; 3] = [
    &[
        "try", "--with", "-O3", "--build", "LINE", "--source", "source", "./prog",
    ],
    &[
        "ablate",
        "--build",
        "LINE",
        "--source",
        "source",
        "--without",
        "a: true",
        "./prog",
    ],
    &[
        "bisect",
        "git",
        "--repository",
        "source",
        "--good",
        "HEAD~1",
        "--build",
        "LINE",
        "--",
        "./prog",
    ],
];

/// Makes a source tree with two commits.
fn source_tree(directory: &Path) {
    fs::create_dir(directory).expect("made");
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let output = Command::new("git")
            .args(identity)
            .args(words)
            .current_dir(directory)
            .output();
        let output = output.expect("git starts");
        assert!(output.status.success(), "git {words:?}: {output:?}");
    };
    git(&["init", "--quiet"]);
    for content in ["one", "two"] {
        fs::write(directory.join("file"), content).expect("written");
        git(&["add", "file"]);
        git(&["commit", "--quiet", "--message", content]);
    }
}

#[test]
fn every_verb_ends_as_promised_at_every_signal_while_it_builds() {
    if !crate::support::tool_exists("every_verb_ends_as_promised_while_it_builds", "git") {
        return;
    }
    for build in BUILDS {
        for end in ALL {
            let place = Place::new();
            source_tree(&place.path().join("source"));
            let line = place.waiting();
            let words: Vec<String> = (build.iter())
                .map(|word| word.replace("LINE", &line))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut genba = place.start(&words);
            let what = format!("{build:?} {end:?}");
            wait_until(&format!("{what}: the build runs"), || {
                let ended = genba.try_wait().expect("a child");
                assert!(ended.is_none(), "{what}: {ended:?}: {}", place.said());
                place.processes().len() >= 2
            });
            // Copies of the tree are removed by the next session if there was no time for it.
            let leaves_nothing = !matches!(end, End::TwiceInt | End::One(Signal::KILL));
            place.end_with(genba, end, &what, leaves_nothing);
        }
    }
}

/// Verbs that watch a process of the user's, `PID`, until they are interrupted.
const WATCHING: [&[&str]; 3] = [
    &["record", "-p", "PID"],
    &["top", "-p", "PID"],
    &["wait", "-p", "PID"],
];

#[test]
fn a_process_that_is_watched_survives_the_end_of_genba() {
    for verb in WATCHING {
        for end in ALL {
            let place = Place::new();
            let mut watched = Command::new("sleep")
                .arg("1000")
                .spawn()
                .expect("it starts");
            let pid = watched.id().to_string();
            let words: Vec<&str> = (verb.iter())
                .map(|&word| if word == "PID" { pid.as_str() } else { word })
                .collect();
            let mut genba = place.start(&words);
            let what = format!("{verb:?} {end:?}");
            // It handles signals from some moment on.
            let mut ended = None;
            wait_until(&format!("{what}: it watches"), || {
                ended = genba.try_wait().expect("a child");
                ended.is_some() || handles_interrupts(Pid::from_child(&genba))
            });
            if ended.is_none() {
                let genba_id = Pid::from_child(&genba);
                match end {
                    End::One(signal) => kill_process(genba_id, signal).expect("it runs"),
                    End::TwiceInt => {
                        kill_process(genba_id, Signal::INT).expect("it runs");
                        let _ = kill_process(genba_id, Signal::INT);
                    }
                }
                let status = genba.wait().expect("it ends");
                let said = place.said();
                match end {
                    End::One(Signal::KILL) => assert_eq!(status.signal(), Some(9), "{what}"),
                    // Ended at once by the second signal, or if the result takes too long.
                    End::TwiceInt => assert!(
                        matches!(status.code(), Some(0 | 130)),
                        "{what}: {status}: {said}"
                    ),
                    End::One(_) => assert_eq!(status.code(), Some(0), "{what}: {said}"),
                }
            }
            assert!(
                watched.try_wait().expect("a child").is_none(),
                "{what}: it was ended"
            );
            watched.kill().expect("it runs");
            watched.wait().expect("it ends");
        }
    }
}

/// Whether a process handles or ignores all signals that could end it early.
fn handles_interrupts(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let status = status.unwrap_or_default();
    let set = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| u64::from_str_radix(line.strip_prefix(name)?.trim(), 16).ok())
    };
    // One after the other: a signal that comes before its turn would end it.
    let handled = set("SigCgt:").unwrap_or(0) | set("SigIgn:").unwrap_or(0);
    [Signal::INT, Signal::TERM, Signal::HUP]
        .iter()
        .all(|signal| handled & 1 << (signal.as_raw() - 1) != 0)
}

#[test]
fn what_a_killed_genba_has_left_is_removed_by_the_next() {
    let test = "what_a_killed_genba_has_left_is_removed_by_the_next";
    if !crate::support::tool_exists(test, "valgrind") {
        return;
    }
    let place = Place::new();
    let line = place.waiting();
    let words = ["count", "--once", "--engine", "callgrind", &line];
    let mut genba = place.start(&words);
    wait_until("the command runs", || place.processes().len() >= 2);
    genba.kill().expect("it runs");
    genba.wait().expect("it ends");
    let folders = place.left();
    assert_eq!(folders.len(), 1, "{folders:?}");
    place.wait_for_processes("valgrind");
    // One that needs no directory itself.
    let next = place.start(&["stat", "true"]);
    let output = next.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", place.said());
    assert!(!place.left().contains(&folders[0]), "{:?}", place.left());
}

#[test]
fn experiments_that_are_interrupted_say_so_also_when_they_are_resumed() {
    let place = Place::new();
    // The first runs end, so that there is a case.
    let line = format!(
        "echo >>runs; [ $(wc -l <runs) -gt 4 ] || exit 0; {}; : {{N}}",
        place.waiting()
    );
    let mut words = vec!["sweep", "--param", "N=1,2", &line];
    for (session, end) in [Signal::INT, Signal::TERM, Signal::HUP]
        .into_iter()
        .enumerate()
    {
        let genba = place.start(&words);
        let what = format!("session {session}");
        wait_until(&what, || place.processes().len() >= 2 * (session + 1));
        place.end(genba, End::One(end), &what);
        assert!(
            place.said().contains("genba case resume"),
            "{}",
            place.said()
        );
        words = vec!["case", "resume", "latest"];
    }
}

#[test]
fn genba_under_nohup_survives_a_hangup() {
    let place = Place::new();
    let go = place.path().join("go");
    let line = format!(
        "echo $$ >>ids; echo >>ids; while [ ! -e {} ]; do sleep 0.01; done",
        go.display()
    );
    let genba = Command::new("nohup")
        .args([env!("CARGO_BIN_EXE_genba"), "stat", &line])
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nohup starts");
    wait_until("the command runs", || !place.processes().is_empty());
    kill_process(Pid::from_child(&genba), Signal::HUP).expect("it runs");
    fs::write(go, "").expect("written");
    let output = genba.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{:?}", output.status);
}

/// Whoever read the messages has gone: the thread that ends genba must not fail to say so.
#[test]
fn genba_ends_when_nobody_reads_its_messages_any_more() {
    let place = Place::new();
    let stubborn = format!(
        "trap '' TERM INT HUP; {}; while :; do sleep 1; done",
        place.waiting().replace("; wait", "")
    );
    let mut genba = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(["stat", "--", "sh", "-c", &stubborn])
        .current_dir(place.path())
        .env_remove("GENBA_HOME")
        .env("TMPDIR", &place.temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("genba starts");
    drop(genba.stderr.take());
    wait_until("the command runs", || place.processes().len() >= 2);
    let pid = Pid::from_child(&genba);
    let mut status = None;
    wait_until("genba ends", || {
        // The second must come after the first was taken, before the command has ended.
        let _ = kill_process(pid, Signal::INT);
        status = genba.try_wait().expect("it is waited for");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(130));
    place.wait_for_processes("messages to nobody");
}
