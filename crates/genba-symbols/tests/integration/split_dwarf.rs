//! Split DWARF of compiled programs: `.dwo` files beside the objects, moved with the program, and
//! packed into a `.dwp`.

use std::path::{Path, PathBuf};
use std::process::Command;

use genba_symbols::{Binary, DebugSearch};

/// Two units; `leaf` and `middle` are inlined into `outer`.
const FIRST: &str = r#"
static inline __attribute__((always_inline)) int leaf(int x) {
    return x * x + 1; /* line 3 */
}
static inline __attribute__((always_inline)) int middle(int x) {
    int s = 0;
    for (int i = 0; i < x; i++)
        s += leaf(i) ^ s; /* line 8 */
    return s;
}
__attribute__((noipa)) int outer(int x) {
    return middle(x); /* line 12 */
}
"#;
const SECOND: &str = r#"
int outer(int x);
__attribute__((noipa)) long digits(long n, long b) { /* line 3 */
    long s = 0;
    while (n) { s += n % b; n /= b; } /* line 5 */
    return s;
}
int main(int argc, char **argv) {
    (void)argv;
    return outer(argc) + (int)digits(argc, 10) > 100;
}
"#;

struct Program {
    directory: tempfile::TempDir,
    path: PathBuf,
}

/// Compiles each unit by itself, as build systems do; `None`, with the test recorded as skipped,
/// where the compiler cannot.
fn compile(test: &str, compiler: &str, flags: &[&str]) -> Option<Program> {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(compiler);
        command.current_dir(directory.path()).args(arguments);
        command.output().is_ok_and(|out| out.status.success())
    };
    for (name, source) in [("first", FIRST), ("second", SECOND)] {
        std::fs::write(at(&format!("{name}.c")), source).unwrap();
        let (source, object) = (format!("{name}.c"), format!("{name}.o"));
        let mut arguments = vec!["-O2", "-g", "-gsplit-dwarf", "-c", "-o", &object, &source];
        // The older word for it, which clang knows.
        arguments.extend((compiler == "clang").then_some("-Dnoipa=noinline"));
        arguments.extend(flags);
        if !run(&arguments) {
            let reason = format!("{compiler} -gsplit-dwarf {} fails", flags.join(" "));
            genba_testing::skip(test, compiler, &reason);
            return None;
        }
    }
    assert!(run(&["-o", "program", "first.o", "second.o"]), "linking");
    assert!(at("first.dwo").exists(), "no split object was written");
    let path = at("program");
    Some(Program { directory, path })
}

fn open(path: &Path) -> Binary {
    Binary::open_with(path, DebugSearch::none()).unwrap()
}

/// Checks what the source says of both units.
fn check(binary: &Binary) {
    let outer = &binary.find("outer")[0];
    let deepest = (outer.address..outer.end())
        .map(|address| binary.frames_at(address))
        .max_by_key(Vec::len)
        .unwrap();
    let name = |frame: &genba_symbols::CodeFrame| frame.function.as_deref().map(str::to_owned);
    let names: Vec<_> = deepest.iter().filter_map(name).collect();
    assert_eq!(names, ["leaf", "middle", "outer"]);
    let lines: Vec<_> = deepest.iter().map(|frame| frame.line.unwrap()).collect();
    assert_eq!(lines, [3, 8, 12]);
    for frame in &deepest {
        assert!(frame.file.as_deref().unwrap().ends_with("/first.c"));
    }
    let mut part = binary.frames_in(outer.address..outer.end());
    let mut partial = (outer.address..outer.end()).map(|address| part.at(address));
    assert!(partial.any(|frames| frames == deepest));

    let digits = &binary.find("digits")[0];
    let function = binary.function_at(digits.address + 1).unwrap();
    assert_eq!(
        (function.name.as_deref(), function.line),
        (Some("digits"), Some(3))
    );
    assert_eq!(
        (function.begin, function.end),
        (digits.address, digits.end())
    );
    let unit = binary.compile_unit_at(digits.address).unwrap();
    assert!(unit.name.unwrap().ends_with("second.c"));
    assert!(unit.producer.is_some() && unit.language.is_some());
    assert_eq!(binary.problems(), Vec::<String>::new());
}

const FORMS: [(&str, &[&str]); 5] = [
    ("gcc", &["-gdwarf-5"]),
    ("gcc", &["-gdwarf-4"]),
    ("gcc", &["-gdwarf-5", "-gz=zlib", "-ffunction-sections"]),
    ("clang", &["-gdwarf-5"]),
    ("clang", &["-gdwarf-4"]),
];

#[test]
fn split_objects_are_found_where_the_compiler_wrote_them() {
    let test = "split_objects_are_found_where_the_compiler_wrote_them";
    for (compiler, flags) in FORMS {
        if let Some(program) = compile(test, compiler, flags) {
            check(&open(&program.path));
        }
    }
}

#[test]
fn split_objects_are_found_beside_a_program_that_was_moved() {
    let test = "split_objects_are_found_beside_a_program_that_was_moved";
    let Some(program) = compile(test, "gcc", &["-gdwarf-5"]) else {
        return;
    };
    let moved = tempfile::tempdir().unwrap();
    for file in ["program", "first.dwo", "second.dwo"] {
        let from = program.directory.path().join(file);
        std::fs::rename(from, moved.path().join(file)).unwrap();
    }
    check(&open(&moved.path().join("program")));
}

#[test]
fn lines_remain_and_the_missing_file_is_named_without_split_objects() {
    let test = "lines_remain_and_the_missing_file_is_named_without_split_objects";
    let Some(program) = compile(test, "gcc", &["-gdwarf-5"]) else {
        return;
    };
    let directory = program.directory.path();
    // Another build of the unit has another id.
    std::fs::copy(directory.join("second.dwo"), directory.join("first.dwo")).unwrap();
    let binary = open(&program.path);
    let outer = &binary.find("outer")[0];
    let frames = binary.frames_at(outer.address);
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert_eq!(frames[0].function.as_deref(), Some("outer"));
    assert!(frames[0].file.as_deref().unwrap().ends_with("/first.c"));
    let problems = binary.problems();
    assert!(
        problems.len() == 1
            && problems[0].contains("1 compile unit")
            && problems[0].contains("first.dwo"),
        "{problems:?}"
    );
}

#[test]
fn package_of_split_units_is_read() {
    let test = "package_of_split_units_is_read";
    // Of DWARF 5, binutils 2.40 leaves `.debug_rnglists.dwo` out, and LLVM 14 does not end on what
    // GCC 12 writes.
    for (compiler, form, tool) in [
        ("gcc", "-gdwarf-4", "dwp"),
        ("gcc", "-gdwarf-4", "llvm-dwp"),
        ("clang", "-gdwarf-5", "llvm-dwp"),
    ] {
        let Some(program) = compile(test, compiler, &[form]) else {
            continue;
        };
        let directory = program.directory.path();
        let packed = Command::new(tool)
            .current_dir(directory)
            .args(["-o", "program.dwp", "first.dwo", "second.dwo"])
            .output();
        if !packed.is_ok_and(|out| out.status.success()) {
            genba_testing::skip(test, tool, &format!("{tool} fails"));
            continue;
        }
        for split in ["first.dwo", "second.dwo"] {
            std::fs::remove_file(directory.join(split)).unwrap();
        }
        check(&open(&program.path));
    }
}

#[test]
fn damaged_split_objects_do_not_panic() {
    let test = "damaged_split_objects_do_not_panic";
    let Some(program) = compile(test, "gcc", &["-gdwarf-5"]) else {
        return;
    };
    let split = program.directory.path().join("first.dwo");
    let whole = std::fs::read(&split).unwrap();
    let address = open(&program.path).find("outer")[0].address;
    for at in (64..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        std::fs::write(&split, &damaged).unwrap();
        let binary = open(&program.path);
        let _ = binary.frames_at(address);
        let _ = binary.function_at(address);
        std::fs::write(&split, &whole[..at]).unwrap();
        let _ = open(&program.path).frames_at(address);
    }
}
