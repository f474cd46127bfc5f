//! Sentences of `genba try`: the outcome of each variant, the recommendation, the layout effect.

use genba_model::{ChangeKind, Estimate, LayoutEffect, TrialReport, Tried, TriedOutcome};
use genba_units::format;

use crate::wording::{metrics, verdicts};

/// Returns the outcome of a variant in a few words.
pub(crate) fn outcome(tried: &Tried, delta: f64) -> String {
    let ratio = tried.ratio.filter(verdicts::usable);
    match (tried.outcome, ratio) {
        (TriedOutcome::Gain | TriedOutcome::Slower, Some(ratio)) => effect(&ratio),
        (TriedOutcome::Slight, Some(ratio)) if tried.within_layout => {
            let word = if ratio.value < 1.0 {
                "faster"
            } else {
                "slower"
            };
            format!(
                "{} {word}: within the effect of code layout",
                verdicts::factor_of(&ratio)
            )
        }
        (TriedOutcome::Slight, Some(ratio)) => {
            format!(
                "{}, below the equivalence margin of {}",
                effect(&ratio),
                verdicts::points(delta)
            )
        }
        (TriedOutcome::Same, _) => {
            format!("equivalent within ±{}", verdicts::points(delta))
        }
        // Its own interval excludes 1, but not after correction for the number of variants.
        (TriedOutcome::Undecided, Some(ratio)) if ratio.high < 1.0 || ratio.low > 1.0 => {
            format!("likely, not significant: {}", verdicts::range(&ratio))
        }
        (TriedOutcome::Undecided, Some(ratio)) => format!("undecided: {}", verdicts::range(&ratio)),
        (TriedOutcome::Identical, _) => "identical binary".to_owned(),
        (TriedOutcome::Failed, _) => "failed".to_owned(),
        (TriedOutcome::Unavailable, _) => "not available".to_owned(),
        (TriedOutcome::NotTried, _) => "not tried".to_owned(),
        (TriedOutcome::Gain, None) => "faster".to_owned(),
        (TriedOutcome::Slower, None) => "slower".to_owned(),
        (TriedOutcome::Slight, None) => "slightly faster".to_owned(),
        (TriedOutcome::Undecided, None) => "undecided".to_owned(),
    }
}

/// Returns an effect with its interval: `1.37× faster (1.35–1.39)`.
fn effect(ratio: &Estimate) -> String {
    let word = if ratio.value < 1.0 {
        "faster"
    } else {
        "slower"
    };
    format!(
        "{} {word} ({})",
        verdicts::factor_of(ratio),
        verdicts::factor_span(ratio)
    )
}

/// Returns the recommended variant, or that no variant is faster.
pub(crate) fn verdict(report: &TrialReport) -> String {
    let counts = |one: &&Tried| one.pairs > 0 && one.kind != ChangeKind::Layout;
    let measured = report.tried.iter().filter(counts).count();
    match &report.keep {
        Some(keep) => format!(
            "{} is {} in {}",
            keep.variant,
            effect(&keep.ratio),
            metrics::phrase(&report.metric)
        ),
        None if measured == 0 => "no variant was measured: the reasons are in the table".to_owned(),
        None => {
            let open = report.tried.iter().filter(|one| {
                one.pairs > 0
                    && one.outcome == TriedOutcome::Undecided
                    && one.kind != ChangeKind::Layout
            });
            let open = match open.count() {
                0 => String::new(),
                open => format!("; {open} undecided within the budget"),
            };
            let start = if open.is_empty() {
                "no variant is faster"
            } else {
                "no variant is shown to be faster"
            };
            format!(
                "{start}: none of {} gains more than {} in {}{open}",
                format::plural(measured as u64, "variant"),
                verdicts::points(report.delta),
                metrics::phrase(&report.metric)
            )
        }
    }
}

/// Returns the effect of code layout alone.
pub(crate) fn layout(layout: &LayoutEffect) -> String {
    format!(
        "code layout alone: {} that differ only in the placement of functions are {} … {} from the \
         baseline; effects of other builds within this range are not counted as gains",
        format::plural(u64::from(layout.builds), "build"),
        verdicts::signed(layout.low - 1.0),
        verdicts::signed(layout.high - 1.0)
    )
}
