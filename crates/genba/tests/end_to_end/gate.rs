//! `genba gate`, `bench --against` and `host doctor` on real commands: what must hold on any
//! machine, however busy.

use crate::support::{
    METRIC_WORK, comparison, genba, json, notes, reported_work, scratch, stdout_of,
};

#[test]
fn a_gate_refuses_slower_variants_and_passes_the_others() {
    let here = scratch();
    let (one, three) = (reported_work("1"), reported_work("3"));
    let gate = |threshold: &str, first: &str, second: &str| {
        let args = [
            &["gate", "-r", "15", "--seed", "1", "--threshold", threshold][..],
            &METRIC_WORK,
            &[first, second],
        ]
        .concat();
        let output = genba(here.path(), &args);
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let (code, text) = gate("10%", &one, &three);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("Refused") && text.contains("| variant |"),
        "{text}"
    );
    assert_eq!(gate("10%", &three, &one).0, Some(0));
    assert_eq!(gate("99%", &one, &one).0, Some(0));
    assert_eq!(
        genba(here.path(), &["gate", "-r", "3", "true", "false"])
            .status
            .code(),
        Some(3)
    );
}

#[test]
fn a_gate_that_could_not_measure_writes_its_reports() {
    let here = scratch();
    let read = |name: &str| std::fs::read_to_string(here.path().join(name)).expect(name);
    let files = [
        "--markdown",
        "m.md",
        "--junit",
        "j.xml",
        "--sarif",
        "s.json",
    ];
    let build = ["--against", "HEAD", "--build", "exit 7", "true"];
    let failing = ["-r", "2", "exit 7", "exit 8"];
    for (words, code) in [(&failing[..], 3), (&build[..], 2)] {
        let output = genba(here.path(), &[&["gate"], &files[..], words].concat());
        assert_eq!(output.status.code(), Some(code));
        assert!(read("m.md").contains("**Failed**"), "{}", read("m.md"));
        assert!(read("j.xml").contains("errors=\"1\""), "{}", read("j.xml"));
        assert!(read("s.json").contains("\"executionSuccessful\": false"));
        for name in ["m.md", "j.xml", "s.json"] {
            std::fs::remove_file(here.path().join(name)).expect("there");
        }
    }
}

#[test]
fn files_that_cannot_be_written_are_refused_before_measuring() {
    let here = scratch();
    for (verb, option) in [
        ("gate", "--markdown=none/m.md"),
        ("gate", "--sarif=."),
        ("bench", "--json=none/x.json"),
        ("bench", "--export-csv=none/x.csv"),
    ] {
        let output = genba(here.path(), &[verb, option, "-r", "2", "touch measured"]);
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("cannot write"), "{text}");
        assert!(!here.path().join("measured").exists(), "{verb} {option}");
    }
}

#[test]
fn markdown_goes_to_a_pipe() {
    let here = scratch();
    let output = genba(
        here.path(),
        &["gate", "--markdown=/dev/stdout", "-r2", "true"],
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("### genba: **"));
}

#[test]
fn runs_of_a_case_are_compared_only_on_the_same_host() {
    let here = scratch();
    let (slow, fast) = (reported_work("10"), reported_work("1"));
    let bench = |words: &[&str]| {
        let args = [&["bench", "--json", "-r", "12"][..], &METRIC_WORK, words].concat();
        json(here.path(), "comparison", &args)
    };
    let first = bench(&["-n", "old", &slow]);
    let case = first["case"].as_str().unwrap().to_owned();
    let second = bench(&["--against", &case, "-n", "new", &fast]);
    let found = comparison(&second, "new", "work");
    assert_eq!(found["baseline"], format!("old (case {case})"));
    assert_eq!(found["verdict"], "faster");
    assert!(notes(&second).contains("not interleaved"));

    // The same case from another host.
    let mut document = first.clone();
    document["host"]["id"] = "elsewhere".into();
    std::fs::write(here.path().join("other.json"), document.to_string()).expect("a file");
    let imported = scratch();
    let file = here.path().join("other.json").display().to_string();
    stdout_of(imported.path(), &["case", "import", &file]);
    let output = genba(imported.path(), &["bench", "--against", "latest", "true"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let here_id = first["host"]["id"].as_str().unwrap();
    assert!(
        text.contains("elsewhere") && text.contains(here_id),
        "{text}"
    );
}

#[test]
fn the_doctor_reports_the_visible_difference() {
    let here = scratch();
    let document = json(
        here.path(),
        "doctor",
        &["host", "doctor", "--json", "--budget", "1s", "--", "true"],
    );
    let metrics = document["metrics"].as_array().unwrap();
    let wall = metrics
        .iter()
        .find(|one| one["metric"] == "wall")
        .expect("wall");
    if wall["pairs"].as_u64().unwrap() >= 13 {
        assert!(wall["visible"].as_f64().unwrap() > 0.0, "{wall}");
    } else {
        assert!(wall["visible"].is_null());
    }
    let text = stdout_of(
        here.path(),
        &["host", "doctor", "--budget", "500ms", "--", "true"],
    );
    assert!(
        text.contains("smallest visible difference") || text.contains("too short"),
        "{text}"
    );
}
