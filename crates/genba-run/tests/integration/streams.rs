//! Standard streams.

use crate::common::{launcher, marker, run};
use genba_run::{CommandSpec, ErrorKind, Output, RunError, Stdin};

#[test]
fn stdin_is_empty_by_default() {
    let mut spec = CommandSpec::direct(["cat"]);
    spec.stdout = Output::Count;
    let finished = run(&spec);
    assert!(finished.record.exit.success());
    assert_eq!(finished.stdout.bytes, Some(0));
}

#[test]
fn stdin_bytes_and_files_arrive_whole_each_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("in");
    let data: Vec<u8> = (0..3_000_000u32).flat_map(|n| n.to_le_bytes()).collect();
    std::fs::write(&file, &data).expect("a file");
    let (mut launcher, cancel) = launcher();
    let mut hashes = Vec::new();
    for stdin in [Stdin::Bytes(data.clone().into()), Stdin::File(file)] {
        for _ in 0..2 {
            let mut spec = CommandSpec::direct(["cat"]);
            spec.stdin = stdin.clone();
            spec.stdout = Output::Capture { limit: 1000 };
            let finished = launcher.run(&spec, &cancel).expect("a run");
            assert_eq!(finished.stdout.bytes, Some(data.len() as u64));
            assert_eq!(finished.stdout.captured, data[..1000]);
            assert!(finished.stdout.truncated());
            hashes.push(finished.stdout.hash);
        }
    }
    assert!(
        hashes
            .iter()
            .all(|hash| *hash == hashes[0] && hash.is_some()),
        "{hashes:?}"
    );
}

#[test]
fn stdout_and_stderr_are_captured_separately() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("out");
    std::fs::write(&file, "what was there before, and is longer").expect("a file");
    let mut spec = CommandSpec::shell("echo out; echo err >&2");
    spec.stdout = Output::File(file.clone());
    spec.stderr = Output::Capture { limit: 100 };
    let finished = run(&spec);
    assert_eq!(std::fs::read(&file).expect("the file"), b"out\n");
    assert_eq!(finished.stderr.captured, b"err\n");
    assert_eq!(finished.stdout.bytes, None);
}

#[test]
fn gigabytes_of_output_do_not_grow_memory() {
    let before = peak_kib();
    let mut spec = CommandSpec::shell("head -c 3000000000 /dev/zero");
    spec.stdout = Output::Capture { limit: 10 };
    let finished = run(&spec);
    assert_eq!(finished.stdout.bytes, Some(3_000_000_000));
    assert_eq!(finished.record.stdout_bytes, Some(3_000_000_000));
    assert_eq!(finished.stdout.captured, [0; 10]);
    let grown = peak_kib() - before;
    // Other tests of this file run beside this one, with 12 MB of data three times over.
    assert!(grown < 100 << 10, "{grown} KiB");
}

fn peak_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .expect("a mark");
    line.split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .expect("a number")
}

#[test]
fn stream_that_cannot_be_opened_is_named() {
    let (mut launcher, cancel) = launcher();
    let missing = format!("/nonexistent/{}", marker("stream"));
    let mut spec = CommandSpec::direct(["true"]);
    spec.stdin = Stdin::File(missing.clone().into());
    let error = launcher.run(&spec, &cancel).expect_err("no such file");
    assert!(
        matches!(
            error,
            RunError::Stream {
                stream: "stdin",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains(&missing));
    assert_eq!(error.kind(), ErrorKind::Usage);
    spec.stdin = Stdin::Null;
    spec.stderr = Output::File("/".into());
    let error = launcher.run(&spec, &cancel).expect_err("a directory");
    assert!(
        matches!(
            error,
            RunError::Stream {
                stream: "stderr",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn target_that_closes_its_pipe_continues() {
    let mut spec = CommandSpec::shell("echo a; exec >&-; exit 4");
    spec.stdout = Output::Count;
    let finished = run(&spec);
    assert_eq!(finished.record.exit, genba_model::ExitKind::Code(4));
    assert_eq!(finished.stdout.bytes, Some(2));
}

/// Variable that makes [`helper_that_reads_the_terminal`] do something.
const TERMINAL: &str = "GENBA_TEST_TERMINAL";

/// Not a test by itself: another process with a terminal, for the test below.
#[test]
fn helper_that_reads_the_terminal() {
    if std::env::var_os(TERMINAL).is_none() {
        return;
    }
    let mut spec = CommandSpec::shell("read word; echo \"<$word>\" > /dev/tty");
    spec.stdin = Stdin::Inherit;
    spec.timeout = Some(std::time::Duration::from_secs(20));
    assert!(run(&spec).record.exit.success());
}

#[test]
fn interactive_target_reads_the_terminal() {
    let test = "interactive_target_reads_the_terminal";
    if !crate::common::have(test, "script") {
        return;
    }
    // A target in a background group would be stopped by SIGTTIN, and then by its time-out.
    let exe = std::env::current_exe().expect("a path");
    let line = format!(
        "{} --exact streams::helper_that_reads_the_terminal --nocapture",
        exe.display()
    );
    let mut script = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env(TERMINAL, "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("script starts");
    let mut stdin = script.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, b"hello\n").expect("written");
    let output = script.wait_with_output().expect("its end");
    drop(stdin);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("<hello>"), "{text}");
    assert!(output.status.success(), "{text}");
}
