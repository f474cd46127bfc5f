//! First run of the baseline: it is built, run once and explained, which orders the presets.

use std::time::Duration;

use crate::try_variants::try_loop::TryOptions;
use crate::try_variants::{VariantBuild, VariantBuilder, WorkloadFacts, describe_causes};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// Time-out of a run relative to the baseline.
const RUN_TIMEOUT_FACTOR: f64 = 20.0;
/// Shortest time-out of a run, seconds.
const MIN_RUN_TIMEOUT_SECONDS: f64 = 10.0;

/// Runs `explain` on the baseline, given its duration in seconds; returns the causes, or why they
/// are unknown. Its time counts against the budget.
pub type ExplainBaseline<'a> = dyn FnMut(&VariantPlan, f64) -> Result<Vec<String>, String> + 'a;

/// The baseline with what its first run showed.
pub(super) struct BaselineRun {
    /// The plan with the baseline as its only variant.
    pub template: Plan,
    /// The baseline.
    pub baseline: VariantPlan,
    /// What orders the presets.
    pub facts: WorkloadFacts,
    /// Duration of its run with prepare commands, seconds.
    pub run_seconds: f64,
    /// Time-out of every run.
    pub timeout: Duration,
    /// Notes for the report, a sentence each.
    pub notes: Vec<String>,
}

impl BaselineRun {
    /// Builds, runs and explains the baseline.
    ///
    /// # Errors
    /// It does not build or run, or an interruption.
    pub fn of(
        comparer: &mut Comparer<'_>,
        template: &Plan,
        builder: &mut VariantBuilder,
        options: &TryOptions,
        explain: &mut ExplainBaseline<'_>,
    ) -> Result<Self, ExperimentError> {
        let mut baseline = match builder.baseline(comparer)? {
            VariantBuild::Variant { plan, .. } => *plan,
            VariantBuild::Failed { reason } | VariantBuild::Unavailable { reason } => {
                return Err(ExperimentError::Plan {
                    what: format!("the unchanged program cannot be built: {reason}"),
                });
            }
            VariantBuild::Identical { .. } => {
                return Err(ExperimentError::Plan {
                    what: "the baseline is identical to itself".to_owned(),
                });
            }
        };
        let mut template = template.clone();
        template.variants = vec![baseline.clone()];
        comparer.say("first run of the baseline", None);
        let run = comparer.run_once(&template, 0)?;
        if let Some(reason) = run.failed {
            return Err(ExperimentError::NothingLeft {
                reasons: vec![format!("{}: {reason}", baseline.name)],
                usage: false,
            });
        }
        let mut notes = Vec::new();
        let causes = match (&options.causes, options.auto) {
            (Some(causes), _) => causes.clone(),
            (None, false) => Vec::new(),
            (None, true) => {
                comparer.say(
                    "explaining the baseline: its findings order the presets",
                    None,
                );
                explain(&baseline, run.seconds).unwrap_or_else(|why| {
                    notes.push(format!("presets in their default order: {why}"));
                    Vec::new()
                })
            }
        };
        notes.extend(describe_causes(&causes));
        let value = |name: &str| run.values.get(name).copied().unwrap_or(0.0);
        let facts = WorkloadFacts {
            wall: value("wall"),
            user: value("user"),
            system: value("system"),
            faults: value("minor_faults"),
            causes,
            cpus: options.cpus.clone(),
        };
        let limit = Duration::from_secs_f64(
            (facts.wall * RUN_TIMEOUT_FACTOR).clamp(MIN_RUN_TIMEOUT_SECONDS, 1e6),
        );
        let timeout = baseline.spec.timeout.unwrap_or(limit);
        baseline.spec.timeout = Some(timeout);
        Ok(Self {
            template,
            baseline,
            facts,
            run_seconds: run.seconds,
            timeout,
            notes,
        })
    }
}
