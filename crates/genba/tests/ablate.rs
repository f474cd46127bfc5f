//! `genba ablate` on programs whose parts are known. No absolute times.

mod support;

use serde_json::Value;
use support::{genba, json, program, scratch, stdout_of};

fn cost<'a>(costs: &'a Value, metric: &str) -> &'a Value {
    (costs.as_array().unwrap().iter())
        .find(|one| one["metric"] == metric)
        .unwrap_or_else(|| panic!("no {metric} in {costs}"))
}

/// A shell command of two parts that are switched off by the environment.
fn parts(burn: &str) -> String {
    format!(
        "{burn} flat 1; test -n \"$NO_A\" || {burn} double 64; test -n \"$NO_B\" || {burn} double 64"
    )
}

#[test]
fn parts_are_told_apart_and_add_up() {
    let here = scratch();
    let name = "parts_are_told_apart_and_add_up";
    let Some(burn) = program(name, here.path(), "burn-curve.c", &["-O2"]) else {
        return;
    };
    let command = parts(burn.to_str().unwrap());
    let document = json(
        here.path(),
        "ablation",
        &[
            "ablate",
            "--json",
            "--metric",
            "user",
            "--alpha",
            "0.001%",
            "-r",
            "30",
            "--per-iteration",
            "1000",
            "--without",
            "a=NO_A=1",
            "--without",
            "b=NO_B=1",
            "--without",
            "nothing=NO_C=1",
            "--",
            &command,
        ],
    );
    let found = document["components"].as_array().unwrap();
    // The whole is 2 + 4 + 4 units.
    for (index, share) in [(0, 0.4), (1, 0.4), (2, 0.0)] {
        let part = cost(&found[index]["costs"], "user");
        let value = part["share"]["value"].as_f64().unwrap();
        assert!((value - share).abs() < 0.15, "{part}");
    }
    let verdict = |variant: &str| {
        (document["comparisons"].as_array().unwrap().iter())
            .find(|one| one["variant"] == variant && one["metric"] == "user")
            .unwrap()["verdict"]
            .clone()
    };
    assert_eq!(verdict("without a"), "faster");
    // With α so small a false alarm is no matter of luck.
    assert_ne!(verdict("without nothing"), "faster");
    assert_eq!(document["all_off"], "all off");
    let left = cost(&document["residual"], "user")["share"]["value"]
        .as_f64()
        .unwrap();
    assert!((left - 0.2).abs() < 0.1, "{left}");
    let sum = cost(&document["sums"], "user");
    let whole = cost(&document["baseline"], "user")["cost"]["value"]
        .as_f64()
        .unwrap();
    let interaction = sum["interaction"]["value"].as_f64().unwrap();
    assert!(interaction.abs() < whole * 0.2, "{sum}");
    let shown = stdout_of(here.path(), &["case", "show"]);
    assert!(shown.contains("left with all off"), "{shown}");
    assert!(stdout_of(here.path(), &["case", "export"]).contains("<svg"));
}

#[test]
fn counted_instructions_tell_parts_without_luck() {
    let here = scratch();
    let name = "counted_instructions_tell_parts_without_luck";
    let Some(burn) = program(name, here.path(), "burn-curve.c", &["-O2"]) else {
        return;
    };
    let command = parts(burn.to_str().unwrap());
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
        let part = cost(costs, "exact-instructions");
        let value = part["share"]["value"].as_f64().unwrap();
        assert!((value - share).abs() < 0.001, "{part}");
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
fn parts_that_hide_one_another_do_not_add_up() {
    let here = scratch();
    let name = "parts_that_hide_one_another_do_not_add_up";
    let Some(burn) = program(name, here.path(), "burn-curve.c", &["-O2"]) else {
        return;
    };
    let burn = burn.to_str().unwrap();
    // Either switch saves the same work.
    let command = format!("{burn} flat 1; test -n \"$NO_A$NO_B\" || {burn} double 64");
    let document = json(
        here.path(),
        "ablation",
        &[
            "ablate",
            "--json",
            "--no-case",
            "--metric",
            "user",
            "--without",
            "a=NO_A=1",
            "--without",
            "b=NO_B=1",
            "--",
            &command,
        ],
    );
    let sum = cost(&document["sums"], "user");
    assert_eq!(sum["adds_up"], false, "{sum}");
    assert!(sum["interaction"]["high"].as_f64().unwrap() < 0.0, "{sum}");
}

/// What Ruby's own authors found by hand: a literal costs, a frozen one costs nothing over the
/// empty loop.
#[test]
fn a_literal_of_ruby_costs_and_a_frozen_one_does_not() {
    let name = "a_literal_of_ruby_costs_and_a_frozen_one_does_not";
    if genba(std::path::Path::new("/"), &["--version"])
        .status
        .success()
        && std::process::Command::new("ruby")
            .arg("-v")
            .output()
            .is_err()
    {
        genba_testing::skip(name, "ruby", "there is no ruby");
        return;
    }
    let here = scratch();
    let write = |file: &str, body: &str| {
        let text = format!("i=0\nwhile i<3_000_000; i+=1; {body}; end\n");
        std::fs::write(here.path().join(file), text).unwrap();
    };
    write("loop.rb", "s=s");
    write("literal.rb", "s=\"a\"");
    write("frozen.rb", "s=\"a\".freeze");
    let document = json(
        here.path(),
        "ablation",
        &[
            "ablate",
            "--json",
            "--metric",
            "user",
            "--per-iteration",
            "3000000",
            "--baseline-loop",
            "ruby loop.rb",
            "--without",
            "literal: ruby frozen.rb",
            "-N",
            "--",
            "ruby",
            "literal.rb",
        ],
    );
    let literal = cost(&document["components"][0]["costs"], "user");
    let cost_low = literal["cost"]["low"].as_f64().unwrap();
    assert!(cost_low > 1e-9 && cost_low < 1e-6, "{literal}");
    let frozen = cost(&document["residual"], "user");
    let frozen_high = frozen["cost"]["high"].as_f64().unwrap();
    assert!(
        frozen_high < literal["cost"]["value"].as_f64().unwrap() / 2.0,
        "{frozen}"
    );
}

#[test]
fn a_variant_that_fails_is_named_and_the_rest_goes_on() {
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

/// A program of two parts, with a patch that takes each of them out and one that breaks it.
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
fn patches_take_parts_out_in_copies() {
    let name = "patches_take_parts_out_in_copies";
    for program in ["make", "cc"] {
        if std::process::Command::new(program)
            .arg("--version")
            .output()
            .is_err()
        {
            genba_testing::skip(name, program, &format!("there is no {program}"));
            return;
        }
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
    let parts = document["components"].as_array().unwrap();
    let names: Vec<&str> = parts
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["nothing", "checks", "no-log"]);
    // The whole is 2 + 4 + 1 millions of rounds.
    for (index, share) in [(0, 0.0), (1, 4.0 / 7.0), (2, 1.0 / 7.0)] {
        let part = cost(&parts[index]["costs"], "exact-instructions");
        let value = part["share"]["value"].as_f64().unwrap();
        assert!((value - share).abs() < 0.02, "{part}");
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
fn a_dry_run_says_what_would_be_run() {
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
        "A=1 touch whole",
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
