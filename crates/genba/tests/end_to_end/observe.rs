//! What bursts see, from end to end, of a program whose behaviour is known.

use std::fs;
use std::path::Path;

use crate::support::{json, program, run_genba, scratch};
use serde_json::Value;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/observed.c");

/// The line with this comment.
fn line(comment: &str) -> u64 {
    let text = fs::read_to_string(SOURCE).expect("the source");
    let wanted = format!("/* {comment} */");
    let at = text.lines().position(|line| line.contains(&wanted));
    at.expect("the comment") as u64 + 1
}

/// What was observed of `work`; `None`, with a skip, where no engine has bursts.
fn observed(test: &str, directory: &Path) -> Option<Value> {
    let prog = program(test, directory, "observed.c", &["-g", "-O2"])?;
    let prog = prog.to_str().expect("a plain path");
    let command = ["observe", "work", "--json", "--", prog, "20000000"];
    let (code, _, error) = run_genba(directory, &["observe", "work", "--", prog, "20000000"]);
    if code == 4 {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error);
        return None;
    }
    Some(json(directory, "observation", &command))
}

/// The largest value of a share over the instructions of a line.
fn share(all: &Value, line: u64, of: impl Fn(&Value) -> &Value) -> f64 {
    let list = all["instructions"].as_array().expect("instructions");
    let here = list.iter().filter(|one| one["line"] == line);
    here.filter_map(|one| of(one)["value"].as_f64())
        .fold(f64::NAN, f64::max)
}

#[test]
fn branches_loads_and_repeated_work_are_seen_on_their_lines() {
    let test = "branches_loads_and_repeated_work_are_seen_on_their_lines";
    let directory = scratch();
    let Some(all) = observed(test, directory.path()) else {
        return;
    };
    assert!(all["bursts"].as_u64().expect("a number") >= 5, "{all}");
    let missed = share(&all, line("toss"), |one| &one["branch"]["mispredicted"]);
    assert!((0.35..0.65).contains(&missed), "toss {missed}");
    let missed = share(&all, line("flag"), |one| &one["branch"]["mispredicted"]);
    assert!(missed < 0.02, "flag {missed}");
    let l1 = share(&all, line("gather"), |one| &one["loads"]["l1"]);
    assert!(l1 > 0.0, "gather {l1}");
    let list = all["instructions"].as_array().expect("instructions");
    let far = list.iter().filter(|one| one["line"] == line("gather"));
    let far = far.filter_map(|one| one["loads"]["l1"]["value"].as_f64());
    assert!(far.fold(1.0, f64::min) < 0.1, "{all}");
    let dead = share(&all, line("dead"), |one| &one["redundant"]["dead_store"]);
    assert!(dead > 0.95, "dead {dead}");
    let again = share(
        &all,
        line("again"),
        |one| &one["redundant"]["repeated_call"],
    );
    assert!(again > 0.95, "again {again}");
}
