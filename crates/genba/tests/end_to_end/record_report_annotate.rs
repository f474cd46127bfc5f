//! record, report, annotate, flame: on programs whose answer is known.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{json, program, record, run_genba, scratch, stdout_of, tool_exists};

const DEBUG: [&str; 2] = ["-g", "-O2"];

fn share(row: &Value) -> f64 {
    row["self"]["value"].as_f64().expect("a share")
}

/// A directory with a program of `testdata/` compiled and sampled: `run` is its source and its
/// arguments. `None`, with a where this machine cannot do that.
fn recorded(test: &str, flags: &[&str], options: &[&str], run: &[&str]) -> Option<TempDir> {
    let directory = scratch();
    let prog = program(test, directory.path(), run[0], flags)?;
    let mut command = vec![prog.to_str().expect("a plain path")];
    command.extend(&run[1..]);
    record(test, directory.path(), options, &command)?;
    Some(directory)
}

/// Shares by function name.
fn functions(profile: &Value) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::new();
    for row in profile["functions"].as_array().expect("functions") {
        let name = row["function"].as_str().expect("a name");
        // perf does not show which copy of a function it is.
        let name = name.split(" [clone ").next().unwrap_or(name).to_owned();
        *shares.entry(name).or_insert(0.0) += share(row);
    }
    shares
}

/// The division and what is after it, as shares of the function.
fn division_and_successor(directory: &Path, args: &[&str]) -> (f64, f64) {
    let annotation = json(directory, "annotation", args);
    let instructions = annotation["instructions"].as_array().expect("instructions");
    let at = instructions
        .iter()
        .position(|i| {
            i["text"]
                .as_str()
                .is_some_and(|text| text.starts_with("div "))
        })
        .expect("a division");
    let share = |i: usize| instructions[i]["share"]["value"].as_f64().expect("a share");
    (share(at), share(at + 1))
}

fn division_carries(test: &str, options: &[&str]) {
    // Enough samples that a share of 0.85 is not taken for less than 0.8 by chance.
    let run = ["divloop.c", "40000000"];
    let Some(directory) = recorded(test, &DEBUG, options, &run) else {
        return;
    };
    let args = ["annotate", "-i", "recording", "--json", "digits"];
    let (division, successor) = division_and_successor(directory.path(), &args);
    assert!(division >= 0.8, "the division has {division}");
    assert!(successor < 0.05, "its successor has {successor}");
    let args = ["annotate", "-i", "recording", "--json", "--raw", "digits"];
    let (division, successor) = division_and_successor(directory.path(), &args);
    assert!(
        division < 0.1 && successor > 0.4,
        "raw: {division}, {successor}"
    );
}

#[test]
fn division_has_most_samples_of_its_loop_with_cpu_clock() {
    division_carries(
        "division_has_most_samples_of_its_loop_with_cpu_clock",
        &["-e", "cpu-clock:u"],
    );
}

#[test]
fn division_has_most_samples_of_its_loop_with_the_default_event() {
    division_carries(
        "division_has_most_samples_of_its_loop_with_the_default_event",
        &[],
    );
}

#[test]
fn shares_of_threads_match_their_work() {
    let test = "shares_of_threads_match_their_work";
    let flags = ["-g", "-O2", "-pthread"];
    let run = ["threads.c", "3", "100"];
    let Some(directory) = recorded(test, &flags, &["-e", "cpu-clock:u"], &run) else {
        return;
    };
    let profile = json(
        directory.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    let threads = profile["threads"].as_array().expect("threads");
    let shares: Vec<f64> = threads.iter().take(3).map(share).collect();
    // They work 3 : 2 : 1, and the samples are thousands.
    for (share, want) in shares.iter().zip([3.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0]) {
        assert!((share - want).abs() < 0.08, "{shares:?}");
    }
}

#[test]
fn child_processes_are_sampled() {
    let test = "child_processes_are_sampled";
    let run = ["forks.c", "3", "100"];
    let Some(directory) = recorded(test, &DEBUG, &["-e", "cpu-clock:u"], &run) else {
        return;
    };
    let profile = json(
        directory.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    let pids: std::collections::BTreeSet<i64> = profile["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|row| row["pid"].as_i64().expect("a pid"))
        .collect();
    assert!(pids.len() >= 3, "{pids:?}");
    assert!(
        functions(&profile)
            .get("after_exec")
            .copied()
            .unwrap_or(0.0)
            > 0.02
    );
}

#[test]
fn all_that_runs_on_cpus_is_recorded() {
    let test = "all_that_runs_on_cpus_is_recorded";
    let Some(directory) = recorded(test, &DEBUG, &["-a"], &["divloop.c", "1000000"]) else {
        return;
    };
    let profile = json(
        directory.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    let digits = functions(&profile).get("digits").copied().unwrap_or(0.0);
    assert!(digits > 0.0, "{profile}");
    let (code, _, said) = run_genba(directory.path(), &["record", "-C", "1023", "--", "true"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("no CPU 1023"), "{said}");
}

#[test]
fn total_of_main_is_the_sum_of_its_callees() {
    let test = "total_of_main_is_the_sum_of_its_callees";
    let directory = scratch();
    let flags = ["-g", "-O2", "-fno-omit-frame-pointer"];
    let Some(prog) = program(test, directory.path(), "inline.cc", &flags) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    for how in ["fp", "dwarf"] {
        let options = ["-e", "cpu-clock:u", "--call-graph", how];
        if record(test, directory.path(), &options, &[prog, "400"]).is_none() {
            return;
        }
        let profile = json(
            directory.path(),
            "profile",
            &["report", "-i", "recording", "--json"],
        );
        let total = profile["functions"]
            .as_array()
            .expect("functions")
            .iter()
            .find(|row| row["function"] == "main")
            .map(|row| row["total"]["value"].as_f64().expect("a total"));
        assert!(
            total.is_some_and(|total| total > 0.9),
            "{how}: main has {total:?}"
        );
        let svg = stdout_of(directory.path(), &["flame", "-i", "recording", "-o", "-"]);
        assert!(svg.starts_with("<?xml") && svg.contains("main"), "{how}");
    }
}

#[test]
fn stripped_program_has_functions_named_by_address() {
    let test = "stripped_program_has_functions_named_by_address";
    let flags = ["-O2", "-s"];
    let run = ["divloop.c", "20000000"];
    let Some(directory) = recorded(test, &flags, &["-e", "cpu-clock:u"], &run) else {
        return;
    };
    let profile = json(
        directory.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    let hottest = &profile["functions"][0];
    assert!(share(hottest) > 0.8, "{hottest}");
    let name = hottest["function"].as_str().expect("a name");
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let args = ["annotate", "-i", "recording", "--json", address];
    let (division, _) = division_and_successor(directory.path(), &args);
    assert!(division >= 0.8, "{division}");
}

#[test]
fn hostile_names_are_escaped() {
    let test = "hostile_names_are_escaped";
    let run = ["hostile-names.c", "20"];
    let Some(directory) = recorded(test, &DEBUG, &["-e", "cpu-clock:u", "-g"], &run) else {
        return;
    };
    for args in [
        &["report", "-i", "recording"][..],
        &["report", "-i", "recording", "--by", "line"],
        &["flame", "-i", "recording", "-o", "-"],
        &["flame", "-i", "recording", "--collapsed", "-o", "-"],
    ] {
        let text = stdout_of(directory.path(), args);
        assert!(!text.contains('\x1b'), "{args:?} lets an escape through");
        if args[0] == "flame" && !args.contains(&"--collapsed") {
            assert!(
                !text.contains("<script>alert"),
                "{args:?} lets a script through"
            );
        }
    }
    let text = stdout_of(directory.path(), &["report", "-i", "recording"]);
    assert!(
        text.contains("<script>alert(1)</script>"),
        "a name is shown as it is:\n{text}"
    );
}

/// `perf report` of a recording: function → percent, self, by perf's own symbols.
fn perf_report(directory: &Path, file: &str) -> Option<BTreeMap<String, f64>> {
    let output = Command::new("perf")
        .args([
            "report",
            "-i",
            file,
            "--stdio",
            "--no-children",
            "-g",
            "none",
        ])
        .args(["-F", "overhead,sym", "-t", "|", "--percent-limit", "0"])
        .current_dir(directory)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut shares = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((percent, symbol)) = line.split_once('|') else {
            continue;
        };
        let Ok(percent) = percent.trim().trim_end_matches('%').parse::<f64>() else {
            continue;
        };
        let name = symbol.trim().get(4..).unwrap_or("").trim().to_owned();
        *shares.entry(name).or_insert(0.0) += percent / 100.0;
    }
    Some(shares)
}

/// Addresses of the symbols of a program, by demangled name.
fn symbol_addresses(program: &str) -> BTreeMap<String, String> {
    let output = Command::new("nm").args(["-C", program]).output();
    let text = output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    text.lines()
        .filter_map(|line| Some((line.get(19..)?.to_owned(), line.get(..16)?.to_owned())))
        .collect()
}

#[test]
fn function_shares_equal_those_of_perf_report() {
    let test = "function_shares_equal_those_of_perf_report";
    let directory = scratch();
    if !tool_exists(test, "perf") {
        return;
    }
    let programs = [
        ("inline.cc", "400"),
        ("divloop.c", "4000000"),
        ("hash.rs", "40"),
    ];
    for (source, argument) in programs {
        let flags: &[&str] = if source.ends_with(".rs") {
            &["-g", "-O"]
        } else {
            &DEBUG
        };
        let Some(prog) = program(test, directory.path(), source, flags) else {
            continue;
        };
        let prog = prog.to_str().expect("a plain path");
        let options = ["-e", "cpu-clock:u"];
        if record(test, directory.path(), &options, &[prog, argument]).is_none() {
            return;
        }
        let perf = perf_report(directory.path(), "recording").expect("perf runs");
        if perf.is_empty() {
            return genba_testing::skip(test, "perf", "perf report shows nothing here");
        }
        let profile = json(
            directory.path(),
            "profile",
            &["report", "-i", "recording", "--json"],
        );
        let own = functions(&profile);
        let addresses = symbol_addresses(prog);
        for (name, share) in perf.iter().filter(|(name, _)| !name.starts_with("0x")) {
            // perf prints two digits.
            if *share < 0.01 {
                continue;
            }
            // Of two names for one piece of code the tools may show different ones.
            let same_code = |other: &str| {
                let address = |name: &str| addresses.get(name);
                other == name || address(other).is_some() && address(other) == address(name)
            };
            let here: f64 = own
                .iter()
                .filter(|(other, _)| same_code(other))
                .map(|(_, share)| share)
                .sum();
            assert!(
                (here - share).abs() < 0.002,
                "{source} {name}: perf {share}, genba {here}"
            );
        }
    }
}

#[test]
fn recordings_of_perf_are_read() {
    let test = "recordings_of_perf_are_read";
    let directory = scratch();
    if !tool_exists(test, "perf") {
        return;
    }
    let Some(prog) = program(test, directory.path(), "divloop.c", &DEBUG) else {
        return;
    };
    let recorded = Command::new("perf")
        .args([
            "record",
            "-q",
            "-F",
            "4999",
            "-e",
            "cpu-clock:u",
            "-g",
            "-o",
            "perf.data",
        ])
        .arg(&prog)
        .arg("4000000")
        .current_dir(directory.path())
        .output()
        .expect("perf starts");
    if !recorded.status.success() {
        return genba_testing::skip(
            test,
            genba_testing::PERF_EVENT,
            &String::from_utf8_lossy(&recorded.stderr),
        );
    }
    let profile = json(directory.path(), "profile", &["report", "--json"]);
    assert!(functions(&profile)["digits"] > 0.9);
    assert_eq!(profile["stacks"], true);
}

#[test]
fn timer_sampler_finds_the_same_functions() {
    let test = "timer_sampler_finds_the_same_functions";
    let directory = scratch();
    let Some(prog) = program(test, directory.path(), "divloop.c", &DEBUG) else {
        return;
    };
    let prog = prog.to_str().expect("a plain path");
    let said = record(
        test,
        directory.path(),
        &["--sampler", "timer"],
        &[prog, "12000000"],
    );
    let Some(said) = said else { return };
    assert!(
        said.contains("timer-signal"),
        "the fallback is said aloud: {said}"
    );
    let profile = json(
        directory.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    assert_eq!(profile["event"]["name"], "timer-signal");
    assert!(functions(&profile)["digits"] > 0.9);
}
