//! Samples functions of Python and Ruby, in a run of its own.

use std::path::Path;

use genba_case::Phase;
use genba_model::{Profile, ScriptProfile};
use genba_profile::jit::JitArtifactRecorder;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions};
use genba_run::Finished;
use genba_runtime::script::{self, ScriptSampler};

use crate::enough_samples::script_rate_for;
use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress};

/// Sampling rate of the accompanying recording, which is not read, Hz.
const UNUSED_RECORDING_HZ: u64 = 49;
/// Maximum number of frames of all stacks in the flame graph; the others would be too narrow to see.
const MAX_FRAMES: usize = 50_000;

impl Pipeline<'_> {
    /// Samples script functions in a run of their own; `None` where the command runs no interpreter
    /// and, with a note, where its frames cannot be read.
    pub(crate) fn sample_script(
        &mut self,
        profile: Option<&Profile>,
        progress: &mut dyn Progress,
    ) -> Result<Option<ScriptProfile>, InvestigateError> {
        let record = &self.options.record;
        let interpreter = profile.is_some_and(|profile| {
            let mut modules = profile.modules.iter();
            modules.any(|one| script::may_be_interpreter(&one.module))
        });
        if !self.options.script || !interpreter || record.force_timer {
            return Ok(None);
        }
        let seconds = profile.map_or(0.0, |profile| profile.duration_seconds);
        if !self.has_time_for(seconds.min(self.shortest_part())) {
            self.notes.push(
                "functions of the script were not sampled: no time was left; give more (--limit)"
                    .to_owned(),
            );
            return Ok(None);
        }
        progress.update("sampling script functions", None);
        let record = RecordOptions {
            call_graph: CallGraph::None,
            rate: Rate::Frequency(UNUSED_RECORDING_HZ),
            ..self.options.record.clone()
        };
        let cpu = profile.map_or(0.0, |profile| profile.duration_seconds);
        let path = self.case.directory().join("script.data");
        let mut sampler =
            ScriptSampler::new(&path, script_rate_for(cpu), record.command_line.clone());
        let spec = self.spec_within(1.0);
        let recorded = genba_profile::record_with(
            self.launcher,
            &spec,
            &record,
            &path,
            self.cancel,
            &mut sampler,
        );
        let read = recorded.map(|recorded| {
            self.notes.extend(new_notes(&recorded.notes, &self.notes));
            (recorded.runs, script::profile(&path))
        });
        remove_recording(&path);
        self.check_cancelled()?;
        match read {
            Ok((runs, read)) => {
                self.store_runs(&runs)?;
                // The sampler has noted why there is none.
                Ok(read
                    .ok()
                    .filter(|read| !read.functions.is_empty())
                    .map(with_heaviest_stacks))
            }
            Err(error) => {
                self.notes.push(format!("no script functions: {error}"));
                Ok(None)
            }
        }
    }

    fn store_runs(&mut self, runs: &[Finished]) -> Result<(), InvestigateError> {
        for finished in runs {
            self.case.add_run(&finished.record, Phase::Sample)?;
            self.check_run(finished)?;
        }
        Ok(())
    }
}

/// Removes a recording with the files beside it.
pub(crate) fn remove_recording(path: &Path) {
    // A file that cannot be removed does no harm.
    let _ = std::fs::remove_file(path);
    JitArtifactRecorder::remove_old(path);
}

/// Returns the notes that are not known yet.
pub(crate) fn new_notes(notes: &[String], known: &[String]) -> Vec<String> {
    let is_new = |note: &&String| !known.contains(note);
    notes.iter().filter(is_new).cloned().collect()
}

/// Returns the profile with its heaviest stacks only, at most [`MAX_FRAMES`] frames.
pub(crate) fn with_heaviest_stacks(mut profile: ScriptProfile) -> ScriptProfile {
    profile
        .collapsed
        .sort_by(|a, b| (b.weight.cmp(&a.weight)).then_with(|| a.frames.cmp(&b.frames)));
    let mut left = MAX_FRAMES;
    profile.collapsed.retain(|row| {
        let fits = row.frames.len() <= left;
        left = left.saturating_sub(row.frames.len());
        fits
    });
    profile
}

#[cfg(test)]
mod tests {
    use genba_model::{Estimate, StackRow};

    use super::*;

    #[test]
    fn heaviest_stacks_are_retained() {
        let stack = |weight: u64, deep: usize| StackRow {
            frames: vec!["f".to_owned(); deep],
            weight,
        };
        let profile = ScriptProfile {
            runtimes: Vec::new(),
            command: Vec::new(),
            samples: 0,
            cpu_seconds: 0.0,
            outside: Estimate::exact(0.0),
            functions: Vec::new(),
            opcodes: Vec::new(),
            collapsed: vec![stack(1, MAX_FRAMES), stack(2, 10), stack(3, 20)],
            notes: Vec::new(),
        };
        let weights: Vec<u64> = with_heaviest_stacks(profile)
            .collapsed
            .iter()
            .map(|r| r.weight)
            .collect();
        assert_eq!(weights, [3, 2]);
    }

    #[test]
    fn known_notes_are_not_repeated() {
        let known = ["a".to_owned()];
        assert_eq!(new_notes(&["a".to_owned(), "b".to_owned()], &known), ["b"]);
    }
}
