//! Upper bounds: copies of the process compute with the work taken out, and end; the process itself is as it would be.

use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_count::native::{DuetRequest, DuetRun, run_duet};
use genba_model::FindingSite;
use genba_prove::{BranchShares, DecodedCode, Plan, bounds};
use genba_run::{Cancel, CommandSpec, Launcher, Output};
use genba_symbols::Binary;

/// Follows pointers through 16 MB in random order.
const CHASE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; long value; };
static struct node nodes[1 << 20];
__attribute__((noinline)) long follow(struct node *at, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) { sum += at->value; at = at->next; }
    return sum;
}
int main(void) {
    long n = sizeof nodes / sizeof nodes[0];
    unsigned *order = malloc(n * sizeof *order);
    unsigned long seed = 1;
    for (long i = 0; i < n; i++) order[i] = i;
    for (long i = n - 1; i > 0; i--) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        long j = (seed >> 33) % (i + 1);
        unsigned t = order[i]; order[i] = order[j]; order[j] = t;
    }
    for (long i = 0; i < n; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % n]];
        nodes[order[i]].value = i * 7;
    }
    printf("%ld\n", follow(&nodes[0], 3000000));
    return 3;
}
"#;

/// Writes to a file, and to memory that is shared with it, only where a random number is negative, which none is.
const HARMFUL: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long seed = 1;
static long next(void) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (long)(seed >> 34);
}
static char *shared;
__attribute__((noinline)) static void harm(int fd) {
    shared[0] = 'x';
    if (write(fd, "harm", 4) != 4 || ftruncate(fd, 1)) _exit(9);
    unlink("precious");
    puts("harm");
}
__attribute__((noinline)) long work(int fd, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) {
        long one = next();
        if (one < 0) harm(fd);
        sum += one;
    }
    return sum;
}
int main(void) {
    int fd = open("precious", O_RDWR);
    if (fd < 0) return 8;
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) return 7;
    shared[1] = 'b';
    printf("%ld\n", work(fd, 80000000));
    return 0;
}
"#;

fn compiled(directory: &Path, test: &str, source: &str) -> Option<PathBuf> {
    let options = ["-O2", "-g"];
    let program = genba_testing::compile_c(test, directory, source, &options, &[])?;
    Some(std::fs::canonicalize(program).expect("a path"))
}

/// The bound of a cause whose site are these instructions of a function.
fn bound(
    cause: &str,
    program: &Path,
    function: &str,
    is_meant: impl Fn(&iced_x86::Instruction) -> bool,
    share: f64,
) -> Plan {
    let binary = Binary::open(program).expect("an ELF file");
    let symbol = binary.find(function).pop().expect("a function");
    let code = DecodedCode::around(&binary, symbol.address).expect("code");
    let meant = code.instructions().iter().filter(|one| is_meant(one));
    let addresses: Vec<u64> = meant.map(iced_x86::Instruction::ip).collect();
    let shares: BranchShares = addresses.iter().map(|&at| (at, share)).collect();
    let site = FindingSite {
        function: function.to_owned(),
        module: program.display().to_string(),
        file: None,
        line: None,
        end_line: None,
        addresses,
        called_from: None,
        inside: None,
    };
    let mut plans = bounds(cause, &site, &code, &shares).expect("a plan");
    plans.pop().expect("a plan")
}

fn duet(program: &Path, directory: &Path, plan: &Plan, edited: bool) -> Option<DuetRun> {
    let mut spec = CommandSpec::direct([program]);
    spec.directory = Some(directory.to_owned());
    spec.stdout = Output::Capture { limit: 1 << 16 };
    let request = DuetRequest {
        spec,
        module: program.display().to_string(),
        edits: plan.edits.clone(),
        edited,
        single_thread: false,
        replicas: plan.replicas,
        window: Duration::from_millis(5),
        seed: 7,
    };
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    match run_duet(&request, &mut launcher, &cancel) {
        Ok(run) => Some(run),
        Err(error) => {
            let need = genba_testing::COUNT_ENGINE;
            genba_testing::skip("upper_bounds", need, &error.to_string());
            None
        }
    }
}

fn natively(program: &Path, directory: &Path) -> (Vec<u8>, genba_model::ExitKind) {
    let mut spec = CommandSpec::direct([program]);
    spec.directory = Some(directory.to_owned());
    spec.stdout = Output::Capture { limit: 1 << 16 };
    let mut launcher = Launcher::new().expect("a launcher");
    let run = launcher
        .run(&spec, &Cancel::new().expect("a token"))
        .expect("a run");
    (run.stdout.captured, run.record.exit)
}

#[test]
fn loads_that_hit_do_the_same_and_the_process_is_undisturbed() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "loads_that_hit_do_the_same_and_the_process_is_undisturbed";
    let Some(program) = compiled(directory.path(), test, CHASE) else {
        return;
    };
    let loads = |one: &iced_x86::Instruction| {
        one.memory_base() != iced_x86::Register::None
            && one.op1_kind() == iced_x86::OpKind::Memory
            && one.mnemonic() != iced_x86::Mnemonic::Lea
    };
    let plan = bound("pointer-chase", &program, "follow", loads, 0.0);
    assert_eq!(plan.edits.len(), 4, "two loads, two sides");
    let expected = natively(&program, directory.path());
    for edited in [false, true] {
        let Some(run) = duet(&program, directory.path(), &plan, edited) else {
            return;
        };
        assert_eq!(run.finished.record.exit, expected.1);
        assert_eq!(run.finished.stdout.captured, expected.0);
        assert_eq!(run.no_replicas, None);
        // Both replicas of a pair ended at the same place with the same registers.
        let (pairs, rest) = run.windows.as_chunks::<2>();
        assert!(rest.is_empty());
        let compared = pairs.iter().filter(|pair| pair[0].rounds > 0).count();
        assert!(
            compared > 0,
            "{compared} pairs of {}, {} failed",
            pairs.len(),
            run.failed_replicas
        );
        for [one, other] in pairs {
            assert_eq!(one.rounds, other.rounds);
            assert_ne!(one.edited, other.edited);
        }
    }
}

#[test]
fn a_copy_that_goes_the_wrong_way_harms_no_file_and_no_shared_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "a_copy_that_goes_the_wrong_way_harms_no_file_and_no_shared_memory";
    let Some(program) = compiled(directory.path(), test, HARMFUL) else {
        return;
    };
    let precious = directory.path().join("precious");
    let write = || std::fs::write(&precious, vec![b'a'; 4096]).expect("written");
    write();
    let expected = natively(&program, directory.path());
    let intact = std::fs::read(&precious).expect("read");
    assert_eq!(&intact[..2], b"ab");
    // The way that is never gone is gone half of the times.
    let branches = |one: &iced_x86::Instruction| {
        one.flow_control() == iced_x86::FlowControl::ConditionalBranch
    };
    let plan = bound("unpredictable-branch", &program, "work", branches, 0.5);
    for edited in [false, true] {
        write();
        let Some(run) = duet(&program, directory.path(), &plan, edited) else {
            return;
        };
        assert_eq!(run.finished.record.exit, expected.1);
        assert_eq!(run.finished.stdout.captured, expected.0);
        assert!(
            std::fs::read(&precious).expect("still there") == intact,
            "edited {edited}"
        );
        assert!(!run.windows.is_empty() || run.failed_replicas > 0);
    }
}

/// Calls a function of one number again and again, with a block of a call alone and one before which more is done.
const CALLS: &str = r#"
#include <stdio.h>
__attribute__((noinline)) double slow(double x) {
    for (int i = 0; i < 40; i++) x = x * 0.5 + 1 / (x + 2);
    return x;
}
__attribute__((noinline)) double work(long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += slow(i & 7);
    return sum;
}
int main(void) { printf("%.6f\n", work(1500000)); return 0; }
"#;

#[test]
fn calls_that_are_left_out_have_their_results() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "calls_that_are_left_out_have_their_results";
    let Some(program) = compiled(directory.path(), test, CALLS) else {
        return;
    };
    let calls = |one: &iced_x86::Instruction| one.flow_control() == iced_x86::FlowControl::Call;
    let plan = bound("loop-invariant-call", &program, "work", calls, 0.0);
    let expected = natively(&program, directory.path());
    for edited in [false, true] {
        let Some(run) = duet(&program, directory.path(), &plan, edited) else {
            return;
        };
        assert_eq!(run.finished.record.exit, expected.1);
        assert_eq!(run.finished.stdout.captured, expected.0);
        assert_eq!(run.foreign, 0);
        let compared = run
            .windows
            .iter()
            .filter(|window| window.rounds > 0)
            .count();
        // The last entry of the scout may be missing.
        assert!(
            compared as u32 >= run.failed_replicas && compared > 0,
            "{compared}"
        );
    }
}

/// The same with a system call after every 2,000 calls.
const INTERRUPTED: &str = r#"
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) double slow(double x) {
    for (int i = 0; i < 40; i++) x = x * 0.5 + 1 / (x + 2);
    return x;
}
__attribute__((noipa)) double work(long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += slow(i & 7);
    return sum;
}
int main(void) {
    double sum = 0;
    for (int i = 0; i < 800; i++) {
        sum += work(2000);
        syscall(SYS_getppid);
    }
    printf("%.6f\n", sum);
    return 0;
}
"#;

#[test]
fn windows_that_a_system_call_ends_are_compared_up_to_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "windows_that_a_system_call_ends_are_compared_up_to_it";
    let Some(program) = compiled(directory.path(), test, INTERRUPTED) else {
        return;
    };
    let calls = |one: &iced_x86::Instruction| one.flow_control() == iced_x86::FlowControl::Call;
    let plan = bound("loop-invariant-call", &program, "work", calls, 0.0);
    let Some(run) = duet(&program, directory.path(), &plan, true) else {
        return;
    };
    let compared = run.windows.iter().filter(|one| one.rounds > 0).count() as u32 / 2;
    assert!(
        compared > 4 * run.failed_replicas,
        "{compared} pairs, {} failed",
        run.failed_replicas
    );
}
