//! Sentences on a differential profile: where code moved, what changed.

use genba_model::{DiffSide, FunctionDiff, Moved, MovedHow, ProfileDiff};
use genba_units::format;

/// The unit of the times of a differential profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// Seconds of a run.
    Seconds,
    /// Shares of the samples, where it is not known how long a run takes.
    Share,
}

impl TimeUnit {
    /// Returns the unit of a differential profile.
    pub(crate) fn of(diff: &ProfileDiff) -> Self {
        match diff.before.seconds.is_some() && diff.after.seconds.is_some() {
            true => Self::Seconds,
            false => Self::Share,
        }
    }

    /// Returns what the times are: `time per run`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seconds => "time per run",
            Self::Share => "share of the samples",
        }
    }

    /// Returns the time of a whole side.
    pub(crate) fn whole(self, side: &DiffSide) -> f64 {
        match self {
            Self::Seconds => side.seconds.unwrap_or(0.0),
            Self::Share => 1.0,
        }
    }

    /// Returns a time: `1.2 ms`, `3.1 %`.
    pub(crate) fn amount(self, value: f64) -> String {
        match self {
            Self::Seconds => format::seconds(value),
            Self::Share => format::share(value),
        }
    }

    /// Returns a change with its sign: `+1.2 ms`.
    pub(crate) fn change(self, value: f64) -> String {
        let sign = if value < 0.0 { '−' } else { '+' };
        format!("{sign}{}", self.amount(value.abs()))
    }
}

/// Samples by which a function must change: from none to six happens by chance in 3 % of the cases (a sample
/// is as likely on either side: 2 · 2⁻⁶).
const MIN_SAMPLES_OF_CHANGE: f64 = 6.0;

/// Returns the smallest change that is more than what the number of samples allows by chance; `None` where that is unknown.
pub(crate) fn least_change(diff: &ProfileDiff) -> Option<f64> {
    let unit = TimeUnit::of(diff);
    // A side's time is the mean of all its runs, and so are its samples.
    let per_sample =
        |side: &DiffSide| (side.samples > 0).then(|| unit.whole(side) / side.samples as f64);
    let more = per_sample(&diff.before)?.max(per_sample(&diff.after)?);
    Some(more * MIN_SAMPLES_OF_CHANGE)
}

/// Returns whether a function changed by more than what its samples allow by chance; never where their number
/// is unknown.
pub(crate) fn is_more_than_chance(diff: &ProfileDiff, one: &FunctionDiff) -> bool {
    let excludes_zero = one.change.high < 0.0 || one.change.low > 0.0;
    // An interval of one sample on one side and none on the other would exclude zero.
    excludes_zero && least_change(diff).is_some_and(|least| one.change.value.abs() >= least)
}

/// Returns why changes of less than `least` are not listed, although they are noticeable.
pub(crate) fn not_listed(diff: &ProfileDiff, least: f64) -> String {
    format!(
        "changes of less than {} are not listed: they are within what the number of samples allows by chance",
        TimeUnit::of(diff).amount(least)
    )
}

/// Returns where the code of a function moved.
pub(crate) fn moved(moved: &Moved, unit: TimeUnit) -> String {
    let how = match moved.how {
        MovedHow::Inlined => "inlined into",
        MovedHow::Likely => "likely inlined into",
        MovedHow::Cloned => "renamed to",
    };
    let time = moved.seconds.map_or(String::new(), |time| {
        format!(" ({} there)", unit.amount(time))
    });
    format!("{how} {}{time}", moved.into)
}

/// Returns the remarks on a function: where its code moved, what was inlined into it.
pub(crate) fn remarks(function: &FunctionDiff, unit: TimeUnit) -> String {
    let moves = function.moved.iter().take(2);
    let mut parts: Vec<String> = moves.map(|one| moved(one, unit)).collect();
    if !function.inlined_here.is_empty() {
        let shown: Vec<&str> = function
            .inlined_here
            .iter()
            .take(3)
            .map(String::as_str)
            .collect();
        parts.push(format!("includes inlined {}", shown.join(", ")));
    }
    parts.join("; ")
}

/// Returns a count before and after: `30.0 M → 0`, or once where both are equal.
pub(crate) fn pair(pair: Option<(u64, u64)>) -> String {
    pair.map_or(String::new(), |(before, after)| {
        let count = |number: u64| format::count(number as f64);
        if before == after {
            count(before)
        } else {
            format!("{} → {}", count(before), count(after))
        }
    })
}
