//! `genba history` and `gate --against` in a git repository made by the test.

use std::path::Path;
use std::process::Command;

use crate::support::{genba, json, scratch};

/// A program that reports the metric `work`: the number in the file `level`, with some noise of the
/// run's own. The anchor reports 100.
const PROGRAM: &str =
    "n=$(cat level); t=$(od -An -N1 -tu1 /dev/urandom); echo work=$((n * 1000 + t))";
const ANCHOR: &str = "t=$(od -An -N1 -tu1 /dev/urandom); echo work=$((100000 + t))";
const METRIC: [&str; 4] = [
    "--metric",
    "work",
    "--metric-regex",
    r"work:units=work=(\d+)",
];

fn shell(place: &Path, script: &str) {
    let mut command = Command::new("sh");
    let status = command.current_dir(place).args(["-c", script]).status();
    assert!(status.expect("sh").success(), "{script}");
}

fn repository(place: &Path) {
    shell(
        place,
        "git init -q -b main . && git config user.email a@b && git config user.name n && \
         printf '.genba\\n.cache\\n' > .gitignore && git add .gitignore && git commit -qm start",
    );
}

fn text_of(output: &std::process::Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn planted_changes_are_found_and_none_is_invented() {
    if !genba_testing::has("planted_changes_are_found_and_none_is_invented", "git") {
        return;
    }
    let here = scratch();
    repository(here.path());
    // 3 % slower from the ninth commit on, mended in the seventeenth.
    let mut commits = Vec::new();
    for index in 0..24 {
        let level = if (8..16).contains(&index) { 103 } else { 100 };
        shell(
            here.path(),
            &format!(
                "echo {level} > level && echo {index} > f && git add . && git commit -qm 'commit {index}'"
            ),
        );
        let head = Command::new("git")
            .current_dir(here.path())
            .args(["rev-parse", "HEAD"])
            .output()
            .expect("git");
        commits.push(String::from_utf8_lossy(&head.stdout).trim().to_owned());
        let args = [
            &[
                "history",
                "record",
                "--no-count",
                "-r",
                "4",
                "-n",
                "prog",
                "--anchor",
                ANCHOR,
            ][..],
            &METRIC,
            &["--", PROGRAM],
        ]
        .concat();
        let output = genba(here.path(), &args);
        assert!(output.status.success(), "{}", text_of(&output));
    }
    let args = [
        "history", "show", "--json", "--metric", "work", "--branch", "main",
    ];
    let found = json(here.path(), "history", &args);
    let points = found["points"].as_array().expect("points");
    let mut places: Vec<usize> = points
        .iter()
        .filter(|one| one["origin"] == "code")
        .map(|one| {
            commits
                .iter()
                .position(|commit| one["commit"] == commit.as_str())
                .expect("a commit")
        })
        .collect();
    places.sort_unstable();
    assert_eq!(places, [8, 16], "{points:?}");
    assert!(points[0]["worse"].as_bool().expect("worse"));
    assert_eq!(points[0]["subject"], "commit 8");
    // The default metric has no change point there, another one has.
    let args = ["history", "explain", &commits[8][..8], "--build", "false"];
    let explained = text_of(&genba(here.path(), &args));
    assert!(explained.contains("prog, work"), "{explained}");
    let compared = genba(
        here.path(),
        &[
            "history",
            "compare",
            &commits[2][..8],
            &commits[10][..8],
            "--metric",
            "work",
            "--page",
            "page.html",
        ],
    );
    assert!(
        text_of(&compared).contains("+3.0"),
        "{}",
        text_of(&compared)
    );
    let page = std::fs::read_to_string(here.path().join("page.html")).expect("a page");
    assert!(page.contains("commit 8"));
    let listed = json(
        here.path(),
        "series-list",
        &["history", "list", "--json", "--metric", "work"],
    );
    assert_eq!(listed["series"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["series"][0]["metric"], "work");
    assert_eq!(listed["series"][0]["benchmark"], "prog");
    let table = text_of(&genba(here.path(), &["history", "list"]));
    assert!(table.contains("prog") && table.contains("work"), "{table}");
    let missing = genba(here.path(), &["history", "compare", "aaaa", "main"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn a_gate_builds_its_base_from_git() {
    if !genba_testing::has("a_gate_builds_its_base_from_git", "git") {
        return;
    }
    let here = scratch();
    repository(here.path());
    let gate = |against: &str| {
        let args = [
            &[
                "gate",
                "-r",
                "12",
                "--no-count",
                "--build",
                "cp level built; date > made",
            ][..],
            &[
                "--against",
                against,
                "--junit",
                "j.xml",
                "--sarif",
                "s.json",
            ],
            &METRIC,
            &["--", "echo work=$(cat built)000"],
        ]
        .concat();
        let output = Command::new(env!("CARGO_BIN_EXE_genba"))
            .current_dir(here.path())
            .env("XDG_CACHE_HOME", here.path().join(".cache"))
            .args(&args)
            .output()
            .expect("genba");
        (output.status.code(), text_of(&output))
    };
    shell(
        here.path(),
        "echo 100 > level && git add level && git commit -qm base && \
         echo 110 > level && git commit -qam change && cp level built",
    );
    let (code, text) = gate("HEAD~1");
    assert_eq!(code, Some(1), "{text}");
    let junit = std::fs::read_to_string(here.path().join("j.xml")).expect("JUnit");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let sarif = std::fs::read_to_string(here.path().join("s.json")).expect("SARIF");
    assert!(sarif.contains("\"ruleId\": \"slower\""), "{sarif}");
    assert_eq!(gate("HEAD").0, Some(0));
    // A refused run is not the next baseline.
    let args = |against: &'static str, value: &'static str| {
        [
            &["gate", "-r", "12", "--against", against][..],
            &METRIC,
            &[value],
        ]
        .concat()
    };
    for not_a_name in ["main", "latest", ""] {
        let output = genba(here.path(), &["gate", "--set-baseline", not_a_name, "true"]);
        let text = text_of(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("choose another name"), "{text}");
    }
    let first = [
        &["gate", "-r", "12", "--set-baseline", "release"][..],
        &METRIC,
        &["echo work=100"],
    ];
    assert_eq!(genba(here.path(), &first.concat()).status.code(), Some(0));
    for _ in 0..2 {
        let output = genba(here.path(), &args("latest", "echo work=110"));
        assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    }
    assert_eq!(
        genba(here.path(), &args("release", "echo work=100"))
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        genba(here.path(), &args("release", "echo work=110"))
            .status
            .code(),
        Some(1)
    );
    let (code, text) = gate("none");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("unknown revision"), "{text}");
}

#[test]
fn a_gates_measurements_are_of_the_commands_series_each_with_its_commit() {
    const TEST: &str = "a_gates_measurements_are_of_the_commands_series_each_with_its_commit";
    if !genba_testing::has(TEST, "git") {
        return;
    }
    let here = scratch();
    repository(here.path());
    shell(
        here.path(),
        "echo 100 > level && git add level && git commit -qm base && echo 110 > level && \
         git commit -qam change && cp level built",
    );
    let (command, other) = ("echo work=$(cat built)000", "echo work=7$(cat built)000");
    let store = ["--history", "sqlite:h.sqlite"];
    for measured in [command, other] {
        let args = [
            &["gate", "-r", "3", "--no-count", "--threshold", "99%"][..],
            &["--build", "cp level built", "--against", "HEAD~1"],
            &METRIC,
            &[measured],
            &store,
        ]
        .concat();
        let output = Command::new(env!("CARGO_BIN_EXE_genba"))
            .current_dir(here.path())
            .env("XDG_CACHE_HOME", here.path().join(".cache"))
            .args(&args)
            .output()
            .expect("genba");
        assert!(output.status.success(), "{}", text_of(&output));
    }
    let args = [
        &["history", "record", "-r", "3", "--no-count"][..],
        &METRIC,
        &store,
        &["--", command],
    ];
    let output = genba(here.path(), &args.concat());
    assert!(output.status.success(), "{}", text_of(&output));
    let args = [&["history", "show", "--json", "-m", "work"][..], &store];
    let found = json(here.path(), "history", &args.concat());
    let series = found["series"].as_array().expect("series");
    let of = |name: &str| {
        let one = series.iter().find(|one| one["benchmark"] == name);
        let all = one.expect("a series")["measurements"].as_array();
        let all = all.expect("measurements").iter();
        let field = |one: &serde_json::Value| one["subject"].as_str().unwrap().to_owned();
        all.map(field).collect::<Vec<String>>()
    };
    assert_eq!(series.len(), 2, "{found}");
    assert_eq!(of(command), ["base", "change", "change"]);
    assert_eq!(of(other), ["base", "change"]);
}

#[test]
fn results_of_other_programs_are_imported_once() {
    let here = scratch();
    let file = here.path().join("h.json");
    let text = r#"{"results":[{"command":"sleep 0","times":[0.1,0.3],"user":0.1,"system":0.1}]}"#;
    std::fs::write(&file, text).expect("a file");
    for expected in [
        "1 of 1 file imported, 3 measurements in it",
        "0 of 1 file imported (1 imported before)",
    ] {
        let output = genba(here.path(), &["history", "import", "h.json"]);
        assert!(text_of(&output).contains(expected), "{}", text_of(&output));
    }
    let found = json(here.path(), "history", &["history", "show", "--json"]);
    assert_eq!(found["series"][0]["benchmark"], "sleep 0");
    assert_eq!(found["series"][0]["measurements"][0]["runs"], 2);
    let of_machine = ["history", "import", "--machine", "ci2", "h.json"];
    let again = text_of(&genba(here.path(), &of_machine));
    assert!(again.contains("1 of 1 file imported"), "{again}");
    let of_machine = ["history", "show", "--json", "--host", "ci2"];
    let found = json(here.path(), "history", &of_machine);
    assert_eq!(found["series"][0]["host"], "name:ci2");
    std::fs::write(&file, "{}").expect("a file");
    let empty = scratch();
    for place in [here.path(), empty.path()] {
        let file = file.display().to_string();
        let output = genba(place, &["history", "import", &file]);
        assert_eq!(output.status.code(), Some(2), "{}", text_of(&output));
    }
    assert!(!empty.path().join(".genba").exists());
    let args = [
        "history",
        "import",
        "--history",
        "sqlite:no/h.sqlite",
        "h.json",
    ];
    let text = text_of(&genba(here.path(), &args));
    assert!(!here.path().join("no").exists(), "{text}");
}

#[test]
fn recording_whose_store_is_gone_is_in_a_file_that_can_be_imported() {
    let here = scratch();
    let store = ["--history", "sqlite:h.sqlite"];
    let args = [
        &["history", "record", "-r", "2", "--no-count"][..],
        &store,
        &[
            "--",
            "rm -f h.sqlite-*; echo damaged, and no database at all > h.sqlite",
        ],
    ];
    let output = genba(here.path(), &args.concat());
    let text = text_of(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("wall"), "the result is shown: {text}");
    let line = text
        .lines()
        .find(|line| line.contains("genba history import"));
    let line = line.expect("how to record it").trim();
    let file = line.rsplit(' ').next().expect("a file");
    std::fs::remove_file(here.path().join("h.sqlite")).expect("there");
    let args = [&["history", "import"][..], &store, &[file]].concat();
    let text = text_of(&genba(here.path(), &args));
    assert!(text.contains("1 of 1 file imported"), "{text}");
    let args = [&["history", "show", "--json"][..], &store].concat();
    let found = json(here.path(), "history", &args);
    assert_eq!(found["series"][0]["measurements"][0]["runs"], 2);
}

#[test]
fn recording_whose_anchor_fails_is_refused() {
    let here = scratch();
    let record = [
        "history",
        "record",
        "-r",
        "2",
        "--no-count",
        "--anchor",
        "exit 5",
        "true",
    ];
    let output = genba(here.path(), &record);
    assert_eq!(output.status.code(), Some(3), "{}", text_of(&output));
    assert!(
        text_of(&output).contains("the anchor failed"),
        "{}",
        text_of(&output)
    );
    let listed = text_of(&genba(here.path(), &["history", "list"]));
    assert!(listed.contains("has no measurements yet"), "{listed}");
}

#[test]
fn a_change_point_among_several_commits_is_explained_by_commit_and_function() {
    const TEST: &str = "a_change_point_among_several_commits_is_explained_by_commit_and_function";
    if !genba_testing::has(TEST, "git") || !genba_testing::has(TEST, "cc") {
        return;
    }
    let here = scratch();
    repository(here.path());
    // Commit 4 makes work() do twice as much; 3 and 4 are not measured.
    for index in 0..8 {
        let rounds = if index < 4 { 2 } else { 4 };
        let source = format!(
            "#include <stdio.h>\n__attribute__((noinline)) static unsigned work(unsigned n) {{\n\
             unsigned x = {index};\nfor (unsigned i = 0; i < n * 1000000u; i++)\n\
             x = x * 1664525u + 1013904223u;\nreturn x; }}\n\
             int main(void) {{ return printf(\"%d\\n\", work({rounds}) == 7) < 0; }}\n"
        );
        std::fs::write(here.path().join("p.c"), source).expect("written");
        shell(
            here.path(),
            &format!(
                "echo p > .git/info/exclude && cc -O1 -g -o p p.c && git add . && git commit -qm 'commit {index}'"
            ),
        );
        if (3..5).contains(&index) {
            continue;
        }
        let args = ["history", "record", "-r", "2", "--", "./p"];
        let output = genba(here.path(), &args);
        assert!(output.status.success(), "{}", text_of(&output));
    }
    let metric = ["--metric", "exact-instructions"];
    let args = [&["history", "show", "--json"][..], &metric].concat();
    let document = json(here.path(), "history", &args);
    let points = document["points"].as_array().expect("points");
    assert_eq!(points.len(), 1, "{document}");
    assert_eq!(points[0]["origin"], "code");
    let args = [&["history", "explain", "0000000"][..], &metric].concat();
    let output = genba(here.path(), &args);
    assert!(!output.status.success());
    assert!(
        text_of(&output).contains("no change point"),
        "{}",
        text_of(&output)
    );
    let commit = points[0]["commit"].as_str().expect("a commit");
    let args = [
        &["history", "explain", commit][..],
        &metric,
        &[
            "--build",
            "cc -O1 -g -o p p.c",
            "--budget",
            "60s",
            "--side-budget",
            "1s",
        ],
    ];
    let text = text_of(&genba(here.path(), &args.concat()));
    assert!(text.contains("commit 4"), "{text}");
    assert!(text.contains("work"), "{text}");
}
