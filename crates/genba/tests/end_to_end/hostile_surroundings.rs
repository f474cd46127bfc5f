//! Surroundings in which a program must not be silent: processes that outlive the command, limits of
//! genba itself, bytes that are not text, files that have gone.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{genba, run_genba, scratch};
use serde_json::Value;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn processes_that_outlive_the_command_are_reported_by_every_verb() {
    let directory = scratch();
    let daemon = "sleep 1000 >/dev/null 2>&1 & true";
    for verb in [
        &["stat"][..],
        &["record"],
        &["count"],
        &["bench", "-r", "2"],
        &["investigate", "--budget", "1ms"],
    ] {
        let mut arguments = verb.to_vec();
        arguments.push(daemon);
        let (code, out, said) = run_genba(directory.path(), &arguments);
        if code == 4 {
            genba_testing::skip(
                "processes_that_outlive_the_command_are_reported_by_every_verb",
                genba_testing::PERF_EVENT,
                &said,
            );
            continue;
        }
        assert_eq!(code, 0, "{verb:?}: {said}");
        let text = format!("{out}{said}");
        assert!(
            text.contains("outlived the command"),
            "{verb:?}: {out}{said}"
        );
    }
}

#[test]
fn a_command_that_waits_for_its_children_has_no_such_note() {
    let directory = scratch();
    // An orphan that ends before the command.
    let line = "(sh -c 'sleep 0.01 & true'); sleep 0.2";
    let (code, out, said) = run_genba(directory.path(), &["stat", line]);
    assert_eq!(code, 0, "{said}");
    assert!(!format!("{out}{said}").contains("outlived"), "{out}{said}");
}

#[test]
fn a_document_is_never_mixed_with_the_output_of_the_command() {
    let directory = scratch();
    let here = directory.path();
    let line = "echo to the user; echo an error >&2";
    let (code, out, said) = run_genba(here, &["stat", "--json", "--output", "inherit", line]);
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    assert!(said.contains("--json=FILE"), "{said}");
    for verb in [&["stat"][..], &["count"]] {
        let with = |more: &[&'static str]| [verb, more, &[line]].concat();
        // Alone on standard output; the command's errors are still shown.
        let output = genba(here, &with(&["--json"]));
        assert!(output.status.success(), "{}", self::said(&output));
        let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
        assert_eq!(document["schema"], "genba/1");
        assert!(self::said(&output).contains("an error"), "{verb:?}");
        // In a file, and standard output is the command's.
        let output = genba(here, &with(&["--json=document.json"]));
        assert_eq!(output.stdout, b"to the user\n", "{verb:?}");
        let text = fs::read_to_string(here.join("document.json")).expect("the document");
        let document: Value = serde_json::from_str(&text).expect("one document");
        assert_eq!(document["schema"], "genba/1");
    }
}

/// genba with arguments of any bytes.
fn genba_of_bytes(directory: &Path, arguments: &[&[u8]]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(arguments.iter().map(|word| OsStr::from_bytes(word)))
        .current_dir(directory)
        .env_remove("GENBA_HOME")
        .stdin(Stdio::null())
        .output()
        .expect("genba starts")
}

#[test]
fn commands_and_paths_are_bytes_for_every_verb() {
    let directory = scratch();
    let here = directory.path();
    let name = b"na\xffme";
    // A program and an argument whose names are not UTF-8.
    fs::copy("/bin/echo", here.join(OsStr::from_bytes(name))).expect("copied");
    let program = [b"./", &name[..]].concat();
    let word = |word: &'static str| word.as_bytes();
    let cases: [Vec<&[u8]>; 7] = [
        vec![word("stat"), word("--"), &program, name],
        vec![
            word("count"),
            word("--output"),
            b"out\xff",
            word("--"),
            &program,
            name,
        ],
        vec![
            word("record"),
            word("-o"),
            b"da\xfeta",
            word("--"),
            &program,
            name,
        ],
        vec![
            word("investigate"),
            word("--budget=1ms"),
            word("--"),
            &program,
            name,
        ],
        vec![
            word("bench"),
            word("-N"),
            word("-r"),
            word("2"),
            &program,
            b"./na\xffme x",
        ],
        vec![
            word("sweep"),
            word("--param"),
            word("N=1,2"),
            word("--budget=1s"),
            word("--"),
            &program,
            b"\xff{N}",
        ],
        vec![
            word("ablate"),
            word("-r"),
            word("2"),
            word("--without"),
            b"a: ./na\xffme",
            word("--"),
            &program,
            name,
        ],
    ];
    for arguments in cases {
        let output = genba_of_bytes(here, &arguments);
        let code = output.status.code();
        let what = String::from_utf8_lossy(arguments[0]).into_owned();
        assert!(
            matches!(code, Some(0 | 4)),
            "{what}: {code:?}: {}",
            said(&output)
        );
    }
    // `count` wrote the output to the file that the bytes name.
    let written = here.join(OsStr::from_bytes(b"out\xff"));
    assert_eq!(fs::read(written).expect("written"), b"na\xffme\n");
}

#[test]
fn a_file_beyond_the_limit_of_file_sizes_is_an_error_message() {
    let directory = scratch();
    let genba = env!("CARGO_BIN_EXE_genba");
    let limited = |limit: &str, arguments: &str| {
        let line = format!("ulimit -S -f {limit}; exec {genba} {arguments}");
        Command::new("bash")
            .args(["-c", &line])
            .current_dir(directory.path())
            .env_remove("GENBA_HOME")
            .stdin(Stdio::null())
            .output()
            .expect("bash starts")
    };
    let output = limited("64", "count --once --sites sites -- true");
    // 64 KiB are too little for the file.
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("too large"), "{}", said(&output));
    // The counts are genba's own; and the command has the limit.
    let output = limited("64", "count --once -- sh -c 'ulimit -f'");
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        output.stdout.starts_with(b"64\n") || output.stdout.starts_with(b"128\n"),
        "{output:?}"
    );
    assert!(!said(&output).contains("note"), "{}", said(&output));
}

#[test]
fn code_of_a_deleted_file_has_its_name() {
    let test = "code_of_a_deleted_file_has_its_name";
    let directory = scratch();
    let here = directory.path();
    let source = "#include <unistd.h>\nint main(int n, char **v) { return unlink(v[0]); }\n";
    let Some(_) = genba_testing::compile_c(test, here, source, &[], &[]) else {
        return;
    };
    let sites = here.join("sites");
    let arguments = [
        "count",
        "--once",
        "--engine",
        "genba",
        "--sites",
        "sites",
        "--",
        "./program",
    ];
    let (code, _, said) = run_genba(here, &arguments);
    if code == 4 {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &said);
        return;
    }
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(sites).expect("the sites");
    assert!(text.contains("/program"), "{text}");
    assert!(!text.contains("[generated]"));
}

/// Each limit, set for genba itself, × verbs that run a command: genba ends, with a result or with a
/// reason.
#[test]
#[ignore = "a minute: make torture"]
fn matrix_of_limits_of_genba_itself() {
    let directory = scratch();
    let genba = env!("CARGO_BIN_EXE_genba");
    let limits = [
        "-v 8000000",
        "-d 300000",
        "-s 1024",
        "-n 16",
        "-n 6",
        "-u 60000",
        "-f 64",
        "-f 0",
        "-t 20",
    ];
    for limit in limits {
        for kind in ["-S", "-H"] {
            for verb in ["count", "investigate --budget 1ms", "record", "stat"] {
                // A hard limit below the soft one is not possible.
                let set = match kind {
                    "-H" => format!("ulimit {limit}"),
                    _ => format!("ulimit -S {limit}"),
                };
                // `timeout` tells a run that does not end: it is not part of the limit.
                let line = format!("{set}; exec timeout -s KILL 120 {genba} {verb} -- true");
                let output = Command::new("bash")
                    .args(["-c", &line])
                    .current_dir(directory.path())
                    .env_remove("GENBA_HOME")
                    .stdin(Stdio::null())
                    .output()
                    .expect("bash starts");
                let code = output.status.code();
                let said = said(&output);
                assert!(
                    matches!(code, Some(0 | 2 | 4)),
                    "{set}: {verb}: {code:?}: {said}"
                );
                assert!(code == Some(0) || said.contains("error: "), "{set}: {verb}");
            }
        }
    }
}
