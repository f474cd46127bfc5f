//! Each engine on programs whose counts are known.

use std::collections::BTreeSet;

use genba_count::CountError;
use genba_model::TransferKind;
use genba_run::{CommandSpec, Output};

use crate::support::{
    all_engines, calls_to, compile, count, each, executions, functions, instruction_starts, module,
    request,
};

/// `step` runs 1000 times, called through a pointer and directly; `wipe` repeats a string
/// instruction 5000 times in one execution, and once not at all.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char memory[5000];
int step(int n) { return n * 3 + 1; }
int other(int n) { return n - 1; }
int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
void wipe(char *to, unsigned long n) { __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory"); }
int tail(int n) { return step(n); }
int main(int argc, char **argv) {
    int (*volatile pointers[2])(int) = { step, other };
    int sum = 0;
    for (int i = 0; i < 900; i++) sum += pointers[i % 3 == 0](i);
    for (int i = 0; i < 100; i++) sum += step(i);
    wipe(memory, sizeof memory);
    wipe(memory, 0);
    sum += fibonacci(15);
    sum += abs(atoi("7"));
    printf("%d %s\n", sum, getenv("NOTHING") ? "yes" : "no");
    return 5;
}
"#;

fn check_program(test: &str, flags: &[&str]) {
    each(test, PROGRAM, flags, |engine, program| {
        let counts = count(engine, &request(program, [""; 0])).expect("counts");
        let name = engine.name();
        assert_eq!(counts.exit, 5, "{name}");
        let process = &counts.processes[0];
        assert_eq!(process.cut_short, None, "{name}");
        let (module, functions) = (module(process, program), functions(program));
        let entered = |function: &str| executions(module, functions[function].0);
        assert_eq!(entered("step"), 700, "{name}");
        assert_eq!(entered("other"), 300, "{name}");
        assert_eq!(entered("main"), 1, "{name}");
        assert_eq!(entered("tail"), 0, "{name}");
        assert_eq!(entered("wipe"), 2, "{name}");
        assert_eq!(entered("fibonacci"), 1973, "{name}");
        // A repeated string instruction counts once, however often it repeats.
        let (start, size) = functions["wipe"];
        for one in &module.instructions {
            if (start..start + size).contains(&one.address) {
                assert_eq!(one.count, 2, "{name}: {:#x}", one.address);
            }
        }
        for function in ["step", "other", "fibonacci"] {
            let calls = calls_to(process, program, functions[function].0);
            assert_eq!(calls, entered(function), "{name}: calls of {function}");
        }
        // All counted addresses are starts of instructions for objdump.
        for module in &process.modules {
            let Some(starts) = instruction_starts(&module.path) else {
                genba_testing::skip(test, "objdump", "no objdump");
                break;
            };
            assert!(
                module.path.starts_with('/'),
                "{name}: code of no file: {}",
                module.path
            );
            for one in &module.instructions {
                assert!(
                    starts.contains(&one.address),
                    "{name}: {} {:#x}",
                    module.path,
                    one.address
                );
            }
        }
        // A conditional jump is taken at most as often as it is executed, and each execution of a
        // call is a call.
        for transfer in &process.transfers {
            let from = &process.modules[transfer.from.module as usize];
            let executed = executions(from, transfer.from.address);
            assert!(
                transfer.count <= executed,
                "{name}: {} {:#x}: {} of {executed}",
                from.path,
                transfer.from.address,
                transfer.count
            );
        }
    });
}

#[test]
fn a_position_independent_program_is_counted_exactly() {
    check_program(
        "a_position_independent_program_is_counted_exactly",
        &["-pie", "-fPIE"],
    );
}

#[test]
fn a_program_at_a_fixed_address_is_counted_exactly() {
    check_program(
        "a_program_at_a_fixed_address_is_counted_exactly",
        &["-no-pie", "-fno-pie"],
    );
}

#[test]
fn a_static_program_is_counted_exactly() {
    check_program("a_static_program_is_counted_exactly", &["-static"]);
}

#[test]
fn a_static_position_independent_program_is_counted_exactly() {
    check_program(
        "a_static_position_independent_program_is_counted_exactly",
        &["-static-pie"],
    );
}

#[test]
fn a_program_without_lazy_binding_is_counted_exactly() {
    check_program(
        "a_program_without_lazy_binding_is_counted_exactly",
        &["-Wl,-z,now"],
    );
}

#[test]
fn a_program_with_endbr64_in_its_stubs_is_counted_exactly() {
    check_program(
        "a_program_with_endbr64_in_its_stubs_is_counted_exactly",
        &["-fcf-protection", "-Wl,-z,ibtplt", "-Wl,-z,lazy"],
    );
}

/// Calls through the PLT are calls of the function itself, whether it is bound lazily or not.
#[test]
fn calls_through_plt_stubs_are_calls_of_the_function() {
    let source = "#include <stdlib.h>\n\
                  int main(void) { int n = 0; for (volatile int i = 0; i < 50; i++) n += atoi(\"1\");\
                  n += rand() != 1; return n == 51 ? 0 : 1; }";
    let flags = ["-Wl,-z,lazy", "-O0"];
    each(
        "calls_through_plt_stubs_are_calls_of_the_function",
        source,
        &flags,
        |engine, program| {
            let counts = count(engine, &request(program, [""; 0])).expect("counts");
            let process = &counts.processes[0];
            assert_eq!(counts.exit, 0);
            let (start, size) = functions(program)["main"];
            let mut calls: Vec<(bool, u64)> = (process.transfers.iter())
                .filter(|one| one.kind == TransferKind::Call)
                .filter(|one| {
                    let from = &process.modules[one.from.module as usize].path;
                    std::path::Path::new(from) == std::fs::canonicalize(program).expect("it")
                        && (start..start + size).contains(&one.from.address)
                })
                .map(|one| {
                    let to = &process.modules[one.to.module as usize].path;
                    (to.contains("libc"), one.count)
                })
                .collect();
            calls.sort_unstable();
            assert_eq!(calls, [(true, 1), (true, 50)], "{}", engine.name());
        },
    );
}

/// Code that the program generates, and a library that is loaded and unloaded.
const GENERATED: &str = r#"
#include <string.h>
#include <sys/mman.h>
int main(void) {
    unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    int sum = 0;
    for (volatile int i = 0; i < 300; i++) sum += ((int (*)(void))page)();
    return sum == 300 ? 0 : 1;
}
"#;

#[test]
fn code_generated_at_run_time_is_counted() {
    let test = "code_generated_at_run_time_is_counted";
    each(test, GENERATED, &[], |engine, program| {
        let counts = count(engine, &request(program, [""; 0])).expect("counts");
        assert_eq!(counts.exit, 0);
        let process = &counts.processes[0];
        let generated = (process.modules.iter()).find(|module| module.path == "[generated]");
        let instructions = &generated.expect("generated code").instructions;
        let executed: Vec<u64> = instructions.iter().map(|one| one.count).collect();
        assert_eq!(executed, [300, 300], "{}", engine.name());
    });
}

#[test]
fn engines_do_not_write_to_the_targets_streams() {
    let test = "engines_do_not_write_to_the_targets_streams";
    let directory = tempfile::tempdir().expect("a directory");
    for engine in all_engines(test) {
        let name = engine.name();
        let file = |stream: &str| directory.path().join(format!("{name}.{stream}"));
        let mut request = request("/bin/sh".as_ref(), ["-c", "echo out; echo err >&2; exit 7"]);
        request.spec.stdout = Output::File(file("out"));
        request.spec.stderr = Output::File(file("err"));
        // Options of valgrind and qemu in the environment must have no effect.
        request.spec.environment.set("VALGRIND_OPTS", "--tool=none");
        request.spec.environment.set("QEMU_STRACE", "1");
        let counts = count(&*engine, &request).expect("counts");
        assert_eq!(counts.exit, 7, "{name}");
        let read = |stream| std::fs::read_to_string(file(stream)).expect("its output");
        assert_eq!(
            (read("out").as_str(), read("err").as_str()),
            ("out\n", "err\n"),
            "{name}"
        );
        assert_eq!(counts.processes[0].command[0], "/bin/sh", "{name}");
    }
}

#[test]
fn a_missing_program_is_an_error_that_names_it() {
    let test = "a_missing_program_is_an_error_that_names_it";
    for engine in all_engines(test) {
        let request = request("/nonexistent/program".as_ref(), [""; 0]);
        match engine.check(&request) {
            Err(CountError::Run(error)) => assert!(error.to_string().contains("/nonexistent")),
            other => panic!("{}: {other:?}", engine.name()),
        }
        assert!(count(&*engine, &request).is_err(), "{}", engine.name());
    }
}

#[test]
fn a_script_is_counted_as_its_interpreter() {
    let test = "a_script_is_counted_as_its_interpreter";
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script");
    std::fs::write(
        &script,
        "#!/bin/sh\ni=0\nwhile [ $i -lt 100 ]; do i=$((i+1)); done\nexit $#\n",
    )
    .expect("a script");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    for engine in all_engines(test) {
        let counts = count(&*engine, &request(&script, ["a", "b"])).expect("counts");
        assert_eq!(counts.exit, 2, "{}", engine.name());
        let process = &counts.processes[0];
        assert_eq!(process.cut_short, None, "{}", engine.name());
        let shell = std::fs::canonicalize("/bin/sh").expect("a shell");
        assert!(!module(process, &shell).instructions.is_empty());
    }
}

#[test]
fn executions_do_not_depend_on_recording_transfers() {
    let test = "executions_do_not_depend_on_recording_transfers";
    each(test, PROGRAM, &[], |engine, program| {
        let with = count(engine, &request(program, [""; 0])).expect("counts");
        let mut request = request(program, [""; 0]);
        request.transfers = genba_count::Transfers::None;
        let without = count(engine, &request).expect("counts");
        assert!(!without.transfers && without.processes[0].transfers.is_empty());
        let own = |counts: &genba_model::RawCounts| {
            module(&counts.processes[0], program).instructions.clone()
        };
        assert_eq!(own(&with), own(&without), "{}", engine.name());
    });
}

#[test]
fn argv_0_of_the_target_is_kept() {
    // As a shell passes it: without a slash, found in PATH.
    let test = "argv_0_of_the_target_is_kept";
    for engine in all_engines(test) {
        let mut request = request("true".as_ref(), [""; 0]);
        request.spec = CommandSpec::direct(["true"]);
        let counts = count(&*engine, &request).expect("counts");
        assert_eq!(counts.exit, 0, "{}", engine.name());
        assert_eq!(counts.command, ["true"], "{}", engine.name());
    }
}

/// callgrind writes a file when the target returns from a system call after a number of blocks:
/// here within calls, after the last of which `main` continues elsewhere.
const CUT: &str = r#"
#include <unistd.h>
int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
int ask(int n) { work(n); getppid(); return work(3); }
int deep(int n) { int s = ask(n); return s + ask(n + 1); }
int main(int argc, char **argv) {
    int s = 0;
    for (int i = 0; i < 5; i++) if (deep(6000 + i) & 1) s++; else s += 2;
    s += ask(6000);
    return s && argc ? 5 : 6;
}
"#;
/// Minimum number of files: each `ask` is cut by one.
const CUTS: usize = 11;

/// callgrind is told to write its counts every few seconds, so that SIGKILL does not lose all. The
/// sum of the files must be what one file would have had.
#[test]
fn counts_written_in_several_files_are_summed() {
    let test = "counts_written_in_several_files_are_summed";
    if crate::support::engine("callgrind", test).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), test, CUT, &[]) else {
        return;
    };
    let run = |name: &str, every: u64| {
        let mut files = std::process::Command::new("valgrind");
        files
            .args(["--tool=callgrind", "--dump-instr=yes", "--dump-line=no"])
            .args([
                "--collect-jumps=yes",
                "--skip-plt=no",
                "--vgdb=no",
                "--log-file=/dev/null",
            ])
            .arg(format!("--dump-every-bb={every}"))
            .arg(format!(
                "--callgrind-out-file={}/{name}",
                directory.path().display()
            ))
            .arg(&program);
        assert_eq!(files.output().expect("a run").status.code(), Some(5));
        let mut dump = genba_count::callgrind::CallgrindCounts::default();
        let mut parts = 0;
        for entry in std::fs::read_dir(directory.path())
            .expect("files")
            .flatten()
        {
            if entry.file_name().to_string_lossy().starts_with(name) {
                let bytes = std::fs::read(entry.path()).expect("a file");
                dump.add(bytes.as_slice()).expect("good");
                parts += 1;
            }
        }
        (dump, parts)
    };
    let by_name = |dump: &genba_count::callgrind::CallgrindCounts| {
        let name = |place: &genba_count::callgrind::Position| {
            format!(
                "{} {:#x}",
                dump.objects[place.object as usize], place.address
            )
        };
        let mut all: Vec<String> = (dump.counts.iter())
            .map(|(place, count)| format!("{} × {count}", name(place)))
            .collect();
        for (kind, passages) in [("jump", &dump.jumps), ("call", &dump.calls)] {
            all.extend((passages.iter().filter(|(_, count)| **count > 0)).map(
                |((from, to), count)| format!("{kind} {} → {} × {count}", name(from), name(to)),
            ));
        }
        all.into_iter().collect::<BTreeSet<String>>()
    };
    let (whole, one) = run("whole", 0);
    let (sum, many) = run("pieces", 700);
    assert!(one == 1 && many > CUTS, "{one} and {many} files");
    // Each agrees with callgrind's own total.
    assert_eq!(whole.counts.values().sum::<u64>(), whole.summary);
    assert_eq!(sum.counts.values().sum::<u64>(), sum.summary);
    let (whole, sum) = (by_name(&whole), by_name(&sum));
    let only = |one: &BTreeSet<String>, other| {
        one.difference(other)
            .take(20)
            .cloned()
            .collect::<Vec<String>>()
    };
    assert_eq!(
        (only(&whole, &sum), only(&sum, &whole)),
        (Vec::new(), Vec::new()),
        "only in the whole, only in the sum of the pieces"
    );
}
