//! The document of `genba try`. Pure.

use genba_model::{ProfileDiff, TrialReport};

use super::try_loop::{TryOptions, TryResult};
use crate::{Plan, ReportContext, VariantPlan};

/// Session of a `genba try` run: everything in the document that was not measured.
#[derive(Debug)]
pub struct SessionInfo {
    /// Case, version, time and host.
    pub setting: ReportContext,
    /// Command line of the workload.
    pub command: String,
    /// Time taken including builds and profiles, seconds.
    pub elapsed_seconds: f64,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Differential profiles of the fastest and the slowest variant, or why there are none.
    pub differences: Result<Vec<ProfileDiff>, String>,
}

/// The document.
#[must_use]
pub fn document(
    tried: TryResult,
    plan: &Plan,
    options: &TryOptions,
    sitting: SessionInfo,
) -> TrialReport {
    let mut notes = tried.notes;
    if sitting.interrupted {
        notes.push(crate::comparison_report::INTERRUPTED_NOTE.to_owned());
    }
    let differences = sitting.differences.unwrap_or_else(|why| {
        notes.push(format!("no differential profile: {why}"));
        Vec::new()
    });
    TrialReport {
        case: sitting.setting.case,
        genba: sitting.setting.version,
        started: sitting.setting.started,
        host: sitting.setting.host,
        command: sitting.command,
        metric: plan.primary.clone(),
        delta: plan.delta,
        alpha: plan.alpha,
        seed: plan.seed,
        elapsed_seconds: sitting.elapsed_seconds,
        budget_seconds: Some(options.budget),
        variants: tried.variants,
        comparisons: tried.comparisons,
        tried: tried.tried,
        layout: tried.layout,
        keep: tried.keep,
        differences,
        notes,
    }
}

impl TryResult {
    /// Variants for differential profiles: the fastest and the slowest one.
    pub fn rivals(&self) -> impl Iterator<Item = &VariantPlan> {
        [&self.winner, &self.loser].into_iter().flatten()
    }

    /// Median CPU time of a variant, seconds, if measured.
    #[must_use]
    pub fn cpu_seconds(&self, variant: &str) -> Option<f64> {
        let variant = self.variants.iter().find(|one| one.name == variant)?;
        Some(variant.metrics.get("cpu")?.median.value)
    }
}

#[cfg(test)]
mod tests {
    use genba_run::CommandSpec;

    use super::*;
    use crate::synthetic_report::{setting, variant};

    fn plan_of(name: &str) -> VariantPlan {
        VariantPlan::new(name, name, CommandSpec::direct([name]))
    }

    fn trial() -> TryResult {
        TryResult {
            variants: vec![
                variant("unchanged", "cpu", 2.0, "seconds"),
                variant("LTO", "cpu", 1.5, "seconds"),
                variant("hung", "wall", 9.0, "seconds"),
            ],
            comparisons: Vec::new(),
            tried: Vec::new(),
            layout: None,
            keep: None,
            baseline: plan_of("unchanged"),
            change: None,
            winner: None,
            loser: None,
            notes: vec!["said".to_owned()],
        }
    }

    fn made(interrupted: bool, differences: Result<Vec<ProfileDiff>, String>) -> TrialReport {
        let mut plan = Plan::new(Vec::new());
        plan.primary = "user".to_owned();
        plan.seed = 3;
        let options = TryOptions {
            auto: true,
            budget: 120.0,
            builds_count: true,
            as_long_as_builds: false,
            layouts: 0,
            causes: None,
            cpus: Vec::new(),
        };
        let sitting = SessionInfo {
            setting: setting(),
            command: "./prog args".to_owned(),
            elapsed_seconds: 100.5,
            interrupted,
            differences,
        };
        document(trial(), &plan, &options, sitting)
    }

    #[test]
    fn document_states_the_variants_the_metric_and_the_host() {
        let all = made(false, Ok(Vec::new()));
        assert_eq!(all.case.as_deref(), Some("7f3a"));
        assert_eq!((all.metric.as_str(), all.seed), ("user", 3));
        assert_eq!(all.command, "./prog args");
        assert_eq!(
            (all.elapsed_seconds, all.budget_seconds),
            (100.5, Some(120.0))
        );
        assert_eq!(all.variants.len(), 3);
        assert_eq!(all.notes, ["said"]);
    }

    #[test]
    fn interruption_and_missing_profile_are_noted() {
        let all = made(true, Err("no perf here".to_owned()));
        assert_eq!(
            all.notes,
            [
                "said",
                "interrupted: the runs measured so far are shown",
                "no differential profile: no perf here"
            ]
        );
        assert!(all.differences.is_empty());
    }

    #[test]
    fn rivals_are_the_fastest_then_the_slowest_variant() {
        let mut tried = trial();
        assert_eq!(tried.rivals().count(), 0);
        tried.loser = Some(plan_of("slow"));
        tried.winner = Some(plan_of("LTO"));
        let names: Vec<&str> = tried.rivals().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["LTO", "slow"]);
    }

    #[test]
    fn cpu_seconds_are_known_for_measured_variants() {
        let tried = trial();
        assert_eq!(tried.cpu_seconds("LTO"), Some(1.5));
        assert_eq!(tried.cpu_seconds("hung"), None);
        assert_eq!(tried.cpu_seconds("PGO"), None);
    }
}
