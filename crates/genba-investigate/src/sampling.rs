//! Samples of runs, with and without stacks; the profile, annotations and findings from them.

use std::path::Path;
use std::time::{Duration, Instant};

use genba_attribution::{AnnotateOptions, ProfileOptions, ResolveOptions, ResolvedProfile};
use genba_case::{Case, Phase};
use genba_code::SourceCache;
use genba_explain::{AnalysisInput, Limits, RunFacts};
use genba_model::{Annotation, Finding, HostFingerprint, ObservedPlace, Profile, Stat, TimePlace};
use genba_profile::RecordOutcome;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions, SampleCounts};
use genba_run::Finished;

use crate::Options;
use crate::enough_samples::{
    ENOUGH_SAMPLES, ENOUGH_STACK_SAMPLES, SHARE_OF_BUDGET_PER_RECORDING, stack_rate_for,
};
use crate::explanation_inputs::{EXPLANATION_INPUTS, ExplanationInputs};
use crate::findings::findings;
use crate::join_counts::Sampled;
use crate::observations::OBSERVATIONS;
use crate::observed_place::hottest_lines;
use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress, script_sampling};

/// Minimum share of the time for a function to be annotated.
const MIN_SHARE_OF_ANNOTATED: f64 = 0.01;

/// Share of the time that is left for the run that is sampled.
const SHARE_OF_LIMIT_TO_SAMPLE: f64 = 0.7;

/// Share of the time that is left for the run that is sampled with stacks.
const SHARE_OF_LIMIT_TO_SAMPLE_STACKS: f64 = 0.5;

/// What is known before samples are taken.
pub(crate) struct BeforeSampling<'a> {
    pub(crate) facts: RunFacts,
    pub(crate) stat: Option<&'a Stat>,
    pub(crate) host: &'a HostFingerprint,
}

/// Results of samples joined with counts.
#[derive(Default)]
pub(crate) struct Located {
    pub(crate) profile: Option<Profile>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) observed: Option<ObservedPlace>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) places: Vec<TimePlace>,
}

/// The profile with text of its lines, annotations of the functions with most time, and the sources that
/// were read for them.
pub(crate) fn profile_with_source(
    resolved: &ResolvedProfile,
    options: &Options,
) -> (Profile, Vec<Annotation>, SourceCache) {
    let mut profile = resolved.profile(&ProfileOptions {
        raw: false,
        lines: true,
        collapsed: true,
    });
    let mut sources = SourceCache::new();
    for (old, new) in &options.source_prefixes {
        sources = sources.with_prefix(old.clone(), new.clone());
    }
    for row in &mut profile.lines {
        row.text = sources.line(&row.file, row.line);
    }
    let annotations = resolved.annotate_hottest(
        options.annotations,
        MIN_SHARE_OF_ANNOTATED,
        &AnnotateOptions::new(genba_report::loop_verdict),
        &mut sources,
    );
    (profile, annotations, sources)
}

/// Reads the recording of a case that is about so many seconds, and stores its samples by address.
pub(crate) fn locate_recording(
    case: &Case,
    path: &Path,
    options: &Options,
    seconds: f64,
) -> Result<Located, InvestigateError> {
    let mut resolved = ResolvedProfile::open(path, &ResolveOptions::default())
        .map_err(|error| genba_profile::ProfileError::Internal(error.to_string()))?;
    join_case(case, &mut resolved)?;
    let (profile, annotations, mut sources) = profile_with_source(&resolved, options);
    let limits = Limits {
        min_gain: genba_model::MIN_GAIN,
        samples: profile.samples,
    };
    let facts = RunFacts {
        wall_seconds: seconds,
        ..RunFacts::default()
    };
    let (findings, places) = findings(&AnalysisInput::of(&resolved, &facts), limits, &mut sources);
    Ok(Located {
        profile: Some(profile),
        annotations,
        findings,
        places,
        observed: None,
    })
}

/// Takes the command from the case, since the recording has the command line of genba, and stores the
/// samples by address in the case.
fn join_case(case: &Case, resolved: &mut ResolvedProfile) -> Result<(), genba_case::Error> {
    resolved.command = case.workload()?.command;
    match resolved.sampled_addresses() {
        Some(addresses) => case.put_sampled_addresses(&addresses),
        None => Ok(()),
    }
}

impl Pipeline<'_> {
    /// Samples runs and returns profile, annotations and findings; where the machine cannot sample,
    /// the investigation goes on without. Unless the user chose how to record stacks, they come from
    /// runs of their own: stack copies at a low rate, since most programs are built without frame
    /// pointers.
    pub(crate) fn sample(
        &mut self,
        known: &BeforeSampling<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Located, InvestigateError> {
        let record = self.options.record.clone();
        let path = self.case.recording_path();
        let Some(recorded) = self.record(&record, &path, "sampling", ENOUGH_SAMPLES, progress)?
        else {
            return Ok(Located::default());
        };
        if !recorded.event.hardware {
            self.notes.push(format!(
                "sampled with {}: {}",
                recorded.event.name, recorded.reason
            ));
        }
        self.notes.extend(recorded.notes);
        let sampled = Sampled::of(&recorded.runs, known.stat);
        let counted = self.count_executions(&sampled, known.host, progress)?;
        progress.update("reading symbols", None);
        let mut resolved = match ResolvedProfile::open(&path, &ResolveOptions::default()) {
            Ok(resolved) => resolved,
            Err(error) => {
                self.notes.push(error.to_string());
                return Ok(Located::default());
            }
        };
        join_case(self.case, &mut resolved)?;
        if let Some(counted) = counted {
            resolved.join_counts(counted);
        }
        let mut located = self.locate(&resolved, known, progress)?;
        if record.call_graph != CallGraph::None || record.force_timer || !self.options.stacks {
            return Ok(located);
        }
        let stacked = self.sample_stacks(known.facts.wall_seconds, progress)?;
        if let (Some(profile), Some(stacked)) = (&mut located.profile, stacked) {
            *profile = genba_attribution::with_stacks_of(profile.clone(), stacked);
        }
        Ok(located)
    }

    /// Samples runs with stack copies, for totals and the flame graph only; the recording is large and
    /// not stored.
    fn sample_stacks(
        &mut self,
        wall: f64,
        progress: &mut dyn Progress,
    ) -> Result<Option<Profile>, InvestigateError> {
        if !self.has_time_for(wall.min(self.shortest_part())) {
            self.notes
                .push("stacks were not sampled: no time was left; give more (--limit)".to_owned());
            return Ok(None);
        }
        let mut record = self.options.record.clone();
        record.call_graph = CallGraph::Dwarf(CallGraph::DWARF_BYTES);
        record.rate = Rate::Frequency(stack_rate_for(wall));
        let path = self.case.directory().join("stacks.data");
        let recorded = self.record(
            &record,
            &path,
            "sampling stacks",
            ENOUGH_STACK_SAMPLES,
            progress,
        )?;
        let profile = recorded.and_then(|_| {
            progress.update("unwinding stacks", None);
            let resolved = ResolvedProfile::open(&path, &ResolveOptions::default()).ok()?;
            Some(resolved.profile(&ProfileOptions {
                raw: false,
                lines: false,
                collapsed: true,
            }))
        });
        script_sampling::remove_recording(&path);
        Ok(profile)
    }

    /// Records runs until there are `wanted` samples or [`SHARE_OF_BUDGET_PER_RECORDING`] is spent;
    /// `None`, with a note, where the machine cannot sample.
    pub(crate) fn record(
        &mut self,
        options: &RecordOptions,
        path: &Path,
        stage: &str,
        wanted: u64,
        progress: &mut dyn Progress,
    ) -> Result<Option<RecordOutcome>, InvestigateError> {
        let left = self.time_left().unwrap_or(Duration::MAX);
        let budget = self
            .budget()
            .mul_f64(SHARE_OF_BUDGET_PER_RECORDING)
            .min(left / 2);
        let started = Instant::now();
        progress.update(stage, Some(budget));
        let mut enough = |finished: &Finished, seen: &SampleCounts| {
            progress.update(stage, Some(budget.saturating_sub(started.elapsed())));
            let run = Duration::try_from_secs_f64(finished.record.wall_seconds);
            let next = started.elapsed() + run.unwrap_or(Duration::MAX / 2);
            !finished.record.exit.success() || seen.samples >= wanted || next > budget
        };
        // Of a long run the samples are worth most, then the stacks.
        let spec = self.spec_within(match options.call_graph {
            CallGraph::None => SHARE_OF_LIMIT_TO_SAMPLE,
            _ => SHARE_OF_LIMIT_TO_SAMPLE_STACKS,
        });
        let recorded = genba_profile::record_until(
            self.launcher,
            &spec,
            options,
            path,
            self.cancel,
            &mut enough,
        );
        self.check_cancelled()?;
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                self.notes.push(format!("no samples: {error}"));
                return Ok(None);
            }
        };
        for finished in &recorded.runs {
            self.case.add_run(&finished.record, Phase::Sample)?;
            self.check_run(finished)?;
        }
        Ok(Some(recorded))
    }

    fn locate(
        &mut self,
        resolved: &ResolvedProfile,
        known: &BeforeSampling<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Located, InvestigateError> {
        let (profile, annotations, mut sources) = profile_with_source(resolved, self.options);
        let limits = Limits {
            min_gain: genba_model::MIN_GAIN,
            samples: profile.samples,
        };
        let mut input = AnalysisInput::of(resolved, &known.facts);
        input.observed = self.observations.take();
        if let Some(observed) = &input.observed {
            self.case.put_document(OBSERVATIONS, observed)?;
        }
        let command = &profile.command;
        let observed =
            (input.observed.as_ref()).map(|all| hottest_lines(all, &annotations, command));
        self.follow_up_runs(&mut input, progress)?;
        let inputs = ExplanationInputs {
            runs: known.facts.clone(),
            follow_up: input.program.follow_up.clone(),
        };
        self.case.put_document(EXPLANATION_INPUTS, &inputs)?;
        let (findings, places) = findings(&input, limits, &mut sources);
        Ok(Located {
            profile: Some(profile),
            annotations,
            observed,
            findings,
            places,
        })
    }
}
