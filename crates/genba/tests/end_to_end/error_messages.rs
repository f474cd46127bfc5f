//! User errors: a clear message, the documented exit code, no panic.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{genba, json, program, record, scratch, stdout_of};

/// Runs genba; checks the exit code and that the error contains `about`.
fn fails(directory: &Path, args: &[&str], code: i32, about: &str) {
    let output = genba(directory, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(said.contains(about), "{args:?}: {said}");
    assert!(!said.contains("panicked"), "{args:?}: {said}");
    assert!(
        output.stdout.is_empty(),
        "{args:?}: an error prints no result"
    );
}

#[test]
fn commands_that_cannot_start_exit_with_2_and_leave_no_case() {
    let directory = scratch();
    let here = directory.path();
    fs::write(here.join("text"), "no program").expect("a file");
    fs::write(here.join("broken"), "\x7fELFnonsense").expect("a file");
    fs::set_permissions(here.join("broken"), fs::Permissions::from_mode(0o755)).expect("a mode");
    for verb in ["stat", "record", "wait", "investigate"] {
        fails(
            here,
            &[verb, "--", "no-such-command-anywhere"],
            2,
            "no-such-command-anywhere",
        );
        fails(here, &[verb, "--", "./text"], 2, "chmod +x");
        fails(here, &[verb, "--", "/"], 2, "directory");
        fails(here, &[verb, "--", "./broken"], 2, "./broken");
        fails(here, &[verb], 2, "for example: -- ls -l");
    }
    assert!(
        !here.join(".genba").exists(),
        "a command that does not exist leaves no case"
    );
}

#[test]
fn failing_commands_exit_with_3_and_show_their_error_output() {
    let directory = scratch();
    let here = directory.path();
    let command = "echo went wrong >&2; exit 7";
    fails(
        here,
        &["investigate", "--", "sh", "-c", command],
        3,
        "went wrong",
    );
    fails(
        here,
        &["stat", "-r", "3", "--json", "--", "sh", "-c", command],
        3,
        "code 7",
    );
    let output = genba(here, &["stat", "--json", "--", "sh", "-c", "kill -SEGV $$"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("\"signal\":11"),
        "a single run that crashes is reported with its counters: {text}"
    );
    fails(
        here,
        &["investigate", "--timeout", "0.2", "--", "sleep", "60"],
        3,
        "timed out",
    );
}

#[test]
fn files_that_are_not_recordings_exit_with_2() {
    let directory = scratch();
    let here = directory.path();
    fails(here, &["report"], 2, "genba record -- COMMAND");
    fails(
        here,
        &["report", "-i", "nothing-here"],
        2,
        "neither a file nor a case",
    );
    fs::write(here.join("empty"), "").expect("a file");
    fails(here, &["report", "-i", "empty"], 2, "empty");
    fs::write(here.join("random"), [7u8; 4096]).expect("a file");
    fails(here, &["annotate", "-i", "random", "f"], 2, "random");
    fails(here, &["flame", "-i", "."], 2, ".");
    fails(here, &["case", "show", "ffff"], 2, "ffff");
    fails(here, &["case", "import", "random"], 2, "random");
}

#[test]
fn truncated_recordings_are_read_or_refused_without_panic() {
    let test = "truncated_recordings_are_read_or_refused_without_panic";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    if record(test, here, &["-e", "cpu-clock:u"], &[prog, "400000"]).is_none() {
        return;
    }
    let whole = fs::read(here.join("recording")).expect("the recording");
    let all = json(here, "profile", &["report", "-i", "recording", "--json"]);
    let count = all["samples"].to_string();
    for length in (0..whole.len()).step_by(997.max(whole.len() / 60)) {
        fs::write(here.join("cut"), &whole[..length]).expect("a file");
        let output = genba(here, &["report", "-i", "cut"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 2 | 3)),
            "cut at {length}: {code:?} {said}"
        );
        assert!(!said.contains("panicked"), "cut at {length}: {said}");
        if code == Some(0) {
            let text = String::from_utf8_lossy(&output.stdout);
            // What is cut off may be the description behind the samples.
            let complete = text.contains(&format!("{count} samples"));
            assert!(
                complete || text.contains("cut short"),
                "cut at {length} without a note:\n{text}"
            );
        }
    }
}

#[test]
fn report_without_samples_exits_with_3() {
    let test = "report_without_samples_exits_with_3";
    let directory = scratch();
    let here = directory.path();
    // One sample every 10^15 ns: the run ends before the first.
    let options = ["-e", "cpu-clock:u", "-c", "1000000000000000"];
    if record(test, here, &options, &["true"]).is_none() {
        return;
    }
    fails(here, &["report", "-i", "recording"], 3, "no samples");
}

#[test]
fn annotate_suggests_sampled_functions_with_similar_names() {
    let test = "annotate_suggests_sampled_functions_with_similar_names";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    if record(test, here, &["-e", "cpu-clock:u"], &[prog, "2000000"]).is_none() {
        return;
    }
    fails(
        here,
        &["annotate", "-i", "recording", "digit"],
        2,
        "names that were sampled: digits",
    );
    fails(
        here,
        &["annotate", "-i", "recording", "quux"],
        2,
        "genba report",
    );
}

#[test]
fn usage_errors_name_the_argument() {
    let directory = scratch();
    let here = directory.path();
    fails(here, &["stat", "--no-such-flag"], 2, "--no-such-flag");
    fails(
        here,
        &["record", "-e", "no-such-event", "--", "true"],
        2,
        "no-such-event",
    );
    fails(here, &["record", "-F", "0", "--", "true"], 2, "0");
    fails(
        here,
        &["record", "--call-graph", "lbr", "--", "true"],
        2,
        "dwarf",
    );
    fails(here, &["record", "-p", "999999999"], 4, "999999999");
    fails(here, &["wait", "-p", "999999999"], 4, "999999999");
    fails(
        here,
        &["investigate", "--budget", "-3", "--", "true"],
        2,
        "write 20s, 500ms, 2min or 1h",
    );
}

#[test]
fn options_and_words_of_other_verbs_are_answered_with_the_verb_that_takes_them() {
    let here = scratch();
    std::fs::write(here.path().join("a.data"), "PERFILE2 and more").expect("a file");
    stdout_of(here.path(), &["bench", "-N", "-r", "2", "true", "true"]);
    let read = "genba report -i";
    // As the recording or the case that other verbs read with -i.
    fails(here.path(), &["stat", "-i", "a.data"], 2, read);
    fails(here.path(), &["bench", "-i", "a.data", "true"], 2, read);
    fails(here.path(), &["count", "-i", "latest"], 2, read);
    fails(
        here.path(),
        &["investigate", "-i", "latest", "--", "true"],
        2,
        read,
    );
    // The command's standard input would be the recording.
    fails(
        here.path(),
        &[
            "sweep", "--param", "N=1,2", "--input", "a.data", "--", "echo", "{N}",
        ],
        2,
        read,
    );
    fails(
        here.path(),
        &["wait", "-a", "--", "true"],
        2,
        "genba stat -a",
    );
    fails(
        here.path(),
        &["wait", "-C", "0", "--", "true"],
        2,
        "genba stat -a",
    );
    for verb in ["record", "wait", "grow"] {
        fails(here.path(), &[verb, "-i", "a.data"], 2, read);
    }
    fails(
        here.path(),
        &["annotate", "--ignore-failure", "main"],
        2,
        "for verbs that measure a command",
    );
    fails(
        here.path(),
        &["diff", "-i", "a.data"],
        2,
        "give recordings and cases as arguments",
    );
    // Misplaced options are not programs that are missing.
    fails(here.path(), &["try", "-i", "12ab", "--", "a.data"], 2, read);
    fails(
        here.path(),
        &["investigate", "--", "-p", "1"],
        2,
        "stand before `--`",
    );
    // A program of that name is one.
    stdout_of(here.path(), &["stat", "-i", "--", "false"]);
}
