//! A debugger that attaches to a counted program finds it as it would natively.

mod support;

use std::path::Path;
use std::process::Command;

use genba_count::{CountRequest, Engine, native::Native};
use genba_run::{CommandSpec, Output};

use support::{compile, count, executions, functions, module};

/// Says its number, and calls functions that have something on the stack until a file is there.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
long leaf(long n, long m) { long a[4] = {n, m, 3, 4}, s = 0; asm volatile("" ::: "rbx", "rbp", "r12", "r15");
    for (long i = 0; i < n; i++) { a[i & 3] += i ^ s; s += a[(i * m) & 3]; if (s & 8) s ^= i; asm volatile("" : "+m"(a)); }
    return s; }
long middle(long n) { long s = 0; asm volatile("" ::: "rbx", "r14");
    for (long i = 0; i < n; i++) s += leaf(9, i);
    return s + 1; }
static volatile int up;
static void *sleeper(void *unused) { up = 1; for (;;) sleep(1000); }
int main(int argc, char **argv) {
    pthread_t thread; pthread_create(&thread, 0, sleeper, 0);
    while (!up);
    printf("%d\n", getpid()); fflush(stdout);
    for (long i = 0; i < 3000; i++) middle(10);
    while (access(argv[1], F_OK)) middle(1000);
    return 3;
}
"#;

/// What gdb says when it attaches and does this.
fn gdb(pid: &str, commands: &[String]) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-p", pid]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let output = gdb.output().expect("gdb runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Functions of a backtrace's lines, the innermost first, but for the frame of the copy.
fn chains(said: &str) -> Vec<Vec<String>> {
    let mut chains: Vec<Vec<String>> = Vec::new();
    for line in said.lines().filter(|line| line.starts_with('#')) {
        if line.starts_with("#0 ") {
            chains.push(Vec::new());
        }
        let mut words = line.split_whitespace().skip(1);
        let mut name = words.next().unwrap_or_default();
        if name.starts_with("0x") {
            name = words.nth(1).unwrap_or_default();
        }
        if let Some(chain) = chains.last_mut()
            && name != "<signal"
        {
            chain.push(name.to_owned());
        }
    }
    chains
}

/// The line that a program writes; `None` where it ends without.
fn waits_for(path: &Path, ended: impl Fn() -> bool) -> Option<String> {
    loop {
        let last = ended();
        let said = std::fs::read_to_string(path).unwrap_or_default();
        if let Some(line) = said.strip_suffix('\n') {
            return Some(line.to_owned());
        }
        if last {
            return None;
        }
        std::thread::yield_now();
    }
}

/// Whether the kernel lets a process say where its vDSO is (`CONFIG_CHECKPOINT_RESTORE`).
fn kernel_allows() -> bool {
    const PR_SET_MM_MAP_SIZE: libc::c_int = 15;
    let mut size: libc::c_uint = 0;
    // SAFETY: the kernel writes the number, and nothing else.
    unsafe { libc::prctl(libc::PR_SET_MM, PR_SET_MM_MAP_SIZE, &raw mut size, 0, 0) == 0 }
}

#[test]
fn a_debugger_finds_functions_and_callers_at_every_instruction() {
    let test = "a_debugger_finds_functions_and_callers_at_every_instruction";
    if Command::new("gdb").arg("--version").output().is_err() {
        return genba_testing::skip(test, "gdb", "no gdb");
    }
    if !kernel_allows() {
        return genba_testing::skip(
            test,
            genba_testing::MACHINE,
            "the kernel has no checkpoint/restore",
        );
    }
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), test, PROGRAM, &["-pthread"]) else {
        return;
    };
    let (output, stop) = (
        directory.path().join("output"),
        directory.path().join("stop"),
    );
    let mut spec = CommandSpec::direct([program.as_path(), stop.as_path()]);
    spec.stdout = Output::File(output.clone());
    let request = CountRequest {
        spec,
        transfers: genba_count::Transfers::None,
        children: false,
    };
    if let Err(error) = Native.check(&request) {
        return genba_testing::skip(test, genba_testing::MACHINE, &error.to_string());
    }
    let mut said = String::new();
    let counts = std::thread::scope(|scope| {
        let counting = scope.spawn(|| count(&Native, &request).expect("counts"));
        let Some(pid) = waits_for(&output, || counting.is_finished()) else {
            return counting.join().expect("no panic");
        };
        let mut steps = vec![
            "set scheduler-locking step".to_owned(),
            "thread 1".to_owned(),
        ];
        for _ in 0..150 {
            steps.extend(["bt".to_owned(), "stepi".to_owned()]);
        }
        let threads = ["set width 0".to_owned(), "thread apply all bt".to_owned()];
        for _ in 0..5 {
            said += &gdb(&pid, &threads);
        }
        said += &gdb(&pid, &steps);
        std::fs::write(&stop, b"").expect("a file");
        counting.join().expect("no panic")
    });
    if said.contains("ptrace: Operation not permitted") {
        return genba_testing::skip(test, "gdb", "gdb may not attach");
    }
    // Selecting a thread shows its first frame only.
    let mut chains = chains(&said);
    chains.retain(|chain| !chain.is_empty());
    assert_eq!(chains.len(), 150 + 5 * 2, "{said}");
    let mut leaves = 0;
    for chain in &chains {
        let chain: Vec<&str> = chain.iter().map(String::as_str).collect();
        let right = match chain[..] {
            ["leaf", "middle", "main"] => {
                leaves += 1;
                true
            }
            ["middle", "main"] => true,
            // In the library, on the way to its system call.
            [ref library @ .., "main"] | [ref library @ .., "sleeper", "start_thread", _] => {
                (library.iter()).all(|name| !["leaf", "middle", "??", "genba_copy"].contains(name))
            }
            _ => false,
        };
        assert!(right, "{chain:?}\n{said}");
    }
    assert!(leaves > 50, "{said}");
    // It went on as if nothing had been, and was counted.
    assert_eq!(counts.exit, 3);
    let (leaf, _) = functions(&program)["leaf"];
    let (middle, _) = functions(&program)["middle"];
    let module = module(&counts.processes[0], &program);
    let more = executions(module, middle) - 3000;
    assert_eq!(executions(module, leaf), 3000 * 10 + more * 1000);
}
