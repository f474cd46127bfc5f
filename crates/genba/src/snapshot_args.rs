//! Arguments of `genba record --snapshot`, and what it does with them.

use std::time::Duration;

use clap::Args;
use genba_case::Store;
use genba_investigate::{MAX_ANNOTATIONS, Options, SnapshotNews, SnapshotOptions};
use genba_model::Workload;
use genba_profile::sampler::RecordOptions;
use genba_profile::{RecordOutcome, Snapshotted};
use genba_run::{Cancel, CommandSpec};
use genba_units::{format, parse_duration};

use crate::exit_code::Failure;
use crate::interrupt;
use crate::output::Output;

/// Variable of the command's environment with genba's process id, so that the command can ask for a snapshot.
const PID_VARIABLE: &str = "GENBA_PID";

/// Snapshots instead of one recording.
#[derive(Debug, Args)]
pub struct SnapshotArgs {
    /// Write nothing but snapshots of the last moments (10 s unless DURATION is given), each a case: one whenever
    /// genba gets SIGUSR2, and one at Ctrl-C. For slowness that is rare.
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true,
          default_missing_value = "10s", value_parser = parse_duration,
          conflicts_with_all = ["file", "script", "switch_events"])]
    snapshot: Option<Duration>,

    /// With --snapshot: also write one when the command or the process ends.
    #[arg(long, requires = "snapshot")]
    snapshot_at_end: bool,
}

impl SnapshotArgs {
    /// Whether snapshots are wanted.
    pub fn is_wanted(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Lets the command know to which process it may send the signal.
    pub fn tell_command(&self, spec: &mut CommandSpec) {
        if self.is_wanted() {
            let id = std::process::id().to_string();
            spec.environment.set(PID_VARIABLE, id);
        }
    }

    /// Samples `what`, and makes a case of each snapshot; `pids` are the processes that are attached to.
    pub fn record(
        &self,
        what: Snapshotted<'_>,
        workload: Workload,
        pids: &[i32],
        record: RecordOptions,
        cancel: &Cancel,
        output: &Output,
    ) -> Result<RecordOutcome, Failure> {
        let window = self.snapshot.unwrap_or_default();
        let wanted = SnapshotOptions {
            window,
            requests: interrupt::snapshot_requests()?,
            at_end: self.snapshot_at_end,
            pids: pids.to_vec(),
        };
        let options = Options {
            record,
            annotations: MAX_ANNOTATIONS,
            ..Options::for_findings(
                Duration::ZERO,
                Duration::ZERO,
                Duration::ZERO,
                env!("CARGO_PKG_VERSION"),
            )
        };
        let shared = if matches!(what, Snapshotted::Command(..)) {
            format!(" (the command has this number in {PID_VARIABLE})")
        } else {
            String::new()
        };
        let store = Store::open_root();
        let news = |news: SnapshotNews| output.note(&sentence(&news, window, &shared));
        Ok(genba_investigate::snapshots(
            &store, what, workload, wanted, &options, cancel, &news,
        )?)
    }
}

/// What happened to a snapshot, as a sentence; `shared`: who else knows the number of this process.
fn sentence(news: &SnapshotNews, window: Duration, shared: &str) -> String {
    match news {
        SnapshotNews::Sampling => format!(
            "sampling; for a snapshot of the last {}: kill -USR2 {}{shared}",
            format::duration(window.as_secs_f64()),
            std::process::id()
        ),
        SnapshotNews::Written(case, snapshot) => {
            let held = format::duration(snapshot.seconds);
            let short = if snapshot.overwritten {
                format!(
                    " (the ring buffers hold no more of the {}: a lower rate, -F, or smaller stack copies reach back further)",
                    format::duration(window.as_secs_f64())
                )
            } else {
                String::new()
            };
            let lost = match snapshot.lost {
                0 => String::new(),
                lost => format!(", {lost} lost"),
            };
            format!(
                "case {case}: {} samples{lost} of the last {held}{short}",
                format::grouped(snapshot.samples as f64)
            )
        }
        SnapshotNews::Empty => format!(
            "no snapshot: nothing of this ran on a CPU in the last {}",
            format::duration(window.as_secs_f64())
        ),
        SnapshotNews::Failed(error) => format!("no snapshot: {error}"),
        SnapshotNews::Page(case, page) => format!(
            "case {case}: {}; next: genba report -i {case}",
            page.display()
        ),
        SnapshotNews::RecordingOnly(case) => {
            format!(
                "case {case}: a recording without a page (interrupted); next: genba report -i {case}"
            )
        }
        SnapshotNews::NoPage(case, error) => {
            format!("case {case} has no page: {error}; its recording: genba report -i {case}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_profile::Snapshot;

    #[test]
    fn snapshot_that_holds_less_than_was_wanted_says_so() {
        let mut snapshot = Snapshot {
            path: "x".into(),
            samples: 1200,
            lost: 0,
            throttled: 0,
            seconds: 10.0,
            overwritten: false,
        };
        let window = Duration::from_secs(10);
        let say = |snapshot: &Snapshot| {
            sentence(
                &SnapshotNews::Written("7f3a".to_owned(), snapshot.clone()),
                window,
                "",
            )
        };
        assert_eq!(say(&snapshot), "case 7f3a: 1,200 samples of the last 10 s");
        snapshot.seconds = 3.2;
        snapshot.overwritten = true;
        snapshot.lost = 2;
        let text = say(&snapshot);
        assert!(
            text.contains("2 lost of the last 3.20 s") && text.contains("-F"),
            "{text}"
        );
    }
}
