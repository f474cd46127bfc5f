//! The engine callgrind, valgrind's.
//!
//! Robust: it simulates the processor, follows threads, forks and executed programs, and counts
//! code that is generated at run time. Slow: 15 to 80 times.
//!
//! **Known errors, and how they are corrected here** (valgrind 3.19 to 3.2x):
//! - *Repeated string instructions* (`rep movsb`) are counted once for each iteration. Their jumps
//!   to themselves are recorded, too, and subtracted: the rest is how often the instruction was
//!   executed, as the processor retires it. So jumps are always recorded.
//! - *PLT stubs*: by default their cost is moved to the caller. `--skip-plt=no` leaves it where it
//!   belongs; calls are then followed through the stub ([`crate::process_counts_builder`]). ld.so's
//!   jump to a function that is called for the first time (lazy binding) is not recorded.
//! - *Code outside of `.text`* (stubs, `.init`, `.fini`) belongs to no object, and has addresses in
//!   memory. Where objects were loaded is in valgrind's messages (`-v -v`).
//! - *Jumps out of a function* (tail calls) count as calls, and so does a `ret` to an address that
//!   nobody called from. Here the instruction decides: only `call` is a call.
//! - *Its own library* (`vgpreload_core`) is skipped; ld.so's work to load it is not, nor what
//!   `LD_PRELOAD` in the environment makes a target do.
//! - *`fork`*: the child inherits its parent's counts. They are written and reset when `fork` is
//!   entered, so that only the rest of `fork` itself counts in both. A child that was created
//!   otherwise includes its parent's counts, and has a note.
//! - *`execve`*: the counts of the program before it are lost, with a note.
//! - *The last block* of the process is not counted (usually that of the system call by which it
//!   exits).
//! - *Death by SIGKILL* loses what was not written, so files are written every few seconds, and
//!   summed.
//! - *A simulated processor*: no AVX-512, so the C library takes other paths; one thread at a time.

mod callgrind_file;
mod costs_to_executions;
mod process_files;
mod valgrind_command;
mod valgrind_log;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genba_model::{CountEngine, ExitKind, RawCounts};
use genba_run::{
    Cancel, Launcher, PrivateDirectory, remove_files_of_ended_valgrinds, resolve_program,
};

use crate::engine::find_program;
use crate::run_end::{cut_short, raw_counts};
use crate::{CountError, CountRequest, Engine};

pub use callgrind_file::{CallgrindCounts, ParseError, Position};

/// Name of the engine.
pub const NAME: &str = "callgrind";

/// Time that it gets for writing its counts when it is asked to end.
const WRITE_GRACE: Duration = Duration::from_secs(20);

/// valgrind's callgrind.
#[derive(Debug, Default)]
pub struct Callgrind;

impl Callgrind {
    fn missing() -> CountError {
        CountError::Missing {
            engine: NAME.to_owned(),
            remedy: "sudo apt-get install valgrind".to_owned(),
        }
    }

    /// Returns the valgrind program. Debian's `valgrind` is a script that changes the target's
    /// environment (libraries are looked for elsewhere, libstdc++ allocates otherwise); the program
    /// itself is beside it.
    fn program() -> Result<PathBuf, CountError> {
        find_program(&["valgrind.bin", "valgrind"]).ok_or_else(Self::missing)
    }

    /// Returns the version: `3.19.0` of `valgrind-3.19.0`.
    fn version() -> Result<String, CountError> {
        let program = Self::program()?;
        // Options in this variable would be read before ours.
        let output = Command::new(program)
            .arg("--version")
            .env_remove("VALGRIND_OPTS")
            .output()
            .map_err(|_| Self::missing())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.trim().strip_prefix("valgrind-").map(str::to_owned);
        version
            .filter(|_| output.status.success())
            .ok_or_else(Self::missing)
    }
}

impl Engine for Callgrind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> Result<CountEngine, CountError> {
        let gaps = [
            "user mode only",
            "the simulated processor has no AVX-512 and another CPUID, so that the C library takes \
             other paths",
            "threads run one at a time",
            "ld.so also loads one of valgrind's libraries",
            "counts before an execve in the same process are lost",
            "the last basic block of the process (a few instructions) is not counted",
        ];
        Ok(CountEngine {
            name: NAME.to_owned(),
            version: Self::version()?,
            gaps: gaps.map(str::to_owned).to_vec(),
        })
    }

    fn check(&self, request: &CountRequest) -> Result<(), CountError> {
        Self::version()?;
        let spec = &request.spec;
        let name = spec.argv.first().ok_or(genba_run::RunError::EmptyCommand)?;
        let path = spec.environment.get("PATH".as_ref());
        let program = resolve_program(name, path.as_deref(), spec.directory.as_deref())?;
        let file = match &spec.directory {
            Some(directory) => directory.join(&program),
            None => program,
        };
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).map_or(0, |metadata| metadata.permissions().mode());
        if mode & 0o6000 != 0 {
            return Err(CountError::Unable {
                engine: NAME.to_owned(),
                target: file.display().to_string(),
                reason: "it is set-uid or set-gid, which valgrind does not run; count a copy \
                         without these bits"
                    .to_owned(),
            });
        }
        Ok(())
    }

    fn count(
        &self,
        request: &CountRequest,
        launcher: &mut Launcher,
        cancel: &Cancel,
    ) -> Result<RawCounts, CountError> {
        let engine = self.describe()?;
        self.check(request)?;
        let directory = PrivateDirectory::new("count").map_err(|error| {
            CountError::failed(NAME, request, format!("no temporary directory: {error}"))
        })?;
        let mut spec = valgrind_command::wrap(
            request,
            &Self::program()?,
            directory.path(),
            &engine.version,
        );
        spec.grace = spec.grace.max(WRITE_GRACE);
        let finished = launcher.run(&spec, cancel);
        remove_files_of_ended_valgrinds();
        let finished = finished?;
        if let Some(reason) = own_crash(request.native_exit, finished.record.exit) {
            return Err(CountError::failed(NAME, request, reason));
        }
        let mut counted =
            process_files::collect(directory.path(), finished.pid, request).map_err(|reason| {
                let reason = match cut_short(finished.record.exit) {
                    Some(why) => format!(
                        "{why}, before callgrind had written any counts; --engine genba keeps the counts \
                         of killed targets"
                    ),
                    None => reason,
                };
                CountError::failed(NAME, request, reason)
            })?;
        let end = cut_short(finished.record.exit);
        if let Some(target) = counted.processes.first_mut() {
            // The reason for which genba ended it says more than the signal.
            let ended = matches!(
                finished.record.exit,
                ExitKind::TimedOut | ExitKind::Cancelled
            );
            target.cut_short = match target.cut_short.take() {
                Some(why) if !ended => Some(why),
                _ => end,
            };
        }
        Ok(raw_counts(engine, request, &finished, counted))
    }
}

/// Returns how callgrind was ended by a signal, if the target alone was not.
fn own_crash(without: Option<ExitKind>, with: ExitKind) -> Option<String> {
    match (without, with) {
        (Some(ExitKind::Code(status)), ExitKind::Signal { signal, .. }) => Some(format!(
            "it was ended by signal {signal}, but the command without it with status {status}"
        )),
        _ => None,
    }
}

/// Reads one file that callgrind wrote.
///
/// # Errors
/// If the file cannot be read or is invalid.
pub fn read(path: &Path) -> Result<CallgrindCounts, ParseError> {
    let mut dump = CallgrindCounts::default();
    let file = std::fs::File::open(path)?;
    dump.add(std::io::BufReader::with_capacity(1 << 16, file))?;
    Ok(dump)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_that_the_command_alone_does_not_have_is_callgrinds() {
        let signal = ExitKind::Signal {
            signal: 11,
            core: false,
        };
        let reason = own_crash(Some(ExitKind::Code(0)), signal).expect("its own");
        assert_eq!(
            reason,
            "it was ended by signal 11, but the command without it with status 0"
        );
        for (without, with) in [
            (None, signal),
            (Some(signal), signal),
            (Some(ExitKind::Code(0)), ExitKind::Code(3)),
            (Some(ExitKind::Code(0)), ExitKind::TimedOut),
        ] {
            assert_eq!(own_crash(without, with), None, "{without:?} {with:?}");
        }
    }
}
