//! Exact counts from end to end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{genba, json, program, scratch, stdout_of, tool_exists};
use serde_json::Value;

/// Returns the engines that can count here.
fn engines(test: &str, directory: &Path) -> Vec<&'static str> {
    let own = genba(
        directory,
        &["count", "--engine", "genba", "--json", "--", "true"],
    );
    let mut engines = Vec::new();
    if own.status.success() {
        engines.push("genba");
    } else {
        let reason = String::from_utf8_lossy(&own.stderr);
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &reason);
    }
    if tool_exists(test, "valgrind") {
        engines.push("callgrind");
    }
    engines
}

fn function<'a>(counts: &'a Value, name: &str) -> &'a Value {
    let list = counts["functions"].as_array().expect("functions");
    list.iter()
        .find(|f| f["function"] == name)
        .unwrap_or_else(|| panic!("{name} was counted"))
}

/// Counts by address of one module, out of the file of sites.
fn sites(file: &Path, module: &str) -> BTreeMap<u64, u64> {
    let text = fs::read_to_string(file).expect("the sites");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("module,offset,count"));
    lines
        .filter(|line| line.starts_with(module))
        .map(|line| {
            let mut fields = line.rsplit(',');
            let count = fields.next().expect("a count").parse().expect("a number");
            let address = fields.next().expect("an address").trim_start_matches("0x");
            (
                u64::from_str_radix(address, 16).expect("hexadecimal"),
                count,
            )
        })
        .collect()
}

#[test]
fn calls_and_instructions_match_the_program() {
    let test = "calls_and_instructions_match_the_program";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    for engine in engines(test, here) {
        let file = here.join("sites.csv");
        let counts = json(
            here,
            "counts",
            &[
                "count",
                "--json",
                "--engine",
                engine,
                "--transfers",
                "--per",
                "digits",
                "--sites",
                file.to_str().expect("a plain path"),
                "--",
                prog,
                "1000",
            ],
        );
        assert_eq!(counts["engine"], engine);
        assert!(counts["cut_short"].is_null(), "{}", counts["cut_short"]);
        assert_eq!(counts["exit"], 0);
        let digits = function(&counts, "digits");
        assert_eq!(digits["calls"], 1000, "{engine}");
        assert_eq!(digits["calls_per"], 1.0);
        assert!(
            digits["file"]
                .as_str()
                .is_some_and(|f| f.ends_with("divloop.c"))
        );
        assert_eq!(function(&counts, "main")["calls"], 1);
        let instructions = digits["instructions"].as_u64().expect("a number");
        // The sites of the function add up to it.
        let address = digits["address"].as_u64().expect("an address");
        let sites = sites(&file, prog);
        assert_eq!(sites[&address], 1000);
        let calls = counts["calls"].as_array().expect("calls");
        let functions = counts["functions"].as_array().expect("functions");
        let name = |edge: &Value, end: &str| {
            functions[edge[end].as_u64().expect("an index") as usize]["function"].clone()
        };
        let edge = calls
            .iter()
            .find(|edge| name(edge, "callee") == "digits")
            .expect("a call of digits");
        assert_eq!(
            (&name(edge, "caller"), &edge["calls"]),
            (&"main".into(), &1000.into())
        );
        assert!(instructions > 1000 * 5, "{instructions}");
    }
}

#[test]
fn callgrind_annotate_shows_the_same_counts() {
    let test = "callgrind_annotate_shows_the_same_counts";
    if !tool_exists(test, "valgrind") || !tool_exists(test, "callgrind_annotate") {
        return;
    }
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    stdout_of(
        here,
        &[
            "count",
            "--engine",
            "callgrind",
            "--json",
            "--export-callgrind",
            "exported",
            "-o",
            "counts.json",
            "--",
            prog,
            "1000",
        ],
    );
    let annotated = Command::new("callgrind_annotate")
        .args(["--threshold=100", "exported"])
        .current_dir(here)
        .output()
        .expect("callgrind_annotate");
    let text = String::from_utf8_lossy(&annotated.stdout);
    assert!(text.contains("divloop.c:digits"), "{text}");
}

#[test]
fn counts_of_a_crashed_target_are_marked_as_cut_short() {
    let test = "counts_of_a_crashed_target_are_marked_as_cut_short";
    let directory = scratch();
    let here = directory.path();
    let source = here.join("crash.c");
    fs::write(
        &source,
        "static volatile int n; __attribute__((noinline)) void step(void) { n++; }\n\
         int main(void) { for (int i = 0; i < 100; i++) step(); return *(volatile int *)0; }\n",
    )
    .expect("a source");
    let Some(prog) = program(
        test,
        here,
        source.to_str().expect("a plain path"),
        &["-O1", "-g"],
    ) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    for engine in engines(test, here) {
        let output = genba(here, &["count", "--json", "--engine", engine, "--", prog]);
        assert_eq!(output.status.code(), Some(3), "the target failed");
        let counts: Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(function(&counts, "step")["calls"], 100, "{engine}");
        assert_eq!(counts["exit"], 128 + 11, "{engine}");
    }
}

#[test]
fn missing_engine_names_the_package_to_install() {
    let directory = scratch();
    let here = directory.path();
    let output = genba(here, &["count", "--engine", "nonsense", "--", "true"]);
    assert!(matches!(output.status.code(), Some(2 | 4)));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("nonsense") && said.contains("callgrind"),
        "{said}"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_genba"))
        .args(["count", "--engine", "callgrind", "--", "/bin/true"])
        .current_dir(here)
        .env("PATH", "/nonexistent")
        .output()
        .expect("genba starts");
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("apt-get install"), "{said}");
}

#[test]
fn investigation_reports_cost_per_execution() {
    let test = "investigation_reports_cost_per_execution";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    let line = [
        "investigate",
        "--budget",
        "2",
        "--json",
        "--",
        prog,
        "2000000",
    ];
    let all = json(here, "investigation", &line);
    if all["profile"].is_null() || all["profile"]["counted"].is_null() {
        return genba_testing::skip(test, genba_testing::COUNT_ENGINE, &all["notes"].to_string());
    }
    let digits = &all["annotations"][0];
    assert_eq!(digits["function"], "digits");
    assert_eq!(digits["calls"], 2_000_000);
    let rows = digits["instructions"].as_array().expect("instructions");
    let div = rows
        .iter()
        .find(|row| {
            row["text"]
                .as_str()
                .is_some_and(|text| text.starts_with("div"))
        })
        .expect("a division");
    let count = div["count"].as_u64().expect("a count");
    assert!(count > 20_000_000, "{count}");
    let seconds = div["cost_seconds"]["value"].as_f64().expect("a cost");
    // A division takes some cycles of some gigahertz, whatever the machine.
    assert!((0.1e-9..200e-9).contains(&seconds), "{seconds}");
    let head = digits["loops"][0].clone();
    assert_eq!(head["cost"]["iterations"], count, "{head}");
    assert_eq!(head["cost"]["entries"], 2_000_000, "{head}");
    // The case keeps the counts: other functions can be annotated with them, too.
    let main = json(
        here,
        "annotation",
        &["annotate", "--json", "-i", "latest", "main"],
    );
    assert_eq!(main["calls"], 1);
    let bare = [
        "investigate",
        "--budget",
        "1",
        "--no-count",
        "--json",
        "--",
        prog,
        "200000",
    ];
    let all = json(here, "investigation", &bare);
    assert!(all["profile"]["counted"].is_null());
}

#[test]
fn counts_of_a_file_are_joined_with_a_recording() {
    let test = "counts_of_a_file_are_joined_with_a_recording";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    if crate::support::record(test, here, &[], &[prog, "2000000"]).is_none() {
        return;
    }
    let counted = genba(
        here,
        &[
            "count",
            "--output",
            "null",
            "-o",
            "counts.json",
            "--",
            prog,
            "200000",
        ],
    );
    if counted.status.code() == Some(4) {
        return genba_testing::skip(
            test,
            genba_testing::COUNT_ENGINE,
            &String::from_utf8_lossy(&counted.stderr),
        );
    }
    let line = [
        "report",
        "--json",
        "-i",
        "recording",
        "--counts",
        "counts.json",
        "--counts-scale",
        "10",
    ];
    let profile = json(here, "profile", &line);
    let row = &profile["functions"][0];
    assert_eq!(
        (&row["function"], &row["calls"]),
        (&"digits".into(), &2_000_000.into())
    );
    assert_eq!(profile["counted"]["scale"], 10.0);
    // Something else is not a file of counts.
    let output = genba(
        here,
        &["report", "-i", "recording", "--counts", "recording"],
    );
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("genba count -o"), "{said}");
}

#[test]
fn timed_out_target_has_the_counts_until_then() {
    let test = "timed_out_target_has_the_counts_until_then";
    let directory = scratch();
    let here = directory.path();
    let Some(prog) = program(test, here, "divloop.c", &["-g", "-O2"]) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    let line = [
        "count",
        "--json",
        "--once",
        "--timeout",
        "3",
        "--",
        prog,
        "100000000000",
    ];
    let output = genba(here, &line);
    if output.status.code() == Some(4) {
        return genba_testing::skip(
            test,
            genba_testing::COUNT_ENGINE,
            &String::from_utf8_lossy(&output.stderr),
        );
    }
    assert_eq!(output.status.code(), Some(3));
    let counts: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert!(counts["cut_short"].is_string(), "{counts}");
    assert!(function(&counts, "digits")["calls"].as_u64() > Some(0));
}
