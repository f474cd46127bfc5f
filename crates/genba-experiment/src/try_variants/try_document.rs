//! From what a trial found to the document. Pure.

use genba_model::{ProfileDiff, TrialReport};

use super::try_loop::{TryOptions, TryResult};
use crate::{Plan, ReportContext, VariantPlan};

/// What is known of a trial beside what it measured.
#[derive(Debug)]
pub struct SessionInfo {
    /// Where and when it was.
    pub setting: ReportContext,
    /// The command line of the workload.
    pub command: String,
    /// Time taken, builds and profiles included, seconds.
    pub elapsed_seconds: f64,
    /// Whether the person ended it.
    pub interrupted: bool,
    /// Where the winner's gain and the loser's loss are; or why that is not known.
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
        notes.push(crate::comparison_report::INTERRUPTED.to_owned());
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
    /// What is worth a differential profile beside the baseline: the winner, the worst loser.
    pub fn rivals(&self) -> impl Iterator<Item = &VariantPlan> {
        [&self.winner, &self.loser].into_iter().flatten()
    }

    /// CPU time of a run of this variant, seconds, where that was measured.
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
                variant("as it is", "cpu", 2.0, "seconds"),
                variant("LTO", "cpu", 1.5, "seconds"),
                variant("hung", "wall", 9.0, "seconds"),
            ],
            comparisons: Vec::new(),
            tried: Vec::new(),
            layout: None,
            keep: None,
            baseline: plan_of("as it is"),
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
    fn it_says_what_was_tried_how_and_where() {
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
    fn an_interruption_and_a_missing_profile_are_said() {
        let all = made(true, Err("no perf here".to_owned()));
        assert_eq!(
            all.notes,
            [
                "said",
                "interrupted: what had been measured until then is shown",
                "no differential profile: no perf here"
            ]
        );
        assert!(all.differences.is_empty());
    }

    #[test]
    fn the_winner_comes_before_the_loser_and_neither_need_be() {
        let mut tried = trial();
        assert_eq!(tried.rivals().count(), 0);
        tried.loser = Some(plan_of("slow"));
        tried.winner = Some(plan_of("LTO"));
        let names: Vec<&str> = tried.rivals().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["LTO", "slow"]);
    }

    #[test]
    fn the_time_of_a_run_is_known_where_it_was_measured() {
        let tried = trial();
        assert_eq!(tried.cpu_seconds("LTO"), Some(1.5));
        assert_eq!(tried.cpu_seconds("hung"), None);
        assert_eq!(tried.cpu_seconds("PGO"), None);
    }
}
