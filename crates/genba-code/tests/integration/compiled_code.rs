//! Instructions and loops of compiled programs, against `objdump` and the source.

use std::path::PathBuf;
use std::process::Command;

use genba_code::{ControlFlow, Syntax, disassemble};
use genba_symbols::Binary;

const CPP: &str = r#"
#include <string>
#include <vector>
namespace ns {
template <class T> struct Box {
    T value;
    __attribute__((noinline)) T get(const T &other) const { return value + other; }
};
}
extern "C" __attribute__((noipa)) long digits(long n, long b) {
    long s = 0;
    while (n) { s += n % b; n /= b; }
    return s;
}
int main(int argc, char **argv) {
    std::vector<std::string> all;
    for (int i = 0; i < argc; i++)
        all.push_back(ns::Box<std::string>{argv[i]}.get("x"));
    return all.size() + digits(argc, 10) > 100;
}
"#;

/// Compiles the fixture; `None`, with the test recorded as skipped, where that cannot be done.
fn compile(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (
        directory.path().join("a.cc"),
        directory.path().join("program"),
    );
    std::fs::write(&source, CPP).unwrap();
    let options = ["-O2", "-g"];
    genba_testing::compile(test, "g++", &source, &program, &options, &[])
        .then_some((directory, program))
}

#[test]
fn instructions_equal_objdump() {
    let test = "instructions_equal_objdump";
    let Some((_directory, path)) = compile(test) else {
        return;
    };
    let listing = Command::new("objdump")
        .args(["-d", "-z", "-w", "-j", ".text"])
        .arg(&path)
        .output();
    let Some(listing) = listing.ok().filter(|out| out.status.success()) else {
        genba_testing::skip(test, "objdump", "objdump does not work here");
        return;
    };
    let expected: Vec<(u64, usize)> = String::from_utf8_lossy(&listing.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let address = fields.next()?.trim().strip_suffix(':')?;
            let bytes = fields.next()?.split_whitespace().count();
            Some((u64::from_str_radix(address, 16).ok()?, bytes))
        })
        .collect();
    let binary = Binary::open(&path).unwrap();
    let sections = binary.sections();
    let text = sections.iter().find(|s| s.name == ".text").unwrap();
    let code = disassemble(
        &binary,
        text.address,
        text.address + text.size,
        Syntax::Intel,
    )
    .unwrap();
    let ours: Vec<(u64, usize)> = code.iter().map(|i| (i.address, i.length.into())).collect();
    assert_eq!(ours, expected);
    assert!(
        code.iter().any(|i| i.text.starts_with("call <ns::Box<")),
        "named call"
    );
}

#[test]
fn division_of_the_source_loop_is_in_a_loop() {
    let Some((_directory, path)) = compile("division_of_the_source_loop_is_in_a_loop") else {
        return;
    };
    let binary = Binary::open(&path).unwrap();
    let digits = &binary.find("digits")[0];
    let code = disassemble(&binary, digits.address, digits.end(), Syntax::Intel).unwrap();
    let division = code.iter().position(|i| i.mnemonic == "idiv").unwrap();
    let line = binary.line_at(code[division].address).unwrap();
    assert_eq!(line.line, Some(12));
    let flow = ControlFlow::build(&code);
    let inner = flow.loop_of_instruction(division).expect("a loop");
    assert_eq!(
        (flow.loops()[inner as usize].depth, flow.loops().len()),
        (1, 1)
    );
}
