//! `genba record --data` and `genba report --by data`. Few machines sample levels and latencies of loads; page faults,
//! which have the address in the same field, test what is around that.

use std::process::Command;

use serde_json::Value;

use crate::support::{json, record, run_genba, scratch, tool_exists};

/// Touches 1,024 pages in one function: none of them may be part of a large page.
const TOUCHES: &str = r"
#define _GNU_SOURCE
#include <sys/mman.h>
__attribute__((noinline)) void touch_pages(volatile char *at, long bytes) {
    for (long i = 0; i < bytes; i += 4096)
        at[i] = 1;
}
int main(void) {
    char *at = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, 4 << 20, MADV_NOHUGEPAGE);
    touch_pages(at, 4 << 20);
    return 0;
}
";

/// Samples of all functions, and of one.
fn samples(document: &Value, function: &str) -> (u64, u64) {
    let of = |accesses: &Value| accesses["samples"].as_u64().expect("a number");
    let functions = document["functions"].as_array().expect("functions");
    let found = functions.iter().find(|row| row["function"] == function);
    (
        of(&document["all"]),
        found.map_or(0, |row| of(&row["accesses"])),
    )
}

#[test]
fn addresses_of_samples_are_recorded_and_read() {
    let test = "addresses_of_samples_are_recorded_and_read";
    let here = scratch();
    let options = ["-O1", "-g"];
    let Some(program) = genba_testing::compile_c(test, here.path(), TOUCHES, &options, &[]) else {
        return;
    };
    let program = program.to_str().expect("UTF-8");
    let options = ["--data", "-e", "page-faults:u", "-c", "1", "-g"];
    if record(test, here.path(), &options, &[program]).is_none() {
        return;
    }
    let args = ["report", "--by", "data", "-i", "recording", "--json"];
    let document = json(here.path(), "data-profile", &args);
    let (all, touched) = samples(&document, "touch_pages");
    // Of 1,024 faults in a moment the kernel may throttle most.
    assert!(touched >= 1 && all >= touched, "{document}");
    assert_eq!(
        document["all"]["levels"][0]["level"], "unknown",
        "{document}"
    );
    let args = ["report", "--by", "data", "-i", "recording", "--limit", "0"];
    let (code, text, said) = run_genba(here.path(), &args);
    assert!(code == 0 && text.contains("touch_pages"), "{text}{said}");
    // The other fields of the samples are where they belong.
    let profile = json(
        here.path(),
        "profile",
        &["report", "-i", "recording", "--json"],
    );
    assert!(profile["functions"].to_string().contains("touch_pages"));
    if !tool_exists(test, "perf") {
        return;
    }
    let recorded = Command::new("perf")
        .args([
            "record",
            "-q",
            "-d",
            "-W",
            "-e",
            "page-faults:u",
            "-c",
            "1",
            "-o",
            "of-perf",
            program,
        ])
        .current_dir(here.path())
        .output()
        .expect("perf starts");
    assert!(recorded.status.success(), "{recorded:?}");
    let args = ["report", "--by", "data", "-i", "of-perf", "--json"];
    let (_, of_perf) = samples(&json(here.path(), "data-profile", &args), "touch_pages");
    assert!(of_perf >= 1, "{of_perf} of {touched}");
}

#[test]
fn machine_without_load_samples_is_told_of_observe() {
    let test = "machine_without_load_samples_is_told_of_observe";
    let here = scratch();
    if record(test, here.path(), &[], &["true"]).is_none() {
        return;
    }
    let (code, _, said) = run_genba(here.path(), &["report", "--by", "data", "-i", "recording"]);
    assert!(
        code == 2 && said.contains("genba record --data"),
        "{code}: {said}"
    );
    let (code, _, said) = run_genba(here.path(), &["record", "--data", "--", "true"]);
    match code {
        0 => {}
        4 => assert!(
            said.contains("genba observe") || said.contains("perf mem record"),
            "{said}"
        ),
        other => panic!("{other}: {said}"),
    }
}
