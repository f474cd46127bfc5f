//! docs/bench.md: the flags of hyperfine and other tools. Every example is run, every flag is there.

use std::process::Command;

use crate::support::{run_genba, scratch};

const PAGE: &str = include_str!("../../../../docs/bench.md");

/// The cells of the rows of all tables.
fn rows() -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().filter(|line| line.starts_with('|'));
    lines
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

#[test]
fn every_example_of_the_page_runs() {
    let mut tried = 0;
    for row in rows() {
        let Some(example) = row.last().and_then(|cell| cell.strip_prefix('`')) else {
            continue;
        };
        let example = example.trim_end_matches('`');
        let words = genba_run::split_words(example).expect("closed quotes");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let here = scratch();
        let (code, out, said) =
            run_genba(here.path(), &[&["bench", "--no-case"], &words[..]].concat());
        assert_eq!(code, 0, "{example}: {out}{said}");
        for file in [
            "table.adoc",
            "table.csv",
            "table.md",
            "table.org",
            "runs.json",
        ] {
            let written = std::fs::read_to_string(here.path().join(file));
            assert_eq!(
                written.is_ok_and(|text| text.contains("true")),
                example.contains(file),
                "{example}"
            );
        }
        tried += 1;
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn every_flag_of_hyperfine_is_on_the_page() {
    let Ok(help) = Command::new("hyperfine").arg("--help").output() else {
        genba_testing::skip(
            "every_flag_of_hyperfine_is_on_the_page",
            "hyperfine",
            "hyperfine is not installed",
        );
        return;
    };
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    // Explanations are indented further than flags.
    let options = help
        .lines()
        .filter(|line| !line.starts_with("            "));
    let flags = options.filter_map(|line| {
        let line = line.trim_start();
        let at = line.starts_with('-').then(|| line.find("--"))??;
        line[at..].split([' ', '=', '[']).next()
    });
    let missing: Vec<&str> = flags
        .filter(|flag| !["--help", "--version"].contains(flag))
        .filter(|flag| {
            !PAGE.contains(&format!("{flag} "))
                && !PAGE.contains(&format!("{flag}`"))
                && !PAGE.contains(&format!("{flag}["))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn reference_is_the_baseline_and_style_none_prints_nothing() {
    let here = scratch();
    let args = [
        "bench",
        "--no-case",
        "-r",
        "2",
        "--json",
        "--reference",
        "true",
        "--reference-name",
        "old",
    ];
    let (code, out, said) = run_genba(here.path(), &[&args[..], &["true x"]].concat());
    assert_eq!(code, 0, "{said}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["comparisons"][0]["baseline"], "old");
    let args = ["bench", "--no-case", "-r", "2", "--style", "none", "true"];
    assert_eq!(
        run_genba(here.path(), &args),
        (0, String::new(), String::new())
    );
}

#[test]
fn only_listed_exit_codes_are_ignored() {
    let here = scratch();
    let bench = |codes: &str| {
        let flag = format!("--ignore-failure={codes}");
        let args = ["bench", "--no-case", "-r", "2", &flag, "exit 3"];
        run_genba(here.path(), &args)
    };
    assert_eq!(bench("3,4").0, 0);
    assert_eq!(bench("all-non-zero").0, 0);
    assert_eq!(bench("1").0, 3);
    let (code, _, said) = bench("x");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("is not an exit code"), "{said}");
}

#[test]
fn fewest_runs_above_the_most_are_refused() {
    let here = scratch();
    let args = ["bench", "--no-case", "-m", "5", "-M", "2", "true"];
    let (code, _, said) = run_genba(here.path(), &args);
    assert!(
        code == 2 && said.contains("contradict each other"),
        "{said}"
    );
}
