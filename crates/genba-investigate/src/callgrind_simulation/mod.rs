//! Wrong guesses and cache misses where the processor counts none: a run under callgrind, which
//! simulates a first cache and a predictor of branches.
//!
//! **Limits.** The cache is of the host's size, without prefetching; the predictor is a simple one
//! (counters of two bits by address and the last outcomes): it foresees less than today's
//! processors, and patterns longer than some ten branches not at all. Of a run that was cut short
//! the rates of what was simulated are taken for the whole; one that did not reach the code in
//! question says nothing.

mod output;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_explain::input::analysis_input::{AnalysisInput, EventCounts, EventPlace};
use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Launcher, Output, resolve_program};

use output::Simulated;

/// Files of one run that are read: one for each process.
const MAX_FILES: usize = 64;

/// Time for writing the file when the run is ended.
const GRACE: Duration = Duration::from_secs(5);

/// Part of the own code's time that the simulated part of the run must have reached.
const REACHED: f64 = 0.9;

/// Executions of an instruction whose rates are taken for the whole.
const ENOUGH: u64 = 100;

/// What was simulated: wrong guesses of branches, and loads that the first cache did not have.
pub(crate) struct Outcome {
    pub mispredictions: EventCounts,
    pub cache_misses: EventCounts,
    /// Part of the counted instructions that was simulated.
    pub part: f64,
}

/// valgrind itself; `None` where there is none. Debian's `valgrind` is a script that changes the
/// target's environment.
pub(crate) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    ["valgrind.bin", "valgrind"]
        .iter()
        .find_map(|name| resolve_program(OsStr::new(name), path.as_deref(), None).ok())
}

/// Simulates the run, or as much of it as `limit` allows.
pub(crate) fn simulate(
    launcher: &mut Launcher,
    valgrind: &Path,
    spec: &CommandSpec,
    input: &AnalysisInput,
    limit: Duration,
    cancel: &Cancel,
) -> Option<Outcome> {
    let directory = tempfile::Builder::new()
        .prefix("genba-simulate-")
        .tempdir()
        .ok()?;
    let spec = wrap(spec, valgrind, directory.path(), limit);
    let finished = launcher.run(&spec, cancel).ok()?;
    let exit = finished.record.exit;
    // One that fails was perhaps refused: an instruction that valgrind does not know.
    if !exit.success() && exit != ExitKind::TimedOut {
        return None;
    }
    let index = Index::of(input);
    let mut found = HashMap::new();
    let files = std::fs::read_dir(directory.path()).ok()?;
    for file in files.flatten().take(MAX_FILES) {
        let file = BufReader::with_capacity(1 << 16, File::open(file.path()).ok()?);
        output::add(
            file,
            &|module, address| index.find(module, address),
            &mut found,
        )
        .ok()?;
    }
    outcome(input, &found)
}

fn wrap(spec: &CommandSpec, valgrind: &Path, directory: &Path, limit: Duration) -> CommandSpec {
    let mut spec = spec.clone();
    let mut argv: Vec<OsString> = vec![valgrind.into()];
    argv.extend(
        [
            "--command-line-only=yes",
            "--tool=callgrind",
            "--cache-sim=yes",
            "--branch-sim=yes",
            "--dump-instr=yes",
            "--dump-line=no",
            "--compress-pos=no",
            "--compress-strings=no",
            "--trace-children=yes",
            "--vgdb=no",
            "--run-libc-freeres=no",
            "--run-cxx-freeres=no",
            "-q",
        ]
        .map(OsString::from),
    );
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(directory.join("simulated.%p"));
    argv.push(file);
    argv.push("--".into());
    argv.extend(spec.argv);
    spec.argv = argv;
    spec.stdout = Output::Null;
    spec.stderr = Output::Null;
    spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
    spec.grace = GRACE;
    spec
}

/// Functions of a input by module and address.
struct Index<'a> {
    input: &'a AnalysisInput,
    modules: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Index<'a> {
    fn of(input: &'a AnalysisInput) -> Self {
        let mut modules: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, function) in input.functions.iter().enumerate() {
            modules.entry(&function.module).or_default().push(number);
        }
        Self { input, modules }
    }

    /// Function and instruction.
    fn find(&self, module: &str, address: u64) -> Option<(usize, usize)> {
        self.modules.get(module)?.iter().find_map(|&function| {
            let code = &self.input.functions[function].code;
            let at = code.binary_search_by_key(&address, |one| one.address);
            Some((function, at.ok()?))
        })
    }
}

fn outcome(input: &AnalysisInput, found: &HashMap<(usize, usize), Simulated>) -> Option<Outcome> {
    let (mut own, mut reached) = (0.0, 0.0);
    let (mut all, mut seen) = (0.0, 0.0);
    for (number, function) in input.functions.iter().enumerate() {
        if !function.counted || !function.own {
            continue;
        }
        for (at, &count) in function.counts.iter().enumerate() {
            let simulated = found.get(&(number, at)).map_or(0, |one| one.executions);
            let heat = function.heat.get(at).copied().unwrap_or(0.0);
            own += heat;
            if simulated >= ENOUGH.min(count) {
                reached += heat;
            }
            all += count as f64;
            seen += simulated as f64;
        }
    }
    if own <= 0.0 || reached < REACHED * own {
        return None;
    }
    let events = |event: &str, of: &dyn Fn(&Simulated) -> u64| {
        let mut places: Vec<EventPlace> = found
            .iter()
            .filter_map(|(&(function, at), one)| {
                let counts = &input.functions[function].counts;
                let count = counts.get(at).copied().unwrap_or(one.executions) as f64;
                let times = of(one) as f64 * count / one.executions.max(1) as f64;
                (times > 0.0).then_some(EventPlace {
                    function,
                    at,
                    times,
                })
            })
            .collect();
        places.sort_by_key(|one| (one.function, one.at));
        EventCounts {
            event: event.to_owned(),
            simulated: true,
            period: 1.0,
            places,
        }
    };
    Some(Outcome {
        mispredictions: events("branch-misses", &|one| one.mispredictions),
        cache_misses: events("L1-dcache-load-misses", &|one| one.misses),
        part: (seen / f64::max(all, 1.0)).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_follows_a_separator() {
        let spec = CommandSpec::direct(["--odd", "-x"]);
        let limit = Duration::from_secs(3);
        let spec = wrap(
            &spec,
            Path::new("/usr/bin/valgrind"),
            Path::new("/tmp/d"),
            limit,
        );
        assert!(
            spec.argv
                .ends_with(&["--".into(), "--odd".into(), "-x".into()])
        );
        assert_eq!(spec.timeout, Some(limit));
        assert!(
            spec.argv
                .contains(&"--callgrind-out-file=/tmp/d/simulated.%p".into())
        );
    }

    #[test]
    fn a_run_that_reached_nothing_says_nothing() {
        assert!(outcome(&AnalysisInput::default(), &HashMap::new()).is_none());
    }
}
