//! The engine in the target's own process: exact where a translator most easily goes wrong.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use genba_count::{CountError, CountRequest, Engine, native::Native};
use genba_run::CommandSpec;

use crate::generated_code::written;
use crate::support::native_run::{of, run};
use crate::support::{compile, count, functions, module};

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

const FAULT: &str = r#"
int step(volatile int *p, int n) { int x = n * 3; x += *p; return x + 1; }
int main(void) { int x = 0; for (int i = 0; i < 100; i++) x += step(&x, i); return step((int *)8, x); }
"#;

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
    let generated: u64 = written(&ran.counts).map(|one| one.1).sum();
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
    let generated: u64 = written(&ran.counts).map(|one| one.1).sum();
    assert_eq!(generated, rounds * 5 * 2);
}

fn refused(test: &str, source: &str, flags: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path(), test, source, flags)?;
    let request = CountRequest {
        spec: CommandSpec::direct([&program]),
        transfers: genba_count::Transfers::None,
        children: false,
        observe: None,
        native_exit: None,
    };
    match count(&Native, &request) {
        Err(CountError::Unable { reason, .. }) => Some(reason),
        other => panic!("{test}: {other:?}"),
    }
}

#[test]
fn targets_that_cannot_be_counted_are_refused_with_the_reason() {
    let stack = r#"
int main(void) {
    volatile unsigned char code[8] = {0xb8, 7, 0, 0, 0, 0xc3};
    return ((int (*)(void))code)();
}"#;
    if let Some(reason) = refused("stack", stack, &["-Wl,-z,execstack"]) {
        assert!(reason.contains("on its stack"), "{reason}");
    }
    let gs =
        "int main(void) { long x; __asm__ volatile(\"mov %%gs:0, %0\" : \"=r\"(x)); return x; }";
    if let Some(reason) = refused("gs", gs, &[]) {
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
    if let Some(reason) = refused("own", own, &[]) {
        assert!(reason.contains("engine has its own memory"), "{reason}");
    }
    let seccomp = "#include <sys/prctl.h>\nint main(void) { return prctl(22, 1); }";
    if let Some(reason) = refused("seccomp", seccomp, &[]) {
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
        observe: None,
        native_exit: None,
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
        observe: None,
        native_exit: None,
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
