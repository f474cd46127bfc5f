//! Every format is read back by its own reader where one is installed, else by a small reader here:
//! totals are those of the samples.

use std::collections::BTreeMap;
use std::process::Command;

use genba_model::{
    CodeKind, Event, Precision, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder,
    SampledFrame, SampledFunction, SampledThread,
};
use serde_json::Value;

use super::*;
use crate::test_fixtures::{self, ATTACKS};
use crate::wall_flame_graph::Shown;

/// `main` calls `walk`, which calls itself; `leaf` is inlined into it; two threads, kernel code, and
/// names that `name` makes.
fn detail(name: impl Fn(&str) -> String) -> SampledDetail {
    let event = Event {
        name: name("cpu-clock"),
        hardware: false,
        frequency_hz: 1000,
        kernel: true,
        precision: Precision::Skid,
    };
    let mut b = SampledDetailBuilder::new(event, SampleUnit::Nanoseconds, vec![name("./prog")]);
    let program = b.module(&name("/bin/prog"), Some("ab".repeat(20)));
    let kernel = b.module(&name("[kernel]"), None);
    let file = b.file(&name("a.c"));
    let header = b.file(&name("leaf.h"));
    let function = |b: &mut SampledDetailBuilder, text: &str, module, kind| {
        b.function(SampledFunction {
            name: name(text),
            module: Some(module),
            file: Some(file),
            line: Some(10),
            kind,
        })
    };
    let main = function(&mut b, "main", program, CodeKind::User);
    let walk = function(&mut b, "walk", program, CodeKind::User);
    let leaf = function(&mut b, "leaf", program, CodeKind::User);
    let fault = function(&mut b, "fault", kernel, CodeKind::Kernel);
    let frame = |b: &mut SampledDetailBuilder, function, line, inlined| {
        b.frame(SampledFrame {
            function,
            address: Some(0x1000 + u64::from(line)),
            file: Some(if inlined { header } else { file }),
            line: Some(line),
            inlined,
        })
    };
    let frames = [
        frame(&mut b, main, 12, false),
        frame(&mut b, walk, 22, false),
        frame(&mut b, leaf, 3, true),
        frame(&mut b, fault, 9, false),
    ];
    let in_main = b.stack(None, frames[0]);
    let in_walk = b.stack(Some(in_main), frames[1]);
    let in_walk_again = b.stack(Some(in_walk), frames[1]);
    let in_leaf = b.stack(Some(in_walk_again), frames[2]);
    let in_fault = b.stack(Some(in_main), frames[3]);
    for (tid, stack, time) in [
        (7, in_leaf, 1),
        (7, in_leaf, 2),
        (8, in_fault, 2),
        (7, in_walk, 3),
        (7, in_main, 9),
    ] {
        let thread = b.thread(SampledThread {
            pid: 7,
            tid,
            name: name("worker"),
        });
        b.detail.samples.push(Sampled {
            thread,
            stack,
            time_ns: Some(time * 1_000_000),
            weight: 1_000_000,
            samples: 1,
        });
    }
    b.detail
}

fn plain() -> SampledDetail {
    detail(str::to_owned)
}

/// The same with an attack in every name.
fn hostile() -> SampledDetail {
    detail(|text| format!("{text}\n9 9;1\ncalls=1 {}", ATTACKS.concat()))
}

fn written(format: SamplesFormat, detail: &SampledDetail) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_samples(format, detail, &mut bytes).unwrap();
    bytes
}

fn json(format: SamplesFormat, detail: &SampledDetail) -> Value {
    serde_json::from_slice(&written(format, detail)).unwrap()
}

fn text(format: SamplesFormat, detail: &SampledDetail) -> String {
    String::from_utf8(written(format, detail)).unwrap()
}

#[test]
fn collapsed_stacks_have_inlined_functions() {
    assert_eq!(
        text(SamplesFormat::Collapsed, &plain()),
        "main;walk;walk;leaf 2000000\nmain 1000000\nmain;fault 1000000\nmain;walk 1000000\n"
    );
    for line in text(SamplesFormat::Collapsed, &hostile()).lines() {
        assert!(line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok());
    }
}

#[test]
fn speedscope_has_one_profile_a_thread() {
    for detail in [plain(), hostile()] {
        let file = json(SamplesFormat::Speedscope, &detail);
        let profiles = file["profiles"].as_array().unwrap();
        assert_eq!(profiles.len(), 2);
        let mut total = 0;
        for profile in profiles {
            let weights = profile["weights"].as_array().unwrap();
            let sum: u64 = weights.iter().map(|one| one.as_u64().unwrap()).sum();
            assert_eq!(profile["endValue"], sum);
            assert_eq!(profile["samples"].as_array().unwrap().len(), weights.len());
            total += sum;
        }
        assert_eq!(total, 5_000_000);
        // Two samples of one stack in a row are one, and its innermost frame is the inlined one.
        let stack: Vec<usize> = serde_json::from_value(profiles[0]["samples"][0].clone()).unwrap();
        let frames = file["shared"]["frames"].as_array().unwrap();
        assert_eq!((stack.len(), frames.len()), (4, 4));
        assert!(
            frames[stack[3]]["name"]
                .as_str()
                .unwrap()
                .starts_with("leaf")
        );
    }
}

#[test]
fn chrome_trace_has_the_weight_of_all_samples() {
    for detail in [plain(), hostile()] {
        let trace = json(SamplesFormat::ChromeTrace, &detail);
        let events = trace["traceEvents"].as_array().unwrap();
        let main = (events.iter())
            .filter(|one| one["ph"] == "X" && one["name"].as_str().unwrap().starts_with("main"));
        let main: Vec<&Value> = main.collect();
        // A gap of 5 ms divides the first thread's call; the other thread has its own.
        assert_eq!(main.len(), 3);
        let weights: u64 = main
            .iter()
            .map(|one| one["args"]["weight"].as_u64().unwrap())
            .sum();
        assert_eq!(weights, 5_000_000);
        assert_eq!(
            main.iter()
                .map(|one| one["dur"].as_f64().unwrap())
                .sum::<f64>(),
            5000.0
        );
    }
    let mut untimed = plain();
    untimed.samples[1].time_ns = None;
    let refused = write_samples(SamplesFormat::ChromeTrace, &untimed, &mut Vec::new());
    assert!(matches!(refused, Err(ExportError::NoTimes(_))));
}

/// Checks the columns of a table of a Firefox profile and returns its length.
fn columns(table: &Value) -> usize {
    let length = table["length"].as_u64().unwrap() as usize;
    for (name, column) in table.as_object().unwrap() {
        if let Some(column) = column.as_array() {
            assert_eq!(column.len(), length, "{name}");
        }
    }
    length
}

fn indices_below(column: &Value, limit: usize) {
    for index in column
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| !one.is_null())
    {
        assert!((index.as_u64().unwrap() as usize) < limit, "{column}");
    }
}

#[test]
fn firefox_tables_are_consistent() {
    for detail in [plain(), hostile()] {
        let profile = json(SamplesFormat::Firefox, &detail);
        let categories = profile["meta"]["categories"].as_array().unwrap().len();
        let mut total = 0.0;
        for thread in profile["threads"].as_array().unwrap() {
            let strings = thread["stringArray"].as_array().unwrap().len();
            let functions = columns(&thread["funcTable"]);
            let frames = columns(&thread["frameTable"]);
            let stacks = columns(&thread["stackTable"]);
            assert!(columns(&thread["samples"]) > 0);
            columns(&thread["markers"]);
            columns(&thread["resourceTable"]);
            indices_below(&thread["funcTable"]["name"], strings);
            indices_below(&thread["funcTable"]["fileName"], strings);
            indices_below(&thread["frameTable"]["func"], functions);
            indices_below(&thread["frameTable"]["category"], categories);
            indices_below(&thread["stackTable"]["frame"], frames);
            indices_below(&thread["stackTable"]["prefix"], stacks);
            indices_below(&thread["samples"]["stack"], stacks);
            let weights = thread["samples"]["weight"].as_array().unwrap();
            total += weights.iter().map(|one| one.as_f64().unwrap()).sum::<f64>();
        }
        assert_eq!(total, 5.0);
        let frames = &profile["threads"][0]["frameTable"];
        assert_eq!(frames["inlineDepth"], serde_json::json!([0, 0, 1]));
        assert_eq!(frames["line"], serde_json::json!([12, 22, 3]));
        assert_eq!(profile["threads"][1]["frameTable"]["category"][1], 2);
    }
}

#[test]
fn firefox_profile_of_waits_has_reasons_and_timelines() {
    let waits = test_fixtures::waits();
    let detail = wall_time_detail(&waits, Shown::All);
    let seconds: f64 = waits.stacks.iter().map(|one| one.seconds).sum();
    assert!((detail.total_weight() as f64 / 1e9 - seconds).abs() < 1e-6);
    let off = wall_time_detail(&waits, Shown::OffCpu);
    assert!(off.total_weight() < detail.total_weight());
    let profile = json(SamplesFormat::Firefox, &detail);
    let threads = profile["threads"].as_array().unwrap();
    assert!(threads.iter().any(|one| columns(&one["markers"]) > 0));
    let off_cpu = |one: &Value| {
        let categories = one["frameTable"]["category"].as_array().unwrap();
        categories.iter().any(|category| category == 4)
    };
    assert!(threads.iter().any(off_cpu));
    // What has no times for its samples still has those of the threads.
    let trace = json(SamplesFormat::ChromeTrace, &detail);
    let spans = trace["traceEvents"].as_array().unwrap().iter();
    assert_eq!(
        spans.filter(|one| one["ph"] == "X").count(),
        detail.spans.len()
    );
    json(
        SamplesFormat::Firefox,
        &wall_time_detail(&test_fixtures::hostile_waits(), Shown::All),
    );
}

/// stackcollapse-perf, as inferno has it, makes of the text the same stacks.
#[test]
fn perf_script_collapses_to_the_same_stacks() {
    use inferno::collapse::{Collapse as _, perf};
    let mut folder = perf::Folder::from(perf::Options::default());
    let mut out = Vec::new();
    let script = written(SamplesFormat::PerfScript, &plain());
    folder.collapse(script.as_slice(), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    // It takes the period as the weight.
    let weights = out.lines().map(|line| line.rsplit_once(' ').unwrap().1);
    let sum: u64 = weights.map(|weight| weight.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 5_000_000, "{out}");
    assert!(out.contains("main;walk;walk;leaf 2000000"), "{out}");
    // No name of a hostile profile begins a line.
    let hostile = text(SamplesFormat::PerfScript, &hostile());
    let frames = hostile
        .lines()
        .filter(|line| line.starts_with('\t'))
        .count();
    let heads = hostile.lines().filter(|line| line.ends_with(": ")).count();
    let blank = hostile.lines().filter(|line| line.is_empty()).count();
    assert_eq!((frames, heads, blank), (13, 5, 5), "{hostile}");
    assert_eq!(hostile.lines().count(), 23);
    let out = text(SamplesFormat::PerfScript, &plain());
    assert!(out.contains("leaf (inlined)\n") && out.contains("walk (/bin/prog)\n"));
}

/// perf writes names of threads as they are, and so do we; readers must not take a number in them for a time.
#[test]
fn thread_names_with_blanks_and_digits_keep_their_weights() {
    use inferno::collapse::{Collapse as _, perf};
    for name in [
        "worker 1",
        "1 2",
        "tokio-rt 12/34",
        "kworker/0:1",
        "pool 3: 4",
        "pool 3 a:b",
        "worker 9 8;1 <x>:y 7",
        "a 1:2 3",
        "12",
    ] {
        for timed in [true, false] {
            let mut detail = detail(str::to_owned);
            detail
                .threads
                .iter_mut()
                .for_each(|one| one.name = name.to_owned());
            if !timed {
                detail.samples.iter_mut().for_each(|one| one.time_ns = None);
            }
            let mut folder = perf::Folder::from(perf::Options::default());
            let mut out = Vec::new();
            let script = written(SamplesFormat::PerfScript, &detail);
            folder.collapse(script.as_slice(), &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            let weights = out.lines().map(|line| line.rsplit_once(' ').unwrap().1);
            let sum: u64 = weights.map(|weight| weight.parse::<u64>().unwrap()).sum();
            assert_eq!(sum, 5_000_000, "{name} {timed}: {out}");
        }
    }
}

/// Costs by name in a tool's table: the first column and the last word of each line.
fn table(text: &str) -> BTreeMap<String, String> {
    (text.lines())
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((
                line.split_whitespace().last()?.to_owned(),
                words.next()?.to_owned(),
            ))
        })
        .collect()
}

#[test]
fn callgrind_annotate_shows_self_and_inclusive_costs() {
    let test = "callgrind_annotate_shows_self_and_inclusive_costs";
    if !genba_testing::has(test, "callgrind_annotate") {
        return;
    }
    let place = std::env::temp_dir().join(format!("genba-samples-{}", std::process::id()));
    let run = |detail: &SampledDetail, options: &[&str]| {
        std::fs::write(&place, written(SamplesFormat::Callgrind, detail)).unwrap();
        let run = Command::new("callgrind_annotate")
            .args(["--auto=no", "--threshold=100", "--show-percs=no"])
            .args(options)
            .arg(&place)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8_lossy(&run.stdout).into_owned()
    };
    let own = run(&plain(), &[]);
    assert!(own.contains("5,000,000"), "{own}");
    let inclusive = run(&plain(), &["--inclusive=yes"]);
    let row = |of: &str| {
        let found = inclusive
            .lines()
            .find(|line| line.contains(&format!("a.c:{of} [")));
        let line = found.unwrap_or_else(|| panic!("{of}: {inclusive}"));
        line.split_whitespace().next().unwrap().to_owned()
    };
    // A recursive function counts a sample once.
    assert_eq!(row("main"), "5,000,000");
    assert_eq!(row("walk"), "3,000,000");
    assert_eq!(row("fault"), "1,000,000");
    let hostile = run(&hostile(), &["--inclusive=yes"]);
    assert!(hostile.contains("5,000,000"), "{hostile}");
    let _ = std::fs::remove_file(&place);
}

#[test]
fn go_tool_pprof_shows_the_same_costs() {
    let test = "go_tool_pprof_shows_the_same_costs";
    let place = std::env::temp_dir().join(format!("genba-pprof-{}", std::process::id()));
    for detail in [plain(), hostile()] {
        std::fs::write(&place, written(SamplesFormat::Pprof, &detail)).unwrap();
        let run = Command::new("go")
            .args([
                "tool",
                "pprof",
                "-top",
                "-noinlines",
                "-unit=ns",
                "-nodefraction=0",
            ])
            .arg(&place)
            .output();
        let Ok(run) = run else {
            genba_testing::skip(test, "go", "go is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&run.stdout);
        let errors = String::from_utf8_lossy(&run.stderr);
        if errors.contains("no such tool") {
            genba_testing::skip(test, "go", &errors);
            return;
        }
        assert!(run.status.success(), "{errors}");
        assert!(text.contains("Total samples = 5000000ns"), "{text}");
        assert!(text.contains("5000000ns   100%"), "{text}");
    }
    std::fs::write(&place, written(SamplesFormat::Pprof, &plain())).unwrap();
    let run = Command::new("go")
        .args(["tool", "pprof", "-top", "-unit=ns", "-nodefraction=0"])
        .arg(&place)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let own = table(&text.replace(" (inline)", ""));
    assert_eq!(
        own.get("leaf").map(String::as_str),
        Some("2000000ns"),
        "{text}"
    );
    assert_eq!(
        own.get("walk").map(String::as_str),
        Some("1000000ns"),
        "{text}"
    );
    let _ = std::fs::remove_file(&place);
}

#[test]
fn stored_stacks_have_the_weight_of_the_profile() {
    let profile = test_fixtures::investigation().profile.unwrap();
    let detail = stacks_of_stored_profile(&profile);
    let weight: u64 = profile.collapsed.iter().map(|row| row.weight).sum();
    assert_eq!(detail.total_weight(), weight);
    assert!(detail.has_callers && !detail.is_timed());
    let hostile = stacks_of_stored_profile(&test_fixtures::hostile().profile.unwrap());
    for format in [
        SamplesFormat::Firefox,
        SamplesFormat::Speedscope,
        SamplesFormat::Pprof,
        SamplesFormat::Callgrind,
        SamplesFormat::Collapsed,
        SamplesFormat::PerfScript,
    ] {
        let bytes = written(format, &hostile);
        assert!(
            // pprof's numbers are any bytes.
            bytes.len() < 4 << 20 && (format == SamplesFormat::Pprof || !bytes.contains(&0x1b)),
            "{format:?}"
        );
    }
}
