//! Writes the case of an experiment; the case is created when its first run has ended.

use std::cell::RefCell;
use std::rc::Rc;

use genba_case::{Case, ExperimentPlan, Store};
use genba_experiment::run_journal::{Journal, JournalEntry};
use genba_model::{CaseKind, HostFingerprint, Workload};

use crate::interrupt;

/// Writes the runs of an experiment into its case.
pub struct CaseWriter {
    /// `None` with `--no-case`.
    pub store: Option<Store>,
    /// Kind of the experiment.
    pub kind: CaseKind,
    /// Command line and seed, for resuming.
    pub plan: ExperimentPlan,
    /// The command.
    pub workload: Workload,
    /// The host.
    pub host: HostFingerprint,
    /// The case, once there is one.
    pub case: Option<Case>,
    /// Why a run could not be stored.
    pub write_error: Option<String>,
}

impl CaseWriter {
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), genba_case::Error> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        if self.case.is_none() {
            let case = store.create(&self.workload, &self.host)?;
            case.begin_experiment(self.kind, &self.plan)?;
            interrupt::resumed_by(case.id());
            self.case = Some(case);
        }
        match &self.case {
            Some(case) => case.add_to_journal(entry),
            None => Ok(()),
        }
    }
}

/// The case writer, shared with the runner.
pub struct SharedWriter(pub Rc<RefCell<CaseWriter>>);

impl Journal for SharedWriter {
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), String> {
        let mut writer = self.0.borrow_mut();
        writer.keep(entry).map_err(|error| {
            let text = error.to_string();
            writer.write_error.get_or_insert_with(|| text.clone());
            text
        })
    }
}
