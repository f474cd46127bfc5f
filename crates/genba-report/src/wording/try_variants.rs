//! Words of a trial, for terminal and page alike.

use genba_model::{ChangeKind, Estimate, LayoutEffect, TrialReport, Tried, TriedOutcome};

use crate::number;
use crate::wording::{metrics, verdicts};

/// What became of a way, in a few words.
pub(crate) fn outcome(tried: &Tried, delta: f64) -> String {
    let ratio = tried.ratio.filter(verdicts::usable);
    match (tried.outcome, ratio) {
        (TriedOutcome::Gain | TriedOutcome::Slower, Some(ratio)) => strong(&ratio),
        (TriedOutcome::Slight, Some(ratio)) if tried.within_layout => {
            let word = if ratio.value < 1.0 {
                "faster"
            } else {
                "slower"
            };
            format!(
                "{} {word}: layout does as much",
                verdicts::factor_of(&ratio)
            )
        }
        (TriedOutcome::Slight, Some(ratio)) => {
            format!(
                "{}, no more than {}",
                strong(&ratio),
                verdicts::points(delta)
            )
        }
        (TriedOutcome::Same, _) => {
            format!("no difference larger than {}", verdicts::points(delta))
        }
        // Its own interval has left 1, but not by as much as takes so many ways tried.
        (TriedOutcome::Undecided, Some(ratio)) if ratio.high < 1.0 || ratio.low > 1.0 => {
            format!("likely, not proven: {}", verdicts::range(&ratio))
        }
        (TriedOutcome::Undecided, Some(ratio)) => format!("undecided: {}", verdicts::range(&ratio)),
        (TriedOutcome::Identical, _) => "the same program, byte for byte".to_owned(),
        (TriedOutcome::Failed, _) => "failed".to_owned(),
        (TriedOutcome::Unavailable, _) => "not here".to_owned(),
        (TriedOutcome::NotTried, _) => "not tried".to_owned(),
        (TriedOutcome::Gain, None) => "faster".to_owned(),
        (TriedOutcome::Slower, None) => "slower".to_owned(),
        (TriedOutcome::Slight, None) => "slightly faster".to_owned(),
        (TriedOutcome::Undecided, None) => "undecided".to_owned(),
    }
}

/// `1.37× faster (1.35–1.39)`.
fn strong(ratio: &Estimate) -> String {
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

/// What to keep, as one sentence; or that nothing helps.
pub(crate) fn verdict(report: &TrialReport) -> String {
    let counts = |one: &&Tried| one.pairs > 0 && one.kind != ChangeKind::Layout;
    let measured = report.tried.iter().filter(counts).count();
    match &report.keep {
        Some(keep) => format!(
            "{} is {} in {}",
            keep.variant,
            strong(&keep.ratio),
            metrics::phrase(&report.metric)
        ),
        None => {
            let open = report.tried.iter().filter(|one| {
                one.pairs > 0
                    && one.outcome == TriedOutcome::Undecided
                    && one.kind != ChangeKind::Layout
            });
            let open = match open.count() {
                0 => String::new(),
                open => format!("; {open} undecided in the time given"),
            };
            let start = if open.is_empty() {
                "nothing helps"
            } else {
                "nothing is shown to help"
            };
            format!(
                "{start}: none of {} is known to be faster in {} by more than {}{open}",
                number::plural(measured as u64, "way"),
                metrics::phrase(&report.metric),
                verdicts::points(report.delta)
            )
        }
    }
}

/// What layout alone does.
pub(crate) fn layout(layout: &LayoutEffect) -> String {
    format!(
        "layout alone: {} with nothing changed but where functions lie differ from the baseline by \
         {} … {}; gains of other builds that are no larger are not believed",
        number::plural(u64::from(layout.builds), "build"),
        verdicts::signed(layout.low - 1.0),
        verdicts::signed(layout.high - 1.0)
    )
}
