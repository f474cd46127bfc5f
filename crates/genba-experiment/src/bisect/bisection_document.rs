//! The document of a bisection. Pure.

use genba_model::{Bisection, BisectionKind};

use super::search_measurement::SearchBudget;
use super::search_result::SearchResult;
use crate::{Plan, ReportContext};

/// A search as requested: candidates, workload, metric and budget.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Kind of candidates.
    pub of: BisectionKind,
    /// Command line of the workload, with its placeholders.
    pub command: String,
    /// Number of candidates.
    pub candidates: u64,
    /// Primary metric, α, δ and seed.
    pub plan: Plan,
    /// Time limit.
    pub budget: SearchBudget,
}

/// The document of a finished search; `seconds` is the time it took.
#[must_use]
pub fn document(
    search: SearchRequest,
    found: SearchResult,
    seconds: f64,
    setting: ReportContext,
) -> Bisection {
    let metric = search.plan.primary;
    let unit = (found.variants.iter())
        .find_map(|variant| variant.metrics.get(&metric))
        .map_or_else(String::new, |known| known.unit.clone());
    Bisection {
        case: setting.case,
        genba: setting.version,
        started: setting.started,
        host: setting.host,
        hazards: setting.hazards,
        of: search.of,
        command: search.command,
        metric,
        unit,
        seed: search.plan.seed,
        runs: found.runs,
        elapsed_seconds: seconds,
        budget_seconds: Some(search.budget.seconds),
        outcome: found.outcome,
        culprit: found.culprits.iter().find(|one| one.verified).cloned(),
        culprits: found.culprits,
        confidence: found.confidence,
        range: found.range,
        candidates: search.candidates,
        deterministic: found.noise_is_nil,
        tests: found.tests,
        ranking: found.parts,
        skipped: found.skipped,
        variants: found.variants,
        comparisons: found.comparisons,
        notes: found.notes,
    }
}

#[cfg(test)]
mod tests {
    use genba_model::{BisectionOutcome, Culprit, Variant};

    use super::*;
    use crate::synthetic_report::{setting, variant};

    fn culprit(name: &str, verified: bool) -> Culprit {
        Culprit {
            name: name.to_owned(),
            elements: vec![name.to_owned()],
            before: None,
            ratio: None,
            verified,
            detail: None,
        }
    }

    fn found(culprits: Vec<Culprit>, variants: Vec<Variant>) -> SearchResult {
        SearchResult {
            outcome: BisectionOutcome::Found,
            culprits,
            confidence: Some(0.95),
            range: None,
            noise_is_nil: false,
            tests: Vec::new(),
            parts: Vec::new(),
            skipped: Vec::new(),
            variants,
            comparisons: Vec::new(),
            runs: 7,
            notes: vec!["said".to_owned()],
        }
    }

    fn search() -> SearchRequest {
        let mut plan = Plan::new(Vec::new());
        plan.primary = "user".to_owned();
        plan.seed = 3;
        SearchRequest {
            of: BisectionKind::Set,
            command: "./prog {ITEMS}".to_owned(),
            candidates: 4,
            plan,
            budget: SearchBudget { seconds: 60.0 },
        }
    }

    #[test]
    fn culprit_is_the_first_verified_candidate() {
        let culprits = vec![culprit("a", false), culprit("b", true), culprit("c", true)];
        let all = document(search(), found(culprits, Vec::new()), 12.5, setting());
        assert_eq!(all.culprit.map(|one| one.name).as_deref(), Some("b"));
        assert_eq!(all.culprits.len(), 3);
        let all = document(search(), found(Vec::new(), Vec::new()), 12.5, setting());
        assert_eq!(all.culprit, None);
    }

    #[test]
    fn document_states_the_search_the_metric_and_the_host() {
        let all = document(search(), found(Vec::new(), Vec::new()), 12.5, setting());
        assert_eq!((all.of, all.candidates), (BisectionKind::Set, 4));
        assert_eq!((all.metric.as_str(), all.unit.as_str()), ("user", ""));
        assert_eq!(
            (all.elapsed_seconds, all.budget_seconds),
            (12.5, Some(60.0))
        );
        assert_eq!((all.seed, all.runs), (3, 7));
        assert_eq!(all.case.as_deref(), Some("7f3a"));
        assert_eq!(all.notes, ["said"]);
    }

    #[test]
    fn unit_comes_from_any_variant_that_measured_the_metric() {
        let variants = vec![
            variant("one", "wall", 1.0, "s"),
            variant("two", "user", 2.0, "ms"),
        ];
        let all = document(search(), found(Vec::new(), variants), 1.0, setting());
        assert_eq!(all.unit, "ms");
    }
}
