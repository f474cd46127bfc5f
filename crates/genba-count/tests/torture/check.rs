//! Runs a program natively and under the engine, and compares.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genba_count::{BurstPlan, CountError, CountRequest, Engine};
use genba_model::{ExitKind, RawCounts};
use genba_run::{Cancel, CommandSpec, Launcher, Output, Stdin};
use iced_x86::{Decoder, DecoderOptions};
use object::{Object, ObjectSection};

use crate::programs::{Expect, Program};
use crate::support;

/// Longer than any of them takes, also on a busy machine: `everywhere.c`, which steps through itself,
/// was seen to take over a minute.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A program's output, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Behaviour {
    output: Vec<u8>,
    errors: Vec<u8>,
    status: i32,
}

/// Returns the path of a program's source.
pub fn source(program: &Program) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/torture");
    root.join(program.source)
}

/// Compiles a program unless that has been done.
pub fn compile(directory: &Path, test: &str, program: &Program) -> Option<PathBuf> {
    let flags: String = program.flags.concat();
    let output = directory.join(format!("{}{flags}", program.source.replace('.', "-")));
    if output.exists() {
        return Some(output);
    }
    let compiler = match program.source.ends_with("cc") {
        true => "c++",
        false => "cc",
    };
    let result = Command::new(compiler)
        .args(["-O2", "-g", "-w", "-pthread", "-rdynamic", "-o"])
        .arg(&output)
        .arg(source(program))
        .args(program.flags)
        .output();
    match result {
        Ok(result) if result.status.success() => Some(output),
        Ok(result) => {
            let errors = String::from_utf8_lossy(&result.stderr).into_owned();
            genba_testing::skip(
                test,
                genba_testing::MACHINE,
                &format!("{}: {errors}", program.label()),
            );
            None
        }
        Err(error) => {
            genba_testing::skip(test, compiler, &format!("no {compiler}: {error}"));
            None
        }
    }
}

fn files(directory: &Path) -> [PathBuf; 2] {
    ["output", "errors"].map(|name| directory.join(name))
}

/// Returns the command of a program.
pub fn request(
    directory: &Path,
    path: &Path,
    program: &Program,
    transfers: bool,
    bursts: bool,
) -> CountRequest {
    let mut argv: Vec<OsString> = Vec::new();
    if let Some(size) = program.stack {
        let line = format!("ulimit -s {size} && exec \"$0\" \"$@\"");
        argv.extend(["/bin/sh".into(), "-c".into(), line.into()]);
    }
    argv.push(path.into());
    argv.extend(program.argument.map(OsString::from));
    let mut spec = CommandSpec::direct(argv);
    let [output, errors] = files(directory);
    spec.directory = Some(directory.to_owned());
    spec.stdin = Stdin::Null;
    spec.stdout = Output::File(output);
    spec.stderr = Output::File(errors);
    spec.timeout = Some(TIMEOUT);
    CountRequest {
        spec,
        transfers: match transfers {
            true => genba_count::Transfers::Everywhere,
            false => genba_count::Transfers::Entries,
        },
        children: false,
        // More often than anybody wants them: whatever the program does, it does in a burst, too.
        observe: bursts.then(|| BurstPlan {
            words: 2000,
            interval: Duration::from_micros(100),
            ..BurstPlan::default()
        }),
        native_exit: None,
    }
}

/// What a run in the directory wrote, with how it ended.
pub fn behaviour(directory: &Path, status: i32) -> Behaviour {
    let [output, errors] = files(directory).map(|path| std::fs::read(path).unwrap_or_default());
    Behaviour {
        output,
        errors,
        status,
    }
}

/// Runs it natively.
pub fn natively(directory: &Path, path: &Path, program: &Program) -> Behaviour {
    let request = request(directory, path, program, false, false);
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    let finished = launcher.run(&request.spec, &cancel).expect("it runs");
    behaviour(directory, status(program, finished.record.exit))
}

/// An exit status as a shell gives it.
pub fn status(program: &Program, exit: ExitKind) -> i32 {
    match exit {
        ExitKind::Code(code) => code,
        ExitKind::Signal { signal, .. } => 128 + signal,
        other => panic!("{}: {other:?}", program.label()),
    }
}

/// What differs from the native behaviour, in a sentence.
pub fn difference(native: &Behaviour, here: &Behaviour) -> Vec<String> {
    match here == native {
        true => Vec::new(),
        false => vec![format!("natively {} but {}", shown(native), shown(here))],
    }
}

/// Runs it under the engine; the differences, a sentence each.
pub fn run(
    engine: &dyn Engine,
    directory: &Path,
    path: &Path,
    program: &Program,
    native: &Behaviour,
    transfers: bool,
    bursts: bool,
) -> Vec<String> {
    let request = request(directory, path, program, transfers, bursts);
    let counts = match support::count(engine, &request) {
        Ok(counts) => counts,
        Err(CountError::Unable { reason, .. }) => {
            return match program.expect {
                Expect::Same => vec![format!("refused: {reason}")],
                Expect::SameAsRoot if is_root() => vec![format!("refused: {reason}")],
                Expect::SameAsRoot => Vec::new(),
                Expect::Refused | Expect::Either => Vec::new(),
            };
        }
        Err(error) => return vec![format!("failed: {error}")],
    };
    let mut wrong = Vec::new();
    let here = behaviour(directory, counts.exit);
    if program.expect == Expect::Refused {
        wrong.push("not refused".to_owned());
    }
    wrong.extend(difference(native, &here));
    if (native.status > 128) != counts.processes[0].cut_short.is_some() {
        let said = &counts.processes[0].cut_short;
        wrong.push(format!("status {} but cut short: {said:?}", native.status));
    }
    let executes = matches!(program.argument, Some("exec" | "memfd" | "thread-exec"));
    if !executes {
        wrong.extend(wrong_counts(&counts, path));
    }
    wrong
}

/// Whether the tests run as root, for whom no limit of locked memory holds.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn shown(behaviour: &Behaviour) -> String {
    let Behaviour {
        output,
        errors,
        status,
    } = behaviour;
    let output = String::from_utf8_lossy(output);
    let errors = String::from_utf8_lossy(errors);
    format!("{status} {output:?} {errors:?}")
}

/// Checks functions named `straight_N_…`, each of whose instructions must have been executed N
/// times.
fn wrong_counts(counts: &RawCounts, path: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let bytes = std::fs::read(path).expect("a program");
    let file = object::File::parse(bytes.as_slice()).expect("an ELF file");
    let text = file.section_by_name(".text").expect("code");
    let code = text.data().expect("code");
    let process = counts.processes.last().expect("a process");
    for (name, (address, size)) in support::functions(path) {
        let Some(times) = name.strip_prefix("straight_") else {
            continue;
        };
        let times: u64 = (times.split('_').next())
            .and_then(|times| times.parse().ok())
            .expect("a number");
        let own = process.modules.iter().find(|module| {
            std::fs::canonicalize(&module.path).ok() == std::fs::canonicalize(path).ok()
        });
        let Some(own) = own else {
            return vec!["the program is not among the modules".to_owned()];
        };
        if counts.transfers {
            let calls = support::calls_to(process, path, address);
            if calls != times {
                wrong.push(format!("{name} is called {calls} times"));
            }
        }
        let start = (address - text.address()) as usize;
        let code = &code[start..start + size as usize];
        for instruction in Decoder::with_ip(64, code, address, DecoderOptions::NONE) {
            if instruction.code() == iced_x86::Code::Ud2 {
                // The compiler's padding after the function.
                continue;
            }
            let got = support::executions(own, instruction.ip());
            if got != times {
                let at = instruction.ip() - address;
                wrong.push(format!("{name}+{at:#x} is counted {got} times"));
            }
        }
    }
    wrong
}
