//! The interface of counting engines, and what they are asked for.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use genba_engine::burst_layout;
use genba_model::{CodeSpan, CountEngine, ExitKind, RawCounts};
use genba_run::{Cancel, CommandSpec, Launcher, resolve_program};

use crate::CountError;

/// Which jumps and calls to record. Recording has a cost; an engine for which it makes no
/// difference may record more than requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transfers {
    /// No jumps and no calls.
    None,
    /// Jumps back to a function's first instruction: without them, the executions of that
    /// instruction are not the calls of the function.
    #[default]
    Entries,
    /// All from an instruction in these ranges of code; everywhere, direct calls, calls between
    /// modules, and those of [`Self::Entries`].
    Within(Vec<CodeSpan>),
    /// All jumps and calls.
    Everywhere,
}

impl Transfers {
    /// Whether any jumps or calls are recorded.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::None
    }
}

/// A request to count the executions of a command.
#[derive(Clone, Debug)]
pub struct CountRequest {
    /// The command, and how it is run.
    pub spec: CommandSpec,
    /// Which jumps and calls are recorded as well as executions.
    pub transfers: Transfers,
    /// Whether processes that the target starts are counted, too.
    pub children: bool,
    /// Bursts, if they are wanted. Engines that have none ignore the request; what was observed is
    /// [`genba_model::ProcessCounts::observation`].
    pub observe: Option<BurstPlan>,
    /// How the command ended without an engine, where that is known. An engine that is a program by
    /// itself can tell by it whether it has crashed, or the target.
    pub native_exit: Option<ExitKind>,
}

/// How a process is watched in bursts: short stretches in which addresses, values and outcomes are
/// recorded. They begin at random moments of the CPU time of every thread, and those that are kept
/// are spread over the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurstPlan {
    /// Maximum number of bursts that are kept of a process, at most [`Self::MAX_BURSTS`].
    pub bursts: u32,
    /// Length of a burst in recorded words of eight bytes (about one for an instruction), at most
    /// [`Self::MAX_WORDS`].
    pub words: u32,
    /// Mean of the intervals between a thread's bursts at the beginning, in CPU time. They grow so
    /// that bursts take at most a fifth of the time, and as the run goes on.
    pub interval: Duration,
    /// Seed of the random intervals.
    pub seed: u64,
}

impl BurstPlan {
    /// Maximum of [`Self::bursts`].
    pub const MAX_BURSTS: u32 = burst_layout::BURST_CAPACITY;
    /// Maximum of [`Self::words`].
    pub const MAX_WORDS: u32 = burst_layout::BURST_WORDS;
}

impl Default for BurstPlan {
    /// Returns a plan with a cost of at most 1.3 times that of counting.
    fn default() -> Self {
        Self {
            bursts: 64,
            words: 100_000,
            interval: Duration::from_millis(8),
            seed: 1,
        }
    }
}

/// An engine that counts executions.
///
/// An engine works outside of the target (a simulator that runs it) or inside (a translator
/// injected into it). Either way the target's output, exit status and process tree are those of
/// [`genba_run`], and counts that are not complete are marked as such.
pub trait Engine {
    /// Returns its name, by which users select it.
    fn name(&self) -> &'static str;

    /// Returns its name, version and known gaps. Cheap: independent of any target.
    ///
    /// # Errors
    /// [`CountError::Missing`] if the engine is not installed.
    fn describe(&self) -> Result<CountEngine, CountError>;

    /// Returns the least and the greatest usual slowdown of programs, to tell users how long a
    /// count will take.
    fn usual_slowdown(&self) -> RangeInclusive<f64> {
        10.0..=80.0
    }

    /// Checks whether it can serve a request, as far as that is known before the run.
    ///
    /// # Errors
    /// [`CountError::Missing`], or [`CountError::Unable`] with the reason.
    fn check(&self, request: &CountRequest) -> Result<(), CountError>;

    /// Runs the command once and counts. If the target crashes, is killed or times out, the counts
    /// until then are returned, marked as cut short.
    ///
    /// # Errors
    /// If the target cannot be started, the engine fails, or there are no counts.
    fn count(
        &self,
        request: &CountRequest,
        launcher: &mut Launcher,
        cancel: &Cancel,
    ) -> Result<RawCounts, CountError>;
}

/// Finds the first of these programs in genba's own PATH; the target's may be another.
pub(crate) fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    (names.iter()).find_map(|name| resolve_program(OsStr::new(name), path.as_deref(), None).ok())
}
