//! Limits of resources, set for genba, by the target or by a child before it executes a program, soft
//! and hard × verbs that run it: the verb ends, and the target behaves as natively, or the user is told.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{run_genba, scratch};

/// Sets a limit and reports what it is and what still works, in this process, in a program that it
/// becomes, or in one that a child becomes. Always exits with 0.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static void *thread(void *arg) { return arg; }
static void report(int resource) {
    struct rlimit now;
    pthread_t one;
    volatile char *memory = malloc(64 << 20);
    getrlimit(resource, &now);
    printf("%lld %lld ", (long long)now.rlim_cur, (long long)now.rlim_max);
    // Each page: all of it is there, and little is executed.
    for (size_t at = 0; memory && at < 64 << 20; at += 4096) memory[at] = 1;
    int created = pthread_create(&one, 0, thread, 0);
    if (!created) pthread_join(one, 0);
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d %d %d\n", !!memory, created, WEXITSTATUS(status));
    fflush(stdout);
}
int main(int argc, char **argv) {
    int resource = atoi(argv[2]);
    if (!strcmp(argv[1], "report")) { report(resource); return 0; }
    if (!strcmp(argv[1], "child")) {
        pid_t child = fork();
        if (child) { int status; waitpid(child, &status, 0); return 0; }
    }
    struct rlimit now, new;
    getrlimit(resource, &now);
    new.rlim_cur = strtoull(argv[3], 0, 10);
    new.rlim_max = strcmp(argv[4], "hard") ? now.rlim_max : new.rlim_cur;
    setrlimit(resource, &new);
    if (!strcmp(argv[1], "self")) { report(resource); return 0; }
    execl(argv[0], argv[0], "report", argv[2], (char *)0);
    return 1;
}
"#;

/// Name for `prlimit`, number and a value that leaves the program room to work.
const LIMITS: [(&str, u32, u64); 7] = [
    ("cpu", 0, 60),
    ("fsize", 1, 4096),
    ("data", 2, 300_000_000),
    ("stack", 3, 1_000_000),
    ("nproc", 6, 60_000),
    ("nofile", 7, 16),
    ("as", 9, 8_000_000_000),
];

/// Who sets the limit: for genba, for itself, before it becomes another program, a child before that.
const KINDS: [&str; 4] = ["outside", "self", "exec", "child"];

/// Runs at a time: most of an investigation's time is waiting.
const WORKERS: usize = 2;

/// A limit, and who sets it.
struct Cell {
    name: &'static str,
    resource: u32,
    value: u64,
    kind: &'static str,
    hard: bool,
}

impl Cell {
    /// The command that the limit holds for from the beginning.
    fn outside(&self) -> Vec<String> {
        let value = match self.hard {
            true => self.value.to_string(),
            false => format!("{}:", self.value),
        };
        vec!["prlimit".to_owned(), format!("--{}={value}", self.name)]
    }

    /// The words that start genba, or the target itself.
    fn start(&self) -> Vec<String> {
        match self.kind {
            "outside" => self.outside(),
            _ => Vec::new(),
        }
    }

    fn target(&self, program: &str) -> Vec<String> {
        let (resource, value) = (self.resource.to_string(), self.value.to_string());
        let hard = if self.hard { "hard" } else { "soft" };
        let words = match self.kind {
            "outside" => vec![program, "report", &resource],
            kind => vec![program, kind, &resource, &value, hard],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, resource, value) in LIMITS {
        for kind in KINDS {
            for hard in [false, true] {
                cells.push(Cell {
                    name,
                    resource,
                    value,
                    kind,
                    hard,
                });
            }
        }
    }
    cells
}

/// Runs a command; kills it, and fails, if it does not end: natively the program takes some milliseconds.
fn ends(directory: &Path, what: &str, command: &[String]) -> (i32, String) {
    let output = Command::new("timeout")
        .args(["-s", "KILL", "60"])
        .args(command)
        .current_dir(directory)
        .env_remove("GENBA_HOME")
        .stdin(Stdio::null())
        .output()
        .expect("timeout starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let code = output.status.code();
    let code = code.unwrap_or_else(|| panic!("{what}: it does not end: {said}"));
    assert_ne!(code, 137, "{what}: it does not end: {said}");
    (code, said)
}

/// Checks one cell for a verb.
fn check(here: &Path, program: &str, verb: &[&str], cell: &Cell) {
    let target = cell.target(program);
    let what = format!("{verb:?} {:?} {target:?}", cell.start());
    let natively = [cell.start(), target.clone()].concat();
    let (code, native) = ends(here, &what, &natively);
    assert_eq!(code, 0, "{what}: natively: {native}");
    let output = here.join("output");
    let _ = fs::remove_file(&output);
    let mut words = cell.start();
    words.push(env!("CARGO_BIN_EXE_genba").to_owned());
    words.extend(verb.iter().map(|&word| word.to_owned()));
    words.extend(["--output", "output", "--"].map(str::to_owned));
    words.extend(target);
    let (code, said) = ends(here, &what, &words);
    let output = fs::read_to_string(output).unwrap_or_default();
    match code {
        0 if output == native => {}
        // A later run could not be started, and the user is told why.
        0 if cell.kind == "outside" && said.contains("os error") => {}
        0 => assert!(
            said.contains("limited"),
            "{what}: {native}\nbut {output}{said}"
        ),
        // A file of genba's own is larger than it may be.
        2 if cell.kind == "outside" => assert!(said.contains("error: "), "{what}: {said}"),
        4 => assert!(said.contains("error: "), "{what}: {said}"),
        _ => panic!("{what}: {code}: {said}"),
    }
}

/// Checks these cells for a verb.
fn matrix(test: &str, verb: &[&str], cells: &[Cell]) {
    let directory = scratch();
    let compiled = genba_testing::compile_c(test, directory.path(), PROGRAM, &["-pthread"], &[]);
    let Some(program) = compiled else { return };
    if !crate::support::tool_exists(test, "prlimit") {
        return;
    }
    let program = program.display().to_string();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let directory = scratch();
                let here = directory.path();
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(here, &program, verb, cell);
                }
                let (code, _, said) = run_genba(here, &["case", "list"]);
                assert_eq!(code, 0, "{said}");
            });
        }
    });
}

#[test]
fn counted_targets_with_limits_behave_as_natively_or_the_user_is_told() {
    matrix("count with limits", &["count", "--once"], &cells());
}

#[test]
fn recorded_targets_with_limits_behave_as_natively_or_the_user_is_told() {
    matrix("record with limits", &["record"], &cells());
}

#[test]
fn investigated_targets_with_limits_behave_as_natively_or_the_user_is_told() {
    // Soft and hard in turns: it takes a second or two.
    let mut cells = cells();
    let mut index = 0;
    cells.retain(|cell| {
        let pair = index / 2;
        index += 1;
        cell.hard == (pair + pair / KINDS.len()).is_multiple_of(2)
    });
    let verb = ["investigate", "--budget", "1ms"];
    matrix("investigate with limits", &verb, &cells);
}
