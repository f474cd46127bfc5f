//! Two engines that have nothing in common, callgrind and qemu, must have equal counts for every
//! instruction, jump and call of every module. Differences must be explained in `allowed.txt` and
//! in the list for the pair.
//!
//! Three programs in every test run; all of them by `make differential`.

#[path = "../integration/support/mod.rs"]
mod support;

mod allowed_differences;
mod count_comparison;
mod identical_start;
mod programs;
mod single_stepping;
mod symbol_names;
mod third_party_programs;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use genba_count::{CountRequest, Engine};
use genba_model::RawCounts;
use genba_run::{CommandSpec, Output, Stdin, resolve_program};

use allowed_differences::Allowed;
use programs::{EVERY_TIME, MORE, PROGRAMS, Program};
use third_party_programs::{ONLY_STEPPED, OTHERS, STEPPED};

/// Makes both simulated processors equal for the C library as far as possible: the sizes by which
/// it chooses are given, and features that one of them lacks are disabled.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX2,-AVX,-BMI2,-ERMS,-FSRM,-MOVBE,-SSSE3,-SSE4_1,\
-SSE4_2,-AVX_Fast_Unaligned_Load,-Fast_Unaligned_Load,-Fast_Unaligned_Copy,-Fast_Copy_Backward,\
-Fast_Rep_String,-Slow_BSF,-XSAVEC,-XSAVE,-LZCNT:glibc.cpu.x86_data_cache_size=0x8000:\
glibc.cpu.x86_shared_cache_size=0x100000:glibc.cpu.x86_non_temporal_threshold=0xc0000:\
glibc.cpu.x86_rep_movsb_threshold=0x800:glibc.cpu.x86_rep_stosb_threshold=0x800:\
glibc.pthread.rseq=0";

const CALLGRIND_AND_QEMU: [&str; 2] = ["callgrind", "qemu"];
const GENBA_AND_QEMU: [&str; 2] = ["genba", "qemu"];

/// Returns the library that valgrind preloads.
fn valgrinds_library() -> Option<PathBuf> {
    let directories = ["libexec", "lib/x86_64-linux-gnu", "lib", "lib64"];
    (directories.iter())
        .map(|directory| {
            PathBuf::from(format!(
                "/usr/{directory}/valgrind/vgpreload_core-amd64-linux.so"
            ))
        })
        .find(|path| path.exists())
}

fn find(name: &str) -> Option<PathBuf> {
    if matches!(name, "cc1" | "cc1plus" | "f951" | "gnat1") {
        let output = Command::new("g++")
            .arg(format!("-print-prog-name={name}"))
            .output()
            .ok()?;
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        return path.is_absolute().then_some(path);
    }
    let path = resolve_program(
        OsStr::new(name),
        Some(OsStr::new("/usr/bin:/bin")),
        Some(Path::new("/")),
    );
    path.ok()
}

/// Returns a directory with the inputs. It is made anew for each run at the same path, so that no
/// run sees what another has left.
fn work(directory: &Path) -> PathBuf {
    let work = directory.join("work");
    std::fs::create_dir(&work).expect("a directory");
    let inputs = std::fs::read_dir(directory.join("inputs")).expect("the inputs");
    let mut inputs: Vec<PathBuf> = inputs.flatten().map(|entry| entry.path()).collect();
    inputs.sort();
    for input in inputs {
        let name = input.file_name().expect("a name");
        std::fs::copy(&input, work.join(name)).expect("a copy");
    }
    work
}

fn run(
    engine: &dyn Engine,
    program: &Program,
    path: &Path,
    directory: &Path,
    preload: Option<&Path>,
    alike: &(PathBuf, identical_start::Stack),
) -> Result<(RawCounts, Vec<u8>), String> {
    let work = work(directory);
    let output = directory.join("output");
    let mut argv: Vec<OsString> = vec![path.into()];
    argv.extend(program.argv[1..].iter().map(Into::into));
    let mut spec = CommandSpec::direct(argv);
    spec.directory = Some(work.clone());
    spec.stdin = Stdin::File(work.join("text"));
    spec.stdout = Output::File(output.clone());
    // As little as possible: everything in the environment moves the stack.
    spec.environment.clear = true;
    spec.environment.set("GLIBC_TUNABLES", TUNABLES);
    for (name, value) in program.environment {
        let value = programs::value_under(engine.name(), name, value);
        spec.environment.set(*name, value);
    }
    identical_start::pad(&mut spec, &alike.0, alike.1);
    if let Some(preload) = preload {
        spec.environment.set("LD_PRELOAD", preload);
    }
    let request = CountRequest {
        spec,
        transfers: genba_count::Transfers::Everywhere,
        children: false,
        observe: None,
        native_exit: None,
    };
    let counts = support::count(engine, &request);
    std::fs::remove_dir_all(&work).expect("it is removed");
    let counts = counts.map_err(|error| format!("{}: {}: {error}", program.name, engine.name()))?;
    Ok((counts, std::fs::read(&output).expect("its output")))
}

/// Reads both lists. Entries of the pair's list come before those of the common one.
fn the_list(names: [&str; 2]) -> Vec<Allowed> {
    let own = match names {
        CALLGRIND_AND_QEMU => "allowed-callgrind.txt",
        _ => "allowed-genba.txt",
    };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential");
    let lists = [own, "allowed.txt"].into_iter().map(|name| {
        let text = std::fs::read_to_string(directory.join(name)).expect("the list");
        allowed_differences::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    lists.flatten().collect()
}

fn check(test: &str, names: [&str; 2], wanted: impl Fn(&Program) -> bool, at_least: usize) {
    if let Err(reason) = identical_start::disable_address_randomisation()
        .and_then(|()| identical_start::environment_in_order())
    {
        genba_testing::skip(test, genba_testing::MACHINE, &reason);
        return;
    }
    let [first, second] = names;
    let (Some(callgrind), Some(qemu)) =
        (support::engine(first, test), support::engine(second, test))
    else {
        return;
    };
    let Some(preload) = valgrinds_library() else {
        genba_testing::skip(
            test,
            "valgrind",
            "valgrind's library is not where it is looked for",
        );
        return;
    };
    let list = the_list(names);
    let stack = identical_start::stack();
    let directory = tempfile::tempdir().expect("a directory");
    let inputs = directory.path().join("inputs");
    std::fs::create_dir(&inputs).expect("a directory");
    programs::write_inputs(&inputs);
    let mut used: BTreeMap<usize, f64> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut compared = 0;
    let only = std::env::var("DIFFERENTIAL").unwrap_or_default();
    let (more, others) = match names {
        GENBA_AND_QEMU => (MORE, OTHERS),
        _ => (&[][..], &[][..]),
    };
    let programs = PROGRAMS.iter().chain(more).chain(others);
    for program in programs.filter(|program| wanted(program) && program.name.contains(&only)) {
        // Compiled programs stay where they are, so that their symbols can be read.
        let path = match program.argv[0].strip_prefix("./") {
            Some(name) => Some(inputs.join(name)).filter(|path| path.exists()),
            None => find(program.argv[0]),
        };
        let Some(path) = path else {
            genba_testing::skip(
                test,
                genba_testing::MACHINE,
                &format!("{} is not installed", program.argv[0]),
            );
            continue;
        };
        let here = directory.path();
        let own = (first != "callgrind").then_some(preload.as_path());
        let alike = (preload.clone(), stack);
        let ran = run(&*callgrind, program, &path, here, own, &alike);
        let ran = ran.and_then(|one| {
            let other = run(&*qemu, program, &path, here, Some(&preload), &alike)?;
            Ok((one, other))
        });
        let ((one, said), (other, also)) = match ran {
            Ok(both) => both,
            Err(reason) => {
                eprintln!("{reason}");
                failures.push(reason);
                continue;
            }
        };
        if one.exit != other.exit || said != also {
            let what = format!(
                "{}: it ends with {} and {}, or writes something else",
                program.name, one.exit, other.exit
            );
            eprintln!("{what}");
            failures.push(what);
        }
        let verdict =
            count_comparison::compare(program.name, &one.processes[0], &other.processes[0], &list);
        eprintln!(
            "{:10} {:6} instructions as often, {:5} explained, {:4} not; {:5} jumps and calls as \
             often; {:.1} s and {:.1} s",
            program.name,
            verdict.same,
            verdict.explained,
            verdict.unexplained.len(),
            verdict.same_transfers,
            one.cpu_seconds,
            other.cpu_seconds,
        );
        for line in &verdict.unexplained {
            eprintln!("    {line}");
            failures.push(format!("{}: {line}", program.name));
        }
        for (entry, share) in verdict.used {
            let most = used.entry(entry).or_default();
            *most = most.max(share);
        }
        compared += 1;
    }
    if at_least > EVERY_TIME.len() {
        for (index, entry) in list.iter().enumerate() {
            match (used.get(&index), entry.limit) {
                (None, _) => eprintln!("not needed here: {entry:?}"),
                (Some(most), Some(_)) => eprintln!("{:.4} % at most: {entry:?}", most * 100.0),
                (Some(_), None) => {}
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} differences that nothing explains, the first: {}",
        failures.len(),
        failures[0]
    );
    assert!(
        compared >= at_least,
        "only {compared} programs were compared; install more (scripts/install-deps differential)"
    );
}

/// The inputs for single-stepping, with little text: every instruction takes some microseconds.
fn little_work(directory: &Path) -> PathBuf {
    let work = work(directory);
    let text = std::fs::read_to_string(work.join("text")).expect("an input");
    let lines: Vec<&str> = text.split_inclusive('\n').take(40).collect();
    std::fs::write(work.join("text"), lines.concat()).expect("an input is written");
    work
}

/// Maximum number of instructions of a single-stepped program: some ten seconds.
const MOST_STEPS: u64 = 2_500_000;

/// Counts a program, single-steps it, and returns the differences.
fn step(engine: &dyn Engine, program: &Program, directory: &Path) -> Result<String, String> {
    let path = match program.argv[0].strip_prefix("./") {
        Some(name) => directory.join("inputs").join(name),
        None => find(program.argv[0]).unwrap_or_default(),
    };
    if !path.exists() {
        genba_testing::skip(program.name, genba_testing::MACHINE, "it is not installed");
        return Ok(String::new());
    }
    let mut argv: Vec<OsString> = vec![path.into()];
    argv.extend(program.argv[1..].iter().map(Into::into));
    let mut spec = CommandSpec::direct(argv.clone());
    let output = directory.join("output");
    spec.directory = Some(little_work(directory));
    spec.stdin = Stdin::File(directory.join("work/text"));
    spec.stdout = Output::File(output.clone());
    spec.stderr = Output::File(directory.join("errors"));
    spec.environment.clear = true;
    // The engine disables rseq.
    let mut environment = BTreeMap::from([(
        OsString::from("GLIBC_TUNABLES"),
        OsString::from("glibc.pthread.rseq=0"),
    )]);
    let own = program.environment.iter();
    environment.extend(own.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    for (name, value) in &environment {
        spec.environment.set(name, value);
    }
    let request = CountRequest {
        spec,
        transfers: genba_count::Transfers::None,
        children: false,
        observe: None,
        native_exit: None,
    };
    let counts = support::count(engine, &request);
    std::fs::remove_dir_all(directory.join("work")).expect("it is removed");
    let counts = counts.map_err(|error| format!("{}: {error}", program.name))?;
    let said = std::fs::read(&output).expect("its output");
    let work = little_work(directory);
    let stepped = single_stepping::step(&argv, &environment, &work, &output, MOST_STEPS);
    std::fs::remove_dir_all(&work).expect("it is removed");
    let Some((native, status)) = stepped? else {
        return Err(format!("{}: it takes too many instructions", program.name));
    };
    if said != std::fs::read(&output).expect("its output") || status != counts.exit {
        let what = format!(
            "it ends with {status} and {}, or writes something else",
            counts.exit
        );
        return Err(format!("{}: {what}", program.name));
    }
    let counted: single_stepping::Executions = (counts.processes[0].modules.iter())
        .flat_map(|module| {
            let of = |one: &genba_model::InstructionCount| {
                ((module.path.clone(), one.address), one.count)
            };
            module.instructions.iter().map(of)
        })
        .collect();
    let mut names: BTreeMap<&str, symbol_names::Names> = BTreeMap::new();
    for module in &counts.processes[0].modules {
        names.insert(&module.path, symbol_names::Names::of(module));
    }
    let differ = counted.keys().chain(native.keys()).find(|place| {
        let name = || names.get(place.0.as_str()).map(|names| names.name(place.1));
        counted.get(*place) != native.get(*place)
            && !single_stepping::may_differ(&place.0, &name().unwrap_or_default())
    });
    match differ {
        None => Ok(format!("{} instructions", native.values().sum::<u64>())),
        Some(place) => Err(format!(
            "{}: {} {:#x}: {:?} and natively {:?} executions",
            program.name,
            place.0,
            place.1,
            counted.get(place),
            native.get(place)
        )),
    }
}

#[test]
#[ignore = "takes minutes: make differential"]
fn counts_equal_single_stepped_executions() {
    let test = "counts_equal_single_stepped_executions";
    let Some(engine) = support::engine("genba", test) else {
        return;
    };
    if let Err(reason) = identical_start::disable_address_randomisation() {
        genba_testing::skip(test, genba_testing::MACHINE, &reason);
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let inputs = directory.path().join("inputs");
    std::fs::create_dir(&inputs).expect("a directory");
    programs::write_inputs(&inputs);
    let only = std::env::var("DIFFERENTIAL").unwrap_or_default();
    let mut failures = Vec::new();
    let programs = PROGRAMS.iter().chain(MORE).chain(OTHERS);
    let wanted = programs.filter(|program| STEPPED.split(' ').any(|name| name == program.name));
    for program in wanted.chain(ONLY_STEPPED) {
        if !program.name.contains(&only) {
            continue;
        }
        match step(engine.as_ref(), program, directory.path()) {
            Ok(said) => eprintln!("{:12} {said}, none differs", program.name),
            Err(reason) => {
                eprintln!("{reason}");
                failures.push(reason);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Prints the position of its stack in 64 bytes, and the names in its environment.
const STACK: &str = "#include <stdio.h>\n#include <string.h>\n\
    int main(int c, char **v, char **e) { printf(\"%d %d\", c, (int)((long)(v - 1) & 63));\n\
    for (; *e; e++) printf(\" %.*s\", (int)strcspn(*e, \"=\"), *e); return 0; }\n";

#[test]
fn a_process_starts_identically_under_both_engines() {
    let test = "a_process_starts_identically_under_both_engines";
    if let Err(reason) = identical_start::disable_address_randomisation()
        .and_then(|()| identical_start::environment_in_order())
    {
        genba_testing::skip(test, genba_testing::MACHINE, &reason);
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let Some(path) = support::compile(directory.path(), test, STACK, &[]) else {
        return;
    };
    let inputs = directory.path().join("inputs");
    std::fs::create_dir(&inputs).expect("a directory");
    std::fs::write(inputs.join("text"), "").expect("an input");
    for names in [CALLGRIND_AND_QEMU, GENBA_AND_QEMU] {
        let (Some(one), Some(qemu), Some(preload)) = (
            support::engine(names[0], test),
            support::engine(names[1], test),
            valgrinds_library(),
        ) else {
            continue;
        };
        let own = (names[0] != "callgrind").then_some(preload.as_path());
        let alike = (preload.clone(), identical_start::stack());
        for argv in [&["x"][..], &["x", "a"], &["x", "a", "bcdefgh"]] {
            let program = Program {
                name: "stack",
                argv,
                environment: &[("A", "1")],
            };
            let here = directory.path();
            let (_, said) = run(&*one, &program, &path, here, own, &alike).expect("it is counted");
            let (_, also) =
                run(&*qemu, &program, &path, here, Some(&preload), &alike).expect("it is counted");
            let text = |said: &[u8]| String::from_utf8_lossy(said).into_owned();
            assert_eq!(text(&said), text(&also), "{names:?}");
        }
    }
}

#[test]
fn callgrind_and_qemu_agree_on_three_programs() {
    let test = "callgrind_and_qemu_agree_on_three_programs";
    check(
        test,
        CALLGRIND_AND_QEMU,
        |program| EVERY_TIME.contains(&program.name),
        0,
    );
}

#[test]
#[ignore = "takes minutes: make differential"]
fn callgrind_and_qemu_agree_on_every_program() {
    let test = "callgrind_and_qemu_agree_on_every_program";
    check(test, CALLGRIND_AND_QEMU, |_| true, 20);
}

#[test]
fn genba_and_qemu_agree_on_three_programs() {
    let test = "genba_and_qemu_agree_on_three_programs";
    check(
        test,
        GENBA_AND_QEMU,
        |program| EVERY_TIME.contains(&program.name),
        0,
    );
}

#[test]
#[ignore = "takes minutes: make differential"]
fn genba_and_qemu_agree_on_every_program() {
    let test = "genba_and_qemu_agree_on_every_program";
    check(test, GENBA_AND_QEMU, |_| true, 60);
}
