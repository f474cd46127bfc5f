//! The case of an experiment, made when its first run has ended.

use std::cell::RefCell;
use std::rc::Rc;

use genba_case::{Case, ExperimentPlan, Store};
use genba_experiment::run_journal::{Journal, JournalEntry};
use genba_model::{CaseKind, HostFingerprint, Workload};

/// Where the runs of an experiment are kept.
pub struct CaseWriter {
    /// `None` if no case is wanted.
    pub store: Option<Store>,
    pub kind: CaseKind,
    pub plan: ExperimentPlan,
    pub workload: Workload,
    pub host: HostFingerprint,
    /// The case, once there is one.
    pub case: Option<Case>,
    /// Why a run could not be kept.
    pub trouble: Option<String>,
}

impl CaseWriter {
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), genba_case::Error> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        if self.case.is_none() {
            let case = store.create(&self.workload, &self.host)?;
            case.begin_experiment(self.kind, &self.plan)?;
            self.case = Some(case);
        }
        match &self.case {
            Some(case) => case.add_to_journal(entry),
            None => Ok(()),
        }
    }
}

/// The book, as the runner holds it.
pub struct SharedWriter(pub Rc<RefCell<CaseWriter>>);

impl Journal for SharedWriter {
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), String> {
        let mut book = self.0.borrow_mut();
        book.keep(entry).map_err(|error| {
            let text = error.to_string();
            book.trouble.get_or_insert_with(|| text.clone());
            text
        })
    }
}
