//! How a trial begins: the baseline is built and run once, and asked why its time goes where it
//! goes.

use std::time::Duration;

use crate::try_variants::try_loop::TryOptions;
use crate::try_variants::{VariantBuild, VariantBuilder, WorkloadFacts, describe_causes};
use crate::{Comparer, ExperimentError, Plan, VariantPlan};

/// A run that takes so many times as long as the baseline's hangs.
const SLOWEST_RUN: f64 = 20.0;
/// No run is taken to hang before, seconds.
const PATIENCE: f64 = 10.0;

/// Asks `explain` about the baseline, whose run takes so many seconds; the causes, or why they
/// are not known. Its time is the trial's.
pub type ExplainBaseline<'a> = dyn FnMut(&VariantPlan, f64) -> Result<Vec<String>, String> + 'a;

/// What is known of the baseline when others are to be tried.
pub(super) struct BaselineRun {
    /// The plan with the baseline as its only variant.
    pub template: Plan,
    /// How the baseline is run.
    pub baseline: VariantPlan,
    /// What says which ways fit.
    pub facts: WorkloadFacts,
    /// Time of its run with all that belongs to it, seconds.
    pub run_seconds: f64,
    /// A run that takes longer is ended.
    pub timeout: Duration,
    /// What must be said.
    pub notes: Vec<String>,
}

impl BaselineRun {
    /// Builds and runs the baseline.
    ///
    /// # Errors
    /// It does not build or run; an interruption.
    pub fn of(
        comparer: &mut Comparer<'_>,
        template: &Plan,
        place: &mut VariantBuilder,
        options: &TryOptions,
        explain: &mut ExplainBaseline<'_>,
    ) -> Result<Self, ExperimentError> {
        let mut baseline = match place.baseline(comparer)? {
            VariantBuild::Variant { plan, .. } => *plan,
            VariantBuild::Failed { reason } | VariantBuild::Unavailable { reason } => {
                return Err(ExperimentError::Plan {
                    what: format!("the program as it is cannot be built: {reason}"),
                });
            }
            VariantBuild::Identical { .. } => {
                return Err(ExperimentError::Plan {
                    what: "the baseline was compared with itself".to_owned(),
                });
            }
        };
        let mut template = template.clone();
        template.variants = vec![baseline.clone()];
        comparer.say("a first run", None);
        let probe = comparer.run_once(&template, 0)?;
        if let Some(reason) = probe.failed {
            return Err(ExperimentError::NothingLeft {
                reasons: vec![reason],
                usage: false,
            });
        }
        let mut notes = Vec::new();
        let causes = match (&options.causes, options.auto) {
            (Some(causes), _) => causes.clone(),
            (None, false) => Vec::new(),
            (None, true) => {
                comparer.say("explaining: what it finds is tried first", None);
                explain(&baseline, probe.seconds).unwrap_or_else(|why| {
                    notes.push(format!("the presets are tried in their usual order: {why}"));
                    Vec::new()
                })
            }
        };
        notes.extend(describe_causes(&causes));
        let value = |name: &str| probe.values.get(name).copied().unwrap_or(0.0);
        let facts = WorkloadFacts {
            wall: value("wall"),
            user: value("user"),
            system: value("system"),
            faults: value("minor_faults"),
            causes,
            cpus: options.cpus.clone(),
        };
        let limit = Duration::from_secs_f64((facts.wall * SLOWEST_RUN).clamp(PATIENCE, 1e6));
        let timeout = baseline.spec.timeout.unwrap_or(limit);
        baseline.spec.timeout = Some(timeout);
        Ok(Self {
            template,
            baseline,
            facts,
            run_seconds: probe.seconds,
            timeout,
            notes,
        })
    }
}
