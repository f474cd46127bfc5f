//! Limits of resources that the target, or a child of it, sets for itself × verbs that run it: the
//! verb ends, and the target behaves as natively, or the user is told.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{run_genba, scratch};

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
    char *memory = malloc(64 << 20);
    getrlimit(resource, &now);
    printf("%lld %lld ", (long long)now.rlim_cur, (long long)now.rlim_max);
    if (memory) memset(memory, 1, 64 << 20);
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

/// `RLIMIT_CPU`, `FSIZE`, `DATA`, `STACK`, `NPROC`, `NOFILE`, `AS`, each with a value that leaves the
/// program room to work.
const LIMITS: [(u32, u64); 7] = [
    (0, 60),
    (1, 4096),
    (2, 300_000_000),
    (3, 1_000_000),
    (6, 60_000),
    (7, 16),
    (9, 8_000_000_000),
];

const KINDS: [&str; 3] = ["self", "exec", "child"];

/// Runs genba; kills it, and fails, if it does not end: natively the program takes some milliseconds.
fn ends(directory: &Path, what: &str, arguments: &[&str]) -> (i32, String) {
    let with_limit = [
        &["-s", "KILL", "60", env!("CARGO_BIN_EXE_genba")],
        arguments,
    ]
    .concat();
    let output = Command::new("timeout")
        .args(with_limit)
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

#[test]
fn targets_that_limit_themselves_behave_as_natively_or_the_user_is_told() {
    let test = "targets_that_limit_themselves_behave_as_natively_or_the_user_is_told";
    let directory = scratch();
    let here = directory.path();
    let Some(program) = genba_testing::compile_c(test, here, PROGRAM, &["-pthread"], &[]) else {
        return;
    };
    let program = program.display().to_string();
    for (at, (resource, value)) in LIMITS.into_iter().enumerate() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            let (resource, value) = (resource.to_string(), value.to_string());
            let hard = if (at + number) % 2 == 0 {
                "soft"
            } else {
                "hard"
            };
            let command = [&program, kind, &resource, &value, hard];
            let native = Command::new(command[0]).args(&command[1..]).output();
            let native = native.expect("it runs").stdout;
            // Each limit with each verb, each kind with a count: the other verbs take longer.
            let mut verbs: Vec<&[&str]> = vec![&["count", "--once"]];
            match (at + number) % 3 {
                0 => verbs.push(&["record"]),
                1 => verbs.push(&["investigate", "--budget", "1ms"]),
                _ => {}
            }
            for verb in verbs {
                let what = format!("{verb:?} {command:?}");
                let (code, said) = ends(here, &what, &{
                    let mut words = verb.to_vec();
                    words.extend(["--output", "output", "--"]);
                    words.extend(command);
                    words
                });
                let output = fs::read(here.join("output")).unwrap_or_default();
                match code {
                    0 if output == native => {}
                    0 => assert!(
                        said.contains("limited"),
                        "{what}: {}\nbut {}{said}",
                        String::from_utf8_lossy(&native),
                        String::from_utf8_lossy(&output)
                    ),
                    4 => assert!(said.contains("error: "), "{what}: {said}"),
                    _ => panic!("{what}: {code}: {said}"),
                }
            }
        }
    }
    let (code, _, said) = run_genba(here, &["case", "list"]);
    assert_eq!(code, 0, "{said}");
}
