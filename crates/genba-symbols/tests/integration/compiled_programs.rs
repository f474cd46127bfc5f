//! Real programs: what `nm`, `objdump` and `readelf` say must be what we say. Fixtures are
//! compiled here; a test whose tools are missing says so and ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use genba_symbols::{Binary, DebugSearch};

const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int leaf(int x) {
    return x * x + 1; /* line 5 */
}
static inline __attribute__((always_inline)) int middle(int x) {
    int s = 0;
    for (int i = 0; i < x; i++)
        s += leaf(i) ^ s; /* line 10 */
    return s;
}
__attribute__((noipa)) long digits(long n, long b) { /* line 13 */
    long s = 0;
    while (n) { s += n % b; n /= b; } /* line 15 */
    return s;
}
__attribute__((noipa)) int outer(int x) {
    return middle(x); /* line 19 */
}
int main(int argc, char **argv) {
    printf("%d %ld\n", outer(atoi(argv[argc - 1])), digits(argc, 10));
    return 0;
}
"#;

const CPP: &str = r#"
#include <string>
#include <vector>
namespace ns {
template <class T> struct Box {
    T value;
    __attribute__((noinline)) T get(const T &other) const { return value + other; }
};
}
int main(int argc, char **argv) {
    std::vector<std::string> all;
    for (int i = 0; i < argc; i++)
        all.push_back(ns::Box<std::string>{argv[i]}.get("x"));
    return all.size() > 100;
}
"#;

/// Runs a tool; `None` if it is missing or fails.
fn run(tool: &str, arguments: &[&str]) -> Option<String> {
    let out = Command::new(tool).args(arguments).output().ok()?;
    out.status
        .success()
        .then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Compiles a fixture; says that the test is skipped if that cannot be done.
fn compile(
    test: &str,
    source: &str,
    name: &str,
    flags: &[&str],
) -> Option<(tempfile::TempDir, PathBuf)> {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join(name);
    std::fs::write(&input, source).unwrap();
    let output = directory.path().join("program");
    let compiler = if name.ends_with(".c") { "gcc" } else { "g++" };
    let mut arguments = vec![
        "-O2",
        "-o",
        output.to_str().unwrap(),
        input.to_str().unwrap(),
    ];
    arguments.extend(flags);
    if run(compiler, &arguments).is_none() {
        // A compiler that is there may lack an option, as gcc 12 of Debian lacks -gz=zstd.
        let need = match run(compiler, &["--version"]) {
            Some(_) => genba_testing::MACHINE,
            None => compiler,
        };
        let reason = format!("{compiler} {} does not work here", flags.join(" "));
        genba_testing::skip(test, need, &reason);
        return None;
    }
    Some((directory, output))
}

fn same_symbols_as_nm(test: &str, path: &Path) {
    let binary = Binary::open_with(path, DebugSearch::none()).unwrap();
    let dynamic = binary.symbols_source() == "dynsym";
    let mut arguments = vec!["--defined-only", "--no-sort"];
    arguments.extend(dynamic.then_some("-D"));
    arguments.push(path.to_str().unwrap());
    let Some(listing) = run("nm", &arguments) else {
        genba_testing::skip(test, "nm", "nm does not work here");
        return;
    };
    let mut expected: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for line in listing.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [address, "t" | "T" | "i", name] = fields[..] {
            let name = name.split('@').next().unwrap().to_owned();
            let address = u64::from_str_radix(address, 16).unwrap();
            expected.entry(address).or_default().insert(name);
        }
    }
    assert!(!expected.is_empty());
    for (address, names) in &expected {
        let found = binary
            .symbol_at(*address)
            .unwrap_or_else(|| panic!("{names:?} missing"));
        assert_eq!(found.address, *address, "{names:?}");
        let aliases = binary.aliases(*address);
        for name in names {
            assert!(
                aliases
                    .iter()
                    .any(|a| a.name.split('@').next() == Some(name)),
                "{name}"
            );
        }
        assert!(
            binary
                .find(&found.name)
                .iter()
                .any(|f| f.address == *address)
        );
    }
    // And stubs as objdump names them.
    let plt = run(
        "objdump",
        &[
            "-d",
            "-j",
            ".plt",
            "-j",
            ".plt.sec",
            "-j",
            ".plt.got",
            path.to_str().unwrap(),
        ],
    );
    for line in plt.unwrap_or_default().lines() {
        if let Some((address, name)) = line.strip_suffix("@plt>:").and_then(|l| l.split_once(" <"))
        {
            let address = u64::from_str_radix(address, 16).unwrap();
            let found = binary
                .symbol_at(address)
                .unwrap_or_else(|| panic!("{name}@plt missing"));
            assert!(found.is_plt() && found.address == address, "{found:?}");
            let name = name.split('@').next().unwrap();
            assert!(
                found.name.starts_with(name) || name.is_empty(),
                "{found:?} {name}"
            );
        }
    }
}

#[test]
fn symbols_equal_nm() {
    let test = "symbols_equal_nm";
    if let Some((_keep, path)) = compile(test, C, "a.c", &["-g"]) {
        same_symbols_as_nm(test, &path);
        let stripped = path.with_extension("stripped");
        let arguments = [
            "-s",
            "-o",
            stripped.to_str().unwrap(),
            path.to_str().unwrap(),
        ];
        if run("strip", &arguments).is_some() {
            assert_eq!(Binary::open(&stripped).unwrap().find("main"), []);
        }
    }
    if let Some((_keep, path)) = compile(test, CPP, "a.cc", &["-g"]) {
        same_symbols_as_nm(test, &path);
    }
    for path in [
        "/bin/bash",
        "/usr/bin/python3",
        "/lib/x86_64-linux-gnu/libc.so.6",
    ] {
        if Path::new(path).exists() {
            same_symbols_as_nm(test, Path::new(path));
        } else {
            genba_testing::skip(test, genba_testing::MACHINE, &format!("there is no {path}"));
        }
    }
}

/// Checks what is known of the C fixture by its source.
fn check_c(binary: &Binary) {
    let outer = &binary.find("outer")[0];
    let frames: Vec<_> = (outer.address..outer.end())
        .map(|address| binary.frames_at(address))
        .collect();
    let deepest = frames.iter().max_by_key(|f| f.len()).unwrap();
    let names: Vec<_> = deepest
        .iter()
        .map(|f| f.function.as_deref().unwrap())
        .collect();
    assert_eq!(names, ["leaf", "middle", "outer"]);
    let lines: Vec<_> = deepest.iter().map(|f| f.line.unwrap()).collect();
    assert_eq!(lines, [5, 10, 19]);
    assert!(deepest.iter().map(|f| f.inlined).eq([true, true, false]));
    assert!(deepest[0].file.as_deref().unwrap().ends_with("/a.c"));

    let digits = &binary.find("digits")[0];
    let mut lines = (digits.address..digits.end()).filter_map(|at| binary.line_at(at)?.line);
    assert!(lines.any(|line| line == 15), "the line of the division");

    let function = binary.function_at(digits.address + 1).unwrap();
    assert_eq!(
        (function.name.as_deref(), function.line),
        (Some("digits"), Some(13))
    );
    assert_eq!(
        (function.begin, function.end),
        (digits.address, digits.end())
    );
    let unit = binary.compile_unit_at(digits.address).unwrap();
    let producer = unit.producer.unwrap();
    assert!(producer.contains("GNU"), "{producer}");
    let name = unit.name.unwrap();
    assert!(
        name.ends_with("a.c") || name.contains("artificial"),
        "{name}"
    );
    assert!(unit.language.unwrap().starts_with("C"));
}

#[test]
fn lines_and_inlined_frames_are_found_in_every_form_of_dwarf() {
    let test = "lines_and_inlined_frames_are_found_in_every_form_of_dwarf";
    for flags in [
        &["-g"][..],
        &["-g", "-gdwarf-4"],
        &["-g", "-gdwarf-3", "-gstrict-dwarf"],
        &["-g", "-gz=zlib"],
        &["-g", "-gz=zstd"],
        &["-g", "-no-pie"],
        &["-g", "-ffunction-sections", "-Wl,--gc-sections"],
        &["-g", "-flto"],
    ] {
        if let Some((_keep, path)) = compile(test, C, "a.c", flags) {
            let binary = Binary::open(&path).unwrap();
            check_c(&binary);
        }
    }
}

#[test]
fn debug_sections_compressed_afterwards_are_read() {
    let test = "debug_sections_compressed_afterwards_are_read";
    for form in ["zlib", "zlib-gnu", "zstd"] {
        let Some((_directory, path)) = compile(test, C, "a.c", &["-g"]) else {
            return;
        };
        let option = format!("--compress-debug-sections={form}");
        if run("objcopy", &[&option, path.to_str().unwrap()]).is_none() {
            genba_testing::skip(test, "objcopy", &format!("objcopy {option} fails"));
            continue;
        }
        check_c(&Binary::open_with(&path, DebugSearch::none()).unwrap());
    }
}

#[test]
fn separate_debug_files_are_found() {
    let test = "separate_debug_files_are_found";
    let Some((directory, path)) = compile(test, C, "a.c", &["-g", "-Wl,--build-id"]) else {
        return;
    };
    let text = |p: &Path| p.to_str().unwrap().to_owned();
    let debug = directory.path().join("program.debug");
    let bare = directory.path().join("bare");
    let steps = [
        vec!["--only-keep-debug".to_owned(), text(&path), text(&debug)],
        vec![
            "--strip-all".to_owned(),
            format!("--add-gnu-debuglink={}", text(&debug)),
            text(&path),
            text(&bare),
        ],
    ];
    for step in &steps {
        let step: Vec<&str> = step.iter().map(String::as_str).collect();
        if run("objcopy", &step).is_none() {
            genba_testing::skip(test, "objcopy", "objcopy does not work here");
            return;
        }
    }
    // By debug link, beside the program.
    let binary = Binary::open_with(&bare, DebugSearch::none()).unwrap();
    assert_eq!(binary.symbols_source(), "debuglink");
    check_c(&binary);
    // A debug file of other contents fails its checksum.
    let mut bytes = std::fs::read(&debug).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&debug, &bytes).unwrap();
    let binary = Binary::open_with(&bare, DebugSearch::none()).unwrap();
    assert_ne!(binary.symbols_source(), "debuglink");
    assert!(!binary.has_debug_info());
    bytes[last] ^= 1;
    std::fs::remove_file(&debug).unwrap();
    // By build id, in a root of its own and in debuginfod's cache.
    let id = binary.build_id().unwrap();
    let root = directory.path().join("root");
    let cache = directory.path().join("cache");
    for (place, file) in [
        (
            root.join(".build-id").join(&id[..2]),
            format!("{}.debug", &id[2..]),
        ),
        (cache.join(&id), "debuginfo".to_owned()),
    ] {
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(file), &bytes).unwrap();
    }
    for search in [
        DebugSearch {
            roots: vec![root],
            ..DebugSearch::none()
        },
        DebugSearch {
            caches: vec![cache],
            ..DebugSearch::none()
        },
    ] {
        let binary = Binary::open_with(&bare, search).unwrap();
        assert_eq!(binary.symbols_source(), "build-id");
        check_c(&binary);
    }
}

/// Strips a program as Fedora's packages are: the symbols that `.dynsym` lacks go into
/// `.gnu_debugdata`, compressed with xz ("MiniDebugInfo", gdb manual).
fn strip_to_mini_debug_info(test: &str, directory: &Path, program: &Path) -> Option<PathBuf> {
    let script = r#"
        set -e
        nm -D "$1" --format=posix --defined-only | awk '{ print $1 }' | sort > dynamic
        nm "$1" --format=posix --defined-only |
            awk '{ if ($2 == "T" || $2 == "t" || $2 == "D") print $1 }' | sort > all
        comm -13 dynamic all > keep
        objcopy --only-keep-debug "$1" debug
        objcopy -S --remove-section .gdb_index --remove-section .comment \
            --keep-symbols=keep debug mini
        strip --strip-all -R .comment -o stripped "$1"
        xz mini
        objcopy --add-section .gnu_debugdata=mini.xz stripped
    "#;
    let done = Command::new("sh")
        .current_dir(directory)
        .args(["-c", script, "sh"])
        .arg(program)
        .output();
    if !done.is_ok_and(|out| out.status.success()) {
        genba_testing::skip(test, "xz", "xz or objcopy does not work here");
        return None;
    }
    Some(directory.join("stripped"))
}

#[test]
fn symbols_of_mini_debug_info_are_used() {
    let test = "symbols_of_mini_debug_info_are_used";
    let Some((directory, path)) = compile(test, C, "a.c", &["-g", "-rdynamic"]) else {
        return;
    };
    let whole = Binary::open_with(&path, DebugSearch::none()).unwrap();
    let Some(stripped) = strip_to_mini_debug_info(test, directory.path(), &path) else {
        return;
    };
    let binary = Binary::open_with(&stripped, DebugSearch::none()).unwrap();
    assert_eq!(binary.symbols_source(), "gnu_debugdata");
    // One is in `.dynsym`, the other in `.gnu_debugdata` alone.
    for name in ["outer", "_init"] {
        let (expected, found) = (whole.find(name), binary.find(name));
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].address, expected[0].address, "{name}");
        assert!(binary.may_name(name));
    }
    assert!(!binary.may_name("absent_from_all_tables"));
}

#[test]
fn unwind_ranges_are_the_functions_of_the_symbol_table() {
    let test = "unwind_ranges_are_the_functions_of_the_symbol_table";
    let Some((_keep, path)) = compile(test, CPP, "a.cc", &["-g", "-O1"]) else {
        return;
    };
    let binary = Binary::open(&path).unwrap();
    let found = binary.find("main");
    let main = found.first().expect("main");
    let range = binary.function_range_at(main.address + 1).expect("a range");
    assert_eq!((range.start, range.end), (main.address, main.end()));
    assert_eq!(binary.function_range_at(u64::MAX), None);
}

#[test]
fn code_without_unwind_tables_has_the_range_of_its_symbol() {
    let test = "code_without_unwind_tables_has_the_range_of_its_symbol";
    let flags = [
        "-g",
        "-O1",
        "-fno-unwind-tables",
        "-fno-asynchronous-unwind-tables",
    ];
    let source = "int main(int argc, char **argv) { return argc > 3 && argv[1][0]; }\n";
    let Some((_keep, path)) = compile(test, source, "a.c", &flags) else {
        return;
    };
    let binary = Binary::open(&path).unwrap();
    let found = binary.find("main");
    let main = found.first().expect("main");
    assert_eq!(binary.function_range_at(main.address + 1), None);
    let range = binary.code_range_at(main.address + 1).expect("a range");
    assert_eq!((range.start, range.end), (main.address, main.end()));
    assert_eq!(binary.code_range_at(main.end().max(1) << 20), None);
    assert_eq!(binary.code_range_at(u64::MAX), None);
}

#[test]
fn cpp_functions_are_found_by_full_brief_and_mangled_name() {
    let Some((_keep, path)) = compile(
        "cpp_functions_are_found_by_full_brief_and_mangled_name",
        CPP,
        "a.cc",
        &["-g"],
    ) else {
        return;
    };
    let binary = Binary::open(&path).unwrap();
    let found = binary
        .symbols()
        .find(|s| s.display_name().contains("ns::Box<") && s.display_name().contains("::get("))
        .expect("Box::get");
    let full = found.demangled().unwrap();
    assert!(binary.find(&full).contains(&found));
    assert!(
        binary
            .find(genba_model::without_parameters(&full))
            .contains(&found)
    );
    assert!(binary.find(&found.name).contains(&found));
    assert_eq!(binary.find("no::such"), []);
    let frames = binary.frames_at(found.address);
    let brief = genba_symbols::demangle_brief(&found.name).unwrap();
    assert!(
        full.starts_with(&brief) || full.contains(&brief),
        "{brief} is not part of {full}"
    );
    assert_eq!(
        frames.last().unwrap().function.as_deref(),
        Some(brief.as_str())
    );
}

#[test]
fn unusable_files_are_errors_that_name_them() {
    let text = |p: &str| Binary::open(p).unwrap_err().to_string();
    assert!(text("/no/such/file").contains("/no/such/file"));
    assert!(text("/dev/zero").contains("not a regular file"));
    assert!(text("/etc/passwd").contains("not a usable ELF file"));
    let empty = Binary::from_bytes(Vec::new(), "empty")
        .unwrap_err()
        .to_string();
    assert!(empty.contains("empty"), "{empty}");
}
