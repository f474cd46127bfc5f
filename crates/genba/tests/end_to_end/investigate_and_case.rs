//! investigate and its case, from end to end.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{genba, json, program, run_genba, scratch, stdout_of};
use serde_json::Value;

fn cases(directory: &Path) -> Vec<Value> {
    let list = json(directory, "cases", &["case", "list", "--json"]);
    list["cases"].as_array().expect("cases").clone()
}

#[test]
fn investigation_measures_profiles_and_writes_a_page() {
    let test = "investigation_measures_profiles_and_writes_a_page";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    let text = stdout_of(
        here,
        &["investigate", "--budget", "2", "--", prog, "1000000"],
    );
    assert!(text.contains("wall") && text.contains("PAGE"), "{text}");
    let all = json(here, "investigation", &["case", "show", "--json", "latest"]);
    assert!(
        all["runs"]["runs"]
            .as_array()
            .is_some_and(|runs| runs.len() >= 2)
    );
    assert_eq!(all["runs"]["metrics"][0]["metric"], "wall");
    if all["profile"].is_null() {
        return genba_testing::skip(test, genba_testing::PERF_EVENT, &all["notes"].to_string());
    }
    assert_eq!(all["profile"]["functions"][0]["function"], "digits");
    assert_eq!(all["annotations"][0]["function"], "digits");
    assert!(text.contains("digits"), "{text}");
    // Code and differences need the recording no longer: the case has its samples by address.
    let case = all["case"].as_str().expect("an id");
    fs::write(here.join(".genba").join(case).join("perf.data"), "gone").expect("a file");
    let code = stdout_of(here, &["annotate", "--raw", "-i", case, "digits"]);
    assert!(code.contains("div"), "{code}");
    let (status, _, said) = run_genba(here, &["annotate", "-i", case, "99"]);
    assert!(status == 2 && said.contains("no finding 99"), "{said}");
    for (number, finding) in (1..).zip(all["findings"].as_array().expect("findings")) {
        let number: u32 = number;
        let number = number.to_string();
        let shown = stdout_of(here, &["annotate", "-i", case, &number]);
        assert!(shown.contains(finding["site"]["function"].as_str().expect("a name")));
    }
    let diff = json(here, "profile-diff", &["diff", "--json", case, case]);
    assert!(!diff["lines"].is_null() && diff["functions"][0]["change"]["value"] == 0.0);
    // The case opens where the program is not, and gives the same page again.
    fs::remove_file(prog).expect("the program goes");
    // Not its name as it is stored, but a name of the same function.
    let code = stdout_of(here, &["annotate", "-i", case, "digits(unsigned long)"]);
    assert!(code.contains("div"), "{code}");
    let page = stdout_of(here, &["case", "export", "latest"]);
    assert!(
        page.contains("digits") && page.contains("div"),
        "the annotated code is kept"
    );
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "no external resource"
    );
    let json_text = stdout_of(here, &["case", "export", "--format", "json", "latest"]);
    fs::write(here.join("case.json"), json_text).expect("a file");
    let elsewhere = scratch();
    let file = here.join("case.json");
    stdout_of(
        elsewhere.path(),
        &["case", "import", file.to_str().expect("a plain path")],
    );
    assert_eq!(
        stdout_of(elsewhere.path(), &["case", "export", "latest"]),
        page
    );
}

#[test]
fn kill_9_leaves_the_case_with_the_runs_that_ended() {
    let directory = scratch();
    let here = directory.path();
    let mut child = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(["investigate", "--budget", "60", "--", "sleep", "0.05"])
        .current_dir(here)
        .env_remove("GENBA_HOME")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("genba starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    let runs = |case: &Value| case["runs"].as_u64().unwrap_or(0);
    // Waits for a state, not for a time: some runs have ended and more are to come.
    while cases(here).first().is_none_or(|case| runs(case) < 3) {
        assert!(Instant::now() < deadline, "no run ended within a minute");
        assert!(
            child.try_wait().expect("a child").is_none(),
            "genba ended too early"
        );
        std::thread::yield_now();
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    let after = cases(here);
    assert_eq!(after.len(), 1);
    assert_eq!(after[0]["state"], "interrupted");
    assert!(runs(&after[0]) >= 3);
    assert!(stdout_of(here, &["case", "show", "latest"]).contains("sleep"));
}

#[test]
fn hostile_names_are_escaped_in_the_page() {
    let test = "hostile_names_are_escaped_in_the_page";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "hostile-names.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    let output = genba(here, &["investigate", "--budget", "1", "--", prog, "10"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!String::from_utf8_lossy(&output.stdout).contains('\x1b'));
    let page = stdout_of(here, &["case", "export", "latest"]);
    assert!(
        !page.contains("<script>alert"),
        "a name is markup in the page"
    );
    assert!(!page.contains('\x1b'));
}

#[test]
fn cpu_time_of_children_is_separate_from_the_target() {
    let directory = scratch();
    let here = directory.path();
    let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let line = format!("sh -c '{burn}' ; exit 0");
    let output = genba(
        here,
        &[
            "investigate",
            "--json",
            "--budget",
            "0.1",
            "--",
            "sh",
            "-c",
            &line,
        ],
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let run = &all["runs"]["runs"][0];
    let total = |who: &str| {
        let user = run[who]["user"].as_f64().expect("a time");
        user + run[who]["system"].as_f64().expect("a time")
    };
    assert!(total("children") > total("target"), "{run}");
}

#[test]
fn case_of_a_comparison_is_shown_exported_and_imported() {
    let directory = scratch();
    let here = directory.path();
    stdout_of(
        here,
        &[
            "bench", "-r", "3", "-N", "-n", "one", "true", "-n", "two", "true",
        ],
    );
    let shown = stdout_of(here, &["case", "show", "latest"]);
    assert!(shown.contains("one") && shown.contains("two"), "{shown}");
    let document = json(here, "comparison", &["case", "show", "--json", "latest"]);
    assert_eq!(document["variants"].as_array().map(Vec::len), Some(2));
    let page = stdout_of(here, &["case", "export", "latest"]);
    assert!(page.contains("one") && page.contains("two"));
    stdout_of(here, &["case", "export", "-o", "case.json", "latest"]);
    let elsewhere = scratch();
    let file = here.join("case.json");
    stdout_of(
        elsewhere.path(),
        &["case", "import", file.to_str().expect("a plain path")],
    );
    assert_eq!(
        stdout_of(elsewhere.path(), &["case", "export", "latest"]),
        page
    );
}
