//! What the tests share: programs compiled for them, and runs under an engine.
#![allow(dead_code, reason = "torture and differential use a part")]

pub mod native_run;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use genba_count::{CountError, CountRequest, Engine, engines, qemu::Qemu};
use genba_model::{CountedModule, ProcessCounts, RawCounts, TransferKind};
use genba_run::{Cancel, CommandSpec, Launcher};

/// Returns an engine; skips the test if it is not installed.
pub fn engine(name: &str, test: &str) -> Option<Box<dyn Engine>> {
    let oracle: Box<dyn Engine> = Box::new(Qemu);
    let engine = (engines().into_iter())
        .chain([oracle])
        .find(|engine| engine.name() == name)?;
    match engine.describe() {
        Ok(_) => Some(engine),
        Err(error) => {
            let need = match name {
                "callgrind" => "valgrind",
                _ => name,
            };
            genba_testing::skip(test, need, &error.to_string());
            None
        }
    }
}

/// Returns the simulating engines that are installed.
pub fn all_engines(test: &str) -> Vec<Box<dyn Engine>> {
    let names = ["callgrind", "qemu"];
    (names.iter())
        .filter_map(|name| engine(name, test))
        .collect()
}

/// Compiles a C program; skips the test where there is no compiler.
pub fn compile(directory: &Path, test: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let options = ["-O1", "-g", "-fno-inline"];
    genba_testing::compile_c(test, directory, source, &options, flags)
}

/// Compiles a program and calls `check` for it with each engine.
pub fn each(test: &str, source: &str, flags: &[&str], check: impl Fn(&dyn Engine, &Path)) {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), test, source, flags) else {
        return;
    };
    for engine in all_engines(test) {
        check(&*engine, &program);
    }
}

/// Runs a command under an engine.
pub fn count(engine: &dyn Engine, request: &CountRequest) -> Result<RawCounts, CountError> {
    let mut launcher = Launcher::new().expect("a launcher");
    engine.count(request, &mut launcher, &Cancel::new().expect("a token"))
}

/// Returns a request for a program with arguments, with all jumps and calls.
pub fn request<I>(program: &Path, arguments: I) -> CountRequest
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let mut argv: Vec<OsString> = vec![program.into()];
    argv.extend(arguments.into_iter().map(Into::into));
    CountRequest {
        spec: CommandSpec::direct(argv),
        transfers: genba_count::Transfers::Everywhere,
        children: false,
        observe: None,
        native_exit: None,
    }
}

/// Returns the module with this path.
pub fn module<'a>(process: &'a ProcessCounts, path: &Path) -> &'a CountedModule {
    let path = std::fs::canonicalize(path).expect("a path");
    (process.modules.iter())
        .find(|module| Path::new(&module.path) == path)
        .unwrap_or_else(|| panic!("{} is not among the modules", path.display()))
}

/// Returns addresses and sizes of a program's own functions.
pub fn functions(path: &Path) -> BTreeMap<String, (u64, u64)> {
    use object::{Object, ObjectSymbol};
    let bytes = std::fs::read(path).expect("a program");
    let file = object::File::parse(bytes.as_slice()).expect("an ELF file");
    (file.symbols())
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| {
            Some((
                symbol.name().ok()?.to_owned(),
                (symbol.address(), symbol.size()),
            ))
        })
        .collect()
}

/// Returns the executions of the instruction at an address.
pub fn executions(module: &CountedModule, address: u64) -> u64 {
    (module.instructions.iter())
        .find(|instruction| instruction.address == address)
        .map_or(0, |instruction| instruction.count)
}

/// Returns the calls to an address of a program.
pub fn calls_to(process: &ProcessCounts, path: &Path, address: u64) -> u64 {
    let path = std::fs::canonicalize(path).expect("a path");
    (process.transfers.iter())
        .filter(|transfer| transfer.kind == TransferKind::Call && transfer.to.address == address)
        .filter(|transfer| Path::new(&process.modules[transfer.to.module as usize].path) == path)
        .map(|transfer| transfer.count)
        .sum()
}

/// Returns the addresses at which objdump sees an instruction begin.
pub fn instruction_starts(path: &str) -> Option<std::collections::HashSet<u64>> {
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", path])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(
        text.lines()
            .filter_map(|line| {
                let (address, _) = line.split_once(':')?;
                u64::from_str_radix(address.trim(), 16).ok()
            })
            .collect(),
    )
}
