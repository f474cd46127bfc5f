//! The whole tree ends, whatever it does.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{eventually, launcher, marked, marker, run};
use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Launcher, Output};

/// A target with two descendants: one ignores SIGTERM, the other has forked twice into a
/// session of its own and ignores SIGTERM and SIGHUP. The marker is an argument of all three.
fn stubborn(marker: &str) -> CommandSpec {
    let line = "trap '' TERM HUP INT
        (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1000; done' \"$1\" &)
        sh -c 'while :; do sleep 1000; done' \"$1\" &
        echo ready
        while :; do sleep 1000; done";
    CommandSpec::direct(["sh", "-c", line, "sh", marker])
}

#[test]
fn time_out_ends_processes_that_ignore_sigterm_or_forked_twice() {
    let name = marker("timeout");
    let mut spec = stubborn(&name);
    spec.timeout = Some(Duration::from_millis(300));
    spec.grace = Duration::from_millis(50);
    spec.stdout = Output::Capture { limit: 100 };
    let finished = run(&spec);
    assert_eq!(finished.record.exit, ExitKind::TimedOut);
    assert_eq!(finished.stdout.captured, b"ready\n");
    assert!(finished.record.wall_seconds >= 0.3, "{:?}", finished.record);
    assert!(finished.record.orphans >= 2, "{:?}", finished.record);
    assert_eq!(finished.survivors, 0);
    assert_eq!(marked(&name), [] as [i32; 0]);
}

#[test]
fn sigterm_handlers_get_the_grace_period() {
    let mut spec = CommandSpec::shell(
        "trap 'echo tidied; exit 3' TERM; echo ready; while :; do sleep 0.01; done",
    );
    spec.timeout = Some(Duration::from_millis(200));
    spec.grace = Duration::from_secs(20);
    spec.stdout = Output::Capture { limit: 100 };
    let started = Instant::now();
    let finished = run(&spec);
    assert_eq!(finished.record.exit, ExitKind::TimedOut);
    assert_eq!(finished.stdout.captured, b"ready\ntidied\n");
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "it did not wait for the grace period"
    );
}

#[test]
fn stopped_target_ends_on_time_out() {
    let mut spec = CommandSpec::shell("kill -STOP $$; sleep 1000");
    spec.timeout = Some(Duration::from_millis(100));
    spec.grace = Duration::from_secs(20);
    let finished = run(&spec);
    assert_eq!(finished.record.exit, ExitKind::TimedOut);
}

#[test]
fn cancel_from_another_thread_ends_a_pipeline() {
    let name = marker("cancel");
    let cancel = Cancel::new().expect("a token");
    let trigger = cancel.clone();
    let watched = name.clone();
    let thread = std::thread::spawn(move || {
        eventually("the pipeline runs", || !marked(&watched).is_empty());
        trigger.trigger();
    });
    let line = format!("yes {name} | sh -c 'sleep 1000; cat' {name} | cat");
    let mut launcher = Launcher::new().expect("a launcher");
    let finished = launcher
        .run(&CommandSpec::shell(&line), &cancel)
        .expect("a run");
    thread.join().expect("the thread");
    assert_eq!(finished.record.exit, ExitKind::Cancelled);
    assert_eq!(marked(&name), [] as [i32; 0]);
    let again = launcher.run(&CommandSpec::direct(["true"]), &cancel);
    assert!(matches!(again, Err(genba_run::RunError::Cancelled)));
    let fresh = Cancel::new().expect("a token");
    assert!(
        launcher
            .run(&CommandSpec::direct(["true"]), &fresh)
            .expect("a run")
            .record
            .exit
            .success()
    );
}

#[test]
fn processes_left_by_the_target_are_ended_and_counted() {
    let name = marker("behind");
    let line = format!("(setsid sh -c 'sleep 1000; :' {name} &) ; exit 5");
    let finished = run(&CommandSpec::shell(&line));
    assert_eq!(finished.record.exit, ExitKind::Code(5));
    assert!(finished.left_behind >= 1, "{finished:?}");
    assert!(finished.record.orphans >= 1, "{finished:?}");
    assert_eq!(marked(&name), [] as [i32; 0]);
}

#[test]
fn grandchild_with_open_pipe_does_not_hang_the_run() {
    let name = marker("pipe");
    let line = format!(
        "(trap '' TERM; setsid sh -c 'while :; do echo x; sleep 0.001; done' {name} &) ; echo done"
    );
    let mut spec = CommandSpec::shell(&line);
    spec.stdout = Output::Capture { limit: 1000 };
    spec.grace = Duration::from_millis(100);
    let finished = run(&spec);
    assert_eq!(finished.record.exit, ExitKind::Code(0));
    assert!(String::from_utf8_lossy(&finished.stdout.captured).contains("done"));
    assert_eq!(marked(&name), [] as [i32; 0]);
}

#[test]
fn leave_running_keeps_a_server_until_the_launcher_ends() {
    let name = marker("server");
    let (mut launcher, cancel) = launcher();
    let line = format!("(setsid sh -c 'while :; do sleep 1000; done' {name} &)");
    let mut spec = CommandSpec::shell(&line);
    spec.leave_running = true;
    // A pipe that the server keeps open must not hang us either.
    spec.stdout = Output::Count;
    let set_up = launcher.run(&spec, &cancel).expect("a run");
    assert!(set_up.left_behind >= 1, "{set_up:?}");
    eventually("the server is up", || !marked(&name).is_empty());
    let run = launcher
        .run(&CommandSpec::direct(["true"]), &cancel)
        .expect("a run");
    assert_eq!(
        run.record.orphans, 0,
        "the server is not in another run's account"
    );
    assert!(
        !marked(&name).is_empty(),
        "it is still there after another run"
    );
    drop(launcher);
    assert_eq!(marked(&name), [] as [i32; 0]);
}

#[test]
fn dropped_run_ends_and_the_launcher_continues() {
    let name = marker("drop");
    let (mut launcher, cancel) = launcher();
    let running = launcher.start(&stubborn(&name)).expect("a start");
    assert!(running.pid() > 0);
    drop(running);
    assert_eq!(marked(&name), [] as [i32; 0]);
    assert!(
        launcher
            .run(&CommandSpec::direct(["true"]), &cancel)
            .expect("a run")
            .record
            .exit
            .success()
    );
}

/// The parent of a process.
fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its stat");
    let fields = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().nth(1));
    fields.and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn killed_launcher_ends_the_tree_and_is_replaced() {
    for kill_guard in [false, true] {
        let name = marker(if kill_guard { "guard" } else { "worker" });
        let (mut launcher, cancel) = launcher();
        let worker = launcher.pid().expect("it runs");
        let running = launcher.start(&stubborn(&name)).expect("a start");
        eventually("all are up", || marked(&name).len() >= 3);
        let victim = if kill_guard { parent(worker) } else { worker };
        // SAFETY: plain kill of a process that this test started.
        unsafe { libc::kill(victim, libc::SIGKILL) };
        let ended = running.wait(&cancel);
        if !kill_guard {
            let error = ended.expect_err("the worker is dead");
            assert!(
                matches!(error, genba_run::RunError::LauncherDied),
                "{error}"
            );
        }
        eventually("all are gone", || marked(&name).is_empty());
        let again = launcher
            .run(&CommandSpec::direct(["true"]), &cancel)
            .expect("a run");
        assert!(again.record.exit.success());
    }
}

/// Variable that makes [`helper_in_place_of_genba`] do something: the marker.
const HOLD: &str = "GENBA_TEST_HOLD";

/// Not a test by itself: another process that runs a target, for the test below to kill.
#[test]
fn helper_in_place_of_genba() {
    let Ok(name) = std::env::var(HOLD) else {
        return;
    };
    let (mut launcher, cancel) = launcher();
    let running = launcher.start(&stubborn(&name)).expect("a start");
    println!("\ntarget {}", running.pid());
    running.wait(&cancel).expect("a run");
}

#[test]
fn sigkill_of_genba_ends_all_processes() {
    let name = marker("kill9");
    let mut genba = Command::new(std::env::current_exe().expect("a path"))
        .args([
            "--exact",
            "end_of_process_tree::helper_in_place_of_genba",
            "--nocapture",
        ])
        .env(HOLD, &name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let stdout = BufReader::new(genba.stdout.take().expect("a pipe"));
    let target: i32 = (stdout.lines().map_while(Result::ok))
        .find_map(|line| line.strip_prefix("target ")?.parse().ok())
        .expect("the target's id");
    // The target, its child, and the one that forked twice.
    eventually("all are up", || marked(&name).len() >= 3);
    assert!(marked(&name).contains(&target));
    genba.kill().expect("SIGKILL");
    genba.wait().expect("its end");
    eventually("all are gone", || marked(&name).is_empty());
}

#[test]
fn fork_bomb_is_ended() {
    let name = marker("swarm");
    // 32 processes, none of which listens to SIGTERM.
    let script = "import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(5): os.fork()
if os.getpid() != os.getpgid(0): os.setsid()
time.sleep(1000)";
    let Some(python) = crate::common::python("fork_bomb_is_ended") else {
        return;
    };
    let mut spec = CommandSpec::direct([python, "-c", script, &name]);
    spec.timeout = Some(Duration::from_millis(1500));
    spec.grace = Duration::from_millis(20);
    let finished = run(&spec);
    assert_eq!(finished.record.exit, ExitKind::TimedOut);
    assert_eq!(finished.survivors, 0);
    assert_eq!(marked(&name), [] as [i32; 0]);
}
