//! `genba grow` from end to end, of functions whose growth is known.

use crate::support::{json, program, run_genba, scratch};
use serde_json::Value;

const COMMAND: [&str; 6] = [
    "grow",
    "--json",
    "--param",
    "N=64..1024",
    "--budget",
    "5min",
];

fn function<'a>(all: &'a Value, name: &str) -> &'a Value {
    let list = all["functions"].as_array().expect("functions");
    let found = list.iter().find(|one| one["function"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {all}"))
}

#[test]
fn laws_of_functions_are_those_of_their_loops() {
    let test = "laws_of_functions_are_those_of_their_loops";
    let directory = scratch();
    let Some(prog) = program(test, directory.path(), "growth.c", &["-g", "-O1"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    let (code, _, error) = run_genba(directory.path(), &["count", "--", prog, "64"]);
    if code == 4 {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error);
        return;
    }
    let arguments = [&COMMAND[..], &["--at", "4096", "--", prog, "{N}"]].concat();
    let all = json(directory.path(), "growth", &arguments);
    let laws = [
        ("linear", "linear"),
        ("sift", "n log n"),
        ("quadratic", "quadratic"),
        ("cubic", "cubic"),
    ];
    for (name, law) in laws {
        let one = function(&all, name);
        assert_eq!(one["law"], law, "{name}: {one}");
        assert!(
            one["file"].as_str().expect("a file").ends_with("growth.c"),
            "{one}"
        );
    }
    // Four instructions a round, or a few more: ½ N² rounds.
    let each = function(&all, "quadratic")["coefficient"]["value"]
        .as_f64()
        .expect("a number");
    assert!((1.5..5.0).contains(&each), "{each}");
    assert_eq!(function(&all, "sift")["calls_growth"]["law"], "linear");

    // The extrapolation against a count at that size.
    let counted = json(
        directory.path(),
        "counts",
        &["count", "--json", "--", prog, "4096"],
    );
    let list = counted["functions"].as_array().expect("functions");
    for (name, _) in laws {
        let truth = list
            .iter()
            .find(|one| one["function"] == name)
            .expect("it is counted");
        let truth = truth["instructions"].as_f64().expect("a number");
        let said = function(&all, name)["extrapolated"]["value"]
            .as_f64()
            .expect("a number");
        assert!(
            (said / truth - 1.0).abs() < 0.1,
            "{name}: {said}, counted {truth}"
        );
    }
}

#[test]
fn commands_without_a_size_and_invalid_sizes_are_refused() {
    let directory = scratch();
    for (arguments, said) in [
        (&["grow", "--", "true"][..], "write {N}"),
        (
            &["grow", "--param", "N=9..3", "--", "true", "{N}"][..],
            "not above",
        ),
        (
            &["grow", "--param", "M=4..64", "--", "true", "{N}"][..],
            "{M}",
        ),
        (&["grow", "--", "true", "{N}", "{M}"][..], "several"),
        (&["grow"][..], "no command"),
    ] {
        let (code, _, error) = run_genba(directory.path(), arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

#[test]
fn a_command_that_fails_ends_with_its_status_and_the_size() {
    let directory = scratch();
    let (code, _, error) = run_genba(directory.path(), &["grow", "--", "test", "{N}", "-lt", "8"]);
    if code == 4 {
        let test = "a_command_that_fails_ends_with_its_status_and_the_size";
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error);
        return;
    }
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("N = 64"), "{error}");
}
