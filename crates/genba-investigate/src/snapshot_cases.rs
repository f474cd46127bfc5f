//! Snapshots of what runs, each as a case with a page.

use std::io::PipeReader;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use genba_case::{Case, Store};
use genba_model::{AttachedProcesses, HostFingerprint, Investigation, RunSummary, Workload};
use genba_profile::{
    ProfileError, RecordOutcome, Snapshot, SnapshotPlan, SnapshotSink, Snapshotted,
    record_snapshots,
};
use genba_run::Cancel;

use crate::pipeline::write_page;
use crate::sampling::{Located, locate_recording};
use crate::{InvestigateError, Options};

/// When snapshots are written, and of what time.
pub struct SnapshotOptions {
    /// How far back a snapshot reaches.
    pub window: Duration,
    /// A snapshot is written when bytes come.
    pub requests: PipeReader,
    /// Whether one more is written at the end; after Ctrl-C it is in any case.
    pub at_end: bool,
    /// The processes that are attached to; empty for a command and for whole CPUs.
    pub pids: Vec<i32>,
}

/// What the user is told while snapshots are made.
#[derive(Debug)]
pub enum SnapshotNews {
    /// Sampling has begun: from now on requests find samples.
    Sampling,
    /// A snapshot is in the case of this id.
    Written(String, Snapshot),
    /// Nothing ran on a CPU in the time of a snapshot, so there is no case.
    Empty,
    /// A snapshot could not be written.
    Failed(InvestigateError),
    /// The page of a case is there.
    Page(String, PathBuf),
    /// The recording of a case was not read any more, after Ctrl-C.
    RecordingOnly(String),
    /// The page of a case could not be made; its recording is there.
    NoPage(String, InvestigateError),
}

/// Samples until the end of what is sampled, and makes a case of each snapshot that is requested. Pages are made
/// meanwhile, one after the other; after Ctrl-C none is made any more.
///
/// # Errors
/// When nothing can be sampled or the command cannot be started. What happens to single snapshots is `news`.
pub fn snapshots(
    store: &Store,
    what: Snapshotted<'_>,
    workload: Workload,
    wanted: SnapshotOptions,
    options: &Options,
    cancel: &Cancel,
    news: &(dyn Fn(SnapshotNews) + Sync),
) -> Result<RecordOutcome, InvestigateError> {
    let hardware = genba_profile::sampler::hardware_cycles_work();
    let maker = CaseMaker {
        host: genba_host::fingerprint(hardware.is_ok()),
        workload,
        pids: wanted.pids,
        options,
    };
    let (written, to_complete) = channel::<(Case, Snapshot)>();
    std::thread::scope(|scope| {
        let maker = &maker;
        scope.spawn(move || {
            for (mut case, snapshot) in to_complete {
                // A request to end must not wait for debug information to be read.
                let only_recording = cancel.is_triggered();
                let id = case.id().to_owned();
                news(match maker.complete(&mut case, &snapshot, only_recording) {
                    Ok(Some(page)) => SnapshotNews::Page(id, page),
                    Ok(None) => SnapshotNews::RecordingOnly(id),
                    Err(error) => SnapshotNews::NoPage(id, error),
                });
            }
        });
        let mut sink = Sink {
            store,
            maker,
            cancel,
            written,
            news,
            case: None,
        };
        let plan = SnapshotPlan {
            window: wanted.window,
            requests: wanted.requests,
            at_end: wanted.at_end,
            sink: &mut sink,
        };
        Ok(record_snapshots(what, plan, &options.record, cancel)?)
    })
}

/// What all cases of a recording have in common.
struct CaseMaker<'a> {
    host: HostFingerprint,
    workload: Workload,
    pids: Vec<i32>,
    options: &'a Options,
}

impl CaseMaker<'_> {
    /// Puts what the recording says into the case, and returns the page's path; with `only_recording` there is none.
    fn complete(
        &self,
        case: &mut Case,
        snapshot: &Snapshot,
        only_recording: bool,
    ) -> Result<Option<PathBuf>, InvestigateError> {
        let mut notes = vec![format!(
            "a snapshot: what ran in the {} before it was requested; no repeated runs, and executions are not counted",
            genba_units::format::duration(snapshot.seconds)
        )];
        let located = match only_recording {
            true => Located::default(),
            false => locate_recording(case, &snapshot.path, self.options, snapshot.seconds)?,
        };
        if only_recording {
            notes.push(format!(
                "interrupted before the recording was read: genba report -i {} reads it",
                case.id()
            ));
        }
        let investigation = Investigation {
            case: case.id().to_owned(),
            genba: self.options.version.clone(),
            started: case.summary()?.started,
            workload: self.workload.clone(),
            host: self.host.clone(),
            hazards: Vec::new(),
            attached: Some(AttachedProcesses {
                pids: self.pids.clone(),
                seconds: snapshot.seconds,
            }),
            runs: RunSummary {
                runs: Vec::new(),
                metrics: Vec::new(),
                outliers: Vec::new(),
            },
            noise_floor: Vec::new(),
            stat: None,
            profile: located.profile,
            script: None,
            annotations: located.annotations,
            observed: None,
            waits: None,
            findings: located.findings,
            places: located.places,
            input_bytes: None,
            notes,
        };
        case.put_investigation(&investigation)?;
        let page = case.page_path();
        if !only_recording {
            write_page(&page, &genba_report::page::html(&investigation))?;
        }
        case.finish()?;
        Ok((!only_recording).then_some(page))
    }
}

/// Creates the case of each snapshot, and hands on those that have samples.
struct Sink<'a> {
    store: &'a Store,
    maker: &'a CaseMaker<'a>,
    cancel: &'a Cancel,
    written: Sender<(Case, Snapshot)>,
    news: &'a (dyn Fn(SnapshotNews) + Sync),
    /// The case that is being written.
    case: Option<(Case, genba_run::Protected)>,
}

impl SnapshotSink for Sink<'_> {
    fn begun(&mut self) {
        (self.news)(SnapshotNews::Sampling);
    }

    fn next_file(&mut self) -> Result<PathBuf, String> {
        // Also after Ctrl-C: the snapshot is what the user waited for.
        let protected = self.cancel.protect();
        let case = self.store.create(&self.maker.workload, &self.maker.host);
        let case = case.map_err(|error| error.to_string())?;
        let path = case.recording_path();
        self.case = Some((case, protected));
        Ok(path)
    }

    fn take(&mut self, snapshot: Result<Snapshot, ProfileError>) {
        let case = self.case.take();
        match (snapshot, case) {
            (Ok(snapshot), Some((case, _))) if snapshot.samples > 0 => {
                (self.news)(SnapshotNews::Written(
                    case.id().to_owned(),
                    snapshot.clone(),
                ));
                // The other side ends with this one.
                let _ = self.written.send((case, snapshot));
            }
            (result, case) => {
                if let Some((case, _)) = case {
                    // What is told is why the case is empty.
                    let _ = self.store.discard(case);
                }
                (self.news)(match result {
                    Ok(_) => SnapshotNews::Empty,
                    Err(error) => SnapshotNews::Failed(error.into()),
                });
            }
        }
    }
}
