//! The message about a metric that no run of a sweep reported. Pure.

use genba_model::EXACT_INSTRUCTIONS;

use crate::Plan;

/// Returns what to do about the primary metric of a plan, which none of `runs` runs reported.
pub(super) fn message(plan: &Plan, runs: u32) -> String {
    let primary = &plan.primary;
    if !plan.counters.contains(primary) {
        return format!(
            "none of {runs} runs reported the metric {primary}; if the command reports it, check its output and whether \
             --metric-regex matches it"
        );
    }
    let instead = match primary.starts_with("instructions") {
        true => format!("\n  to count instructions without it: --metric {EXACT_INSTRUCTIONS}"),
        false => String::new(),
    };
    format!("metric {primary}: this machine did not count it{instead}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_not_counted_are_answered_with_what_counts_them() {
        let said = |event: &str| {
            let mut plan = Plan::new(Vec::new());
            plan.primary = event.to_owned();
            let of_target = message(&plan, 2);
            plan.counters.push(event.to_owned());
            (of_target, message(&plan, 2))
        };
        let (of_target, counted) = said("instructions:u");
        assert!(of_target.contains("--metric-regex"), "{of_target}");
        assert!(
            counted.contains("did not count it") && counted.contains("--metric exact-instructions"),
            "{counted}"
        );
        assert!(!said("cycles").1.contains("exact-instructions"));
    }
}
