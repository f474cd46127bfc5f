//! `genba fix` from end to end, on a program that takes the length of a string in a loop condition.

use std::fs;
use std::process::Command;

use crate::support::{json, run_genba, scratch};

const SOURCE: &str = r#"#include <stdio.h>
#include <string.h>

static char text[4000];
static unsigned counts[256];

__attribute__((noinline)) static void count(const char *string)
{
    for (size_t i = 0; i < strlen(string); i++)
        counts[(unsigned char)string[i]]++;
}

int main(void)
{
    unsigned total = 0;
    memset(text, 'x', sizeof text - 1);
    for (int round = 0; round < 500; round++) {
        text[round] = 'y';
        count(text);
    }
    for (int letter = 0; letter < 256; letter++)
        total = total * 31 + counts[letter];
    printf("%u\n", total);
    return 0;
}
"#;

const FIX: [&str; 8] = [
    "fix",
    "1",
    "--json",
    "--metric",
    "exact-instructions",
    "--layouts",
    "0",
    "--build",
];

#[test]
fn invariant_length_gets_a_patch_that_compiles_gains_and_keeps_the_output() {
    let test = "invariant_length_gets_a_patch_that_compiles_gains_and_keeps_the_output";
    let directory = scratch();
    let here = directory.path();
    fs::write(here.join("sum.c"), SOURCE).expect("a file");
    // Without inlining of strlen. The stores may change the string as far as a compiler knows.
    let build = "gcc -O1 -g -fno-builtin-strlen -o sum sum.c";
    let made = Command::new("sh")
        .args(["-c", build])
        .current_dir(here)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        genba_testing::skip(test, "gcc", "no gcc");
        return;
    }
    let (code, said, error) = run_genba(
        here,
        &["explain", "--json", "--budget", "2s", "--", "./sum"],
    );
    if code == 4 {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error);
        return;
    }
    assert!(said.contains("loop-invariant-call"), "{said} {error}");
    let again = ["explain", "-i", "latest", "--reevaluate", "--json"];
    let again = json(here, "explanation", &again);
    assert_eq!(again["command"], serde_json::json!(["./sum"]));
    assert!(again["case"].is_string(), "{again}");

    let shown = json(
        here,
        "fix",
        &["fix", "--dry-run", "--json", "--build", build],
    );
    assert_eq!(shown["verdict"], "not_tried");
    assert!(
        shown["tried"][0]["diff"]
            .as_str()
            .expect("a diff")
            .contains("+    const size_t length = strlen(string);")
    );

    // Counted instructions: no noise.
    let all = json(
        here,
        "fix",
        &[&FIX[..], &[build, "--check", "test -x sum", "--apply"]].concat(),
    );
    assert_eq!(all["verdict"], "gain", "{all}");
    assert_eq!(
        (&all["applied"], &all["compiles"], &all["output_identical"]),
        (&true.into(), &true.into(), &true.into())
    );
    assert!(all["speedup"]["low"].as_f64().expect("a number") > 1.05);
    assert_eq!(all["tried"][0]["check_passed"], true);
    let patch = all["patch"].as_str().expect("a patch");
    assert!(
        patch.contains("Cause: loop-invariant-call at sum.c:9 in count"),
        "{patch}"
    );
    let applied = fs::read_to_string(here.join("sum.c")).expect("the source");
    assert_eq!(
        applied,
        SOURCE.replace(
            "    for (size_t i = 0; i < strlen(string)",
            "    const size_t length = strlen(string);\n    for (size_t i = 0; i < length"
        )
    );

    // What was measured stands there no longer.
    let changed = json(
        here,
        "fix",
        &["fix", "--dry-run", "--json", "--build", build],
    );
    let reason = changed["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("sum.c is another than when it was measured (line 9 was `for (size_t i"),
        "{reason}"
    );

    // The file that was written is a patch of the original.
    fs::write(here.join("sum.c"), SOURCE).expect("a file");
    let file = all["patch_file"].as_str().expect("a path");
    let done = Command::new("git")
        .args(["apply", "--check", file])
        .current_dir(here)
        .status();
    assert!(done.is_ok_and(|status| status.success()), "{patch}");

    // The project's own tests decide.
    let refused = json(
        here,
        "fix",
        &[&FIX[..], &[build, "--check", "false"]].concat(),
    );
    assert_eq!(
        (&refused["verdict"], &refused["patch"]),
        (&"check_failed".into(), &serde_json::Value::Null)
    );

    // A build that the sources do not stand.
    let broken = run_genba(here, &["fix", "--layouts", "0", "--build", "exit 1"]);
    assert_eq!(broken.0, 2, "{broken:?}");
    assert!(
        broken.2.contains("the unchanged program cannot be built"),
        "{broken:?}"
    );

    // That nothing can be claimed of a program that was built again is an answer, not a failure.
    let built = Command::new("sh")
        .args(["-c", &build.replace("-O1", "-O2")])
        .current_dir(here)
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    let unproven = json(here, "proof", &["prove", "--json"]);
    assert!(unproven["proven"].is_null(), "{unproven}");
    let reason = unproven["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("another file than when it was measured"),
        "{reason}"
    );

    let (code, _, error) = run_genba(here, &["fix", "9"]);
    assert_eq!(code, 2);
    assert!(error.contains("no number 9;"), "{error}");
}

#[test]
fn directory_without_cases_is_an_error() {
    let directory = scratch();
    let (code, _, error) = run_genba(directory.path(), &["fix"]);
    assert_eq!(code, 2);
    assert!(error.starts_with("error: "), "{error}");
}
