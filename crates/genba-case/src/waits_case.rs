//! Cases of `genba wait`: what the wall clock waited for.

use genba_model::{CaseKind, HostFingerprint, Waits, Workload};

use crate::{Case, Result, Store};

/// Name of the document.
const WAITS: &str = "waits";

impl Store {
    /// Creates a case with what the wall clock waited for; of a run that was interrupted the case is, too.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create_waits(
        &self,
        workload: &Workload,
        host: &HostFingerprint,
        waits: &Waits,
        interrupted: bool,
    ) -> Result<Case> {
        let mut case = self.create(workload, host)?;
        case.put_waits(waits)?;
        match interrupted {
            true => case.interrupt()?,
            false => case.finish()?,
        }
        Ok(case)
    }
}

impl Case {
    pub(crate) fn put_waits(&self, waits: &Waits) -> Result<()> {
        self.mark(CaseKind::Waits)?;
        self.check_round_trip(WAITS, waits)?;
        self.put(WAITS, waits)
    }

    /// What the wall clock waited for: of `genba wait`, or of an investigation that watched it.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn waits(&self) -> Result<Option<Waits>> {
        self.get_document(WAITS)
    }
}
