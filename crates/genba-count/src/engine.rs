//! What every engine does.

use std::ops::RangeInclusive;

use genba_model::{CodeSpan, CountEngine, RawCounts};
use genba_run::{Cancel, CommandSpec, Launcher};

use crate::CountError;

/// Which jumps and calls to record. What is recorded has its price; an engine for which it makes
/// no difference may record more than it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transfers {
    /// None.
    None,
    /// Those by which functions jump back to their own first instruction: without them, how
    /// often it was executed is not how often the function was called.
    #[default]
    Entries,
    /// All that leave an instruction in these stretches of code; and everywhere calls whose target
    /// is in the instruction, calls of other modules, and those of [`Self::Entries`].
    Within(Vec<CodeSpan>),
    /// All.
    Everywhere,
}

impl Transfers {
    /// Whether any are wanted.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::None
    }
}

/// What to count.
#[derive(Clone, Debug)]
pub struct CountRequest {
    /// The command and how it is run.
    pub spec: CommandSpec,
    /// Which jumps and calls to record as well as executions.
    pub transfers: Transfers,
    /// Count in processes that the target starts, too.
    pub children: bool,
}

/// Something that counts executions.
///
/// An engine may work outside of the target (a simulator that runs it) or inside (a translator
/// loaded into it); either way the target's output, exit status and process tree are what
/// [`genba_run`] makes of them, and a count that is not complete is marked as such.
pub trait Engine {
    /// Its name, by which a person asks for it.
    fn name(&self) -> &'static str;

    /// Name, version, known gaps. Cheap: asks nothing of the target.
    ///
    /// # Errors
    /// [`CountError::Missing`] when the engine is not installed.
    fn describe(&self) -> Result<CountEngine, CountError>;

    /// How many times slower a program usually runs under it: the least and the most, for
    /// telling people how long a count will take.
    fn usual_slowdown(&self) -> RangeInclusive<f64> {
        10.0..=80.0
    }

    /// Whether it can serve this request here, as far as can be told before the run.
    ///
    /// # Errors
    /// [`CountError::Missing`], or [`CountError::Unable`] with the reason.
    fn check(&self, request: &CountRequest) -> Result<(), CountError>;

    /// Runs the command once and counts. A target that crashes, is killed or times out gives
    /// its counts until then, marked as cut short.
    ///
    /// # Errors
    /// When the target could not be started, the engine failed, or there are no counts.
    fn count(
        &self,
        request: &CountRequest,
        launcher: &mut Launcher,
        cancel: &Cancel,
    ) -> Result<RawCounts, CountError>;
}
