//! One side of a differential profile.

use std::time::{Duration, Instant};

use genba_attribution::{AnnotateOptions, ProfileOptions, ResolveOptions, ResolvedProfile};
use genba_code::SourceCache;
use genba_count::Transfers;
use genba_model::{
    Annotation, Counts, FunctionRow, Investigation, Metric, Profile, RawCounts, SampleUnit,
    SampledDetail, StackTree,
};
use genba_profile::sampler::RecordOptions;
use genba_run::{Cancel, CommandSpec, Launcher, Output, PrivateDirectory};

use crate::execution_counts::{self, CountPlan};
use crate::explanation_inputs::Join;
use crate::{InvestigateError, Progress};

/// Maximum number of annotated functions.
const MAX_ANNOTATED: usize = 40;
/// Minimum share of the time for a function to be annotated.
const MIN_SHARE_OF_ANNOTATED: f64 = 0.003;

/// One side of a differential profile.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Name of the variant, case or file.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The profile, joined with counts where there are any.
    pub profile: Option<Profile>,
    /// The hottest functions, annotated.
    pub annotations: Vec<Annotation>,
    /// Exact counts by function, where there are any.
    pub counts: Option<Counts>,
    /// CPU time of one run, seconds.
    pub seconds: Option<f64>,
    /// Number of sampled runs.
    pub runs: f64,
    /// Its call stacks, where they are known.
    pub stacks: StackTree,
    /// Notes on the measurement.
    pub notes: Vec<String>,
    /// Whether its programs have changed, so that the tables of the case are used.
    from_case_tables: bool,
}

/// Most frames of a stack that are compared.
const MAX_STACK_DEPTH: usize = 512;

/// Returns the stacks of a profile, which has them no longer.
fn take_stacks(profile: &mut Profile) -> StackTree {
    StackTree::of_rows(&std::mem::take(&mut profile.collapsed), MAX_STACK_DEPTH)
}

/// Increase of the share of samples without function from which a program has changed.
const MIN_INCREASE_OF_UNKNOWN_SHARE: f64 = 0.05;

/// Returns the CPU time of a run of an investigation, seconds, and the number of sampled runs.
fn run_of(all: &Investigation) -> (Option<f64>, f64) {
    let mut cpu: Vec<f64> = (all.runs.runs.iter())
        .map(|run| run.metric(Metric::Cpu))
        .collect();
    cpu.sort_by(f64::total_cmp);
    let profile = all.profile.as_ref();
    let runs = profile.and_then(|one| Some(one.counted.as_ref()?.runs));
    (
        cpu.get(cpu.len() / 2).copied(),
        runs.unwrap_or(1.0).max(1.0),
    )
}

/// Returns the share of samples whose function is unknown.
fn unknown_share(profile: &Profile) -> f64 {
    let unknown = |row: &&FunctionRow| row.function.starts_with('[') && !row.kernel;
    let rows = profile.functions.iter().filter(unknown);
    rows.map(|row| row.self_share.value).sum()
}

/// Returns the annotations of the functions with most samples.
fn annotations(resolved: &ResolvedProfile) -> Vec<Annotation> {
    resolved.annotate_hottest(
        MAX_ANNOTATED,
        MIN_SHARE_OF_ANNOTATED,
        &AnnotateOptions::new(genba_report::loop_verdict),
        &mut SourceCache::new(),
    )
}

/// Returns the CPU time of a run by the number of samples of a clock, seconds.
fn seconds_of(profile: &Profile, runs: f64) -> Option<f64> {
    let hertz = profile.event.frequency_hz;
    let clock = !profile.event.hardware && hertz > 0;
    clock.then(|| profile.samples as f64 / hertz as f64 / runs)
}

/// Effort for the measurement of a side.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of samples that are enough.
    pub samples: u64,
    /// Maximum time for sampling, seconds.
    pub sampling: f64,
    /// Maximum time for a count, seconds; 0 to skip counting.
    pub counting: f64,
}

impl Side {
    /// Returns the side of a resolved recording. `seconds` is the CPU time of one run if known;
    /// otherwise it follows from the number of clock samples.
    #[must_use]
    pub fn of_scene(
        name: &str,
        resolved: &ResolvedProfile,
        seconds: Option<f64>,
        runs: f64,
    ) -> Self {
        let mut profile = resolved.profile(&ProfileOptions {
            raw: false,
            lines: false,
            collapsed: resolved.tables.totals.stacks,
        });
        let stacks = take_stacks(&mut profile);
        let runs = runs.max(1.0);
        Self {
            name: name.to_owned(),
            command: profile.command.clone(),
            annotations: annotations(resolved),
            seconds: seconds.or_else(|| seconds_of(&profile, runs)),
            runs,
            stacks,
            profile: Some(profile),
            ..Self::default()
        }
    }

    /// Returns the side of samples that another program took; `format` names their file's. Their weights are seconds if a
    /// clock measured them, of all runs that they are of.
    #[must_use]
    pub fn of_samples(name: &str, detail: &SampledDetail, format: &str) -> Self {
        let mut profile = genba_attribution::sampled_profile(detail, format);
        let seconds = detail.total_weight() as f64 / 1e9;
        let stacks = take_stacks(&mut profile);
        Self {
            name: name.to_owned(),
            command: profile.command.clone(),
            seconds: (detail.unit == SampleUnit::Nanoseconds).then_some(seconds),
            runs: 1.0,
            notes: std::mem::take(&mut profile.notes),
            stacks,
            profile: Some(profile),
            ..Self::default()
        }
    }

    /// Returns the side of an investigation: the tables of the case, and the code by what `resolved` has of its samples, which
    /// need not have stacks. If its programs have changed since (rebuilt in the same place between two investigations), the code
    /// is that of the case, too, with a note.
    #[must_use]
    pub fn of_investigation(
        name: &str,
        resolved: &ResolvedProfile,
        mut all: Investigation,
    ) -> Self {
        let (seconds, runs) = run_of(&all);
        let Some(profile) = all.profile.take() else {
            return Self::of_scene(name, resolved, seconds, runs);
        };
        let has_changed =
            resolved.unnamed_share() > unknown_share(&profile) + MIN_INCREASE_OF_UNKNOWN_SHARE;
        let mut notes = Vec::new();
        let annotations = match has_changed {
            false => annotations(resolved),
            true => {
                notes.push(format!(
                    "{name}: the program has changed since; the tables stored in the case are shown: no \
                     counts, instructions of {} functions",
                    all.annotations.len()
                ));
                all.annotations
            }
        };
        Self {
            name: name.to_owned(),
            command: profile.command.clone(),
            annotations,
            seconds: seconds.or_else(|| seconds_of(&profile, runs)),
            runs,
            notes,
            profile: Some(profile),
            from_case_tables: has_changed,
            ..Self::default()
        }
    }

    /// Returns the side of an investigation without its recording, as of a case from another machine.
    #[must_use]
    pub fn of_tables(name: &str, all: Investigation) -> Self {
        let (seconds, runs) = run_of(&all);
        Self {
            name: name.to_owned(),
            command: all.workload.command,
            seconds,
            runs,
            notes: vec![format!(
                "{name}: its recording is not here; the tables stored in the case are shown: no counts, instructions of {} \
                 functions",
                all.annotations.len()
            )],
            annotations: all.annotations,
            profile: all.profile,
            from_case_tables: true,
            ..Self::default()
        }
    }

    /// Adds exact counts, if the programs have not changed since.
    pub fn join_counts(&mut self, raw: &RawCounts) {
        if !self.from_case_tables {
            self.counts = Self::of_counts(&self.name, raw).counts;
        }
    }

    /// Returns a side with exact counts only.
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

    /// Samples and counts a command. Where the machine can do only one of them, a note says so.
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
        let place = match PrivateDirectory::new("diff") {
            Ok(place) => place,
            Err(error) => {
                side.notes.push(format!("{name} was not sampled: {error}"));
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
                side.notes.push(format!("{name} was not sampled: {error}"));
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
            observe: false,
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
                    "executions of {} were not counted: that takes more than {:.0} s",
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
