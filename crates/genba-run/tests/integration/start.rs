//! Starting: look-up, errors, directory_environment_and_cpus_are_set, the gate.

use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use crate::common::{eventually, launcher, marker, run};
use genba_model::ExitKind;
use genba_run::{CommandSpec, ErrorKind, Output, PassFd, RunError, Shell};

fn refused(spec: &CommandSpec) -> RunError {
    let (mut launcher, cancel) = launcher();
    let error = launcher.run(spec, &cancel).expect_err("refused");
    // The gate takes another way; what it says must be the same.
    let gated = launcher
        .prepare(spec)
        .and_then(|gated| gated.release().map(drop));
    let other = gated.expect_err("refused");
    assert_eq!(error.to_string(), other.to_string());
    let after = launcher.run(&CommandSpec::direct(["true"]), &cancel);
    assert!(
        after.expect("a run").record.exit.success(),
        "the launcher goes on"
    );
    error
}

fn script(directory: &Path, name: &str, text: &str, mode: u32) -> CommandSpec {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its mode");
    CommandSpec::direct([path])
}

fn printed(mut spec: CommandSpec) -> String {
    spec.stdout = Output::Capture { limit: 10_000 };
    String::from_utf8(run(&spec).stdout.captured).expect("text")
}

#[test]
fn start_errors_name_the_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let error = refused(&CommandSpec::direct(["genba-no-such-program"]));
    assert!(matches!(error, RunError::NotFound { .. }), "{error}");
    let error = refused(&CommandSpec::direct(["./genba-no-such-program"]));
    assert!(matches!(error, RunError::NoSuchFile { .. }), "{error}");
    let error = refused(&CommandSpec::direct([here]));
    assert!(matches!(error, RunError::IsDirectory { .. }), "{error}");
    let error = refused(&script(here, "plain", "#!/bin/sh\n", 0o644));
    assert!(matches!(error, RunError::NotExecutable { .. }), "{error}");
    let error = refused(&script(here, "lost", "#!/no/such/interpreter -x\n", 0o755));
    assert!(
        matches!(&error, RunError::BadInterpreter { interpreter, .. } if interpreter.contains("/no/such/interpreter")),
        "{error}"
    );
    let error = refused(&script(here, "format", "no program at all\n", 0o755));
    assert!(matches!(error, RunError::BadFormat { .. }), "{error}");
    let error = refused(&script(here, "empty", "", 0o755));
    assert!(matches!(error, RunError::BadFormat { .. }), "{error}");
    let error = refused(&CommandSpec::direct([
        "true".to_owned(),
        "x".repeat(200 << 10),
    ]));
    assert!(matches!(error, RunError::TooLong { .. }), "{error}");
    let error = refused(&CommandSpec::direct([
        "true".to_owned(),
        "x".repeat(20 << 20),
    ]));
    assert!(matches!(error, RunError::TooLong { .. }), "{error}");
    let mut spec = CommandSpec::direct(["true"]);
    spec.directory = Some("/no/such/directory".into());
    let error = refused(&spec);
    assert!(matches!(error, RunError::Directory { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Usage);
    let mut spec = CommandSpec::direct(["true"]);
    spec.cpus = Some(vec![8000]);
    let error = refused(&spec);
    assert!(matches!(error, RunError::Affinity { .. }), "{error}");
    let error = refused(&CommandSpec::direct(Vec::<String>::new()));
    assert!(matches!(error, RunError::EmptyCommand), "{error}");
}

#[test]
fn directory_environment_and_cpus_are_set() {
    let mut spec =
        CommandSpec::direct(["sh", "-c", "pwd; echo \"$GENBA_T\"; echo \"${HOME-none}\""]);
    spec.directory = Some("/usr".into());
    spec.environment.set("GENBA_T", "a b\nc");
    spec.environment.remove("HOME");
    assert_eq!(printed(spec), "/usr\na b\nc\nnone\n");
    let mut spec = CommandSpec::direct(["/usr/bin/env"]);
    spec.environment.clear = true;
    spec.environment.set("ONLY", "1");
    assert_eq!(printed(spec), "ONLY=1\n");
    let mut spec = CommandSpec::direct(["grep", "Cpus_allowed_list", "/proc/self/status"]);
    spec.cpus = Some(vec![0]);
    assert_eq!(printed(spec).split_whitespace().last(), Some("0"));
    let mut spec = CommandSpec::direct(["./sh", "-c", "echo \"$0\""]);
    spec.directory = Some("/bin".into());
    assert_eq!(printed(spec), "./sh\n", "relative to where the target is");
}

#[test]
fn target_has_its_own_group_and_inherits_no_descriptors_or_blocked_signals() {
    // No signal blocked, a group of its own, no descriptor but the three (and ls's own).
    let status = printed(CommandSpec::direct(["grep", "SigBlk", "/proc/self/status"]));
    assert_eq!(status.split_whitespace().last(), Some("0000000000000000"));
    let line = "ps -o pid=,pgid= -p $$ 2>/dev/null || cut -d' ' -f1,5 /proc/$$/stat";
    let ids: Vec<String> = printed(CommandSpec::shell(line))
        .split_whitespace()
        .map(String::from)
        .collect();
    assert_eq!(ids[0], ids[1]);
    let fds = printed(CommandSpec::direct(["ls", "/proc/self/fd"]));
    // cargo and CI may pass descriptors of their own down through this test.
    let inherited = |fd: &&str| fd.parse::<i32>().is_ok_and(|fd| fd < 4);
    assert!(
        fds.split_whitespace().filter(inherited).count() >= 3,
        "{fds}"
    );
    let sockets = printed(CommandSpec::direct([
        "sh",
        "-c",
        "ls -l /proc/self/fd | grep -c -e socket: -e signalfd",
    ]));
    assert_eq!(sockets, "0\n");
}

#[test]
fn shell_lines_run_in_the_chosen_shell() {
    assert_eq!(printed(CommandSpec::shell("echo $((1 + 2)) | cat")), "3\n");
    let bash = Shell::parse("bash --norc").expect("a shell");
    let spec = CommandSpec::from_line("echo ${BASH_VERSION:+yes}", &bash).expect("a spec");
    assert_eq!(
        spec.shell_line.as_deref(),
        Some("echo ${BASH_VERSION:+yes}")
    );
    assert_eq!(printed(spec), "yes\n");
    let none = CommandSpec::from_line("echo '$HOME' \"a  b\"", &Shell::None).expect("a spec");
    assert_eq!(none.shell_line, None);
    assert_eq!(printed(none), "$HOME a  b\n");
}

#[test]
fn extra_descriptor_is_passed() {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(b"before\n").expect("written");
    for number in [3, 9, 100] {
        let mut spec = CommandSpec::direct([
            "python3",
            "-c",
            "import os; os.write(int(os.environ['GENBA_FD']), b'x')",
        ]);
        if !crate::common::have("extra_descriptor_is_passed", "python3") {
            return;
        }
        let fd: OwnedFd = file.try_clone().expect("a copy").into();
        spec.pass_fd = Some(PassFd {
            fd: Arc::new(fd),
            number,
            variable: Some("GENBA_FD".into()),
        });
        // A pipe beside it, so that more than one descriptor travels.
        spec.stdout = Output::Count;
        assert_eq!(run(&spec).record.exit, ExitKind::Code(0), "number {number}");
    }
    let mut text = String::new();
    file.rewind().expect("the start");
    file.read_to_string(&mut text).expect("text");
    assert_eq!(text, "before\nxxx");
    let mut spec = CommandSpec::direct(["true"]);
    let fd: OwnedFd = file.into();
    spec.pass_fd = Some(PassFd {
        fd: Arc::new(fd),
        number: 2,
        variable: None,
    });
    assert!(matches!(
        refused(&spec),
        RunError::Descriptor { number: 2, .. }
    ));
}

#[test]
fn gated_process_waits_until_released() {
    let (mut launcher, cancel) = launcher();
    let mut spec = CommandSpec::direct(["sh", "-c", "echo $$"]);
    spec.stdout = Output::Capture { limit: 100 };
    let gated = launcher.prepare(&spec).expect("a gate");
    let pid = gated.pid();
    // Blocked in the launcher's program, asleep, and no `sh` yet.
    eventually("it sleeps", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(genba-launcher) S")
    });
    let mut running = gated.release().expect("a start");
    assert_eq!(running.pid(), pid);
    eventually("it ends", || running.pump().expect("pumped"));
    let finished = running.wait(&cancel).expect("a run");
    assert_eq!(finished.stdout.captured, format!("{pid}\n").as_bytes());
    assert_eq!(finished.pid, pid);
    assert!(finished.end_ns > finished.start_ns);
}

#[test]
fn unreleased_gated_process_is_ended() {
    let name = marker("gate");
    let (mut launcher, cancel) = launcher();
    let spec = CommandSpec::direct(["sh", "-c", "sleep 1000", &name]);
    let gated = launcher.prepare(&spec).expect("a gate");
    let pid = gated.pid();
    drop(gated);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let gated = launcher.prepare(&spec).expect("a gate");
    // SAFETY: a process that this test started.
    unsafe { libc::kill(gated.pid(), libc::SIGKILL) };
    let error = gated.release().map(drop).expect_err("killed");
    assert!(
        matches!(error, RunError::KilledBeforeStart { .. }),
        "{error}"
    );
    assert!(
        launcher
            .run(&CommandSpec::direct(["true"]), &cancel)
            .expect("a run")
            .record
            .exit
            .success()
    );
}

#[test]
fn descriptors_and_memory_do_not_grow_with_runs() {
    let (mut launcher, cancel) = launcher();
    let mut spec = CommandSpec::direct(["true"]);
    spec.stdout = Output::Count;
    spec.stdin = genba_run::Stdin::Bytes(b"x".as_slice().into());
    let pid = launcher.pid().expect("it runs");
    let descriptors = |pid: i32| {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("descriptors");
        entries.count()
    };
    launcher.run(&spec, &cancel).expect("a run");
    let before = descriptors(pid);
    for _ in 0..2000 {
        assert!(
            launcher
                .run(&spec, &cancel)
                .expect("a run")
                .record
                .exit
                .success()
        );
    }
    assert_eq!(descriptors(pid), before);
    // Tests beside this one have descriptors of their own.
    assert!(descriptors(std::process::id() as i32) < 100);
}

#[test]
fn large_environment_is_passed_and_the_launcher_stays_small() {
    let (mut launcher, cancel) = launcher();
    let mut spec = CommandSpec::direct(["true"]);
    for index in 0..10 {
        spec.environment
            .set(format!("GENBA_LARGE_{index}"), "x".repeat(100_000));
    }
    assert!(
        launcher
            .run(&spec, &cancel)
            .expect("a run")
            .record
            .exit
            .success()
    );
    let small = launcher
        .run(&CommandSpec::direct(["true"]), &cancel)
        .expect("a run")
        .record;
    assert!(small.max_rss_bytes < 3 << 20, "{small:?}");
}
