//! `genba sweep` on programs whose curve is known. No test compares measured times.

use std::path::Path;

use crate::support::{
    METRIC_WORK, genba, json, program, reported_work, run_genba, scratch, stdout_of,
};
use serde_json::Value;

fn knees(document: &Value) -> &Vec<Value> {
    document["knees"].as_array().expect("knees")
}

/// A sweep of exact counts; `None` and a recorded skip where no engine can count.
fn counted(test: &str, directory: &Path, words: &[&str]) -> Option<Value> {
    let output = genba(directory, words);
    if !output.status.success() {
        genba_testing::skip(
            test,
            genba_testing::COUNT_ENGINE,
            &String::from_utf8_lossy(&output.stderr),
        );
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_step_between_48_and_49_is_found_by_refining_the_grid() {
    let here = scratch();
    let command = reported_work("{N} < 49 ? 1 : 2");
    let document = json(
        here.path(),
        "sweep",
        &[
            &["sweep", "--json", "--budget", "10min", "--seed", "1"][..],
            &METRIC_WORK,
            &["--param", "N=1..1024:log2", "--", &command],
        ]
        .concat(),
    );
    let found = knees(&document);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["kind"], "step");
    assert_eq!(found[0]["settled"], true);
    let (low, high) = (
        found[0]["low"].as_f64().unwrap(),
        found[0]["high"].as_f64().unwrap(),
    );
    assert!(
        (32.0..=48.0).contains(&low) && (49.0..=64.0).contains(&high),
        "{low} {high}"
    );
    let effect = found[0]["effect"]["value"].as_f64().unwrap();
    assert!((1.95..2.05).contains(&effect), "{effect}");
    let points = document["points"].as_array().unwrap();
    assert!((11..36).contains(&points.len()), "{}", points.len());
    assert_eq!(points[0]["parameter"], "N");
    assert_eq!(points[0]["value"], 1.0);
    assert!(points[0]["metric"]["low"].as_f64().unwrap() > 0.0);
    assert_eq!(document["variants"].as_array().unwrap().len(), points.len());
    assert_eq!(
        document["comparisons"].as_array().unwrap().len(),
        points.len() - 1
    );
    // The case shows the same again, and has a page.
    let shown = stdout_of(here.path(), &["case", "show"]);
    assert!(shown.contains("change point (step) between"), "{shown}");
    let page = stdout_of(here.path(), &["case", "export"]);
    assert!(page.contains("<svg") && !page.contains("<script"));
}

#[test]
fn counted_instructions_locate_a_step_between_two_settings() {
    let here = scratch();
    let name = "counted_instructions_locate_a_step_between_two_settings";
    let Some(burn) = program(name, here.path(), "burn-curve.c", &["-O2"]) else {
        return;
    };
    let words = "sweep --json --no-case --metric exact-instructions --param N=1..256:log2 --";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend([burn.to_str().unwrap(), "double", "{N}"]);
    let Some(document) = counted(name, here.path(), &words) else {
        return;
    };
    let found = knees(&document);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["kind"], "step");
    assert_eq!(found[0]["settled"], true);
    let (low, high) = (&found[0]["low"], &found[0]["high"]);
    assert!(
        (40.0..=48.0).contains(&low.as_f64().unwrap())
            && (49.0..=56.0).contains(&high.as_f64().unwrap()),
        "{found:?}"
    );
}

#[test]
fn a_budget_too_small_for_all_settings_skips_the_finer_ones() {
    let here = scratch();
    // Each run takes a second or more, however busy the machine is.
    let document = json(
        here.path(),
        "sweep",
        &[
            "sweep",
            "--json",
            "--no-case",
            "--budget",
            "4s",
            "--param",
            "N=1..9",
            "--",
            "sleep 1; echo {N}",
        ],
    );
    let notes = document["notes"].to_string();
    assert!(notes.contains("of the 9 settings"), "{notes}");
    let points = document["points"].as_array().unwrap();
    let at: Vec<f64> = (points.iter())
        .map(|point| point["value"].as_f64().unwrap())
        .collect();
    assert_eq!(at, [1.0, 5.0, 9.0]);
    assert!(points.iter().all(|point| point["runs"] == 2), "{points:?}");
}

#[test]
fn budget_is_a_limit_for_long_runs_and_many_settings() {
    let here = scratch();
    // Six runs would take three times twice the budget.
    let (code, _, said) = run_genba(
        here.path(),
        &[
            "sweep",
            "--no-case",
            "--budget",
            "1s",
            "--param",
            "N=1..9",
            "--",
            "sleep 2; echo {N}",
        ],
    );
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("a run takes ") && said.contains("larger --budget"),
        "{said}"
    );
    // The last setting would run for a minute: it is ended.
    let document = json(
        here.path(),
        "sweep",
        &[
            "sweep",
            "--json",
            "--no-case",
            "--budget",
            "2s",
            "--param",
            "N=0,1,60",
            "--",
            "sleep {N}",
        ],
    );
    assert_eq!(document["end"], "budget", "{document}");
    let last = &document["variants"][2];
    assert_eq!((&last["name"], &last["runs"]), (&"N=60".into(), &0.into()));
    let why = last["excluded"].as_str().expect("a reason");
    assert!(why.contains("exceeded its time-out"), "{why}");
}

#[test]
fn exact_counts_have_no_knees_and_a_linear_scaling_law() {
    let here = scratch();
    let name = "exact_counts_have_no_knees_and_a_linear_scaling_law";
    let Some(burn) = program(name, here.path(), "burn-curve.c", &["-O2"]) else {
        return;
    };
    let words = "sweep --json --metric exact-instructions --param N=64..1024:192 --";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend([burn.to_str().unwrap(), "linear", "{N}"]);
    let Some(document) = counted(name, here.path(), &words) else {
        return;
    };
    assert!(knees(&document).is_empty(), "{document}");
    assert_eq!(document["scaling_law"]["law"], "linear");
}

#[test]
fn a_failing_setting_is_named_and_the_others_are_measured() {
    let here = scratch();
    let document = json(
        here.path(),
        "sweep",
        &[
            "sweep",
            "--json",
            "--no-case",
            "--budget",
            "5s",
            "--param",
            "N=1,2,3,4,5",
            "--",
            "test {N} -ne 3 || { echo three is wrong >&2; exit 7; }",
        ],
    );
    let notes = document["notes"].to_string();
    assert!(
        notes.contains("N=3 was skipped") && notes.contains("three is wrong"),
        "{notes}"
    );
    assert_eq!(document["points"].as_array().unwrap().len(), 4);
}

#[test]
fn non_numeric_values_and_two_parameters_give_tables() {
    let here = scratch();
    let text = stdout_of(
        here.path(),
        &[
            "sweep",
            "--no-case",
            "--budget",
            "3s",
            "--param",
            "S=true,false",
            "--",
            "{S} || true",
        ],
    );
    assert!(
        text.contains("true") && text.contains("2 settings"),
        "{text}"
    );
    let document = json(
        here.path(),
        "sweep",
        &[
            "sweep",
            "--json",
            "--no-case",
            "--budget",
            "3s",
            "--param",
            "A=1,2",
            "--param",
            "B=1,2,3",
            "--",
            "true {A} {B}",
        ],
    );
    assert_eq!(document["points"].as_array().unwrap().len(), 6);
    assert_eq!(document["points"][0]["second"], 1.0);
}

#[test]
fn invalid_parameters_are_refused_before_anything_runs() {
    let here = scratch();
    for (words, what) in [
        (
            vec!["sweep", "--param", "N=1..8", "--", "true"],
            "does not contain {N}",
        ),
        (
            vec!["sweep", "--param", "N=8..1", "--", "true", "{N}"],
            "step",
        ),
        (
            vec!["sweep", "--param", "N", "--", "true", "{N}"],
            "write NAME=",
        ),
        (
            vec![
                "sweep", "--param", "N=1..8", "--param", "N=1..4", "--", "true", "{N}",
            ],
            "twice",
        ),
    ] {
        let output = genba(here.path(), &words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(what), "{words:?}: {text}");
    }
    let text = stdout_of(
        here.path(),
        &[
            "sweep",
            "--dry-run",
            "--param",
            "N=1..1024:log2",
            "--",
            "touch",
            "made-{N}",
        ],
    );
    assert!(
        text.contains("11 settings") && text.contains("at most"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
}

#[test]
fn a_resumed_sweep_repeats_no_run() {
    let here = scratch();
    // The fourth run ends genba itself, as a power cut would: no run is lost but that one.
    let command = "echo {N} >> runs; test -e cut || test $(wc -l < runs) -lt 8 || { touch cut; kill -9 $GENBA; }";
    let script = format!(
        "GENBA=$$ exec {} sweep --budget 20s --seed 3 --param N=1,2,3 --env GENBA=$$ -- '{command}'",
        env!("CARGO_BIN_EXE_genba")
    );
    let status = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(here.path())
        .env_remove("GENBA_HOME")
        .status()
        .unwrap();
    assert!(!status.success());
    let before = std::fs::read_to_string(here.path().join("runs"))
        .unwrap()
        .lines()
        .count();
    let text = stdout_of(here.path(), &["case", "resume", "latest"]);
    assert!(text.contains("3 settings"), "{text}");
    let after = std::fs::read_to_string(here.path().join("runs"))
        .unwrap()
        .lines()
        .count();
    let shown = json(here.path(), "sweep", &["case", "show", "--json"]);
    let runs = shown["runs"].as_u64().unwrap() as usize;
    // One run was cut off; whatever else was made is in the answer.
    assert!(
        after > before && after - runs <= 1,
        "{before} {after} {runs}"
    );
}
