//! The engine qemu: qemu's user-mode emulator with a plugin of genba's (`plugin/`, embedded). The
//! tests' oracle for counts; not part of the product (feature `qemu-oracle`).
//!
//! The plugin is called whenever a translated block is entered, and counts (atomically, once there
//! are threads) in a file that is mapped and shared: threads lose nothing, and the counts survive
//! however the target ends. 4 to 16 times slower than the target alone.
//!
//! **Known errors, and how they are corrected here** (qemu 7.2):
//! - *Repeated string instructions* (`rep movsb`) enter a block of their own for each iteration;
//!   the plugin sees the block before, and counts iterations apart from executions.
//! - *Instructions that cross the end of a page* begin a block of their own; the plugin has been
//!   shown their first bytes as the end of the block before, too. They are recognised by being cut
//!   off.
//! - *A block that faults in its middle* is counted as a whole, although the instructions after the
//!   fault did not run. Only targets that handle SIGSEGV and the like continue after that.
//! - *Signals*: the edge that a signal handler interrupts is not seen (one for each signal).
//! - *`fork`*: followed, with counters that begin at zero. *`execve`*: the new program runs
//!   natively and is not counted; there is a note.
//! - *Code generated at run time* is counted by its address in memory; code that replaces it at the
//!   same address is added to it.
//! - *Its own messages*: when a signal kills the target, qemu writes a line to the target's
//!   standard error. (It would leave a core file, too; the plugin prevents that.)
//! - *A simulated processor*: no AVX-512, so the C library takes other paths.

mod blocks_to_executions;
mod plugin_file;
#[path = "../../plugin/plugin_file_layout.rs"]
#[allow(dead_code)]
mod plugin_file_layout;
mod process_files;
mod qemu_command;

use std::path::{Path, PathBuf};
use std::process::Command;

use genba_model::{CountEngine, RawCounts};
use genba_run::{Cancel, Launcher};

use crate::engine::find_program;
use crate::run_end::{cut_short, raw_counts};
use crate::{CountError, CountRequest, Engine};

pub use plugin_file::{Block, Counts, Edge, ReadError, read};

/// Name of the engine.
pub const NAME: &str = "qemu";
/// The plugin, which is loaded into qemu.
static PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libgenba_qemu.so"));
/// Major versions of qemu whose plugin interface is supported.
const SUPPORTED_VERSIONS: std::ops::RangeInclusive<u32> = 7..=8;

/// qemu-user.
#[derive(Debug, Default)]
pub struct Qemu;

impl Qemu {
    fn missing() -> CountError {
        CountError::Missing {
            engine: NAME.to_owned(),
            remedy: "sudo apt-get install qemu-user".to_owned(),
        }
    }

    /// Returns the emulator. That of `qemu-user-static` cannot load plugins.
    fn program() -> Result<PathBuf, CountError> {
        find_program(&["qemu-x86_64"]).ok_or_else(Self::missing)
    }

    /// Returns the version: `7.2.22` of `qemu-x86_64 version 7.2.22 (Debian …)`.
    fn version() -> Result<String, CountError> {
        let output = Command::new(Self::program()?)
            .arg("-version")
            .output()
            .map_err(|_| Self::missing())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        (words.find(|word| *word == "version"))
            .and_then(|_| words.next())
            .filter(|_| output.status.success())
            .map(str::to_owned)
            .ok_or_else(Self::missing)
    }
}

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> Result<CountEngine, CountError> {
        let gaps = [
            "user mode only",
            "the simulated processor has no AVX-512 and another CPUID, so that the C library takes \
             other paths",
            "programs that the target executes (execve) run natively and are not counted",
            "instructions after a fault in the same basic block are counted, too",
        ];
        Ok(CountEngine {
            name: NAME.to_owned(),
            version: Self::version()?,
            gaps: gaps.map(str::to_owned).to_vec(),
        })
    }

    fn check(&self, request: &CountRequest) -> Result<(), CountError> {
        let version = Self::version()?;
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        if !major.is_some_and(|major: u32| SUPPORTED_VERSIONS.contains(&major)) {
            let reason = format!(
                "version {version} has another plugin interface; versions {} to {} are supported",
                SUPPORTED_VERSIONS.start(),
                SUPPORTED_VERSIONS.end()
            );
            return Err(CountError::unable(NAME, request, reason));
        }
        match qemu_command::program(&request.spec)? {
            Ok(_) => Ok(()),
            Err(reason) => Err(CountError::unable(NAME, request, reason)),
        }
    }

    fn count(
        &self,
        request: &CountRequest,
        launcher: &mut Launcher,
        cancel: &Cancel,
    ) -> Result<RawCounts, CountError> {
        let engine = self.describe()?;
        self.check(request)?;
        let program = qemu_command::program(&request.spec)?
            .map_err(|reason| CountError::unable(NAME, request, reason))?;
        let directory = tempfile::Builder::new()
            .prefix("genba-count-")
            .tempdir()
            .map_err(|error| {
                CountError::failed(NAME, request, format!("no temporary directory: {error}"))
            })?;
        let plugin = directory.path().join("libgenba_qemu.so");
        let counts = directory.path().join("counts");
        write_plugin(&plugin, &counts).map_err(|error| {
            CountError::failed(NAME, request, format!("cannot write the plugin: {error}"))
        })?;
        let spec = qemu_command::wrap(
            &request.spec,
            &Self::program()?,
            program,
            &plugin,
            &counts,
            request.transfers.any(),
            request.children,
        );
        let finished = launcher.run(&spec, cancel)?;
        let mut counted = process_files::collect(&counts, finished.pid, request)
            .map_err(|reason| CountError::failed(NAME, request, reason))?;
        if let Some(target) = counted.processes.first_mut() {
            target.cut_short = cut_short(finished.record.exit).or(target.cut_short.take());
        }
        Ok(raw_counts(engine, request, &finished, counted))
    }
}

fn write_plugin(plugin: &Path, counts: &Path) -> std::io::Result<()> {
    std::fs::write(plugin, PLUGIN)?;
    std::fs::create_dir(counts)
}
