//! The engine in the target's own process: exact where a translator most easily goes wrong.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use genba_count::{CountError, CountRequest, Engine, native::Native};
use genba_model::RawCounts;
use genba_run::{CommandSpec, Output};

use support::{compile, count, executions, functions, module};

/// A program that was run natively and counted, with its output.
struct Ran {
    counts: RawCounts,
    native: Vec<u8>,
    counted: Vec<u8>,
    status: i32,
}

fn spec(program: &Path, output: &Path) -> CommandSpec {
    let mut spec = CommandSpec::direct([program]);
    spec.stdout = Output::File(output.to_owned());
    spec
}

fn run(
    test: &str,
    source: &str,
    flags: &[&str],
    children: bool,
) -> Option<(Ran, tempfile::TempDir)> {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path(), test, source, flags)?;
    let output = directory.path().join("output");
    let mut launcher = genba_run::Launcher::new().expect("a launcher");
    let cancel = genba_run::Cancel::new().expect("a token");
    let native = launcher
        .run(&spec(&program, &output), &cancel)
        .expect("it runs");
    let native_output = std::fs::read(&output).expect("its output");
    let request = CountRequest {
        spec: spec(&program, &output),
        transfers: genba_count::Transfers::None,
        children,
    };
    if let Err(error) = Native.check(&request) {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error.to_string());
        return None;
    }
    let counts = count(&Native, &request).expect("counts");
    let ran = Ran {
        counts,
        native: native_output,
        counted: std::fs::read(&output).expect("its output"),
        status: match native.record.exit {
            genba_model::ExitKind::Code(code) => code,
            genba_model::ExitKind::Signal { signal, .. } => 128 + signal,
            _ => -1,
        },
    };
    assert_eq!(ran.native, ran.counted, "{test}: the output differs");
    assert_eq!(
        ran.status, ran.counts.exit,
        "{test}: the exit status differs"
    );
    Some((ran, directory))
}

/// Counts of a function's instructions, in order.
fn of(ran: &Ran, program: &Path, function: &str) -> Vec<u64> {
    let module = module(&ran.counts.processes[0], program);
    let (start, size) = functions(program)[function];
    let inside = |address: &u64| (start..start + size).contains(address);
    (module.instructions.iter())
        .filter(|one| inside(&one.address))
        .map(|one| one.count)
        .collect()
}

/// A loop that a timer interrupts thousands of times, at any instruction.
const INTERRUPTED: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
static volatile long alarms;
static void on_alarm(int signal) { alarms++; }
long work(long n) { volatile long x = 0; for (long i = 0; i < n; i++) { x += i * 3; x ^= x >> 3; if (i % 3 == 0) x++; } return x; }
int main(void) {
    struct sigaction action; memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm; sigaction(SIGALRM, &action, 0);
    struct itimerval every = {{0, 100}, {0, 100}}; setitimer(ITIMER_REAL, &every, 0);
    printf("%ld\n", work(9000000));
    memset(&every, 0, sizeof every); setitimer(ITIMER_REAL, &every, 0);
    printf("%d\n", alarms > 10);
    return 0;
}
"#;

#[test]
fn counts_are_exact_when_signals_interrupt_blocks() {
    let test = "counts_are_exact_when_signals_interrupt_blocks";
    for flags in [&[][..], &["-static"], &["-no-pie"]] {
        let Some((ran, directory)) = run(test, INTERRUPTED, flags, false) else {
            return;
        };
        let counts = of(&ran, &directory.path().join("program"), "work");
        let allowed = [1, 9_000_000, 3_000_000];
        assert!(
            counts.iter().all(|count| allowed.contains(count)),
            "{flags:?}: {counts:?}"
        );
        assert!(counts.contains(&9_000_000) && counts.contains(&3_000_000));
    }
}

const THREADS: &str = r#"
#include <pthread.h>
#include <stdio.h>
long step(long n) { return n * 3 + 1; }
static void *work(void *n) { volatile long sum = 0; for (long i = 0; i < 100000; i++) sum += step(i); return (void *)sum; }
int main(void) {
    for (int round = 0; round < 50; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) if (pthread_create(&threads[i], 0, work, 0)) return 9;
        for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    }
    puts("done");
    return 3;
}
"#;

#[test]
fn threads_lose_no_counts() {
    let Some((ran, directory)) = run("threads_lose_no_counts", THREADS, &["-pthread"], false)
    else {
        return;
    };
    let counts = of(&ran, &directory.path().join("program"), "step");
    assert!(!counts.is_empty());
    assert!(
        counts.iter().all(|count| *count == 40_000_000),
        "{counts:?}"
    );
}

/// Signal handlers that repair, jump out, and nest; unhandled faults in children.
const HANDLERS: &str = r#"
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static char *page; static sigjmp_buf out; static volatile int depth;
static void repair(int s, siginfo_t *i, void *c) {
    ucontext_t *u = c;
    if ((char *)i->si_addr != page + 16 || u->uc_mcontext.gregs[REG_RAX] != 0x1234) _exit(20);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}
static void skip(int s, siginfo_t *i, void *c) {
    ucontext_t *u = c;
    if ((long)i->si_addr != u->uc_mcontext.gregs[REG_RIP]) _exit(21);
    u->uc_mcontext.gregs[REG_RIP] += 3; u->uc_mcontext.gregs[REG_RAX] = 77;
}
static void leave(int s) { siglongjmp(out, 1); }
static void nest(int s) { depth++; if (s == SIGRTMIN) { raise(SIGRTMIN + 1); if (depth != 2) _exit(22); } }
static void handle(int s, void *f, int flags) {
    struct sigaction a; memset(&a, 0, sizeof a); a.sa_sigaction = f; a.sa_flags = flags; sigaction(s, &a, 0);
}
int main(void) {
    stack_t st = {.ss_sp = malloc(65536), .ss_size = 65536}; sigaltstack(&st, 0);
    handle(SIGSEGV, repair, SA_SIGINFO | SA_ONSTACK); handle(SIGFPE, skip, SA_SIGINFO | SA_ONSTACK);
    handle(SIGUSR1, leave, 0); handle(SIGRTMIN, nest, SA_ONSTACK); handle(SIGRTMIN + 1, nest, SA_ONSTACK);
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    __asm__ volatile("movq %0, (%1)" :: "a"(0x1234ul), "r"(page + 16) : "memory");
    long r; __asm__ volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; idiv %%rcx; add $1, %%rax" : "=a"(r) :: "rcx", "rdx");
    printf("%lx %ld\n", *(long *)(page + 16), r);
    volatile int jumps = 0; while (jumps < 500) if (sigsetjmp(out, 1) == 0) raise(SIGUSR1); else jumps++;
    raise(SIGRTMIN); printf("%d %d\n", jumps, depth); fflush(stdout);
    int status;
    if (!fork()) { signal(SIGSEGV, SIG_DFL); *(volatile int *)8 = 1; _exit(0); } wait(&status); printf("%d\n", WTERMSIG(status));
    if (!fork()) abort(); wait(&status); printf("%d\n", WTERMSIG(status));
    if (!fork()) { __asm__ volatile("ud2"); } wait(&status); printf("%d\n", WTERMSIG(status)); fflush(stdout);
    if (!vfork()) { execl("/bin/echo", "echo", "executed", (char *)0); _exit(1); } wait(&status);
    raise(SIGTERM);
}
"#;

#[test]
fn signal_handlers_see_the_native_state() {
    let test = "signal_handlers_see_the_native_state";
    for flags in [&[][..], &["-static"]] {
        let Some((ran, _directory)) = run(test, HANDLERS, flags, false) else {
            return;
        };
        assert_eq!(ran.counts.exit, 128 + 15);
        let cut = ran.counts.processes[0].cut_short.as_deref();
        assert!(cut.is_some_and(|why| why.contains("15")), "{cut:?}");
        assert_eq!(ran.counts.processes.len(), 1);
    }
}

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

const FAULT: &str = r#"
int step(volatile int *p, int n) { int x = n * 3; x += *p; return x + 1; }
int main(void) { int x = 0; for (int i = 0; i < 100; i++) x += step(&x, i); return step((int *)8, x); }
"#;

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

#[test]
fn instructions_that_a_fault_skips_are_not_counted() {
    let test = "instructions_that_a_fault_skips_are_not_counted";
    let Some((ran, directory)) = run(test, FAULT, &[], false) else {
        return;
    };
    let counts = of(&ran, &directory.path().join("program"), "step");
    assert_eq!(ran.counts.exit, 128 + 11);
    // Up to the faulting access, instructions are executed once more than from it on: it never
    // retired.
    assert_eq!(counts.first(), Some(&101), "{counts:?}");
    assert_eq!(counts.last(), Some(&100), "{counts:?}");
}

const GENERATED: &str = r#"
#include <string.h>
#include <sys/mman.h>
int main(void) {
    static const unsigned char code[] = {0xb8, 7, 0, 0, 0, 0xc3};
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        memcpy(page, code, sizeof code); page[1] = i;
        mprotect(page, 4096, PROT_READ | PROT_EXEC);
        for (int k = 0; k < 5; k++) sum += ((int (*)(void))page)();
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    }
    return sum == 950 ? 0 : 1;
}
"#;

#[test]
fn code_rewritten_under_mprotect_is_counted() {
    let test = "code_rewritten_under_mprotect_is_counted";
    let Some((ran, _directory)) = run(test, GENERATED, &[], false) else {
        return;
    };
    assert_eq!(ran.counts.exit, 0);
    let modules = ran.counts.processes[0].modules.iter();
    let generated: u64 = modules
        .filter(|module| module.path == "[generated]")
        .flat_map(|module| &module.instructions)
        .map(|one| one.count)
        .sum();
    assert_eq!(generated, 20 * 5 * 2);
}

#[test]
fn code_rewritten_more_often_than_modules_fit_is_counted() {
    let test = "code_rewritten_more_often_than_modules_fit_is_counted";
    let rounds = u64::from(genba_engine::count_file_layout::MODULE_CAPACITY) + 500;
    // In newly mapped memory every third time.
    let moved = GENERATED
        .replace("i < 20", &format!("i < {rounds}"))
        .replace("sum == 950", "sum != 0")
        .replace(
            "    }\n    return",
            "        if (i % 3 == 0) page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | \
             MAP_ANONYMOUS, -1, 0);\n    }\n    return",
        );
    let Some((ran, _directory)) = run(test, &moved, &[], false) else {
        return;
    };
    assert_eq!(ran.counts.exit, 0);
    let modules = ran.counts.processes[0].modules.iter();
    let generated: u64 = modules
        .filter(|module| module.path == "[generated]")
        .flat_map(|module| &module.instructions)
        .map(|one| one.count)
        .sum();
    assert_eq!(generated, rounds * 5 * 2);
}

fn refused(test: &str, source: &str) -> Option<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path(), test, source, &[])?;
    let request = CountRequest {
        spec: CommandSpec::direct([&program]),
        transfers: genba_count::Transfers::None,
        children: false,
    };
    match count(&Native, &request) {
        Err(CountError::Unable { reason, .. }) => Some(reason),
        other => panic!("{test}: {other:?}"),
    }
}

#[test]
fn targets_that_cannot_be_counted_are_refused_with_the_reason() {
    let writable = GENERATED
        .replace(
            "PROT_READ | PROT_WRITE,",
            "PROT_READ | PROT_WRITE | PROT_EXEC,",
        )
        .replace("mprotect(page, 4096, PROT_READ | PROT_EXEC);", "");
    if let Some(reason) = refused("writable", &writable) {
        assert!(reason.contains("at run time"), "{reason}");
    }
    let gs =
        "int main(void) { long x; __asm__ volatile(\"mov %%gs:0, %0\" : \"=r\"(x)); return x; }";
    if let Some(reason) = refused("gs", gs) {
        assert!(reason.contains("%gs"), "{reason}");
    }
    let own = r#"
#include <stdio.h>
#include <string.h>
int main(void) {
    char line[4096];
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "rwxp 00000000 00:00 0") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            ((void (*)(void))(from + 16))();
    return 7;
}"#;
    if let Some(reason) = refused("own", own) {
        assert!(reason.contains("engine has its own memory"), "{reason}");
    }
    let seccomp = "#include <sys/prctl.h>\nint main(void) { return prctl(22, 1); }";
    if let Some(reason) = refused("seccomp", seccomp) {
        assert!(reason.contains("seccomp"), "{reason}");
    }
}

#[test]
fn set_uid_programs_are_refused_before_the_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("true");
    std::fs::copy("/bin/true", &program).expect("a copy");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("a mode");
    let request = CountRequest {
        spec: CommandSpec::direct([&program]),
        transfers: genba_count::Transfers::None,
        children: false,
    };
    let error = Native.check(&request).expect_err("it is set-uid");
    assert!(error.to_string().contains("set-uid"), "{error}");
}

#[test]
fn counts_survive_sigkill() {
    let test = "counts_survive_sigkill";
    let directory = tempfile::tempdir().expect("a directory");
    let source = "int main(void) { volatile long x = 0; for (;;) x++; }";
    let Some(program) = compile(directory.path(), test, source, &[]) else {
        return;
    };
    let mut spec = CommandSpec::direct([&program]);
    spec.timeout = Some(Duration::from_millis(300));
    spec.grace = Duration::ZERO;
    let request = CountRequest {
        spec,
        transfers: genba_count::Transfers::None,
        children: false,
    };
    let counts = count(&Native, &request).expect("counts");
    let process = &counts.processes[0];
    assert!(process.cut_short.is_some());
    let (start, _) = functions(&program)["main"];
    let most = module(process, &program).instructions.iter();
    let most = most
        .filter(|one| one.address >= start)
        .map(|one| one.count)
        .max();
    assert!(most > Some(1000), "{most:?}");
}

#[test]
fn brk_of_a_program_at_a_fixed_address_grows_as_natively() {
    let test = "brk_of_a_program_at_a_fixed_address_grows_as_natively";
    // Without address randomisation the heap begins right behind the program. The sizes put that
    // start before, at and after every place that is tried for a zone of the code cache.
    let source = "#include <unistd.h>\n#include <stdio.h>\nstatic char large[SIZE];\n\
        int main(void) { large[1] = 1; long n = 0;\n\
        while (n < 256 && sbrk(1 << 20) != (void *)-1) n++;\n\
        printf(\"%ld MiB\\n\", n); return 0; }\n";
    // SAFETY: concerns this thread, and the processes that it starts, alone.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    for mebibytes in [1, 60, 63, 64, 127, 200] {
        let size = format!("-DSIZE=(({mebibytes}L<<20)+0xf0000)");
        let flags = ["-no-pie", "-D_DEFAULT_SOURCE", &size];
        let Some((ran, _directory)) = run(test, source, &flags, false) else {
            return;
        };
        assert_eq!(String::from_utf8_lossy(&ran.native), "256 MiB\n");
        assert_eq!(ran.native, ran.counted, "behind {mebibytes} MiB");
    }
}
