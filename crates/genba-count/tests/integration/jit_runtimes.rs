//! Runtimes that compile while they run, node, java and LuaJIT: counted by the engine in their own
//! process, with the output and exit status that they have natively.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genba_count::{BurstPlan, CountRequest, Engine, Transfers, native::Native};
use genba_model::{ProcessCounts, RawCounts};
use genba_run::{CommandSpec, Output};

use crate::support::count;

/// Calls of the function that is to be compiled.
const CALLS: u64 = 400_000;

const JAVASCRIPT: &str = r"
function mixedSum(n) { let s = 0; for (let i = 0; i < 20; i++) s = (s * 31 + i * n) | 0; return s; }
let total = 0;
for (let n = 0; n < 400000; n++) total = (total + mixedSum(n)) | 0;
console.log(total, [3, 1, 2].sort().join());
process.exitCode = 7;
";

const JAVA: &str = r"
public class Program {
    static int mixedSum(int n) { int s = 0; for (int i = 0; i < 20; i++) s = s * 31 + i * n; return s; }
    public static void main(String[] arguments) {
        int total = 0;
        for (int n = 0; n < 400000; n++) total += mixedSum(n);
        String missing = arguments.length == 0 ? null : arguments[0];
        int caught = 0;
        for (int n = 0; n < 1000; n++) try { caught += missing.length(); } catch (NullPointerException e) { caught++; }
        System.out.println(total + ' ' + caught);
        System.exit(7);
    }
}
";

const LUA: &str = r"
local function mixedSum(n) local s = 0; for i = 0, 19 do s = (s * 31 + i * n) % 65521 end return s end
local total = 0
for n = 0, 399999 do total = (total + mixedSum(n)) % 65521 end
print(total, table.concat({3, 1, 2}, ','))
os.exit(7)
";

fn find(program: &str, test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    match genba_run::resolve_program(program.as_ref(), path.as_deref(), None) {
        Ok(found) => Some(found),
        Err(_) => {
            genba_testing::skip(test, program, &format!("{program} is not installed"));
            None
        }
    }
}

/// Counts a command twice, the second time with bursts; asserts that it writes and returns what it
/// does natively.
fn counted(test: &str, directory: &Path, argv: &[OsString]) -> Option<Vec<RawCounts>> {
    let native = Command::new(&argv[0])
        .args(&argv[1..])
        .current_dir(directory)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let perf_map = format!("/tmp/perf-{}.map", native.id());
    let native = native.wait_with_output().expect("it ends");
    let _ = std::fs::remove_file(perf_map);
    assert_eq!(native.status.code(), Some(7), "{native:?}");
    let mut counts = Vec::new();
    for observe in [
        None,
        Some(BurstPlan {
            interval: Duration::from_millis(1),
            words: 20_000,
            ..BurstPlan::default()
        }),
    ] {
        let output = directory.join("output");
        let mut spec = CommandSpec::direct(argv.to_vec());
        spec.directory = Some(directory.to_owned());
        spec.stdout = Output::File(output.clone());
        let request = CountRequest {
            spec,
            transfers: Transfers::Entries,
            children: false,
            observe,
            native_exit: None,
        };
        if let Err(error) = Native.check(&request) {
            genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error.to_string());
            return None;
        }
        let run = match count(&Native, &request) {
            Ok(run) => run,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(run.exit, 7);
        assert_eq!(
            std::fs::read(&output).expect("its output"),
            native.stdout,
            "the output differs"
        );
        counts.push(run);
    }
    Some(counts)
}

/// Executions of generated instructions.
fn generated(process: &ProcessCounts, within: impl Fn(u64) -> bool) -> u64 {
    let modules = process.modules.iter();
    (modules.filter(|module| module.path == "[generated]"))
        .flat_map(|module| &module.instructions)
        .filter(|one| within(one.address))
        .map(|one| one.count)
        .sum()
}

/// Asserts that functions whose name contains `mixedSum` were executed about as often as the source
/// says: at least one instruction for each of the inner loop's rounds, less what an interpreter did
/// before they were compiled.
fn check_named(counts: &RawCounts) {
    let process = &counts.processes[0];
    let named: Vec<_> = (process.generated.iter())
        .filter(|function| function.name.contains("mixedSum"))
        .collect();
    assert!(!named.is_empty(), "{:?}", process.generated);
    let executed = generated(process, |address| {
        named
            .iter()
            .any(|function| (function.address..function.address + function.size).contains(&address))
    });
    assert!(executed > CALLS * 20, "{executed}");
    let bursts = process.observation.as_ref().map(|seen| seen.bursts.len());
    assert_ne!(bursts, Some(0));
}

fn remove_perf_maps(counts: &[RawCounts]) {
    for process in counts.iter().flat_map(|counts| &counts.processes) {
        let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", process.pid));
    }
}

#[test]
fn node_is_counted_with_names_of_its_perf_map() {
    let test = "node_is_counted_with_names_of_its_perf_map";
    let Some(node) = find("node", test) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("program.js"), JAVASCRIPT).expect("a program");
    let argv = [
        node.into(),
        "--perf-basic-prof".into(),
        "--no-turbo-inlining".into(),
        "program.js".into(),
    ];
    let Some(counts) = counted(test, directory.path(), &argv) else {
        return;
    };
    counts.iter().for_each(check_named);
    remove_perf_maps(&counts);
}

#[test]
fn java_is_counted_with_names_of_its_perf_map() {
    let test = "java_is_counted_with_names_of_its_perf_map";
    let (Some(java), Some(javac)) = (find("java", test), find("javac", test)) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("Program.java"), JAVA).expect("a program");
    let compiled = Command::new(javac)
        .arg("Program.java")
        .current_dir(directory.path())
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let argv = [
        java.into(),
        "-XX:+UnlockDiagnosticVMOptions".into(),
        "-XX:+DumpPerfMapAtExit".into(),
        // The function is not inlined, so that it has a name of its own.
        "-XX:CompileCommand=quiet".into(),
        "-XX:CompileCommand=dontinline,Program::mixedSum".into(),
        "-cp".into(),
        ".".into(),
        "Program".into(),
    ];
    let Some(counts) = counted(test, directory.path(), &argv) else {
        return;
    };
    counts.iter().for_each(check_named);
    remove_perf_maps(&counts);
}

#[test]
fn luajit_is_counted() {
    let test = "luajit_is_counted";
    let Some(luajit) = find("luajit", test) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("program.lua"), LUA).expect("a program");
    let Some(counts) = counted(
        test,
        directory.path(),
        &[luajit.into(), "program.lua".into()],
    ) else {
        return;
    };
    for counts in &counts {
        let executed = generated(&counts.processes[0], |_| true);
        assert!(executed > CALLS * 20, "{executed}");
    }
}
