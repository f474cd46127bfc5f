//! export: recordings of real programs, opened by the readers of each format.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{json, program, record, run_genba, scratch, stdout_of};

const FORMATS: [&str; 7] = [
    "firefox",
    "speedscope",
    "pprof",
    "callgrind",
    "collapsed",
    "chrome-trace",
    "perf-script",
];

fn export(directory: &Path, format: &str) -> Vec<u8> {
    let out = format!("out.{format}");
    stdout_of(
        directory,
        &["export", "--format", format, "-i", "recording", "-o", &out],
    );
    std::fs::read(directory.join(out)).expect("it was written")
}

/// The sum of weights in each format, nanoseconds.
fn totals(directory: &Path) -> Vec<(&'static str, f64)> {
    let sum = |values: &Value| -> f64 {
        let values = values.as_array().expect("an array");
        values
            .iter()
            .map(|one| one.as_f64().expect("a number"))
            .sum()
    };
    let total = |format: &str, bytes: Vec<u8>| {
        let document = || -> Value { serde_json::from_slice(&bytes).expect("JSON") };
        let text = || String::from_utf8(bytes.clone()).expect("UTF-8");
        match format {
            "firefox" => {
                let profile = document();
                let threads = profile["threads"].as_array().expect("threads").iter();
                threads
                    .map(|one| sum(&one["samples"]["weight"]))
                    .sum::<f64>()
                    * 1e6
            }
            "speedscope" => {
                let file = document();
                let profiles = file["profiles"].as_array().expect("profiles").iter();
                profiles.map(|one| sum(&one["weights"])).sum()
            }
            "callgrind" => {
                let text = text();
                let line = text.lines().rev().find(|line| line.starts_with("totals:"));
                let cost = line.and_then(|line| line.split_whitespace().nth(1));
                cost.expect("totals").parse().expect("a number")
            }
            "collapsed" => (text().lines())
                .map(|line| {
                    line.rsplit_once(' ')
                        .expect("a weight")
                        .1
                        .parse::<f64>()
                        .expect("ns")
                })
                .sum(),
            "chrome-trace" => {
                let trace = document();
                let events = trace["traceEvents"].as_array().expect("events").iter();
                // Each sample is in the self time of one call: all minus those of callees.
                let weight = |one: &Value| one["args"]["weight"].as_f64().unwrap_or(0.0);
                let all: f64 = events.clone().map(weight).sum();
                assert!(all > 0.0);
                roots(events)
            }
            "perf-script" => (text().lines())
                .filter(|line| line.ends_with("cpu-clock: "))
                .map(|line| {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    words[words.len() - 2].parse::<f64>().expect("a period")
                })
                .sum(),
            // go reads it.
            _ => f64::NAN,
        }
    };
    FORMATS
        .into_iter()
        .map(|format| (format, total(format, export(directory, format))))
        .filter(|(_, total)| !total.is_nan())
        .collect()
}

/// Weight of the outermost calls: those that no other call of their thread surrounds.
fn roots<'a>(events: impl Iterator<Item = &'a Value>) -> f64 {
    let mut calls: Vec<(i64, f64, f64, f64)> = events
        .filter(|one| one["ph"] == "X")
        .map(|one| {
            let from = one["ts"].as_f64().expect("ts");
            let to = from + one["dur"].as_f64().expect("dur");
            let weight = one["args"]["weight"].as_f64().expect("weight");
            (one["tid"].as_i64().expect("tid"), from, to, weight)
        })
        .collect();
    // At one start the longer call is outside; of two equal ones, the later written.
    let order = |a: &(i64, f64, f64, f64), b: &(i64, f64, f64, f64)| {
        (a.0.cmp(&b.0))
            .then(a.1.total_cmp(&b.1))
            .then(b.2.total_cmp(&a.2))
    };
    calls.sort_by(order);
    let mut sum = 0.0;
    let mut end = (0, f64::MIN);
    for (tid, from, to, weight) in calls {
        if end.0 != tid || from >= end.1 - 1e-3 {
            sum += weight;
            end = (tid, to);
        }
    }
    sum
}

/// Every format of the recording in `directory` has the total of genba's own collapsed stacks.
fn formats_agree(test: &str, directory: &Path) {
    let own = stdout_of(
        directory,
        &["flame", "--on-cpu", "--collapsed", "-o", "-", "recording"],
    );
    let weight = |line: &str| line.rsplit_once(' ').expect("a weight").1.parse::<f64>();
    let own: f64 = own.lines().map(|line| weight(line).expect("ns")).sum();
    for (format, total) in totals(directory) {
        assert!(
            (total / own - 1.0).abs() < 1e-9,
            "{format}: {total} of {own}"
        );
    }
    let report = json(directory, "profile", &["report", "--json", "recording"]);
    let hottest = &report["functions"][0];
    let share = hottest["self"]["value"].as_f64().expect("a share");
    let name = hottest["function"].as_str().expect("a name");
    go_agrees(test, directory, own, name, share);
    callgrind_annotate_agrees(test, directory, own);
    collapse_perf_agrees(directory, own);
}

/// `callgrind_annotate` shows the total.
fn callgrind_annotate_agrees(test: &str, directory: &Path, own: f64) {
    if !crate::support::tool_exists(test, "callgrind_annotate") {
        return;
    }
    let run = Command::new("callgrind_annotate")
        .arg("out.callgrind")
        .current_dir(directory)
        .output()
        .expect("callgrind_annotate starts");
    let text = String::from_utf8_lossy(&run.stdout);
    let total = text.lines().find(|line| line.contains("PROGRAM TOTALS"));
    let total = total.and_then(|line| line.split_whitespace().next());
    let total: f64 = total.expect("totals").replace(',', "").parse().expect("ns");
    assert!((total / own - 1.0).abs() < 1e-9, "{total} of {own}");
}

/// inferno's reader of the text of perf script, a port of stackcollapse-perf.pl, has the total.
fn collapse_perf_agrees(directory: &Path, own: f64) {
    use inferno::collapse::Collapse as _;
    let mut folded = Vec::new();
    inferno::collapse::perf::Folder::default()
        .collapse_file(Some(directory.join("out.perf-script")), &mut folded)
        .expect("text of perf script");
    let folded = String::from_utf8(folded).expect("UTF-8");
    let weight = |line: &str| line.rsplit_once(' ').expect("a weight").1.parse::<f64>();
    let sum: f64 = folded.lines().map(|line| weight(line).expect("ns")).sum();
    assert!((sum / own - 1.0).abs() < 1e-9, "{sum} of {own}");
}

/// `go tool pprof` shows the total, and the hottest function with its share.
fn go_agrees(test: &str, directory: &Path, own: f64, name: &str, share: f64) {
    if Command::new("go").arg("version").output().is_err() {
        genba_testing::skip(test, "go", "go is not installed");
        return;
    }
    let run = Command::new("go")
        .args(["tool", "pprof", "-top", "-noinlines", "-unit=ns"])
        .args(["-nodefraction=0", "out.pprof"])
        .current_dir(directory)
        .output()
        .expect("go starts");
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let total = text.split("Total samples = ").nth(1).expect("a total");
    let total: f64 = total.split("ns").next().unwrap_or("").parse().expect("ns");
    assert!((total / own - 1.0).abs() < 1e-6, "{total} of {own}: {text}");
    let first = text
        .lines()
        .skip_while(|line| !line.trim().starts_with("flat"))
        .nth(1);
    let words: Vec<&str> = first.unwrap_or("").split_whitespace().collect();
    let flat: f64 = words[1].trim_end_matches('%').parse().expect("a share");
    assert!(
        (flat / 100.0 - share).abs() < 1e-3,
        "{text}\n{name}: {share}"
    );
}

#[test]
fn formats_agree_for_one_thread_with_inlined_functions() {
    let test = "formats_agree_for_one_thread_with_inlined_functions";
    let place = scratch();
    let Some(prog) = program(test, place.path(), "inline.cc", &["-g", "-O2"]) else {
        return;
    };
    let command = [prog.to_str().expect("a path"), "300"];
    if record(test, place.path(), &["-g"], &command).is_none() {
        return;
    }
    formats_agree(test, place.path());
    let profile: Value = serde_json::from_slice(&export(place.path(), "firefox")).expect("JSON");
    let frames = &profile["threads"][0]["frameTable"];
    let depths = frames["inlineDepth"].as_array().expect("depths");
    assert!(depths.iter().any(|depth| depth.as_u64() == Some(2)));
    let lines = frames["line"].as_array().expect("lines");
    assert!(lines.iter().any(|line| line.is_u64()));
    speedscope_shows(test, place.path(), "shop::total");
}

#[test]
fn formats_agree_for_eight_threads() {
    let test = "formats_agree_for_eight_threads";
    let place = scratch();
    let Some(prog) = program(test, place.path(), "threads.c", &["-O2", "-pthread"]) else {
        return;
    };
    let command = [prog.to_str().expect("a path"), "8", "5"];
    if record(test, place.path(), &["-g"], &command).is_none() {
        return;
    }
    formats_agree(test, place.path());
    let profile: Value = serde_json::from_slice(&export(place.path(), "firefox")).expect("JSON");
    let names = profile["threads"].as_array().expect("threads").iter();
    let workers = names.filter(|one| {
        one["name"]
            .as_str()
            .is_some_and(|name| name.contains("worker"))
    });
    assert_eq!(workers.count(), 8);
}

#[test]
fn formats_agree_for_compiled_javascript() {
    let test = "formats_agree_for_compiled_javascript";
    let place = scratch();
    if !crate::support::tool_exists(test, "node") {
        return;
    }
    let script = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n\
                  console.log(fib(32));\n";
    std::fs::write(place.path().join("fib.js"), script).expect("written");
    let command = ["node", "--perf-basic-prof", "fib.js"];
    if record(test, place.path(), &["-g"], &command).is_none() {
        return;
    }
    formats_agree(test, place.path());
    let text = String::from_utf8(export(place.path(), "collapsed")).expect("UTF-8");
    assert!(text.contains("fib"), "{text}");
}

/// speedscope itself, in a browser, shows this function in its table.
fn speedscope_shows(test: &str, directory: &Path, function: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/viewers/node_modules/speedscope/dist/release/index.html");
    if !page.is_file() {
        genba_testing::skip(test, "speedscope", "not installed: scripts/install-viewers");
        return;
    }
    if !crate::support::tool_exists(test, "chromium") {
        return;
    }
    let encoded = base64(&export(directory, "speedscope"));
    let loader = directory.join("load.js");
    let script = format!("speedscope.loadFileFromBase64(\"out.speedscope.json\", \"{encoded}\")");
    std::fs::write(&loader, script).expect("written");
    let page: PathBuf = page.canonicalize().expect("it exists");
    let url = format!(
        "file://{}#localProfilePath={}&view=sandwich",
        page.display(),
        loader.display()
    );
    let run = Command::new("timeout")
        .args([
            "60",
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
        ])
        .args([
            "--use-gl=angle",
            "--use-angle=swiftshader",
            "--allow-file-access-from-files",
        ])
        .arg(format!(
            "--user-data-dir={}",
            directory.join("browser").display()
        ))
        .args(["--virtual-time-budget=30000", "--dump-dom", &url])
        .output()
        .expect("chromium starts");
    let dom = String::from_utf8_lossy(&run.stdout);
    if dom.is_empty() {
        genba_testing::skip(test, "chromium", &String::from_utf8_lossy(&run.stderr));
        return;
    }
    assert!(dom.contains(function), "{dom}");
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, i| {
            word << 8 | u32::from(*chunk.get(i).unwrap_or(&0))
        });
        for i in 0..4 {
            match i <= chunk.len() {
                true => out.push(DIGITS[(word >> (18 - 6 * i) & 63) as usize] as char),
                false => out.push('='),
            }
        }
    }
    out
}

#[test]
fn comparisons_are_exported_for_other_services() {
    let place = scratch();
    stdout_of(
        place.path(),
        &[
            "bench", "-q", "-r", "3", "-n", "one", "true", "-n", "two", "true",
        ],
    );
    let read = |format: &str| -> Value {
        let text = stdout_of(
            place.path(),
            &["export", "--format", format, "-i", "latest"],
        );
        serde_json::from_str(&text).expect("JSON")
    };
    let hyperfine = read("hyperfine");
    assert_eq!(hyperfine["results"][1]["command"], "two");
    let median = hyperfine["results"][0]["median"].as_f64().expect("a time");
    let action = read("github-action-benchmark");
    assert_eq!(action[0]["value"].as_f64(), Some(median));
    assert_eq!(action[0]["unit"], "seconds");
    let bencher = read("bencher");
    let latency = &bencher["one"]["latency"];
    assert!((latency["value"].as_f64().expect("ns") / 1e9 - median).abs() < 1e-12);
    assert!(latency["lower_value"].as_f64() <= latency["value"].as_f64());
    let (code, _, said) = run_genba(
        place.path(),
        &["export", "--format", "pprof", "-i", "latest"],
    );
    assert!(code != 0 && said.contains("error"), "{said}");
}

#[test]
fn what_cannot_be_exported_is_said() {
    let place = scratch();
    let run = |args: &[&str]| run_genba(place.path(), args);
    let (code, _, said) = run(&["export", "--format", "pprof", "-o", "x"]);
    assert!(code == 2 && said.contains("no perf.data"), "{said}");
    let (code, _, said) = run(&["export", "--format", "pprf", "-o", "x"]);
    assert!(code == 2 && said.contains("pprof"), "{said}");
    let (code, _, said) = run(&["export", "--format", "bencher"]);
    assert!(code == 2 && said.contains("genba bench"), "{said}");
    std::fs::write(place.path().join("perf.data"), b"PERFILE2").expect("written");
    let (code, _, said) = run(&["export", "--format", "pprof", "-o", "perf.data"]);
    assert!(code == 2, "{said}");
    let kept = std::fs::read(place.path().join("perf.data")).expect("it is there");
    assert_eq!(kept, b"PERFILE2");
}
