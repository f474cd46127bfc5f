//! What the end of a run means for its counts. Pure.

use std::ffi::OsString;

use genba_model::{ExitKind, RunRecord};

/// Words for people and documents.
#[must_use]
pub fn words(argv: &[OsString]) -> Vec<String> {
    (argv.iter())
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// User and system time of the target and of processes beside it.
#[must_use]
pub fn cpu_seconds(record: &RunRecord) -> f64 {
    record.target.user + record.target.system + record.beside.user + record.beside.system
}

/// Exit status as a shell gives it; what genba ended itself is as `timeout` and Ctrl-C have it.
#[must_use]
pub fn shell_status(exit: ExitKind) -> i32 {
    match exit {
        ExitKind::Code(code) => code,
        ExitKind::Signal { signal, .. } => 128 + signal,
        ExitKind::TimedOut => 124,
        ExitKind::Cancelled => 130,
    }
}

/// Illegal instruction.
const SIGILL: i32 = 4;

/// Why the counts end before the program did.
#[must_use]
pub fn cut_short(exit: ExitKind) -> Option<String> {
    match exit {
        ExitKind::Code(_) => None,
        ExitKind::Signal { signal: SIGILL, .. } => Some(format!(
            "killed by signal {SIGILL} (SIGILL): the simulated processor may lack an instruction of \
             it (AVX-512?)"
        )),
        ExitKind::Signal { signal, .. } => Some(format!("killed by signal {signal}")),
        ExitKind::TimedOut => Some("it ran out of time and was ended".to_owned()),
        ExitKind::Cancelled => Some("the run was cancelled".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exit_of_its_own_is_complete() {
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
