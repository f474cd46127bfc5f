//! Code that a compiler at run time made, recorded and read after everything of it is gone.

use std::path::Path;
use std::process::Command;

use crate::support::run_genba;

/// Compiles a program and records it into `x.data`; false, with a where this cannot be had.
fn recorded(test: &str, at: &Path, gcc: &[&str], program: &str) -> bool {
    let made = Command::new("gcc").args(gcc).current_dir(at).status();
    if !made.is_ok_and(|status| status.success()) {
        genba_testing::skip(test, "gcc", "no gcc");
        return false;
    }
    let line = ["record", "-o", "x.data", "--sampler", "perf", "--", program];
    let (code, _, err) = run_genba(at, &line);
    if code == 4 {
        genba_testing::skip(test, genba_testing::PERF_EVENT, &err);
        return false;
    }
    assert_eq!(code, 0, "{err}");
    true
}

/// A generator of code in C: an endless loop that it puts into memory, with a perf map beside.
/// It removes the map, as a tidy program does.
const GENERATOR: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    /* mov rax,rdi; 1: imul rax,rax,3; dec rdi; jne 1b; ret */
    static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0x6b, 0xc0, 3,
                                         0x48, 0xff, 0xcf, 0x75, 0xf7, 0xc3};
    char *place = mmap(0, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place + 64, code, sizeof code);
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %lx made at run time\n", (unsigned long)place + 64, sizeof code);
    fclose(map);
    unsigned long (*run)(unsigned long) = (unsigned long (*)(unsigned long))(place + 64);
    unsigned long sum = 0;
    for (int i = 0; i < 60; i++) sum += run(10000000);
    unlink(name);
    return sum == 1;
}
"#;

#[test]
fn jit_functions_are_named_and_annotated_after_the_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("made.c"), GENERATOR).expect("the program");
    if !recorded(
        "a_function_made_at_run_time…",
        at,
        &["-O1", "-o", "made", "made.c"],
        "./made",
    ) {
        return;
    }
    // Moved, with what was kept beside it: nothing refers to where it was.
    std::fs::create_dir(at.join("moved")).expect("a directory");
    for name in ["x.data", "x.data.kept"] {
        std::fs::rename(at.join(name), at.join("moved").join(name)).expect("moved");
    }
    let (code, out, err) = run_genba(at, &["report", "-i", "moved/x.data", "--json"]);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let first = &document["functions"][0];
    assert_eq!(first["function"], "made at run time", "{out}");
    assert!(first["self"]["value"].as_f64() > Some(0.8), "{out}");
    let line = [
        "annotate",
        "-i",
        "moved/x.data",
        "--json",
        "made at run time",
    ];
    let (code, out, err) = run_genba(at, &line);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let texts: Vec<&str> = document["instructions"]
        .as_array()
        .expect("instructions")
        .iter()
        .filter_map(|i| i["text"].as_str())
        .collect();
    assert!(texts.iter().any(|t| t.starts_with("imul")), "{texts:?}");
    assert_eq!(texts.last(), Some(&"ret"), "{texts:?}");
}

#[test]
fn deleted_library_is_stored_with_the_recording() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    // Named as MJIT names its libraries: by the process, in the directory for temporary files.
    let program = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    char name[99], line[400];
    snprintf(name, sizeof name, "/tmp/_genba_test_p%du1", (int)getpid());
    snprintf(line, sizeof line,
             "printf 'unsigned long spin(unsigned long n) {"
             " unsigned long s = n; while (n--) s = s * 3 + n; return s; }' > %s.c &&"
             " gcc -O1 -shared -fPIC -g -o %s.so %s.c", name, name, name);
    if (system(line)) return 1;
    snprintf(line, sizeof line, "%s.so", name);
    void *library = dlopen(line, RTLD_NOW);
    if (!library) return 2;
    unlink(line);
    snprintf(line, sizeof line, "%s.c", name);
    unlink(line);
    unsigned long (*spin)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(library, "spin");
    unsigned long sum = 0;
    for (int i = 0; i < 60; i++) sum += spin(10000000);
    return sum == 1;
}
"#;
    std::fs::write(at.join("load.c"), program).expect("the program");
    if !recorded(
        "deleted_library_is_stored_with_the_recording",
        at,
        &["-O1", "-o", "load", "load.c", "-ldl"],
        "./load",
    ) {
        return;
    }
    let (code, out, err) = run_genba(at, &["annotate", "-i", "x.data", "--json", "spin"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("_genba_test_p"), "{out}");
    // The source line from the copy of the deleted file.
    assert!(out.contains("s = s * 3 + n"), "{out}");
    let (code, out, err) = run_genba(at, &["report", "-i", "x.data", "--by", "process"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("load"), "{out}");
}

/// Code made at run time whose perf maps are named in the file `maps`, for whoever removes them.
fn leaving_its_map() -> String {
    GENERATOR
        .replace(
            "unlink(name);",
            "FILE *maps = fopen(\"maps\", \"a\"); fprintf(maps, \"%s\\n\", name); fclose(maps);",
        )
        .replace("i < 60", "i < 10")
}

#[test]
fn case_explains_generated_code_by_name_after_its_perf_map_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("made.c"), leaving_its_map()).expect("the program");
    let gcc = Command::new("gcc")
        .args(["-O1", "-o", "made", "made.c"])
        .current_dir(at)
        .status();
    if !gcc.is_ok_and(|status| status.success()) {
        genba_testing::skip(
            "case_explains_generated_code_by_name_after_its_perf_map_is_gone",
            "gcc",
            "no gcc",
        );
        return;
    }
    // Each process generates the code anew.
    let twice = "./made; ./made";
    let line = [
        "explain", "--json", "--budget", "2s", "--", "sh", "-c", twice,
    ];
    let (code, first, err) = run_genba(at, &line);
    for map in std::fs::read_to_string(at.join("maps"))
        .unwrap_or_default()
        .lines()
    {
        let _ = std::fs::remove_file(map);
    }
    if code == 4 {
        genba_testing::skip(
            "case_explains_generated_code_by_name_after_its_perf_map_is_gone",
            genba_testing::PERF_EVENT,
            &err,
        );
        return;
    }
    assert_eq!(code, 0, "{err}");
    let (code, again, err) = run_genba(at, &["explain", "--json", "-i", "latest"]);
    assert_eq!(code, 0, "{err}");
    for text in [&first, &again] {
        let document: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert!(document["case"].is_string(), "{text}");
        let place = &document["places"][0];
        assert_eq!(place["site"]["function"], "made at run time", "{text}");
        assert_eq!(place["site"]["module"], "[jit]", "{text}");
        assert!(place["share"]["value"].as_f64() > Some(0.8), "{text}");
    }
}
