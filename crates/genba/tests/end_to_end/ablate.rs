//! `genba ablate` on programs whose components are known. No test compares measured times.

use crate::support::{
    METRIC_WORK, genba, json, program, reported_work, scratch, stdout_of, tool_exists,
};
use serde_json::Value;

fn cost<'a>(costs: &'a Value, metric: &str) -> &'a Value {
    (costs.as_array().unwrap().iter())
        .find(|one| one["metric"] == metric)
        .unwrap_or_else(|| panic!("no {metric} in {costs}"))
}

/// A shell command with two components that the environment switches off.
fn two_components(burn: &str) -> String {
    format!(
        "{burn} flat 1; test -n \"$NO_A\" || {burn} double 64; test -n \"$NO_B\" || {burn} double 64"
    )
}

#[test]
fn components_are_measured_and_add_up() {
    let here = scratch();
    // 2 units that stay, and two components of 4 units each.
    let command = reported_work("2 + (${NO_A:-0} ? 0 : 4) + (${NO_B:-0} ? 0 : 4)");
    let document = json(
        here.path(),
        "ablation",
        &[
            &["ablate", "--json", "--seed", "1", "-r", "30"][..],
            &METRIC_WORK,
            &["--per-iteration", "1000"],
            &["--without", "a=NO_A=1", "--without", "b=NO_B=1"],
            &["--without", "nothing=NO_C=1", "--", &command],
        ]
        .concat(),
    );
    let found = document["components"].as_array().unwrap();
    for (index, share) in [(0, 0.4), (1, 0.4), (2, 0.0)] {
        let component = cost(&found[index]["costs"], "work");
        let value = component["share"]["value"].as_f64().unwrap();
        assert!((value - share).abs() < 0.02, "{component}");
    }
    let verdict = |variant: &str| {
        (document["comparisons"].as_array().unwrap().iter())
            .find(|one| one["variant"] == variant && one["metric"] == "work")
            .unwrap()["verdict"]
            .clone()
    };
    assert_eq!(verdict("without a"), "faster");
    assert_ne!(verdict("without nothing"), "faster");
    assert_eq!(document["all_off"], "all off");
    let residual = cost(&document["residual"], "work")["share"]["value"].as_f64();
    assert!((residual.unwrap() - 0.2).abs() < 0.02, "{residual:?}");
    let sum = cost(&document["sums"], "work");
    assert_eq!(sum["adds_up"], true, "{sum}");
    let shown = stdout_of(here.path(), &["case", "show"]);
    assert!(shown.contains("all off"), "{shown}");
    assert!(stdout_of(here.path(), &["case", "export"]).contains("<svg"));
}

#[test]
fn counted_instructions_give_the_cost_of_components() {
    let here = scratch();
    let name = "counted_instructions_give_the_cost_of_components";
    let Some(burn) = program(name, here.path(), "burn-curve.c", &["-O2"]) else {
        return;
    };
    let command = two_components(burn.to_str().unwrap());
    let words = "ablate --json --no-case --metric exact-instructions -r 2 --without a=NO_A=1 \
                 --without b=NO_B=1 --without nothing=NO_C=1 --";
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.push(&command);
    let output = genba(here.path(), &words);
    if !output.status.success() {
        genba_testing::skip(
            name,
            genba_testing::COUNT_ENGINE,
            &String::from_utf8_lossy(&output.stderr),
        );
        return;
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (index, share) in [(0, 0.4), (1, 0.4), (2, 0.0)] {
        let costs = &document["components"][index]["costs"];
        let component = cost(costs, "exact-instructions");
        let value = component["share"]["value"].as_f64().unwrap();
        assert!((value - share).abs() < 0.001, "{component}");
    }
    let sum = cost(&document["sums"], "exact-instructions");
    let whole = cost(&document["baseline"], "exact-instructions");
    let interaction = sum["interaction"]["value"].as_f64().unwrap();
    assert!(
        interaction.abs() < whole["cost"]["value"].as_f64().unwrap() * 0.001,
        "{sum}"
    );
}

#[test]
fn components_that_save_the_same_work_do_not_add_up() {
    let here = scratch();
    // Either switch saves the same 8 units.
    let command = reported_work("2 + ((${NO_A:-0} + ${NO_B:-0}) ? 0 : 8)");
    let document = json(
        here.path(),
        "ablation",
        &[
            &["ablate", "--json", "--no-case", "--seed", "1", "-r", "20"][..],
            &METRIC_WORK,
            &[
                "--without",
                "a=NO_A=1",
                "--without",
                "b=NO_B=1",
                "--",
                &command,
            ],
        ]
        .concat(),
    );
    let sum = cost(&document["sums"], "work");
    assert_eq!(sum["adds_up"], false, "{sum}");
    assert!(sum["interaction"]["high"].as_f64().unwrap() < 0.0, "{sum}");
}

/// As Ruby's developers found by hand: a string literal costs an allocation, a frozen one costs
/// little over the empty loop. In counted instructions, which no other process disturbs.
#[test]
fn a_string_literal_of_ruby_costs_more_instructions_than_a_frozen_one() {
    let name = "a_string_literal_of_ruby_costs_more_instructions_than_a_frozen_one";
    if !tool_exists(name, "ruby") {
        return;
    }
    let here = scratch();
    let write = |file: &str, body: &str| {
        let text = format!("i=0\nwhile i<300_000; i+=1; {body}; end\n");
        std::fs::write(here.path().join(file), text).unwrap();
    };
    write("loop.rb", "s=s");
    write("literal.rb", "s=\"a\"");
    write("frozen.rb", "s=\"a\".freeze");
    let words = "ablate --json --no-case --metric exact-instructions -r 3 --per-iteration 300000 \
                 --baseline-loop";
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.extend(["ruby loop.rb", "--without", "literal: ruby frozen.rb"]);
    words.extend(["-N", "--", "ruby", "literal.rb"]);
    let output = genba(here.path(), &words);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if !output.status.success() || document["notes"].to_string().contains("not counted") {
        genba_testing::skip(
            name,
            genba_testing::COUNT_ENGINE,
            &String::from_utf8_lossy(&output.stderr),
        );
        return;
    }
    let literal = cost(&document["components"][0]["costs"], "exact-instructions");
    let low = literal["cost"]["low"].as_f64().unwrap();
    assert!((10.0..10_000.0).contains(&low), "{literal}");
    let frozen = cost(&document["residual"], "exact-instructions");
    let high = frozen["cost"]["high"].as_f64().unwrap();
    assert!(high < low / 2.0, "{frozen} {literal}");
}

#[test]
fn a_failing_variant_is_named_and_the_others_are_measured() {
    let here = scratch();
    let document = json(
        here.path(),
        "ablation",
        &[
            "ablate",
            "--json",
            "--no-case",
            "-r",
            "3",
            "--without",
            "bad: echo no such thing >&2; exit 3",
            "--without",
            "good=X=1",
            "--",
            "true",
        ],
    );
    let text = document["variants"].to_string();
    assert!(text.contains("no such thing"), "{text}");
    assert_eq!(
        document["components"][0]["costs"].as_array().unwrap().len(),
        0
    );
    assert!(
        !document["components"][1]["costs"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

/// A program with two components, a patch that removes each of them, and a patch that does not
/// compile.
fn patched_program(tree: &std::path::Path) {
    let source = "#include <stdio.h>\n\
                  #include <stdlib.h>\n\
                  static unsigned spin(unsigned n, unsigned s)\n\
                  {\n\
                  \tfor (unsigned i = 0; i < n; i++) s = s * 1664525u + 1013904223u;\n\
                  \treturn s;\n\
                  }\n\
                  int main(int argc, char **argv)\n\
                  {\n\
                  \tvolatile unsigned s = argc;\n\
                  \ts = spin(2000000, s);\n\
                  \t/* checks */\n\
                  \ts = spin(4000000, s); /* checking */\n\
                  \t/* log */\n\
                  \ts = spin(1000000, s); /* logging */\n\
                  \tputs(\"done\");\n\
                  \treturn 0;\n\
                  }\n";
    std::fs::write(tree.join("prog.c"), source).unwrap();
    std::fs::write(
        tree.join("Makefile"),
        "prog: prog.c\n\tcc -O1 -o prog prog.c\n",
    )
    .unwrap();
    let patch = |name: &str, start: u32, before: [&str; 3], middle: &str, after: &str| {
        let text = format!(
            "--- a/prog.c\n+++ b/prog.c\n@@ -{start},3 +{start},3 @@\n {}\n-{}\n+{middle}\n {}\n{after}",
            before[0], before[1], before[2],
        );
        std::fs::write(tree.join(name), text).unwrap();
    };
    let checks = [
        "\t/* checks */",
        "\ts = spin(4000000, s); /* checking */",
        "\t/* log */",
    ];
    patch("no-checks.diff", 12, checks, "\ts = spin(0, s);", "");
    let log = [
        "\t/* log */",
        "\ts = spin(1000000, s); /* logging */",
        "\tputs(\"done\");",
    ];
    patch("no-log.diff", 14, log, "\ts = spin(0, s);", "");
    patch("broken.diff", 12, checks, "\tthis is not C;", "");
}

#[test]
fn patches_remove_components_in_copies_of_the_tree() {
    let name = "patches_remove_components_in_copies_of_the_tree";
    if !["make", "cc", "patch"]
        .into_iter()
        .all(|program| tool_exists(name, program))
    {
        return;
    }
    let here = scratch();
    patched_program(here.path());
    let files = || -> std::collections::BTreeMap<_, _> {
        (std::fs::read_dir(here.path()).unwrap().flatten())
            .filter(|entry| entry.path().is_file())
            .map(|entry| (entry.path(), std::fs::read(entry.path()).unwrap()))
            .collect()
    };
    let before = files();
    let words = "ablate --json --no-case --metric exact-instructions -r 2 --patch checks=no-checks.diff \
                 --patch no-log.diff --patch broken.diff --without nothing=NO_C=1 --build make -- ./prog";
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = genba(here.path(), &words);
    assert_eq!(files(), before, "the tree itself is not touched");
    if output.status.code() == Some(4) {
        genba_testing::skip(
            name,
            genba_testing::COUNT_ENGINE,
            &String::from_utf8_lossy(&output.stderr),
        );
        return;
    }
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let components = document["components"].as_array().unwrap();
    let names: Vec<&str> = components
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["nothing", "checks", "no-log"]);
    // The baseline makes 2 + 4 + 1 million iterations.
    for (index, share) in [(0, 0.0), (1, 4.0 / 7.0), (2, 1.0 / 7.0)] {
        let component = cost(&components[index]["costs"], "exact-instructions");
        let value = component["share"]["value"].as_f64().unwrap();
        assert!((value - share).abs() < 0.02, "{component}");
    }
    let left = cost(&document["residual"], "exact-instructions");
    assert!(
        (left["share"]["value"].as_f64().unwrap() - 2.0 / 7.0).abs() < 0.02,
        "{left}"
    );
    let notes = document["notes"].to_string();
    assert!(
        notes.contains("without broken") && notes.contains("error"),
        "{notes}"
    );
}

#[test]
fn a_dry_run_lists_the_variants_and_runs_nothing() {
    let here = scratch();
    let text = stdout_of(
        here.path(),
        &[
            "ablate",
            "--dry-run",
            "--without",
            "a=A=1",
            "--without",
            "b: touch b",
            "--baseline-loop",
            "touch loop",
            "--",
            "touch",
            "baseline",
        ],
    );
    for word in [
        "baseline",
        "without a",
        "A=1 touch baseline",
        "all off",
        "A=1 touch b",
        "loop",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
    let output = genba(here.path(), &["ablate", "--without", "a", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
}
