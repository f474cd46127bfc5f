//! Programs with edits, switched on and off at random moments, compute what they compute natively.

use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_count::native::{DuetRequest, DuetRun, run_duet};
use genba_model::{ExitKind, FindingSite};
use genba_prove::{DecodedCode, Plan, plans};
use genba_run::{Cancel, CommandSpec, Launcher, Output};
use genba_symbols::Binary;

/// Divisions in a loop, interrupted by a timer whose handler divides, too.
const DIVISIONS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
__attribute__((noinline)) unsigned long divide(unsigned long n, volatile unsigned long *by) {
    unsigned long sum = 0;
    for (unsigned long i = n; i > 0; i--) {
        unsigned long d = *by, q, r, a, b;
        __asm__ volatile("xor %%edx, %%edx\n\tdiv %4\n\tmov %%rdx, %1\n\tmov %5, %%rax\n\txor %%edx, %%edx\n\tdiv %4"
            : "=&a"(q), "=&r"(r) , "=&d"(a), "=&r"(b) : "r"(d), "r"(i), "0"(i) : "cc");
        sum = sum * 31 + q + r;
    }
    return sum;
}
static volatile unsigned long by[2] = {10, 7};
static volatile unsigned long in_handler, alarms;
static void on_alarm(int signal) {
    in_handler = divide(20, &by[1]);
    alarms++;
}
int main(void) {
    struct sigaction action; memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm; sigaction(SIGALRM, &action, 0);
    struct itimerval every = {{0, 200}, {0, 200}}; setitimer(ITIMER_REAL, &every, 0);
    for (int i = 0; i < 8; i++) { by[0] = i + 3; printf("%lu\n", divide(2000000, &by[0])); }
    memset(&every, 0, sizeof every); setitimer(ITIMER_REAL, &every, 0);
    printf("%lu %d\n", in_handler, alarms > 10);
    return 7;
}
"#;

/// Locked additions by one thread, then by three.
const LOCKED: &str = r#"
#include <pthread.h>
#include <stdio.h>
static unsigned long count;
__attribute__((noinline)) void *add(void *n) {
    for (long i = 0; i < (long)n; i++) __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
    return 0;
}
int main(void) {
    add((void *)20000000);
    printf("%lu\n", count);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) if (pthread_create(&threads[i], 0, add, (void *)3000000)) return 9;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    printf("%lu\n", count);
    return 0;
}
"#;

fn compiled(directory: &Path, test: &str, source: &str) -> Option<PathBuf> {
    let options = ["-O2", "-g", "-pthread"];
    let program = genba_testing::compile_c(test, directory, source, &options, &[])?;
    Some(std::fs::canonicalize(program).expect("a path"))
}

/// The plans for the instructions of a function that a cause is about.
fn plans_for(cause: &str, program: &Path, function: &str, text: &str) -> Vec<Plan> {
    let binary = Binary::open(program).expect("an ELF file");
    let symbol = binary.find(function).pop().expect("a function");
    let code = DecodedCode::around(&binary, symbol.address).expect("code");
    let is_meant = |one: &&iced_x86::Instruction| format!("{one}").starts_with(text);
    let site = FindingSite {
        function: function.to_owned(),
        module: program.display().to_string(),
        file: None,
        line: None,
        end_line: None,
        addresses: code
            .instructions()
            .iter()
            .filter(is_meant)
            .map(iced_x86::Instruction::ip)
            .collect(),
        called_from: None,
        inside: None,
    };
    plans(cause, &site, &code).expect("plans")
}

fn duet(program: &Path, plan: &Plan, edited: bool, window: Duration, seed: u64) -> Option<DuetRun> {
    let mut spec = CommandSpec::direct([program]);
    spec.stdout = Output::Capture { limit: 1 << 16 };
    let request = DuetRequest {
        spec,
        module: program.display().to_string(),
        edits: plan.edits.clone(),
        edited,
        single_thread: plan.single_thread,
        replicas: plan.replicas,
        window,
        seed,
    };
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    match run_duet(&request, &mut launcher, &cancel) {
        Ok(run) => Some(run),
        Err(error) => {
            genba_testing::skip(
                "edited_programs",
                genba_testing::COUNT_ENGINE,
                &error.to_string(),
            );
            None
        }
    }
}

fn natively(program: &Path) -> (Vec<u8>, ExitKind) {
    let mut spec = CommandSpec::direct([program]);
    spec.stdout = Output::Capture { limit: 1 << 16 };
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    let run = launcher.run(&spec, &cancel).expect("a run");
    (run.stdout.captured, run.record.exit)
}

/// Runs with all ways to change sides: the outputs are the native one.
fn check(program: &Path, all: &[Plan]) {
    let expected = natively(program);
    for plan in all.iter().filter(|plan| !plan.edits.is_empty()) {
        for (edited, window, seed) in [
            (false, Duration::from_millis(5), 1),
            (true, Duration::from_nanos(1), 2),
            (true, Duration::from_millis(5), 3),
            (true, Duration::ZERO, 1),
        ] {
            let Some(run) = duet(program, plan, edited, window, seed) else {
                return;
            };
            let how = format!("{:?}, edited {edited}, {window:?}", plan.change);
            assert_eq!(run.finished.record.exit, expected.1, "{how}");
            let output = String::from_utf8_lossy(&run.finished.stdout.captured).into_owned();
            assert_eq!(output, String::from_utf8_lossy(&expected.0), "{how}");
            assert!(run.blocks > 0 && run.foreign == 0, "{how}");
            assert!(!window.is_zero() || run.windows.is_empty(), "{how}");
        }
    }
}

#[test]
fn divisions_compute_the_same_while_sides_change_and_signals_arrive() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "divisions_compute_the_same_while_sides_change_and_signals_arrive";
    let Some(program) = compiled(directory.path(), test, DIVISIONS) else {
        return;
    };
    let pair = plans_for("duplicate-division", &program, "divide", "div");
    assert_eq!(pair.len(), 2, "in registers, and by memory");
    check(&program, &pair);
    let divisors = plans_for("loop-invariant-divisor", &program, "divide", "div");
    check(&program, &divisors);
}

#[test]
fn locks_are_back_before_there_is_a_second_thread() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "locks_are_back_before_there_is_a_second_thread";
    let Some(program) = compiled(directory.path(), test, LOCKED) else {
        return;
    };
    let all = plans_for("needless-atomic", &program, "add", "lock");
    check(&program, &all);
}

#[test]
fn code_that_is_another_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "code_that_is_another_is_refused";
    let Some(program) = compiled(directory.path(), test, LOCKED) else {
        return;
    };
    let mut all = plans_for("needless-atomic", &program, "add", "lock");
    all[0].edits[0].original[1] ^= 1;
    let request = DuetRequest {
        spec: CommandSpec::direct([&program]),
        module: program.display().to_string(),
        edits: all[0].edits.clone(),
        edited: true,
        single_thread: true,
        replicas: None,
        window: Duration::ZERO,
        seed: 1,
    };
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    let refused = run_duet(&request, &mut launcher, &cancel).expect_err("another instruction");
    assert!(
        refused.to_string().contains("another instruction"),
        "{refused}"
    );
}
