//! A debugger that attaches to a counted program finds it as it would natively.

mod support;

use std::path::Path;
use std::process::Command;

use genba_count::{CountRequest, Engine, native::Native};
use genba_run::{CommandSpec, Output};

use support::{compile, count, functions, module, skip};

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

fn waits_for(path: &Path) -> String {
    loop {
        let said = std::fs::read_to_string(path).unwrap_or_default();
        if let Some(line) = said.strip_suffix('\n') {
            return line.to_owned();
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_debugger_finds_functions_and_callers_at_every_instruction() {
    let test = "a_debugger_finds_functions_and_callers_at_every_instruction";
    if Command::new("gdb").arg("--version").output().is_err() {
        return skip(test, "no gdb");
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
        return skip(test, &error.to_string());
    }
    let mut said = String::new();
    let counts = std::thread::scope(|scope| {
        let counting = scope.spawn(|| count(&Native, &request).expect("counts"));
        let pid = waits_for(&output);
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
        return skip(test, "gdb may not attach");
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
    let times = |address: u64| {
        let mut instructions = module.instructions.iter();
        (instructions.find(|one| one.address == address)).map_or(0, |one| one.count)
    };
    let more = times(middle) - 3000;
    assert_eq!(times(leaf), 3000 * 10 + more * 1000);
}
