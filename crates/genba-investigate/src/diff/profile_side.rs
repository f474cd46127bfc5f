//! One side of a differential profile.

use std::time::{Duration, Instant};

use genba_attribution::{AnnotateOptions, ProfileOptions, ResolveOptions, ResolvedProfile};
use genba_code::SourceCache;
use genba_count::Transfers;
use genba_model::{Annotation, Counts, FunctionRow, Investigation, Metric, Profile, RawCounts};
use genba_profile::sampler::RecordOptions;
use genba_run::{Cancel, CommandSpec, Launcher, Output};

use crate::execution_counts::{self, CountPlan};
use crate::explanation_inputs::Join;
use crate::{InvestigateError, Progress};

/// Functions that are annotated at most, and the least share of the time for one.
const MAX_ANNOTATED: usize = 40;
const LEAST_ANNOTATED: f64 = 0.003;

/// One side.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Name of the variant, case or file.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where the time is, counts joined where there are any.
    pub profile: Option<Profile>,
    /// The hottest functions, instruction by instruction.
    pub annotations: Vec<Annotation>,
    /// Exact counts by function, where there are any.
    pub counts: Option<Counts>,
    /// CPU time of one run, seconds.
    pub seconds: Option<f64>,
    /// Runs that the samples are of.
    pub runs: f64,
    /// What must be said.
    pub notes: Vec<String>,
    /// Whether its programs are gone and a case's tables stand for them.
    is_kept: bool,
}

/// A share of samples without a function's name that is more than before: a program is gone.
const NAMELESS: f64 = 0.05;

/// The share of samples of which no function is known.
fn nameless(profile: &Profile) -> f64 {
    let unknown = |row: &&FunctionRow| row.function.starts_with('[') && !row.kernel;
    let rows = profile.functions.iter().filter(unknown);
    rows.map(|row| row.self_share.value).sum()
}

/// How much is done to know a side.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Samples that are wanted.
    pub samples: u64,
    /// Time for sampling, seconds.
    pub sampling: f64,
    /// A count that would take longer is left out, seconds; 0 for none at all.
    pub counting: f64,
}

impl Side {
    /// A recording joined with code. `seconds` is the CPU time of one run, where that is known
    /// from elsewhere; else it is taken from a clock's samples.
    #[must_use]
    pub fn of_scene(
        name: &str,
        resolved: &ResolvedProfile,
        seconds: Option<f64>,
        runs: f64,
    ) -> Self {
        let profile = resolved.profile(&ProfileOptions {
            raw: false,
            lines: false,
            collapsed: false,
        });
        let mut sources = SourceCache::new();
        let annotations = resolved.annotate_hottest(
            MAX_ANNOTATED,
            LEAST_ANNOTATED,
            &AnnotateOptions::default(),
            &mut sources,
        );
        let runs = runs.max(1.0);
        let seconds = seconds.or_else(|| {
            let hertz = profile.event.frequency_hz;
            let clock = !profile.event.hardware && hertz > 0;
            clock.then(|| profile.samples as f64 / hertz as f64 / runs)
        });
        Self {
            name: name.to_owned(),
            command: profile.command.clone(),
            annotations,
            counts: None,
            seconds,
            runs,
            notes: Vec::new(),
            is_kept: false,
            profile: Some(profile),
        }
    }

    /// An investigation's recording. If its programs are others by now (rebuilt in the same
    /// place, as one does between two investigations), what the case kept of them stands for
    /// them, and a note says so.
    #[must_use]
    pub fn of_investigation(name: &str, resolved: &ResolvedProfile, all: &Investigation) -> Self {
        let mut cpu: Vec<f64> = (all.runs.runs.iter())
            .map(|run| run.metric(Metric::Cpu))
            .collect();
        cpu.sort_by(f64::total_cmp);
        let kept = all.profile.as_ref();
        let runs = kept.and_then(|one| Some(one.counted.as_ref()?.runs));
        let seconds = cpu.get(cpu.len() / 2).copied();
        let mut side = Self::of_scene(name, resolved, seconds, runs.unwrap_or(1.0));
        if let (Some(kept), Some(now)) = (kept, &side.profile)
            && nameless(now) > nameless(kept) + NAMELESS
        {
            side.notes.push(format!(
                "{name}: its program has changed since: shown is what the case kept of it, without \
                 counts, and of {} functions the instructions",
                all.annotations.len()
            ));
            side.profile = Some(kept.clone());
            side.annotations.clone_from(&all.annotations);
            side.is_kept = true;
        }
        side
    }

    /// Exact counts, if the programs are still those that were counted.
    pub fn join_counts(&mut self, raw: &RawCounts) {
        if !self.is_kept {
            self.counts = Self::of_counts(&self.name, raw).counts;
        }
    }

    /// Exact counts alone.
    #[must_use]
    pub fn of_counts(name: &str, raw: &RawCounts) -> Self {
        let counts = genba_attribution::counts(raw, None, None).ok();
        Self {
            name: name.to_owned(),
            command: raw.command.clone(),
            counts,
            runs: 1.0,
            ..Self::default()
        }
    }

    /// Samples a command and counts it. A machine that refuses either is no reason to stop: a
    /// note says so.
    ///
    /// # Errors
    /// Files cannot be written; an interruption.
    pub fn measure(
        launcher: &mut Launcher,
        name: &str,
        spec: &CommandSpec,
        seconds: Option<f64>,
        effort: &Effort,
        cancel: &Cancel,
        progress: &mut dyn Progress,
    ) -> Result<Self, InvestigateError> {
        let mut spec = spec.clone();
        spec.stdout = Output::Null;
        spec.stderr = Output::Null;
        spec.timeout = None;
        let mut side = Self {
            name: name.to_owned(),
            command: (spec.argv.iter())
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            seconds,
            runs: 1.0,
            ..Self::default()
        };
        let place = match tempfile::tempdir() {
            Ok(place) => place,
            Err(error) => {
                side.notes.push(format!("{name} is not sampled: {error}"));
                return Ok(side);
            }
        };
        let path = place.path().join("perf.data");
        let limit = Duration::from_secs_f64(effort.sampling.clamp(0.1, 1e6));
        let started = Instant::now();
        progress.update(&format!("sampling {name}"), Some(limit));
        let recorded = genba_profile::record_until(
            launcher,
            &spec,
            &RecordOptions::default(),
            &path,
            cancel,
            &mut |finished, seen| {
                !finished.record.exit.success()
                    || seen.samples >= effort.samples
                    || started.elapsed() >= limit
            },
        );
        if cancel.is_triggered() {
            return Err(InvestigateError::Interrupted {
                kept: String::new(),
            });
        }
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                side.notes.push(format!("{name} is not sampled: {error}"));
                return Ok(side);
            }
        };
        let runs = recorded.runs.len() as f64;
        let raw = side.count(launcher, &spec, effort, cancel, progress)?;
        progress.update("reading symbols", None);
        let mut resolved = match ResolvedProfile::open(&path, &ResolveOptions::default()) {
            Ok(resolved) => resolved,
            Err(error) => {
                side.notes.push(error.to_string());
                return Ok(side);
            }
        };
        if let Some(raw) = &raw {
            let join = Join {
                runs,
                native_cpu_seconds: seconds,
                scale: 1.0,
                clock: None,
                host: None,
            };
            resolved.join_counts(join.with(raw));
        }
        let mut known = Self::of_scene(name, &resolved, seconds, runs);
        known.counts = raw
            .as_ref()
            .and_then(|raw| genba_attribution::counts(raw, None, None).ok());
        known.notes = side.notes;
        Ok(known)
    }

    fn count(
        &mut self,
        launcher: &mut Launcher,
        spec: &CommandSpec,
        effort: &Effort,
        cancel: &Cancel,
        progress: &mut dyn Progress,
    ) -> Result<Option<RawCounts>, InvestigateError> {
        if effort.counting <= 0.0 {
            return Ok(None);
        }
        let mut spec = spec.clone();
        spec.timeout = Some(Duration::from_secs_f64(effort.counting.min(1e6)));
        let plan = CountPlan {
            engine: None,
            transfers: Transfers::Everywhere,
            children: spec.shell_line.is_some(),
            native: false,
            ignore_failure: true,
        };
        let counted = execution_counts::count(launcher, &spec, &plan, cancel, progress);
        if cancel.is_triggered() {
            return Err(InvestigateError::Interrupted {
                kept: String::new(),
            });
        }
        match counted {
            Ok(counted)
                if counted
                    .raw
                    .processes
                    .iter()
                    .all(|one| one.cut_short.is_none()) =>
            {
                Ok(Some(counted.raw))
            }
            Ok(_) => {
                self.notes.push(format!(
                    "executions of {} were not counted: that takes longer than {:.0} s",
                    self.name, effort.counting
                ));
                Ok(None)
            }
            Err(error) => {
                self.notes.push(format!(
                    "executions of {} were not counted: {error}",
                    self.name
                ));
                Ok(None)
            }
        }
    }
}
