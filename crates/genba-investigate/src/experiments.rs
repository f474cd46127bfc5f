//! Short runs that findings about memory and threads need: where pages are faulted in, and what
//! the work costs on one CPU alone.

use std::time::Duration;

use genba_explain::causes::frame::Frame;
use genba_explain::causes::wants;
use genba_explain::{Scene, SceneOptions};
use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions};
use genba_run::Output;

use crate::road::Road;
use crate::{InvestigateError, Progress};

/// Page faults to sample.
const FAULTS: u64 = 2000;

/// Stack to copy with each, bytes.
const STACK: u32 = 8 << 10;

/// A run on one CPU may take so many times longer than the usual one: all threads' work, and more.
const LONGEST: f64 = 4.0;

impl Road<'_> {
    /// Makes the runs that would decide what the frame suspects, and puts what they say in. What
    /// cannot be done is left out.
    pub(crate) fn try_out(
        &mut self,
        frame: &mut Frame,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        if wants::fault_places(frame) {
            self.fault_places(frame, progress)?;
        }
        if wants::one_cpu(frame) {
            self.one_cpu(frame, progress)?;
        }
        Ok(())
    }

    fn fault_places(
        &mut self,
        frame: &mut Frame,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let Some(faults) = frame.program.minor_faults else {
            return Ok(());
        };
        let Ok(event) = EventSpec::parse("page-faults:u") else {
            return Ok(());
        };
        let record = RecordOptions {
            event: Some(event),
            // An odd period, since programs take faults in step with powers of two.
            rate: Rate::Period((faults as u64 / FAULTS).max(1) | 1),
            call_graph: CallGraph::Dwarf(STACK),
            user_only: true,
            no_timer_fallback: true,
            command_line: self.options.record.command_line.clone(),
            ..RecordOptions::default()
        };
        let path = self.case.directory().join("faults.data");
        let notes = self.notes.len();
        let recorded = self.record(&record, &path, "sampling page faults", 1, progress)?;
        if recorded.is_some()
            && let Ok(scene) = Scene::open(&path, &SceneOptions::default())
        {
            frame.program.faults = scene.user_places();
        }
        // Nobody asked for it: why it cannot be had is of no interest.
        self.notes.truncate(notes);
        // It was only needed for this; a copy that stays is no harm.
        let _ = std::fs::remove_file(&path);
        Ok(())
    }

    fn one_cpu(
        &mut self,
        frame: &mut Frame,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let mut spec = self.spec.clone();
        let first = spec
            .cpus
            .as_ref()
            .and_then(|cpus| cpus.first().copied())
            .unwrap_or(0);
        spec.cpus = Some(vec![first]);
        spec.stdout = Output::Null;
        spec.stderr = Output::Null;
        let usual = frame.program.cpu_seconds.max(frame.program.wall_seconds);
        let limit = Duration::try_from_secs_f64(LONGEST * usual + 1.0).unwrap_or(Duration::MAX);
        spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
        progress.update(
            "running on one CPU alone",
            Duration::try_from_secs_f64(usual).ok(),
        );
        let finished = self.launcher.run(&spec, self.cancel);
        self.go_on()?;
        // A CPU that may not be used, or a run that does not end there, says nothing.
        if let Ok(finished) = finished
            && (finished.record.exit.success() || self.options.ignore_failure)
            && finished.record.exit != genba_model::ExitKind::TimedOut
        {
            frame.program.one_cpu_seconds =
                Some(finished.record.cpu().total()).filter(|&seconds| seconds > 0.0);
        }
        Ok(())
    }
}
