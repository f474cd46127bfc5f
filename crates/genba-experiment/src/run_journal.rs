//! Measured runs kept as they end, and recalled when an experiment is taken up again.
//!
//! A driver that asks for the same runs whenever it has seen the same values (all of this crate
//! do, given their seed) comes back to where it was interrupted without any run being made
//! twice: its runs are answered from the journal, variant by variant in their order, and the
//! clock stands at what it showed then.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use genba_model::{ExitKind, RunRecord};
use genba_run::{Cancel, CommandSpec, Finished, OutputInfo, RunError};
use serde::{Deserialize, Serialize};

use crate::runner::{Measured, Runner};

/// A measured run as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Name of its variant.
    pub variant: String,
    /// What the experiment's clock showed at its end, seconds.
    pub at: f64,
    /// Its account.
    pub record: RunRecord,
    /// What it wrote to standard output.
    #[serde(default, skip_serializing_if = "Kept::is_nothing")]
    pub stdout: Kept,
    /// What it wrote to standard error.
    #[serde(default, skip_serializing_if = "Kept::is_nothing")]
    pub stderr: Kept,
    /// Counts in the order of the plan's events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Option<f64>>,
    /// What it wrote to `$GENBA_METRICS_FD`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// Share of the wanted CPU time that the hypervisor took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
}

/// An output stream as it is kept: what is no UTF-8 in it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    bytes: Option<u64>,
    hash: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    captured: String,
}

impl Kept {
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

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Seconds spent on an experiment, over all sittings.
///
/// While runs are recalled it stands at the end of the last of them.
#[derive(Debug)]
pub struct ExperimentClock {
    before: Cell<f64>,
    /// `None` while runs are recalled.
    since: Cell<Option<Instant>>,
}

impl ExperimentClock {
    /// A stopwatch for an experiment of which so many runs are to be recalled.
    #[must_use]
    pub fn new(recalled: usize) -> Rc<Self> {
        Rc::new(Self {
            before: Cell::new(0.0),
            since: Cell::new((recalled == 0).then(Instant::now)),
        })
    }

    /// What it shows, seconds.
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

/// Where runs are kept.
pub trait Journal {
    /// Keeps a run at once.
    ///
    /// # Errors
    /// Why it cannot be kept; everything is then cancelled, and the journal remembers why.
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), String>;
}

/// A runner whose runs are kept and recalled.
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
    /// A runner that recalls `earlier` and keeps what comes after. The clock must be one made
    /// for that many.
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
            left => vec![format!(
                "taken up again: {left} runs are those of the earlier sitting"
            )],
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
        // What is asked for now was not asked for then: the clock goes on, whatever is left.
        self.clock.start();
        let run = self.inner.measure(spec, cancel)?;
        if run.finished.record.exit != ExitKind::Cancelled {
            let kept = self.journal.keep(&JournalEntry {
                variant: self.variant.clone(),
                at: self.clock.seconds(),
                record: run.finished.record.clone(),
                stdout: Kept::of(&run.finished.stdout),
                stderr: Kept::of(&run.finished.stderr),
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

fn recalled(entry: JournalEntry) -> Measured {
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
    struct Book(Rc<RefCell<Vec<JournalEntry>>>);

    impl Journal for Book {
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

    /// Runs get longer and longer, so that a run made twice or in another place shows.
    fn sitting(book: &Book, blocks: u32, made: &Rc<Cell<u32>>) -> Vec<f64> {
        let earlier = book.0.borrow().clone();
        let clock = ExperimentClock::new(earlier.len());
        let count = Rc::clone(made);
        let inner = MockExecutor::new(move |_: &CommandSpec| {
            count.set(count.get() + 1);
            Ok(Finished::mock(f64::from(count.get())))
        });
        let mut runner = JournalingRunner::new(inner, book.clone(), earlier, Rc::clone(&clock));
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
    fn what_was_measured_is_not_measured_again() {
        let made = Rc::new(Cell::new(0));
        let whole = sitting(&Book::default(), 5, &made);
        assert_eq!(made.get(), 10);

        let made = Rc::new(Cell::new(0));
        let book = Book::default();
        sitting(&book, 3, &made);
        assert_eq!((made.get(), book.0.borrow().len()), (6, 6));
        let resumed = sitting(&book, 5, &made);
        assert_eq!((made.get(), book.0.borrow().len()), (10, 10));
        assert_eq!(resumed, whole);
    }

    #[test]
    fn the_clock_goes_on_where_it_stood() {
        let clock = ExperimentClock::new(2);
        assert_eq!(clock.seconds(), 0.0);
        clock.set(12.5);
        assert_eq!(clock.seconds(), 12.5);
        clock.start();
        assert!(clock.seconds() >= 12.5);
    }
}
