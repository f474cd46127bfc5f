//! Functions of Python and Ruby: a run of its own, where the command runs one of these.

use std::path::Path;

use genba_case::Phase;
use genba_model::{Profile, ScriptProfile};
use genba_profile::jit::JitArtifactRecorder;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions};
use genba_run::Finished;
use genba_runtime::script::{self, DEFAULT_HZ, ScriptSampler};

use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress, repeat_runs};

/// Samples that tell a percent to ±0.2 %: a longer command is stopped less often, so that what is
/// written does not grow with its length.
const SAMPLES: f64 = 10_000.0;
/// A second of CPU time has this many samples at the least.
const LEAST_HZ: u64 = 49;
/// Samples a second of the recording beside it, which nobody reads.
const BESIDE_HZ: u64 = 49;
/// Frames of all stacks that are kept for the flame graph: what is lost by this is too narrow to
/// be seen.
const MAX_FRAMES: usize = 50_000;

impl Pipeline<'_> {
    /// Reads script functions in a run of their own; `None` where the command runs no interpreter,
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
        progress.update("reading script functions", None);
        let beside = RecordOptions {
            call_graph: CallGraph::None,
            rate: Rate::Frequency(BESIDE_HZ),
            ..record.clone()
        };
        let cpu = profile.map_or(0.0, |profile| profile.duration_seconds);
        let path = self.case.directory().join("beside.data");
        let mut sampler = ScriptSampler::new(&path, hz_for(cpu), record.command_line.clone());
        let recorded = genba_profile::record_with(
            self.launcher,
            self.spec,
            &beside,
            &path,
            self.cancel,
            &mut sampler,
        );
        let read = recorded.map(|recorded| {
            self.notes.extend(new(&recorded.notes, &self.notes));
            (recorded.runs, script::profile(&path))
        });
        remove_recording(&path);
        self.check_cancelled()?;
        match read {
            Ok((runs, read)) => {
                self.keep(&runs)?;
                // Why there is none was said by the sampler.
                Ok(read
                    .ok()
                    .filter(|read| !read.functions.is_empty())
                    .map(bounded))
            }
            Err(error) => {
                self.notes.push(format!("no script functions: {error}"));
                Ok(None)
            }
        }
    }

    fn keep(&mut self, runs: &[Finished]) -> Result<(), InvestigateError> {
        for finished in runs {
            self.case.add_run(&finished.record, Phase::Sample)?;
            repeat_runs::check(finished, self.options.ignore_failure)?;
        }
        Ok(())
    }
}

/// Removes a recording and what was kept beside it.
pub(crate) fn remove_recording(path: &Path) {
    // It was only needed for a moment; a copy that stays is no harm.
    let _ = std::fs::remove_file(path);
    JitArtifactRecorder::remove_old(path);
}

/// Those notes that were not made yet.
fn new(notes: &[String], known: &[String]) -> Vec<String> {
    let is_new = |note: &&String| !known.contains(note);
    notes.iter().filter(is_new).cloned().collect()
}

fn hz_for(cpu_seconds: f64) -> u64 {
    ((SAMPLES / cpu_seconds.max(1e-3)) as u64).clamp(LEAST_HZ, DEFAULT_HZ)
}

/// Leaves the heaviest stacks, as many as are drawn.
fn bounded(mut profile: ScriptProfile) -> ScriptProfile {
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
    fn long_commands_are_stopped_less_often() {
        assert_eq!((hz_for(0.0), hz_for(5.0)), (DEFAULT_HZ, DEFAULT_HZ));
        assert_eq!((hz_for(100.0), hz_for(1e6)), (100, LEAST_HZ));
    }

    #[test]
    fn the_heaviest_stacks_stay() {
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
        let weights: Vec<u64> = bounded(profile)
            .collapsed
            .iter()
            .map(|r| r.weight)
            .collect();
        assert_eq!(weights, [3, 2]);
    }

    #[test]
    fn a_note_is_made_once() {
        let known = ["a".to_owned()];
        assert_eq!(new(&["a".to_owned(), "b".to_owned()], &known), ["b"]);
    }
}
