//! The local scheduler: one task after another in a worker process, as two at a time would disturb each
//! other's measurements.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;

use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Executor, Output, RunError};

use crate::CampaignError;
use crate::scheduler::Scheduler;
use crate::task_board::Task;

/// Error output of a worker that is looked at, bytes.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// Runs workers on this machine.
pub struct LocalScheduler<E> {
    executor: E,
    /// The command line of a worker; the key of its task follows.
    worker: Vec<OsString>,
    queue: VecDeque<Task>,
    remarks: Vec<String>,
}

impl<E: Executor> LocalScheduler<E> {
    /// A scheduler whose workers are this command line, followed by the key of a task.
    pub fn new(executor: E, worker: Vec<OsString>) -> Self {
        Self {
            executor,
            worker,
            queue: VecDeque::new(),
            remarks: Vec::new(),
        }
    }
}

impl<E: Executor> Scheduler for LocalScheduler<E> {
    fn submit(&mut self, tasks: &[Task]) -> Result<(), CampaignError> {
        self.queue.extend(tasks.iter().cloned());
        Ok(())
    }

    fn live(&mut self) -> Result<Option<BTreeSet<String>>, CampaignError> {
        Ok(Some(
            self.queue.iter().map(|task| task.key.clone()).collect(),
        ))
    }

    fn advance(&mut self, cancel: &Cancel) -> Result<(), CampaignError> {
        let Some(task) = self.queue.pop_front() else {
            return Ok(());
        };
        let words = self.worker.iter().cloned();
        let mut spec = CommandSpec::direct(words.chain([OsString::from(&task.key)]));
        spec.stderr = Output::Capture {
            limit: MAX_ERROR_BYTES,
        };
        let done = match self.executor.execute(&spec, cancel) {
            Err(RunError::Cancelled) => return Ok(()),
            done => done?,
        };
        let failure = done.record.exit.failure();
        let Some(how) = failure.filter(|_| done.record.exit != ExitKind::Cancelled) else {
            return Ok(());
        };
        let said = String::from_utf8_lossy(&done.stderr.captured);
        let said = said
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or_default();
        self.remarks.push(match said.is_empty() {
            true => format!("a worker {how}"),
            false => format!("a worker {how}: {said}"),
        });
        Ok(())
    }

    fn cancel(&mut self) {
        self.queue.clear();
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_run::{Finished, MockExecutor};

    #[test]
    fn tasks_run_one_after_another_and_failures_are_remarked() {
        let mut runs = 0;
        let executor = MockExecutor::new(move |_: &CommandSpec| {
            runs += 1;
            let mut finished = Finished::mock(1.0);
            if runs == 2 {
                finished.record.exit = ExitKind::Code(4);
                finished.stderr.captured = b"error: no space\n\n".to_vec();
            }
            Ok(finished)
        });
        let mut local = LocalScheduler::new(executor, vec!["genba".into()]);
        let task = |key: &str| Task {
            key: key.to_owned(),
            host: 0,
        };
        local.submit(&[task("a"), task("b")]).expect("accepted");
        let cancel = Cancel::new().expect("a token");
        local.advance(&cancel).expect("run");
        let live = local.live().expect("known").expect("it answers");
        assert_eq!(live.into_iter().collect::<Vec<_>>(), ["b"]);
        local.advance(&cancel).expect("run");
        assert_eq!(
            local.remarks(),
            ["a worker failed with exit code 4: error: no space"]
        );
        assert_eq!(local.executor.calls, [["genba", "a"], ["genba", "b"]]);
    }
}
