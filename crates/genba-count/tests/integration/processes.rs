//! Each engine on programs of several processes and threads, and on what ends them.

use std::time::Duration;

use genba_count::Engine;
use genba_run::Output;

use crate::support::{calls_to, count, each, executions, functions, module, request};

const PROCESSES: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    work(1000);
    if (!strcmp(what, "fork")) {
        int child = fork();
        if (!child) { work(50); _exit(0); }
        waitpid(child, 0, 0);
        work(200);
    }
    if (!strcmp(what, "exec")) execl(argv[0], argv[0], "", (char *)0);
    if (!strcmp(what, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(what, "crash")) *(volatile int *)0 = 1;
    if (!strcmp(what, "forever")) for (;;) work(1000);
    return 3;
}
"#;

/// Executions of the loop body in `work`, by process.
fn work(engine: &dyn Engine, program: &std::path::Path, what: &str) -> Vec<(u64, Option<String>)> {
    let mut request = request(program, [what]);
    request.children = true;
    request.spec.stderr = Output::Capture { limit: 1000 };
    // On a busy machine the engine may take long to start.
    let mut seconds = (what == "forever").then_some(1);
    let counts = loop {
        request.spec.timeout = seconds.map(Duration::from_secs);
        let counts = count(engine, &request);
        match seconds {
            Some(tried) if tried < 64 => seconds = Some(2 * tried),
            _ => break counts.expect("counts"),
        }
        if let Ok(counts) = counts
            && let Some(module) = (counts.processes[0].modules.iter())
                .find(|module| module.path.ends_with("/program"))
            && module.instructions.iter().any(|one| one.count > 1_000_000)
        {
            break counts;
        }
    };
    let expected = match what {
        "kill" => 137,
        "crash" => 139,
        "forever" => 124,
        _ => 3,
    };
    assert_eq!(counts.exit, expected, "{}: {what}", engine.name());
    let (start, size) = functions(program)["work"];
    (counts.processes.iter())
        .map(|process| {
            let module = module(process, program);
            let most = (module.instructions.iter())
                .filter(|one| (start..start + size).contains(&one.address))
                .map(|one| one.count)
                .max();
            (most.unwrap_or(0), process.cut_short.clone())
        })
        .collect()
}

#[test]
fn forked_processes_are_counted_separately() {
    let test = "forked_processes_are_counted_separately";
    each(test, PROCESSES, &[], |engine, program| {
        let work = work(engine, program, "fork");
        assert_eq!(work, [(1200, None), (50, None)], "{}", engine.name());
    });
}

#[test]
fn a_program_that_executes_another_is_counted_or_marked_cut_short() {
    let test = "a_program_that_executes_another_is_counted_or_marked_cut_short";
    each(test, PROCESSES, &[], |engine, program| {
        let work = work(engine, program, "exec");
        let [(loops, cut_short)] = work.as_slice() else {
            panic!("{work:?}");
        };
        assert_eq!(*loops, 1000, "{}", engine.name());
        // callgrind counts the executed program, qemu the one that executes it; neither sums both.
        let marked = engine.name() == "qemu";
        assert_eq!(cut_short.is_some(), marked, "{}", engine.name());
    });
}

#[test]
fn counts_of_a_killed_target_are_marked_cut_short() {
    let test = "counts_of_a_killed_target_are_marked_cut_short";
    each(test, PROCESSES, &[], |engine, program| {
        for what in ["kill", "crash"] {
            let work = work(engine, program, what);
            let [(loops, cut_short)] = work.as_slice() else {
                panic!("{work:?}");
            };
            assert_eq!(*loops, 1000, "{}: {what}", engine.name());
            let signal = if what == "kill" { "9" } else { "11" };
            assert!(
                cut_short.as_ref().is_some_and(|why| why.contains(signal)),
                "{}: {what}: {cut_short:?}",
                engine.name()
            );
        }
    });
}

#[test]
fn counts_until_a_timeout_are_marked_cut_short() {
    let test = "counts_until_a_timeout_are_marked_cut_short";
    each(test, PROCESSES, &[], |engine, program| {
        let work = work(engine, program, "forever");
        let [(loops, cut_short)] = work.as_slice() else {
            panic!("{work:?}");
        };
        assert!(*loops > 1000, "{}: {loops}", engine.name());
        assert!(
            cut_short.as_ref().is_some_and(|why| why.contains("time")),
            "{}: {cut_short:?}",
            engine.name()
        );
    });
}

const THREADS: &str = r#"
#include <pthread.h>
int step(int n) { return n + 1; }
void *run(void *p) { int n = 0; for (int i = 0; i < 20000; i++) n = step(n); return (void *)(long)n; }
int main(void) {
    pthread_t threads[6];
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

#[test]
fn counts_of_concurrent_threads_are_exact() {
    each(
        "counts_of_concurrent_threads_are_exact",
        THREADS,
        &["-pthread"],
        |engine, program| {
            let counts = count(engine, &request(program, [""; 0])).expect("counts");
            let process = &counts.processes[0];
            let (module, functions) = (module(process, program), functions(program));
            assert_eq!(
                executions(module, functions["step"].0),
                120_000,
                "{}",
                engine.name()
            );
            assert_eq!(
                calls_to(process, program, functions["step"].0),
                120_000,
                "{}",
                engine.name()
            );
            assert_eq!(
                executions(module, functions["run"].0),
                6,
                "{}",
                engine.name()
            );
        },
    );
}
