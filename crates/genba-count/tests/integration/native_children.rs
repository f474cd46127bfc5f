//! The engine in the target's own process: children, and what becomes of requests for counts.

use std::path::Path;

use genba_count::{CountError, CountRequest, native::Native};
use genba_run::CommandSpec;

use crate::support::native_run::run;
use crate::support::{compile, count, executions, functions, module};

const FAMILY: &str = r#"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int step(int n) { return n + 1; }
int main(int argc, char **argv) {
    if (argc > 1) { volatile int x = 0; for (int i = 0; i < 30; i++) x = step(x); return 0; }
    volatile int x = 0; for (int i = 0; i < 10; i++) x = step(x);
    if (!fork()) { for (int i = 0; i < 20; i++) x = step(x); _exit(0); }
    int status; wait(&status);
    if (!vfork()) { execl("/proc/self/exe", argv[0], "again", (char *)0); _exit(1); }
    wait(&status);
    return 0;
}
"#;

#[test]
fn children_are_counted_separately_on_request() {
    let test = "children_are_counted_separately_on_request";
    for children in [false, true] {
        let Some((ran, directory)) = run(test, FAMILY, &[], children) else {
            return;
        };
        let program = directory.path().join("program");
        let start = functions(&program)["step"].0;
        let mut entered: Vec<u64> = (ran.counts.processes.iter())
            .map(|process| executions(module(process, &program), start))
            .collect();
        entered.sort_unstable();
        // The child of vfork has counts of its own until it executes a program.
        let expected: &[u64] = if children { &[0, 10, 20, 30] } else { &[10] };
        assert_eq!(entered, expected);
    }
}

const NO_DESCRIPTORS: &str = r#"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    int child = fork();
    if (child == 0) _exit(5);
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
"#;

#[test]
fn a_child_without_free_descriptors_is_reported_as_not_counted() {
    let test = "a_child_without_free_descriptors_is_reported_as_not_counted";
    let Some((ran, _directory)) = run(test, NO_DESCRIPTORS, &[], true) else {
        return;
    };
    assert_eq!(ran.counts.exit, 5);
    let notes = &ran.counts.processes[0].notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("1 children or executed programs")),
        "{notes:?}"
    );
}

const KILLED: &str = r#"
#include <signal.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i & 3; return s; }
int main(void) {
    // Killed at once: before, while and after they request to be counted. Nobody waits for them
    // before the end.
    for (int i = 0; i < 40; i++) {
        int pid = fork();
        if (pid == 0) { for (;;) pause(); }
        for (int k = 0; k < i * 20; k++) sched_yield();
        kill(pid, SIGKILL);
    }
    int last = fork();
    if (last == 0) _exit(work(1000) == 1500 ? 7 : 1);
    int status;
    waitpid(last, &status, 0);
    while (wait(0) > 0) {}
    return WEXITSTATUS(status);
}
"#;

#[test]
fn children_killed_during_a_request_do_not_block_other_requests() {
    let test = "children_killed_during_a_request_do_not_block_other_requests";
    let Some((ran, directory)) = run(test, KILLED, &[], true) else {
        return;
    };
    assert_eq!(ran.counts.exit, 7);
    assert!(ran.counts.notes.is_empty(), "{:?}", ran.counts.notes);
    let notes = ran
        .counts
        .processes
        .iter()
        .flat_map(|process| &process.notes);
    assert_eq!(notes.collect::<Vec<_>>(), Vec::<&String>::new());
    let program = directory.path().join("program");
    let (start, size) = functions(&program)["work"];
    let counted = ran.counts.processes.iter().filter(|process| {
        let modules = process
            .modules
            .iter()
            .filter(|module| module.path == program.to_string_lossy());
        let mut instructions = modules.flat_map(|module| &module.instructions);
        instructions
            .any(|one| one.address >= start && one.address < start + size && one.count == 1000)
    });
    assert_eq!(counted.count(), 1);
}

const CHROOT: &str = r#"
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc > 1) return 5;
    char path[4096] = {0};
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 77;
    *strrchr(path, '/') = 0;
    if (chroot(path) && (unshare(CLONE_NEWUSER) || chroot(path))) return 77;
    execl("/program", "program", "again", (char *)0);
    return 1;
}
"#;

#[test]
fn a_program_without_proc_is_refused() {
    let test = "a_program_without_proc_is_refused";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), test, CHROOT, &["-static"]) else {
        return;
    };
    for children in [false, true] {
        let request = CountRequest {
            spec: CommandSpec::direct([&program]),
            transfers: genba_count::Transfers::None,
            children,
            observe: None,
            native_exit: None,
        };
        match count(&Native, &request) {
            Err(CountError::Unable { reason, .. }) => {
                assert!(reason.contains("/proc/self/maps"), "{reason}");
            }
            Ok(counts) if counts.exit == 77 => {
                return genba_testing::skip(
                    test,
                    genba_testing::MACHINE,
                    "chroot is not permitted",
                );
            }
            other => panic!("{test}: {other:?}"),
        }
    }
}

const VFORKS: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
volatile long sum;
void in_child(void) { sum++; }
void in_parent(void) { sum++; }
int main(void) {
    for (int child = 1; child <= 3; child++) {
        pid_t pid = vfork();
        if (!pid) {
            for (int i = 0; i < child * 10; i++) in_child();
            if (child == 2) _exit(0);
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        for (int i = 0; i < 7; i++) in_parent();
        int status;
        waitpid(pid, &status, 0);
        if (status) return 1;
    }
    return 0;
}
"#;

#[test]
fn children_of_vfork_are_counted_until_they_execute_a_program() {
    let test = "children_of_vfork_are_counted_until_they_execute_a_program";
    for children in [false, true] {
        let Some((ran, directory)) = run(test, VFORKS, &[], children) else {
            return;
        };
        assert_eq!(ran.counts.exit, 0);
        let program = directory.path().join("program");
        let entered = |function: &str| {
            let start = functions(&program)[function].0;
            let path = std::fs::canonicalize(&program).expect("a path");
            let processes = ran.counts.processes.iter();
            let modules = processes.flat_map(|process| &process.modules);
            let own = modules.filter(|module| Path::new(&module.path) == path);
            let mut counts: Vec<u64> = own.map(|module| executions(module, start)).collect();
            counts.retain(|count| *count > 0);
            counts.sort_unstable();
            counts
        };
        assert_eq!(entered("in_parent"), [21]);
        let expected: &[u64] = if children { &[10, 20, 30] } else { &[] };
        assert_eq!(entered("in_child"), expected);
        let notes = ran
            .counts
            .processes
            .iter()
            .flat_map(|process| &process.notes);
        let vforks = notes.filter(|note| note.contains("vfork")).count();
        assert_eq!(vforks, expected.len());
        // A program that it executed has its number, and counts of its own.
        let pids: std::collections::BTreeSet<i32> = ran
            .counts
            .processes
            .iter()
            .map(|process| process.pid)
            .collect();
        assert_eq!(pids.len(), 1 + expected.len());
        assert_eq!(ran.counts.processes.len(), if children { 6 } else { 1 });
    }
}
