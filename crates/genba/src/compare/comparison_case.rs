//! Stores the runs of a comparison in a case, and shows progress.

use genba_case::{Case, Store, VariantRun};
use genba_experiment::{FinishedRun, Observer, Progress, Stage};
use genba_investigate::Progress as _;
use genba_model::{HostFingerprint, Workload};
use genba_report::terminal;

use crate::output::Output;
use crate::progress_line::ProgressLine;

/// Writes the case of a comparison. The case is created when the first run has ended, so that a
/// command that cannot start leaves none.
pub struct ComparisonWriter {
    store: Option<Store>,
    workload: Workload,
    host: HostFingerprint,
    case: Option<Case>,
}

impl ComparisonWriter {
    /// A writer into `store`; without a store nothing is written.
    pub fn new(store: Option<Store>, workload: Workload, host: HostFingerprint) -> Self {
        Self {
            store,
            workload,
            host,
            case: None,
        }
    }

    /// The case, if a run was stored.
    pub fn case(&mut self) -> Option<&mut Case> {
        self.case.as_mut()
    }

    fn keep(&mut self, title: Option<&str>, run: &FinishedRun<'_>) -> Result<(), String> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        if self.case.is_none() {
            let made = store.create_comparison(&self.workload, &self.host);
            self.case = Some(made.map_err(|error| error.to_string())?);
        }
        let Some(case) = &self.case else {
            return Ok(());
        };
        let variant = match title {
            Some(title) => format!("{title}: {}", run.variant),
            None => run.variant.to_owned(),
        };
        case.add_variant_run(&VariantRun {
            variant,
            block: run.block,
            own: run.own.clone(),
            run: run.record.clone(),
        })
        .map_err(|error| error.to_string())
    }
}

/// Observes the runs of one plan.
pub struct Watcher<'a> {
    /// Stores the runs.
    pub writer: &'a mut ComparisonWriter,
    /// Title of the plan, if there are several.
    pub title: Option<&'a str>,
    /// Primary metric.
    pub metric: &'a str,
    /// The progress line.
    pub line: &'a mut ProgressLine,
    /// Layout of the progress text.
    pub output: &'a Output,
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, progress: &Progress<'_>) {
        let text = progress_text(progress, self.metric, self.output);
        let title = self
            .title
            .map_or(String::new(), |title| format!("{title}: "));
        self.line.update(&format!("{title}{text}"), None);
    }

    fn keep(&mut self, run: &FinishedRun<'_>) -> Result<(), String> {
        self.writer.keep(self.title, run)
    }
}

/// The progress of a measurement as text.
pub fn progress_text(progress: &Progress<'_>, metric: &str, output: &Output) -> String {
    match (progress.stage, progress.current) {
        (Stage::SetUp, _) => "setting up".to_owned(),
        (Stage::WarmUp, _) => "warming up".to_owned(),
        (Stage::CleanUp, _) => "cleaning up".to_owned(),
        (Stage::Measure, Some((variant, ratio))) => {
            let others = progress.undecided.saturating_sub(1);
            let shown = terminal::Progress {
                variant,
                metric,
                pairs: progress.blocks,
                ratio,
                left_seconds: progress.left_seconds,
                others: u32::try_from(others).unwrap_or(u32::MAX),
            };
            terminal::progress_line(&shown, output.screen())
        }
        (Stage::Measure, None) => match progress.left_seconds {
            Some(left) => format!(
                "run {}, at most {} left",
                progress.blocks + 1,
                genba_units::format::duration(left.ceil())
            ),
            None => format!("run {}", progress.blocks + 1),
        },
    }
}
