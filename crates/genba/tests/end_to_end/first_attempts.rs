//! What a stranger tries first: misspelt options, a closed pipe, an empty directory, Ctrl-C on a
//! server, a long program.

use std::process::{Command, Stdio};

use crate::support::{interrupt, json, program, record, run_genba, scratch, stdout_of};

/// genba in `directory`, not started yet.
fn command(directory: &std::path::Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_genba"));
    command
        .args(args)
        .current_dir(directory)
        .env_remove("GENBA_HOME")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Waits until a file has content.
fn wait_for(path: &std::path::Path) -> String {
    let began = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(
            began.elapsed().as_secs() < 120,
            "nothing in {}",
            path.display()
        );
        std::thread::yield_now();
    }
}

#[test]
fn misspelt_verbs_and_options_get_a_suggestion() {
    let here = scratch();
    for (args, suggested) in [
        (&["rport"][..], "report"),
        (&["record", "--frequ", "99", "--", "true"], "--freq"),
        (&["record", "--outptu", "null", "true"], "--output"),
        (&["bench", "--budgt", "3s", "true"], "--budget"),
        (&["sweep", "--parm", "N=1..2", "--", "true"], "--param"),
        (&["try", "--budgt", "3s", "--", "true"], "--budget"),
    ] {
        let (code, _, said) = run_genba(here.path(), args);
        assert_eq!(code, 2, "{args:?}: {said}");
        let tip = said.lines().find(|line| line.contains("tip:"));
        assert!(
            tip.is_some_and(|tip| tip.contains(suggested)),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn value_of_an_optional_flag_is_read_or_explained_as_the_next_word() {
    let here = scratch();
    let absent = ["record", "--snapshot", "5s", "--", "no-such-program"];
    let (code, _, said) = run_genba(here.path(), &absent);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("no-such-program: not found"), "{said}");
    for (args, meant) in [
        (
            &["stat", "--json", "out.json", "--", "true"][..],
            "--json=out.json",
        ),
        (&["report", "--json", "out.json"], "--json=out.json"),
        (
            &["bench", "-r", "2", "--counters", "cycles", "true"],
            "--counters=cycles",
        ),
    ] {
        let (code, _, said) = run_genba(here.path(), args);
        assert_ne!(code, 0, "{args:?}");
        assert!(said.contains(meant), "{args:?}: {said}");
    }
}

#[test]
fn report_behind_a_commands_output_is_not_lost_or_unsaid() {
    let here = scratch();
    let run = |output: Stdio| {
        let done = command(here.path(), &["stat", "--", "echo", "abc"])
            .stdout(output)
            .output()
            .expect("genba runs");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(run(Stdio::null()).contains("task-clock"));
    let path = here.path().join("out");
    let file = std::fs::File::create(&path).expect("a file");
    let said = run(file.into());
    assert!(said.contains("--output FILE"), "{said}");
    let both = std::fs::read_to_string(path).expect("text");
    assert!(
        both.starts_with("abc\n") && both.contains("task-clock"),
        "{both}"
    );
}

#[test]
fn options_of_the_command_are_its_own() {
    let here = scratch();
    let shown = stdout_of(here.path(), &["stat", "-r", "1", "echo", "-n", "--budget"]);
    assert!(shown.starts_with("--budget"), "{shown}");
}

/// genba with `abc` on its standard input: exit code, standard output, standard error.
fn with_input(directory: &std::path::Path, args: &[&str]) -> (Option<i32>, String, String) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    std::io::Write::write_all(&mut writer, b"abc").expect("written");
    drop(writer);
    let output = command(directory, args)
        .stdin(reader)
        .output()
        .expect("genba runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn command_that_runs_once_reads_standard_input() {
    let test = "command_that_runs_once_reads_standard_input";
    let here = scratch();
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    for verb in ["stat", "record", "wait"] {
        let (code, out, said) = with_input(here.path(), &[verb, "--", "wc", "-c"]);
        assert_eq!(code, Some(0), "{verb}: {said}");
        assert_eq!(out.lines().next(), Some("3"), "{verb}: {out}{said}");
        let null = [verb, "--input", "null", "--", "wc", "-c"];
        let (_, out, _) = with_input(here.path(), &null);
        assert_eq!(out.lines().next(), Some("0"), "{verb}: {out}");
    }
}

#[test]
fn command_that_runs_repeatedly_does_not_get_standard_input_silently() {
    let here = scratch();
    let repeated = ["stat", "-r", "2"];
    let (_, _, said) = with_input(here.path(), &[&repeated[..], &["--", "true"]].concat());
    assert!(said.contains("--input FILE"), "{said}");
    let (_, _, said) = run_genba(here.path(), &[&repeated[..], &["--", "true"]].concat());
    assert!(!said.contains("--input FILE"), "{said}");
    let chosen = ["--input", "null", "--", "true"];
    let (_, _, said) = with_input(here.path(), &[&repeated[..], &chosen].concat());
    assert!(!said.contains("--input FILE"), "{said}");
}

#[test]
fn a_closed_pipe_ends_output_quietly() {
    let here = scratch();
    for args in [
        &["completions", "bash"][..],
        &["--help"],
        &["bench", "--help"],
        &["case", "list"],
        &["stat", "--", "true"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(here.path(), args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .expect("genba runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}

#[test]
fn verbs_in_an_empty_directory_name_the_next_step() {
    let here = scratch();
    for (args, next) in [
        (&["report"][..], "genba record -- COMMAND"),
        (&["annotate", "main"], "genba record -- COMMAND"),
        (&["flame"], "genba record -- COMMAND"),
        (&["case", "show"], "genba case list"),
        (&["explain"], "-- ls -l"),
        (&["count"], "-- ls -l"),
        (&["top"], "-p PID"),
    ] {
        let (code, _, said) = run_genba(here.path(), args);
        assert_eq!(code, 2, "{args:?}: {said}");
        assert!(said.contains(next), "{args:?}: {said}");
    }
    let (code, out, said) = run_genba(here.path(), &["case", "list"]);
    assert_eq!(code, 0);
    assert!(
        format!("{out}{said}").contains("genba investigate -- COMMAND"),
        "{out}{said}"
    );
}

#[test]
fn sampling_rates_have_units() {
    let here = scratch();
    let command = [
        "sh",
        "-c",
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
    ];
    let rate = ["-F", "2kHz"];
    if record("sampling_rates_have_units", here.path(), &rate, &command).is_none() {
        return;
    }
    let document = json(
        here.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    assert_eq!(document["event"]["frequency_hz"], 2000);
    let (code, _, said) = run_genba(here.path(), &["record", "-F", "5 MHz", "--", "true"]);
    assert_eq!(code, 2);
    assert!(said.contains("1000000 samples per second"), "{said}");
}

/// A command that writes its pid and does not end.
const SERVER: &str = "echo $$ >pid; exec sleep 1000";

#[test]
fn interrupting_the_first_run_of_a_server_leaves_no_process_and_says_what_to_do() {
    for verb in ["investigate", "explain", "stat"] {
        let here = scratch();
        let child = command(here.path(), &[verb, "--", "sh", "-c", SERVER])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("genba starts");
        let pid = wait_for(&here.path().join("pid"));
        interrupt(&child);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{verb}: {said}");
        let left = std::path::Path::new("/proc").join(&pid);
        assert!(!left.exists(), "{verb}: the server runs on");
        if verb != "stat" {
            assert!(said.contains("genba record -- COMMAND"), "{verb}: {said}");
        }
    }
}

#[test]
fn interrupting_the_recording_of_a_server_keeps_the_recording() {
    let test = "interrupting_the_recording_of_a_server_keeps_the_recording";
    let here = scratch();
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let server = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $$ >pid; exec sleep 1000";
    let child = command(
        here.path(),
        &["record", "-o", "server", "--", "sh", "-c", server],
    )
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .expect("genba starts");
    let pid = wait_for(&here.path().join("pid"));
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(!std::path::Path::new("/proc").join(&pid).exists());
    let document = json(
        here.path(),
        "profile",
        &["report", "-i", "server", "--json"],
    );
    assert!(
        document["samples"]
            .as_u64()
            .is_some_and(|samples| samples > 0)
    );
}

/// The first run shows progress before it has ended.
#[test]
fn a_long_program_shows_progress_with_the_time_left() {
    let test = "a_long_program_shows_progress_with_the_time_left";
    if !genba_testing::has(test, "script") {
        return;
    }
    let here = scratch();
    // `script` gives genba a terminal; the program ends when the line was seen.
    let program = "while ! test -e seen; do sleep 0.05; done; exit 1";
    std::fs::write(here.path().join("long"), program).expect("a program");
    let line = format!(
        "'{}' investigate --budget 60s -- sh long",
        env!("CARGO_BIN_EXE_genba")
    );
    let mut script = Command::new("script")
        .args(["-qfec", &line, "typescript"])
        .current_dir(here.path())
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("script starts");
    let typescript = here.path().join("typescript");
    let began = std::time::Instant::now();
    let shown = loop {
        let text = std::fs::read(&typescript).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.contains(" s left") || began.elapsed().as_secs() > 60 {
            break text;
        }
        std::thread::yield_now();
    };
    std::fs::write(here.path().join("seen"), "").expect("a file");
    script.wait().expect("it ends");
    assert!(shown.contains("run 1, about "), "{shown}");
}

#[test]
fn inlined_functions_and_source_lines_can_be_annotated() {
    let test = "inlined_functions_and_source_lines_can_be_annotated";
    let here = scratch();
    let source = "static int table[1024];\n\
                  static inline __attribute__((always_inline)) int lookup(int key) {\n\
                  \tfor (int i = 0; i < 1024; i++)\n\
                  \t\tif (((volatile int *)table)[i] == key)\n\
                  \t\t\treturn i;\n\
                  \treturn 0;\n\
                  }\n\
                  int main(void) {\n\
                  \tint sum = 0;\n\
                  \tfor (int i = 1; i < 200000; i++)\n\
                  \t\tsum += lookup(i);\n\
                  \treturn sum;\n\
                  }\n";
    let file = here.path().join("two.c");
    std::fs::write(&file, source).expect("a source");
    let file = file.to_str().expect("a path");
    let Some(binary) = program(test, here.path(), file, &["-O2", "-g"]) else {
        return;
    };
    let binary = binary.to_str().expect("a path");
    if record(test, here.path(), &[], &[binary]).is_none() {
        return;
    }
    for place in ["lookup", "two.c:4"] {
        let found = json(
            here.path(),
            "annotation",
            &["annotate", place, "-i", "recording", "--json"],
        );
        assert_eq!(found["function"], "main", "{place}: {found}");
        assert!(
            crate::support::notes(&found).contains("within main"),
            "{place}: {found}"
        );
    }
    for (place, answer) in [
        ("looku", "no samples in a function named `looku`"),
        ("other.c:4", "no samples at other.c:4, and none in other.c"),
        (
            "two.c:13",
            "no samples at two.c:13; the nearest sampled line",
        ),
    ] {
        let (code, _, said) = run_genba(here.path(), &["annotate", place, "-i", "recording"]);
        assert!(code == 2 && said.contains(answer), "{place}: {said}");
    }
}

#[test]
fn method_of_a_template_is_named_by_the_end_of_its_path() {
    let test = "method_of_a_template_is_named_by_the_end_of_its_path";
    let here = scratch();
    let source = "#include <string>\n\
                  #include <vector>\n\
                  namespace shop {\n\
                  template <class T> struct Basket {\n\
                  \tstd::vector<T> all;\n\
                  \t__attribute__((noinline)) bool has(const T &one) const {\n\
                  \t\tfor (const T &each : all)\n\
                  \t\t\tif (each == one)\n\
                  \t\t\t\treturn true;\n\
                  \t\treturn false;\n\
                  \t}\n\
                  };\n\
                  }\n\
                  int main() {\n\
                  \tshop::Basket<std::string> basket;\n\
                  \tbasket.all.assign(500, std::string(\"apple\"));\n\
                  \tint found = 0;\n\
                  \tfor (int i = 0; i < 200000; i++)\n\
                  \t\tfound += basket.has(\"pears\");\n\
                  \treturn found;\n\
                  }\n";
    let file = here.path().join("basket.cc");
    std::fs::write(&file, source).expect("a source");
    let file = file.to_str().expect("a path");
    let Some(binary) = program(test, here.path(), file, &["-O2", "-g"]) else {
        return;
    };
    let binary = binary.to_str().expect("a path");
    if record(test, here.path(), &["-g"], &[binary]).is_none() {
        return;
    }
    for name in [
        "has",
        "Basket::has",
        "shop::Basket::has",
        "shop::Basket<std::string>::has",
    ] {
        let args = ["annotate", name, "-i", "recording", "--json"];
        let found = json(here.path(), "annotation", &args);
        let function = found["function"].as_str().expect("a name");
        assert!(function.starts_with("shop::Basket<"), "{name}: {function}");
        let text = stdout_of(here.path(), &["report", "recording", "--calls", name]);
        assert!(text.contains("self "), "{name}: {text}");
    }
}

#[test]
fn cases_are_found_from_a_subdirectory() {
    let here = scratch();
    let bench = ["bench", "--runs", "2", "--warmup", "0", "--", "true"];
    let (code, _, said) = run_genba(here.path(), &bench);
    assert!(code == 0 || code == 1 || code == 3, "{code}: {said}");
    let listed = stdout_of(here.path(), &["case", "list"]);
    let below = here.path().join("src").join("deep");
    std::fs::create_dir_all(&below).expect("a directory");
    assert_eq!(stdout_of(&below, &["case", "list"]), listed);
    // Beyond the root of a git work tree another project begins.
    std::fs::create_dir(here.path().join("src").join(".git")).expect("a directory");
    let (_, out, _) = run_genba(&below, &["case", "list"]);
    assert!(out != listed && !listed.is_empty(), "{out}{listed}");
}

#[test]
fn long_command_is_cut_short_within_the_limit_and_says_so() {
    let here = scratch();
    let test = "long_command_is_cut_short_within_the_limit_and_says_so";
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let endless = "while :; do :; done";
    let args = [
        "investigate",
        "--limit",
        "6s",
        "--json",
        "--",
        "sh",
        "-c",
        endless,
    ];
    let document = json(here.path(), "investigation", &args);
    let notes = document["notes"].to_string();
    assert!(notes.contains("the command was ended after"), "{notes}");
    assert!(document["profile"]["samples"].as_u64() > Some(0), "{notes}");
    assert_eq!(document["runs"]["runs"].as_array().map(Vec::len), Some(1));
}
