//! The engine that is valgrind's callgrind.
//!
//! Robust: it simulates the processor, follows threads, forks and programs executed, and counts
//! code that is made at run time. Slow: 15 to 80 times.
//!
//! **What it gets wrong, and what becomes of it here** (valgrind 3.19 to 3.2x):
//! - *Repeated string instructions* (`rep movsb`) are counted once for each iteration. It also
//!   records their jumps to themselves, whose number is taken off: what remains is how often
//!   the instruction was executed, as the processor retires it. Jumps are therefore always
//!   recorded.
//! - *PLT stubs*: by default their cost is moved to who called them. `--skip-plt=no` leaves it
//!   where it belongs; calls are then followed through the stub ([`crate::process_counts_builder`]). ld.so's
//!   jump to a function that is called for the first time (lazy binding) is not recorded.
//! - *Code outside of `.text`* (stubs, `.init`, `.fini`) belongs to no object for it, and is
//!   given by its address in memory. Where objects were loaded is in valgrind's messages
//!   (`-v -v`).
//! - *Jumps out of a function* (tail calls) are calls for it, and so is a `ret` to a place that
//!   nobody called from. The instruction decides here: only `call` is a call.
//! - *Its own library* (`vgpreload_core`) is left out; ld.so's work on loading it is not, nor
//!   what `LD_PRELOAD` in the environment makes a target do.
//! - *`fork`*: the child inherits its parent's counts. They are written out and set to zero when
//!   `fork` is entered, so that only the rest of `fork` itself counts in both. A child which
//!   was made otherwise has its parent's counts in it, and says so.
//! - *`execve`*: counts of the program before it are lost, and that is said.
//! - *The last block* before the end of the process is not counted (usually that of the system
//!   call by which it exits).
//! - *Death by SIGKILL* loses what was not written: files are therefore written every some
//!   seconds, and added up.
//! - *Not the same processor*: no AVX-512, so libc takes other paths; one thread at a time.

mod callgrind_file;
mod costs_to_executions;
mod process_files;
mod valgrind_command;
mod valgrind_log;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genba_model::{CountEngine, ExitKind, RawCounts};
use genba_run::{Cancel, Launcher, resolve_program};

use crate::run_end::{cpu_seconds, cut_short, shell_status, words};
use crate::tools;
use crate::{CountError, CountRequest, Engine};

pub use callgrind_file::{Dump, ParseError, Place};

/// Name of the engine.
pub const NAME: &str = "callgrind";

/// Time that it has for writing its counts when it is asked to end.
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

    /// Debian's `valgrind` is a script that changes the target's environment (libraries are
    /// looked for elsewhere, libstdc++ allocates otherwise); the program itself is beside it.
    fn program() -> Result<PathBuf, CountError> {
        tools::find(&["valgrind.bin", "valgrind"]).ok_or_else(Self::missing)
    }

    /// `valgrind-3.19.0`: the number.
    fn version() -> Result<String, CountError> {
        let program = Self::program()?;
        // Set, it would be read before our options.
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

    fn failed(request: &CountRequest, reason: String) -> CountError {
        CountError::Failed {
            engine: NAME.to_owned(),
            target: words(&request.spec.argv).join(" "),
            reason,
        }
    }
}

impl Engine for Callgrind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> Result<CountEngine, CountError> {
        let gaps = [
            "user mode only",
            "the processor is a simulated one: no AVX-512, and another CPUID, so that the C library \
             takes other paths",
            "threads run one at a time",
            "ld.so also loads a library of valgrind's",
            "what ran before an execve in the same process is lost",
            "the block that ends the process (a few instructions) is not counted",
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
                reason: "it is set-user-id or set-group-id, which valgrind does not run; count a \
                         copy of it without these bits"
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
        let directory = tempfile::Builder::new()
            .prefix("genba-count-")
            .tempdir()
            .map_err(|error| Self::failed(request, format!("no temporary directory: {error}")))?;
        let mut spec = valgrind_command::wrap(
            request,
            &Self::program()?,
            directory.path(),
            &engine.version,
        );
        spec.grace = spec.grace.max(WRITE_GRACE);
        let finished = launcher.run(&spec, cancel)?;
        let mut outcome =
            process_files::collect(directory.path(), finished.pid, request).map_err(|reason| {
                let reason = match cut_short(finished.record.exit) {
                    Some(why) => format!(
                        "{why}, before callgrind had written any counts (it does so every some \
                         seconds); the engine qemu keeps them"
                    ),
                    None => reason,
                };
                Self::failed(request, reason)
            })?;
        let end = cut_short(finished.record.exit);
        if let Some(target) = outcome.processes.first_mut() {
            // What genba did itself tells more than the signal by which it did it.
            let ended = matches!(
                finished.record.exit,
                ExitKind::TimedOut | ExitKind::Cancelled
            );
            target.cut_short = match target.cut_short.take() {
                Some(why) if !ended => Some(why),
                _ => end,
            };
        }
        Ok(RawCounts {
            engine,
            command: words(&request.spec.argv),
            cpu_seconds: cpu_seconds(&finished.record),
            wall_seconds: finished.record.wall_seconds,
            exit: shell_status(finished.record.exit),
            transfers: request.transfers.any(),
            transfers_within: Vec::new(),
            processes: outcome.processes,
            notes: outcome.notes,
        })
    }
}

/// Reads one file that callgrind wrote.
///
/// # Errors
/// When it cannot be read or makes no sense.
pub fn read(path: &Path) -> Result<Dump, ParseError> {
    let mut dump = Dump::default();
    let file = std::fs::File::open(path)?;
    dump.add(std::io::BufReader::with_capacity(1 << 16, file))?;
    Ok(dump)
}
