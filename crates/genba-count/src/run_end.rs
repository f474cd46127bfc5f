//! From a run that has ended to its counts: status, CPU time, completeness. Pure.

use std::ffi::OsString;

use genba_model::{CountEngine, ExitKind, ProcessCounts, RawCounts, RunRecord};
use genba_run::Finished;

use crate::CountRequest;

/// What an engine counted in a run.
pub struct CountedProcesses {
    /// Counts of each process, the target first.
    pub processes: Vec<ProcessCounts>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Returns the counts of a run by an engine that records jumps and calls everywhere or not at all.
#[must_use]
pub fn raw_counts(
    engine: CountEngine,
    request: &CountRequest,
    finished: &Finished,
    counted: CountedProcesses,
) -> RawCounts {
    RawCounts {
        engine,
        command: words(&request.spec.argv),
        cpu_seconds: cpu_seconds(&finished.record),
        wall_seconds: finished.record.wall_seconds,
        exit: shell_status(finished.record.exit),
        transfers: request.transfers.any(),
        transfers_within: Vec::new(),
        processes: counted.processes,
        notes: (counted.notes.into_iter()).chain(finished.note()).collect(),
    }
}

/// Returns the words of a command as text.
#[must_use]
pub fn words(argv: &[OsString]) -> Vec<String> {
    (argv.iter()).map(|word| genba_run::text_of(word)).collect()
}

/// Returns user and system time of the target and the processes that it started, seconds.
fn cpu_seconds(record: &RunRecord) -> f64 {
    record.target.user + record.target.system + record.children.user + record.children.system
}

/// Returns the exit status as a shell gives it; what genba itself ended has the status of `timeout`
/// or Ctrl-C.
fn shell_status(exit: ExitKind) -> i32 {
    match exit {
        ExitKind::Code(code) => code,
        ExitKind::Signal { signal, .. } => 128 + signal,
        ExitKind::TimedOut => 124,
        ExitKind::Cancelled => 130,
    }
}

/// Number of the signal for an illegal instruction.
const SIGILL: i32 = 4;

/// Why counts end before the program did where the time for the run was over ([`genba_model::ProcessCounts`]).
pub const TIME_LIMIT_REACHED: &str = "time limit reached";

/// Returns why the counts end before the program did; `None` if they are complete.
#[must_use]
pub fn cut_short(exit: ExitKind) -> Option<String> {
    match exit {
        ExitKind::Code(_) => None,
        ExitKind::Signal { signal: SIGILL, .. } => Some(format!(
            "killed by signal {SIGILL} (SIGILL): the simulated processor may lack one of its instructions \
             (AVX-512?)"
        )),
        ExitKind::Signal { signal, .. } => Some(format!("killed by signal {signal}")),
        ExitKind::TimedOut => Some(TIME_LIMIT_REACHED.to_owned()),
        ExitKind::Cancelled => Some("cancelled".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_complete_only_after_a_regular_exit() {
        assert_eq!(cut_short(ExitKind::Code(3)), None);
        let killed = ExitKind::Signal {
            signal: 9,
            core: false,
        };
        assert!(cut_short(killed).is_some_and(|why| why.contains('9')));
        assert_eq!(shell_status(killed), 137);
        assert!(cut_short(ExitKind::TimedOut).is_some());
        assert!(cut_short(ExitKind::Cancelled).is_some());
    }
}
