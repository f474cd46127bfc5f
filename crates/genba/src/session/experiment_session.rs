//! One session of an experiment: its case, its journal, the signal handler, its result.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use genba_case::{ExperimentPlan, Store};
use genba_experiment::run_journal::{ExperimentClock, JournalEntry, JournalingRunner};
use genba_experiment::{
    Comparer, ExactRunner, FinishedRun, HostRunner, Observer, Plan, Progress, ReportContext, now,
};
use genba_investigate::Progress as _;
use genba_model::{CaseKind, EXACT_INSTRUCTIONS, HostFingerprint, Workload};
use genba_report::Screen;
use genba_run::Cancel;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::case_writer::{CaseWriter, SharedWriter};
use super::experiment_args::ExperimentArgs;
use crate::compare::{ThisHost, progress_text};
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::unread_input;

/// A session of an experiment with its case.
pub struct Session {
    kind: CaseKind,
    seed: u64,
    started: String,
    host: HostFingerprint,
    cancel: Cancel,
    writer: Rc<RefCell<CaseWriter>>,
    earlier: Vec<JournalEntry>,
    output: Output,
}

impl Session {
    /// Starts an experiment on this command, or resumes the case that the arguments name.
    pub fn open(
        kind: CaseKind,
        args: &ExperimentArgs,
        command: &str,
        output: &Output,
    ) -> Result<Self, Failure> {
        let store = Store::open_root();
        let host = ThisHost::detect().fingerprint;
        let mut plan = ExperimentPlan {
            arguments: args.arguments.clone().unwrap_or_else(arguments),
            directory: std::env::current_dir()
                .unwrap_or_default()
                .display()
                .to_string(),
            seed: args.measurement.seed.unwrap_or_else(super::resume::seed),
            genba: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let mut earlier = Vec::new();
        let mut case = None;
        if let Some(id) = &args.continue_case {
            let found = store.find_to_write(id)?;
            earlier = found.journal()?;
            plan = found.experiment_plan()?.unwrap_or(plan);
            found.resume()?;
            interrupt::resumed_by(found.id());
            case = Some(found);
        } else {
            unread_input::note(output);
        }
        let workload = Workload {
            command: vec![command.to_owned()],
            shell: None,
            directory: plan.directory.clone(),
            name: None,
        };
        let seed = plan.seed;
        let writer = CaseWriter {
            store: (!args.no_case).then_some(store),
            kind,
            plan,
            workload,
            host: host.clone(),
            case,
            write_error: None,
        };
        Ok(Self {
            kind,
            seed,
            started: now(),
            host,
            cancel: interrupt::token()?,
            writer: Rc::new(RefCell::new(writer)),
            earlier,
            output: *output,
        })
    }

    /// Seed of everything random in this experiment, the same in all its sessions.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The token that Ctrl-C triggers.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The comparer for plans with the metric and counters of this one; to be asked for once.
    pub fn comparer(&mut self, plan: &Plan) -> Result<Comparer<'static>, Failure> {
        let earlier = std::mem::take(&mut self.earlier);
        let clock = ExperimentClock::new(earlier.len());
        let shared = SharedWriter(Rc::clone(&self.writer));
        let observer = Watcher {
            line: ProgressLine::new(&self.output),
            metric: plan.primary.clone(),
            output: self.output,
        };
        let cancel = self.cancel.clone();
        let shown = Rc::clone(&clock);
        let seconds = move || shown.seconds();
        Ok(if plan.primary == EXACT_INSTRUCTIONS {
            let runner = JournalingRunner::new(ExactRunner::new()?, shared, earlier, clock);
            Comparer::new(runner, observer, cancel, seconds)
        } else {
            let runner =
                JournalingRunner::new(HostRunner::new(&plan.counters)?, shared, earlier, clock);
            Comparer::new(runner, observer, cancel, seconds)
        })
    }

    /// Case, version, start, host and hazards, which every document of an experiment has.
    pub fn setting(&self) -> ReportContext {
        ReportContext {
            case: self.case_id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started.clone(),
            host: self.host.clone(),
            hazards: genba_host::current_hazards(None),
        }
    }

    /// Identifier of the case, once a run was stored.
    pub fn case_id(&self) -> Option<String> {
        let writer = self.writer.borrow();
        writer.case.as_ref().map(|case| case.id().to_owned())
    }

    /// Stores a document that a later session needs; does nothing without a case.
    pub fn put_document(&self, name: &str, what: &impl Serialize) -> Result<(), Failure> {
        match &self.writer.borrow().case {
            Some(case) => Ok(case.put_document(name, what)?),
            None => Ok(()),
        }
    }

    /// A document that an earlier session stored.
    pub fn document<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let writer = self.writer.borrow();
        writer.case.as_ref()?.get_document(name).ok()?
    }

    /// Fails if a run could not be stored.
    pub fn check_stored(&self) -> Result<(), Failure> {
        match &self.writer.borrow().write_error {
            Some(what) => Err(Failure::usage(format!(
                "cannot store the runs in the case: {what}"
            ))),
            None => Ok(()),
        }
    }

    /// Stores the document with its page and prints the result: as JSON, or as the text that `words`
    /// renders with the path of the page. After an interruption it prints how to resume; the exit code
    /// says so.
    pub fn finish(
        self,
        document: &impl Serialize,
        page: &str,
        json: &JsonArgs,
        words: impl FnOnce(Screen) -> String,
    ) -> VerbResult {
        let (kind, output) = (self.kind, self.output);
        let resume = self.resume_hint();
        let interrupted = self.cancel.is_triggered();
        let page = self.store_document(document, page)?;
        if json.wanted() {
            output.json(json, kind.name(), document)?;
        } else {
            let mut text = words(output.screen());
            if let Some(page) = page {
                text.push_str(&format!("\nPAGE  {}\n", genba_report::sanitise(&page)));
            }
            output.result(&text)?;
        }
        if let Some(how) = resume {
            output.note(&how);
        }
        Ok(match interrupted {
            true => Exit::Interrupted,
            false => Exit::Done,
        })
    }

    /// Stores document and page, and closes the case; returns the path of the page, if there is a
    /// case.
    fn store_document(
        self,
        document: &impl Serialize,
        page: &str,
    ) -> Result<Option<String>, Failure> {
        self.check_stored()?;
        let mut writer = self.writer.borrow_mut();
        let Some(case) = &mut writer.case else {
            return Ok(None);
        };
        case.put_experiment(self.kind, document)?;
        let path = case.page_path();
        crate::output_file::write(&path, page)?;
        if self.cancel.is_triggered() {
            case.interrupt()?;
        } else {
            case.finish()?;
        }
        Ok(Some(path.display().to_string()))
    }

    /// How to resume an interrupted experiment that has a case.
    fn resume_hint(&self) -> Option<String> {
        let id = self.case_id()?;
        (self.cancel.is_triggered())
            .then(|| format!("interrupted; resume with: genba case resume {id}"))
    }
}

/// The arguments of this command line, without genba's own name.
fn arguments() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    words.map(|word| genba_run::text_of(&word)).collect()
}

/// Shows progress; the journal stores the runs.
struct Watcher {
    line: ProgressLine,
    metric: String,
    output: Output,
}

impl Observer for Watcher {
    fn progress(&mut self, progress: &Progress<'_>) {
        let text = progress_text(progress, &self.metric, &self.output);
        self.line.update(&text, None);
    }

    fn say(&mut self, what: &str, left_seconds: Option<f64>) {
        let left = left_seconds.and_then(|left| Duration::try_from_secs_f64(left).ok());
        self.line.update(what, left);
    }

    fn keep(&mut self, _: &FinishedRun<'_>) -> Result<(), String> {
        Ok(())
    }
}
