//! What is read for a part of a program alone must be what reading the whole gives.

use std::path::Path;
use std::process::Command;

use genba_symbols::{Binary, DebugSearch};

const NESTED: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int leaf(int x) { return x * x + 1; }
__attribute__((noipa)) int apply(int (*f)(int), int x) { return f(x) + leaf(x); }
__attribute__((noipa)) int outer(int n) {
    int sum = 0;
    __attribute__((noinline)) int inner(int x) { sum += leaf(x); return sum ^ n; }
    for (int i = 0; i < n; i++)
        sum += apply(inner, i);
    return sum;
}
int main(int argc, char **argv) { printf("%d\n", outer(atoi(argv[argc - 1]))); return 0; }
"#;

const CPP: &str = r#"
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace ns {
struct Outer { struct Inner { int v; __attribute__((noinline)) int twice() const { return 2 * v; } }; };
}
int main(int argc, char **argv) {
    std::vector<std::string> all(argv, argv + argc);
    struct Local { static __attribute__((noinline)) bool less(const std::string &a, const std::string &b) { return a.size() < b.size(); } };
    std::sort(all.begin(), all.end(), Local::less);
    std::map<std::string, int> count;
    for (auto &s : all) count[s] += ns::Outer::Inner{argc}.twice();
    auto f = [&](int n) __attribute__((noinline)) { return count.size() + n; };
    return f(argc) > 100;
}
"#;

/// Compares all functions of a program, with fresh readers: what one has read in whole it
/// would not read in part.
fn parts_equal_the_whole(path: &Path, most: usize) {
    let open = || Binary::open_with(path, DebugSearch::none()).unwrap();
    let whole = open();
    let symbols: Vec<_> = whole.symbols().filter(|s| s.size > 0).collect();
    let step = (symbols.len() / most).max(1);
    let mut lines = 0;
    for symbol in symbols.iter().step_by(step) {
        let window = symbol.address..symbol.end().min(symbol.address + 4000);
        let part = open();
        let mut frames = part.frames_in(window.clone());
        for address in window.step_by(3).chain([symbol.end(), 0]) {
            let expected = whole.frames_at(address);
            lines += usize::from(expected.iter().any(|frame| frame.line.is_some()));
            assert_eq!(
                frames.at(address),
                expected,
                "{address:#x} of {}",
                symbol.name
            );
        }
        let holds = |s: &&genba_symbols::Segment| {
            (s.address..s.address + s.file_size).contains(&symbol.address)
        };
        let segment = whole.segments().iter().find(holds);
        let segment = segment.expect("code is in the file");
        let offset = segment.file_offset + (symbol.address - segment.address);
        assert_eq!(whole.file_offset_to_svma(offset), Some(symbol.address));
        if let Some(word) = genba_symbols::word_of(&symbol.display_name()) {
            assert!(symbol.is_plt() || part.may_name(word), "{word}");
            let mut found = part.symbols_with(word);
            assert!(found.any(|other| other.address == symbol.address), "{word}");
        }
    }
    assert!(lines > 0, "no debug information in {}", path.display());
}

fn compiled(test: &str, compiler: &str, source: &str, flags: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let input = directory
        .path()
        .join(if compiler == "g++" { "a.cc" } else { "a.c" });
    std::fs::write(&input, source).unwrap();
    let output = directory.path().join("program");
    let mut command = Command::new(compiler);
    command
        .arg("-O2")
        .args(flags)
        .arg("-o")
        .arg(&output)
        .arg(&input);
    if !command.output().is_ok_and(|out| out.status.success()) {
        genba_testing::skip(
            test,
            compiler,
            &format!("{compiler} {} does not work here", flags.join(" ")),
        );
        return;
    }
    parts_equal_the_whole(&output, 400);
}

#[test]
fn partial_reading_equals_whole_reading_in_c() {
    for flags in [
        &["-gdwarf-2"][..],
        &["-gdwarf-4"],
        &["-gdwarf-5"],
        &["-gdwarf-5", "-ffunction-sections"],
    ] {
        compiled(
            "partial_reading_equals_whole_reading_in_c",
            "gcc",
            NESTED,
            flags,
        );
    }
}

#[test]
fn partial_reading_equals_whole_reading_in_cpp() {
    compiled(
        "partial_reading_equals_whole_reading_in_cpp",
        "g++",
        CPP,
        &["-g"],
    );
}

#[test]
fn partial_reading_equals_whole_reading_in_rust() {
    // This program: it has debug information in every profile that tests are built in.
    parts_equal_the_whole(&std::env::current_exe().unwrap(), 12);
}

#[test]
fn repeated_partial_reading_gives_the_same_frames() {
    let path = std::env::current_exe().unwrap();
    let binary = Binary::open_with(&path, DebugSearch::none()).unwrap();
    let Some(symbol) = binary.find("main").into_iter().next() else {
        genba_testing::skip(
            "repeated_partial_reading_gives_the_same_frames",
            genba_testing::MACHINE,
            "no main",
        );
        return;
    };
    let expected = Binary::open_with(&path, DebugSearch::none())
        .unwrap()
        .frames_at(symbol.address);
    for _ in 0..5 {
        let mut frames = binary.frames_in(symbol.address..symbol.end());
        assert_eq!(frames.at(symbol.address), expected);
    }
}

#[test]
fn word_absent_from_all_names_is_not_found() {
    let path = std::env::current_exe().unwrap();
    let binary = Binary::open_with(path, DebugSearch::none()).unwrap();
    // Put together here, so that the program does not hold it.
    let word = ["absent", "from", "symbols"].join("_qx_");
    assert!(!binary.may_name(&word));
    assert_eq!(binary.symbols_with(&word).count(), 0);
}
