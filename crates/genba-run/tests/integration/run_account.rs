//! The accounts, against what the kernel and the programs themselves say.

use std::hint::black_box;

use crate::common::{have, launcher, python, run};
use genba_model::{ExitKind, RunRecord};
use genba_run::{CommandSpec, Output};

const MIB: u64 = 1 << 20;

fn run_direct(argv: &[&str]) -> RunRecord {
    run(&CommandSpec::direct(argv)).record
}

/// Near enough for figures of the same run by two clocks: 2 ms, or 2 %.
fn near(what: &str, ours: f64, theirs: f64) {
    near_to(0.002_f64.max(theirs * 0.02), what, ours, theirs);
}

/// The kernel divides time into user and system by what its ticks saw, 100 a second at least:
/// two readings of one run differ by as much where others compete for the CPU.
fn near_by_ticks(what: &str, ours: f64, theirs: f64) {
    near_to(0.01, what, ours, theirs);
}

fn near_to(allowed: f64, what: &str, ours: f64, theirs: f64) {
    assert!(
        (ours - theirs).abs() <= allowed,
        "{what}: {ours} s here, {theirs} s there"
    );
}

#[test]
fn max_rss_of_one_run_does_not_affect_the_next() {
    let Some(python) = python("max_rss_of_one_run_does_not_affect_the_next") else {
        return;
    };
    let (mut launcher, cancel) = launcher();
    let hog = CommandSpec::direct([python, "-c", "x = bytearray(b'x') * (300 << 20)"]);
    let large = launcher.run(&hog, &cancel).expect("a run").record;
    assert!(
        large.max_rss_bytes > 300 * MIB && large.max_rss_bytes < 400 * MIB,
        "{large:?}"
    );
    assert!(
        large.minor_faults > 1000 || large.major_faults > 0,
        "{large:?}"
    );
    let small = launcher
        .run(&CommandSpec::direct(["true"]), &cancel)
        .expect("a run")
        .record;
    assert!(small.max_rss_bytes < 3 * MIB, "{small:?}");
}

#[test]
fn max_rss_excludes_memory_of_the_caller() {
    let held = vec![1u8; 500 * MIB as usize];
    assert_eq!(
        black_box(&held)
            .iter()
            .step_by(4096)
            .map(|&byte| usize::from(byte))
            .sum::<usize>(),
        held.len().div_ceil(4096)
    );
    let (mut launcher, cancel) = launcher();
    let small = launcher
        .run(&CommandSpec::direct(["true"]), &cancel)
        .expect("a run")
        .record;
    assert!(small.max_rss_bytes < 3 * MIB, "{small:?}");
    // Gated processes are made in another way.
    let gated = launcher
        .prepare(&CommandSpec::direct(["true"]))
        .expect("a gate");
    let small = gated
        .release()
        .expect("a start")
        .wait(&cancel)
        .expect("a run")
        .record;
    assert!(small.max_rss_bytes < 3 * MIB, "{small:?}");
    black_box(held);
}

#[test]
fn launcher_memory_is_below_its_limit() {
    let (mut launcher, cancel) = launcher();
    // With some work behind it, the reading of /proc included.
    for _ in 0..20 {
        launcher
            .run(&CommandSpec::shell("sleep 0 & exit 0"), &cancel)
            .expect("a run");
    }
    let pid = launcher.pid().expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .expect("a high-water mark");
    let kib: u64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .expect("a number");
    assert!(kib < 300, "{line}");
}

#[test]
fn cpu_time_of_python_equals_its_own_clocks() {
    let Some(python) = python("cpu_time_of_python_equals_its_own_clocks") else {
        return;
    };
    let script = "import resource, time
while time.process_time() < 0.3: sum(range(1000))
r = resource.getrusage(resource.RUSAGE_SELF)
print(r.ru_utime, r.ru_stime, r.ru_maxrss, r.ru_minflt)";
    let mut spec = CommandSpec::direct([python, "-c", script]);
    spec.stdout = Output::Capture { limit: 1000 };
    let finished = run(&spec);
    let text = String::from_utf8(finished.stdout.captured).expect("text");
    let said: Vec<f64> = text
        .split_whitespace()
        .map(|n| n.parse().expect("a number"))
        .collect();
    let record = finished.record;
    // Python goes on to tear itself down after it has looked.
    let (ours, theirs) = (record.target.total(), said[0] + said[1]);
    assert!(
        ours >= theirs - 1e-5 && ours < theirs + 0.1,
        "{ours} {theirs}"
    );
    assert!(record.children.total() < 0.001, "{record:?}");
    assert!(record.wall_seconds >= 0.3, "{record:?}");
    assert!(
        record.max_rss_bytes as f64 >= said[2] * 1024.0,
        "{record:?}"
    );
    assert!(record.minor_faults as f64 >= said[3], "{record:?}");
    assert_eq!(record.stdout_bytes, Some(text.len() as u64));
}

#[test]
fn cpu_time_of_children_is_separate_from_the_target() {
    let Some(python) = python("cpu_time_of_children_is_separate_from_the_target") else {
        return;
    };
    // 0.2 s by itself, 0.4 s in a child that it waits for; it prints both as the kernel has them.
    let script = "import os, resource, time
def burn(s):
    end = time.process_time() + s
    while time.process_time() < end: sum(range(1000))
burn(0.2)
if os.fork() == 0:
    burn(0.4); os._exit(0)
os.wait()
s, c = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(s.ru_utime, s.ru_stime, c.ru_utime, c.ru_stime, flush=True)
os._exit(0)";
    let mut spec = CommandSpec::direct([python, "-c", script]);
    spec.stdout = Output::Capture { limit: 1000 };
    let finished = run(&spec);
    let text = String::from_utf8(finished.stdout.captured).expect("text");
    let said: Vec<f64> = text
        .split_whitespace()
        .map(|n| n.parse().expect("a number"))
        .collect();
    let record = finished.record;
    near("target", record.target.total(), said[0] + said[1]);
    near_by_ticks("target's user", record.target.user, said[0]);
    near("children", record.children.total(), said[2] + said[3]);
    near_by_ticks("user time of children", record.children.user, said[2]);
    assert!(record.children.total() > 0.39, "{record:?}");
    assert_eq!(record.orphans, 0);
}

#[test]
fn gzip_started_by_a_shell_is_a_child() {
    if !have("gzip_started_by_a_shell_is_a_child", "gzip") {
        return;
    }
    let line = "head -c 20000000 /dev/urandom | gzip -1 > /dev/null & wait";
    let record = run(&CommandSpec::shell(line)).record;
    assert!(record.exit.success());
    assert!(
        record.children.total() > 10.0 * record.target.total(),
        "{record:?}"
    );
    assert!(record.target.total() < 0.1, "{record:?}");
}

#[test]
fn threads_count_as_the_target() {
    if !have("threads_count_as_the_target", "xz") {
        return;
    }
    let mut spec = CommandSpec::direct(["xz", "-T2", "-1", "--block-size=500000", "-c"]);
    let mut state = 1u64;
    let data: Vec<u8> = (0..8_000_000u32)
        .map(|_| {
            // Knuth's MMIX generator, cut to four bits a byte: some work for xz.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 60) as u8
        })
        .collect();
    spec.stdin = genba_run::Stdin::Bytes(data.into());
    spec.stdout = Output::Count;
    let record = run(&spec).record;
    assert!(record.exit.success());
    assert!(record.target.total() > 0.05, "{record:?}");
    assert!(record.children.total() < 1e-9, "{record:?}");
    assert!(record.stdout_bytes > Some(1000));
}

#[test]
fn orphans_count_as_children() {
    let Some(_) = python("orphans_count_as_children") else {
        return;
    };
    // The daemon burns 0.2 s and ends before the target does.
    let daemon = "import time
while time.process_time() < 0.2: pass
open(__import__('sys').argv[1], 'w')";
    let directory = tempfile::tempdir().expect("a directory");
    let done = directory.path().join("done");
    let line =
        "(setsid /usr/bin/python3 -c \"$1\" \"$2\" &); until [ -e \"$2\" ]; do sleep 0.01; done";
    let mut spec = CommandSpec::direct(["sh", "-c", line, "sh", daemon]);
    spec.argv.push(done.into());
    spec.grace = std::time::Duration::from_secs(10);
    let record = run(&spec).record;
    assert!(record.exit.success());
    assert!(record.children.total() >= 0.2, "{record:?}");
    assert!(record.target.total() < 0.2, "{record:?}");
    assert!(record.orphans >= 1, "{record:?}");
    assert_eq!(record.read_bytes, None, "theirs are not in the account");
}

#[test]
fn exit_kind_matches_how_the_target_ended() {
    assert_eq!(run_direct(&["true"]).exit, ExitKind::Code(0));
    assert_eq!(
        run_direct(&["sh", "-c", "exit 42"]).exit,
        ExitKind::Code(42)
    );
    let killed = run_direct(&["sh", "-c", "kill -KILL $$"]).exit;
    assert_eq!(
        killed,
        ExitKind::Signal {
            signal: libc::SIGKILL,
            core: false
        }
    );
    let aborted = run_direct(&["sh", "-c", "ulimit -c 0; kill -ABRT $$"]).exit;
    assert_eq!(
        aborted,
        ExitKind::Signal {
            signal: libc::SIGABRT,
            core: false
        }
    );
}

#[test]
fn context_switches_are_counted() {
    let Some(python) = python("context_switches_are_counted") else {
        return;
    };
    let script = "import time
for _ in range(50): time.sleep(0.001)";
    let record = run_direct(&[python, "-c", script]);
    assert!(record.voluntary_switches >= 50, "{record:?}");
}

#[test]
fn bytes_that_target_and_children_read_are_accounted() {
    if std::fs::metadata("/proc/self/io").is_err() {
        genba_testing::skip(
            "bytes_that_target_and_children_read_are_accounted",
            genba_testing::MACHINE,
            "the kernel has no /proc/PID/io",
        );
        return;
    }
    let read = |command: &str| {
        let record = run(&CommandSpec::direct(["sh", "-c", command])).record;
        assert!(record.exit.success());
        record.read_bytes
    };
    // What the loader reads of libraries is in both.
    let without = read("head -c 0 /dev/zero; exit 0").expect("an account");
    let with = read("head -c 5000000 /dev/zero > /dev/null; exit 0").expect("an account");
    let more = with - without;
    assert!((5_000_000..5_100_000).contains(&more), "{more}");
}
