//! Profiles of other programs: what genba exports is read back, and files of the programs themselves.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{json, program, record, run_genba, scratch, stdout_of, tool_exists};

/// Self and total of a function in a report.
fn shares(directory: &Path, input: &str, function: &str) -> (f64, f64) {
    let report = json(directory, "profile", &["report", "--json", input]);
    let rows = report["functions"].as_array().expect("functions");
    let row = (rows.iter()).find(|row| row["function"] == function);
    let row = row.unwrap_or_else(|| panic!("{input}: no {function} in {rows:?}"));
    let share = |of: &str| row[of]["value"].as_f64().expect("a share");
    (share("self"), share("total"))
}

fn total_of_flame_graph(directory: &Path, input: &str) -> u64 {
    let args = ["flame", "--on-cpu", "--collapsed", "-o", "-", input];
    let text = stdout_of(directory, &args);
    let weight = |line: &str| line.rsplit_once(' ').expect("a weight").1.parse::<u64>();
    text.lines()
        .map(|line| weight(line).expect("a number"))
        .sum()
}

#[test]
fn own_exports_have_the_figures_of_the_recording() {
    let test = "own_exports_have_the_figures_of_the_recording";
    let place = scratch();
    let Some(prog) = program(test, place.path(), "inline.cc", &["-g", "-O2"]) else {
        return;
    };
    let command = [prog.to_str().expect("a path"), "300"];
    if record(test, place.path(), &["-g"], &command).is_none() {
        return;
    }
    let report = json(place.path(), "profile", &["report", "--json", "recording"]);
    let hottest = report["functions"][0]["function"].as_str().expect("a name");
    let own = shares(place.path(), "recording", hottest);
    let total = total_of_flame_graph(place.path(), "recording");
    for format in ["pprof", "callgrind", "firefox", "collapsed"] {
        let file = format!("out.{format}");
        stdout_of(
            place.path(),
            &["export", "-f", format, "-i", "recording", "-o", &file],
        );
        assert_eq!(total_of_flame_graph(place.path(), &file), total, "{format}");
        if format != "collapsed" {
            let found = shares(place.path(), &file, hottest);
            assert!(
                (found.0 - own.0).abs() < 1e-9,
                "{format}: {found:?} {own:?}"
            );
            assert!(
                (found.1 - own.1).abs() < 1e-5,
                "{format}: {found:?} {own:?}"
            );
        }
        let svg = format!("{format}.svg");
        stdout_of(place.path(), &["flame", "-o", &svg, &file]);
        let svg = std::fs::read_to_string(place.path().join(svg)).expect("it was written");
        assert!(svg.contains("main"), "{format}");
    }
    // The same profile in two formats does not differ.
    let args = ["diff", "--json", "out.pprof", "out.callgrind"];
    let diff = json(place.path(), "profile-diff", &args);
    for row in diff["functions"].as_array().expect("functions") {
        let change = row["change"]["value"].as_f64().expect("seconds");
        assert!(change.abs() < 1e-6, "{row}");
    }
    // A profile becomes another format.
    stdout_of(
        place.path(),
        &["export", "-f", "callgrind", "out.pprof", "-o", "again"],
    );
    assert_eq!(total_of_flame_graph(place.path(), "again"), total);
    let (code, _, said) = run_genba(place.path(), &["annotate", "-i", "out.pprof", hottest]);
    assert!(code == 2 && said.contains("genba report"), "{said}");
}

#[test]
fn collapsed_stacks_are_compared_by_shares() {
    let place = scratch();
    let write = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).expect("it is written");
    };
    write("a.collapsed", "main;parse 30\nmain;render 70\n");
    write("b.collapsed", "main;parse 60\nmain;render 40\n");
    let text = stdout_of(place.path(), &["diff", "a.collapsed", "b.collapsed"]);
    let row = |function: &str| -> Vec<&str> {
        let row = text.lines().find(|line| line.contains(function));
        row.unwrap_or_default().split_whitespace().collect()
    };
    assert_eq!(
        row("parse"),
        ["+30", "%", "30", "%", "60", "%", "parse"],
        "{text}"
    );
    assert_eq!(
        row("render"),
        ["−30", "%", "70", "%", "40", "%", "render"],
        "{text}"
    );
}

#[test]
fn costs_of_callgrind_are_those_of_callgrind_annotate() {
    let test = "costs_of_callgrind_are_those_of_callgrind_annotate";
    let place = scratch();
    if !tool_exists(test, "valgrind") || !tool_exists(test, "callgrind_annotate") {
        return;
    }
    let Some(prog) = program(test, place.path(), "inline.cc", &["-g", "-O2"]) else {
        return;
    };
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=out"])
        .arg(&prog)
        .arg("1")
        .current_dir(place.path())
        .output()
        .expect("valgrind starts");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let annotated = Command::new("callgrind_annotate")
        .args(["--threshold=100", "out"])
        .current_dir(place.path())
        .output()
        .expect("callgrind_annotate starts");
    let text = String::from_utf8_lossy(&annotated.stdout);
    let total = text.lines().find(|line| line.contains("PROGRAM TOTALS"));
    let total = total.and_then(|line| line.split_whitespace().next());
    let total: u64 = total
        .expect("totals")
        .replace(',', "")
        .parse()
        .expect("a number");
    assert_eq!(total_of_flame_graph(place.path(), "out"), total);
    let (own, all) = shares(place.path(), "out", "main");
    assert!(own > 0.0 && all > 0.3 && all <= 1.0, "{own} {all}");
}

#[test]
fn files_of_no_known_format_are_refused_with_the_list() {
    let place = scratch();
    for (name, bytes) in [
        ("text", &b"hello\n"[..]),
        ("json", b"{\"a\": 1}"),
        ("noise", b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"),
        ("packed", b"\x1f\x8b\x08\x00\x00"),
    ] {
        std::fs::write(place.path().join(name), bytes).expect("written");
        for verb in ["report", "flame", "annotate"] {
            let mut args = vec![verb, "-i", name];
            args.extend((verb == "annotate").then_some("main"));
            let (code, _, said) = run_genba(place.path(), &args);
            assert!(code == 2 && said.contains(name), "{verb} {name}: {said}");
            assert!(
                said.contains("pprof") || name == "packed",
                "{verb} {name}: {said}"
            );
        }
    }
    std::fs::write(place.path().join("stacks"), "main;f 3\nmain;g 1\n").expect("written");
    let report: Value = json(place.path(), "profile", &["report", "--json", "stacks"]);
    assert_eq!(report["functions"][0]["function"], "f");
    assert_eq!(report["functions"][0]["self"]["value"], 0.75);
    assert_eq!(report["imported_from"], "collapsed stacks");
    let text = stdout_of(place.path(), &["report", "stacks"]);
    assert!(text.contains("imported from collapsed stacks"), "{text}");
    let (code, _, said) = run_genba(place.path(), &["report", "-e", "Ir", "stacks"]);
    assert!(code == 2 && said.contains("no event named `Ir`"), "{said}");
}

#[test]
fn profile_in_a_pipe_is_read() {
    let place = scratch();
    for words in [&["report", "-i", "-"][..], &["report", "-"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_genba"))
            .current_dir(place.path())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("genba starts");
        let mut input = child.stdin.take().expect("a pipe");
        (input.write_all(b"main;parse 30\nmain;print 10\n")).expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("its end");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("parse") && text.contains("75"), "{text}");
    }
}
