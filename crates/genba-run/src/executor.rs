//! The interface that runs commands: the launcher, or a mock for tests of schedules.

use crate::{Cancel, CommandSpec, Finished, Launcher, RunError};

/// Runs commands.
pub trait Executor {
    /// Runs one command to its end.
    ///
    /// # Errors
    /// As [`Launcher::run`].
    fn execute(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError>;
}

impl Executor for Launcher {
    fn execute(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        self.run(spec, cancel)
    }
}

/// An executor that starts nothing: a function returns the result of each run, and the argument
/// lists are recorded.
pub struct MockExecutor<F> {
    respond: F,
    /// The commands that were "run", in order.
    pub calls: Vec<Vec<std::ffi::OsString>>,
}

impl<F> MockExecutor<F>
where
    F: FnMut(&CommandSpec) -> Result<Finished, RunError>,
{
    /// A mock whose results `respond` returns.
    pub fn new(respond: F) -> Self {
        Self {
            respond,
            calls: Vec::new(),
        }
    }
}

impl<F> Executor for MockExecutor<F>
where
    F: FnMut(&CommandSpec) -> Result<Finished, RunError>,
{
    fn execute(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        if cancel.is_triggered() {
            return Err(RunError::Cancelled);
        }
        self.calls.push(spec.argv.clone());
        (self.respond)(spec)
    }
}

impl Finished {
    /// A run of this wall time that used no CPU time and exited with 0: for mocks.
    #[must_use]
    pub fn mock(wall_seconds: f64) -> Self {
        let reply = crate::protocol::Reply {
            code: 1,
            ..Default::default()
        };
        let mut finished = crate::run_account::finished(
            &reply,
            crate::OutputInfo::default(),
            crate::OutputInfo::default(),
        );
        finished.record.wall_seconds = wall_seconds;
        finished
    }

    /// A run of which only the account is known: a stored one.
    #[must_use]
    pub fn of_record(record: genba_model::RunRecord) -> Self {
        let mut finished = Self::mock(record.wall_seconds);
        finished.record = record;
        finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mock_returns_results_and_records_calls() {
        let cancel = Cancel::new().expect("a token");
        let mut mock = MockExecutor::new(|_| Ok(Finished::mock(0.25)));
        let run = mock
            .execute(&CommandSpec::direct(["a", "b"]), &cancel)
            .expect("a run");
        assert!(run.record.exit.success());
        assert!((run.record.wall_seconds - 0.25).abs() < 1e-12);
        cancel.trigger();
        let refused = mock.execute(&CommandSpec::direct(["c"]), &cancel);
        assert!(matches!(refused, Err(RunError::Cancelled)));
        assert_eq!(mock.calls, [["a", "b"]]);
    }
}
