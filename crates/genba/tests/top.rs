//! `genba top` where there is no terminal: one window, then a table.

use std::process::{Command, Stdio};

fn genba(arguments: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("genba starts");
    (
        out.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&out.stdout).into_owned(),
        String::from_utf8_lossy(&out.stderr).into_owned(),
    )
}

#[test]
fn one_window_of_a_command_that_never_ends() {
    let line = [
        "top",
        "--window",
        "1",
        "--json",
        "--",
        "sh",
        "-c",
        "while :; do :; done",
    ];
    let (code, out, err) = genba(&line);
    if code == 4 {
        eprintln!("skipped: one_window_of_a_command_that_never_ends: {err}");
        return;
    }
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["kind"], "profile");
    assert!(document["samples"].as_u64() > Some(0), "{out}");
    // The shell was ended with genba, or this would never have come here.
}

#[test]
fn nothing_to_watch_is_said() {
    let (code, _, err) = genba(&["top"]);
    assert_eq!(code, 2);
    assert!(err.contains("genba top -p PID"), "{err}");
}
