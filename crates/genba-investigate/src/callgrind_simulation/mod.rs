//! Branch mispredictions and cache misses where the processor counts none: a run under callgrind,
//! which simulates an L1d cache and a branch predictor.
//!
//! **Limits.** The cache has the host's size and no prefetcher; the predictor is simple (two-bit
//! counters by address and recent outcomes): it predicts less than today's processors, and no
//! patterns longer than about ten branches. For an incomplete run the rates of its simulated part
//! stand for the whole; a simulation that did not reach the hot code is discarded.

mod output;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_explain::input::analysis_input::{AnalysisInput, EventCounts, EventPlace};
use genba_model::ExitKind;
use genba_run::{
    Cancel, CommandSpec, Launcher, Output, PrivateDirectory, remove_files_of_ended_valgrinds,
    resolve_program,
};

use output::Simulated;

/// Maximum number of output files that are read; each process writes one.
const MAX_FILES: usize = 64;

/// Time for callgrind to write its file after the run is ended.
const WRITE_TIME: Duration = Duration::from_secs(5);

/// Minimum share of the own code's time in instructions that the simulation reached.
const MIN_REACHED_SHARE: f64 = 0.9;

/// Minimum number of simulated executions of an instruction for its rates to be used.
const MIN_EXECUTIONS: u64 = 100;

/// Simulated branch mispredictions and L1d load misses.
pub(crate) struct SimulatedEvents {
    pub mispredictions: EventCounts,
    pub cache_misses: EventCounts,
    /// Share of the counted instructions that was simulated.
    pub share_of_run: f64,
}

/// Returns the path of valgrind; `None` where it is not installed. `valgrind.bin` is preferred,
/// because Debian's `valgrind` is a script that changes the target's environment.
pub(crate) fn valgrind() -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    ["valgrind.bin", "valgrind"]
        .iter()
        .find_map(|name| resolve_program(OsStr::new(name), path.as_deref(), None).ok())
}

/// Simulates the run, or as much of it as `limit` allows; `None` where that fails or does not reach
/// the hot code.
pub(crate) fn simulate(
    launcher: &mut Launcher,
    valgrind: &Path,
    spec: &CommandSpec,
    input: &AnalysisInput,
    limit: Duration,
    cancel: &Cancel,
) -> Option<SimulatedEvents> {
    let directory = PrivateDirectory::new("simulate").ok()?;
    let spec = wrap(spec, valgrind, directory.path(), limit);
    let finished = launcher.run(&spec, cancel);
    remove_files_of_ended_valgrinds();
    let finished = finished.ok()?;
    let exit = finished.record.exit;
    // A failure may be valgrind's: it does not know all instructions.
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
    simulated_events(input, &found)
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
    spec.grace = WRITE_TIME;
    spec
}

/// The functions of an input by module.
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

    /// Returns the indices of function and instruction.
    fn find(&self, module: &str, address: u64) -> Option<(usize, usize)> {
        self.modules.get(module)?.iter().find_map(|&function| {
            let code = &self.input.functions[function].code;
            let at = code.binary_search_by_key(&address, |one| one.address);
            Some((function, at.ok()?))
        })
    }
}

fn simulated_events(
    input: &AnalysisInput,
    found: &HashMap<(usize, usize), Simulated>,
) -> Option<SimulatedEvents> {
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
            if simulated >= MIN_EXECUTIONS.min(count) {
                reached += heat;
            }
            all += count as f64;
            seen += simulated as f64;
        }
    }
    if own <= 0.0 || reached < MIN_REACHED_SHARE * own {
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
            source: genba_model::EvidenceSource::Simulated,
            period: 1.0,
            places,
        }
    };
    Some(SimulatedEvents {
        mispredictions: events("branch-misses", &|one| one.mispredictions),
        cache_misses: events("L1-dcache-load-misses", &|one| one.misses),
        share_of_run: (seen / f64::max(all, 1.0)).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_follows_the_options_after_a_separator() {
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
    fn simulation_that_did_not_reach_the_code_is_discarded() {
        assert!(simulated_events(&AnalysisInput::default(), &HashMap::new()).is_none());
    }
}
