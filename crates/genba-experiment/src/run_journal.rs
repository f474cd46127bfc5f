//! Journal of measured runs, from which an interrupted experiment is resumed.
//!
//! Every driver of this crate requests the same runs if it has the same seed and has seen the same
//! values. On resuming, its requests are answered from the journal, by variant and in order, and
//! the clock shows what it showed then; no run is made twice.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use genba_model::{ExitKind, RunRecord};
use genba_run::{Cancel, CommandSpec, Finished, OutputInfo, RunError};
use serde::{Deserialize, Serialize};

use crate::runner::{Measured, Runner};

/// A measured run as stored in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Name of its variant.
    pub variant: String,
    /// Time of the experiment's clock at its end, seconds.
    pub at: f64,
    /// Times, memory and exit code.
    pub record: RunRecord,
    /// Standard output.
    #[serde(default, skip_serializing_if = "StoredOutput::is_empty")]
    pub stdout: StoredOutput,
    /// Standard error.
    #[serde(default, skip_serializing_if = "StoredOutput::is_empty")]
    pub stderr: StoredOutput,
    /// Counts in the order of the plan's events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Option<f64>>,
    /// What it wrote to `$GENBA_METRICS_FD`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// Steal time as a share of the CPU time wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
}

/// An output stream as stored; bytes that are not UTF-8 are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredOutput {
    bytes: Option<u64>,
    hash: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    captured: String,
}

impl StoredOutput {
    fn of(output: &OutputInfo) -> Self {
        Self {
            bytes: output.bytes,
            hash: output.hash,
            captured: String::from_utf8_lossy(&output.captured).into_owned(),
        }
    }

    fn into_output(self) -> OutputInfo {
        OutputInfo {
            bytes: self.bytes,
            hash: self.hash,
            captured: self.captured.into_bytes(),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Seconds spent on an experiment over all sessions.
///
/// While runs are replayed from the journal it stands at the end of the last of them.
#[derive(Debug)]
pub struct ExperimentClock {
    before: Cell<f64>,
    /// `None` while runs are replayed.
    since: Cell<Option<Instant>>,
}

impl ExperimentClock {
    /// A clock for an experiment of which this many runs are replayed.
    #[must_use]
    pub fn new(recalled: usize) -> Rc<Self> {
        Rc::new(Self {
            before: Cell::new(0.0),
            since: Cell::new((recalled == 0).then(Instant::now)),
        })
    }

    /// Seconds spent so far.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        let running = |since: Instant| since.elapsed().as_secs_f64();
        self.before.get() + self.since.get().map_or(0.0, running)
    }

    fn set(&self, at: f64) {
        self.before.set(at.max(self.before.get()));
    }

    fn start(&self) {
        if self.since.get().is_none() {
            self.since.set(Some(Instant::now()));
        }
    }
}

/// A store for measured runs.
pub trait Journal {
    /// Stores a run durably.
    ///
    /// # Errors
    /// The reason if that fails. The experiment is then cancelled; the journal keeps the reason.
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), String>;
}

/// A runner that stores its runs in a journal and replays earlier ones.
pub struct JournalingRunner<R, J> {
    inner: R,
    journal: J,
    earlier: BTreeMap<String, VecDeque<JournalEntry>>,
    left: usize,
    clock: Rc<ExperimentClock>,
    variant: String,
    notes: Vec<String>,
}

impl<R: Runner, J: Journal> JournalingRunner<R, J> {
    /// A runner that replays `earlier` and stores the runs after them. The clock must have been
    /// created for that many.
    pub fn new(
        inner: R,
        journal: J,
        earlier: Vec<JournalEntry>,
        clock: Rc<ExperimentClock>,
    ) -> Self {
        let left = earlier.len();
        let mut by_variant: BTreeMap<String, VecDeque<JournalEntry>> = BTreeMap::new();
        for entry in earlier {
            let queue = by_variant.entry(entry.variant.clone()).or_default();
            queue.push_back(entry);
        }
        let notes = match left {
            0 => Vec::new(),
            1 => vec!["resumed: one run is from the earlier session".to_owned()],
            left => vec![format!("resumed: {left} runs are from the earlier session")],
        };
        Self {
            inner,
            journal,
            earlier: by_variant,
            left,
            clock,
            variant: String::new(),
            notes,
        }
    }

    fn recall(&mut self) -> Option<JournalEntry> {
        let entry = self.earlier.get_mut(&self.variant)?.pop_front()?;
        self.left -= 1;
        self.clock.set(entry.at);
        if self.left == 0 {
            self.clock.start();
        }
        Some(entry)
    }
}

impl<R: Runner, J: Journal> Runner for JournalingRunner<R, J> {
    fn begin(&mut self, variant: &str) -> bool {
        self.inner.begin(variant);
        variant.clone_into(&mut self.variant);
        let recalled = self.earlier.get(variant);
        recalled.is_some_and(|queue| !queue.is_empty())
    }

    fn measure(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Measured, RunError> {
        if let Some(entry) = self.recall() {
            return Ok(recalled(entry));
        }
        // This run was not requested earlier: the clock runs on, even if entries are left.
        self.clock.start();
        let run = self.inner.measure(spec, cancel)?;
        if run.finished.record.exit != ExitKind::Cancelled {
            let kept = self.journal.keep(&JournalEntry {
                variant: self.variant.clone(),
                at: self.clock.seconds(),
                record: run.finished.record.clone(),
                stdout: StoredOutput::of(&run.finished.stdout),
                stderr: StoredOutput::of(&run.finished.stderr),
                counters: run.counters.clone(),
                channel: String::from_utf8_lossy(&run.channel).into_owned(),
                steal_share: run.steal_share,
            });
            if kept.is_err() {
                cancel.trigger();
            }
        }
        Ok(run)
    }

    fn command(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        self.inner.command(spec, cancel)
    }

    fn notes(&self) -> &[String] {
        match self.inner.notes() {
            [] => &self.notes,
            notes => notes,
        }
    }
}

pub(crate) fn recalled(entry: JournalEntry) -> Measured {
    let mut finished = Finished::of_record(entry.record);
    finished.stdout = entry.stdout.into_output();
    finished.stderr = entry.stderr.into_output();
    Measured {
        finished,
        counters: entry.counters,
        channel: entry.channel.into_bytes(),
        steal_share: entry.steal_share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoObserver, Plan, Stop, VariantPlan, run_with_clock};
    use genba_run::MockExecutor;
    use std::cell::RefCell;

    #[derive(Clone, Default)]
    struct MemoryJournal(Rc<RefCell<Vec<JournalEntry>>>);

    impl Journal for MemoryJournal {
        fn keep(&mut self, entry: &JournalEntry) -> Result<(), String> {
            // As a file would have it.
            let text = serde_json::to_string(entry).map_err(|error| error.to_string())?;
            let back = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            self.0.borrow_mut().push(back);
            Ok(())
        }
    }

    fn plan(blocks: u32) -> Plan {
        let variant = |name: &str| VariantPlan::new(name, name, CommandSpec::direct([name]));
        let mut plan = Plan::new(vec![variant("a"), variant("b")]);
        plan.seed = 7;
        plan.stop = Stop::Blocks(blocks);
        plan
    }

    /// Each run is longer than the one before, so that a repeated or misplaced run shows.
    fn session(journal: &MemoryJournal, blocks: u32, made: &Rc<Cell<u32>>) -> Vec<f64> {
        let earlier = journal.0.borrow().clone();
        let clock = ExperimentClock::new(earlier.len());
        let count = Rc::clone(made);
        let inner = MockExecutor::new(move |_: &CommandSpec| {
            count.set(count.get() + 1);
            Ok(Finished::mock(f64::from(count.get())))
        });
        let mut runner = JournalingRunner::new(inner, journal.clone(), earlier, Rc::clone(&clock));
        let cancel = Cancel::new().unwrap();
        let measured = run_with_clock(
            &plan(blocks),
            &mut runner,
            &cancel,
            &mut NoObserver,
            &mut || clock.seconds(),
        )
        .unwrap();
        let wall = measured.find("wall").unwrap();
        let mut values: Vec<f64> = Vec::new();
        for variant in &measured.variants {
            values.extend(variant.finite(wall));
        }
        values
    }

    #[test]
    fn resumed_experiment_repeats_no_run() {
        let made = Rc::new(Cell::new(0));
        let whole = session(&MemoryJournal::default(), 5, &made);
        assert_eq!(made.get(), 10);

        let made = Rc::new(Cell::new(0));
        let journal = MemoryJournal::default();
        session(&journal, 3, &made);
        assert_eq!((made.get(), journal.0.borrow().len()), (6, 6));
        let resumed = session(&journal, 5, &made);
        assert_eq!((made.get(), journal.0.borrow().len()), (10, 10));
        assert_eq!(resumed, whole);
    }

    #[test]
    fn clock_continues_from_the_last_replayed_run() {
        let clock = ExperimentClock::new(2);
        assert_eq!(clock.seconds(), 0.0);
        clock.set(12.5);
        assert_eq!(clock.seconds(), 12.5);
        clock.start();
        assert!(clock.seconds() >= 12.5);
    }
}
