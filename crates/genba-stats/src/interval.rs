//! An estimate with the level that its interval really has.

use genba_model::Estimate;

/// How an interval came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalRule {
    /// The method's own interval, at least at the level asked for.
    Regular,
    /// Too few values for the level asked for: the widest interval that the method knows (for
    /// a median the range of the values), with the lower level that this has.
    Range,
    /// One value only: no interval can be given, its ends are the value and its level is 0.
    Single,
}

impl IntervalRule {
    /// Of so many values, where this level was reached of the one asked for.
    pub(crate) fn of(count: usize, reached: f64, asked: f64) -> Self {
        if count == 1 {
            Self::Single
        } else if reached < asked {
            Self::Range
        } else {
            Self::Regular
        }
    }
}

/// An estimate, the level of its interval, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Value and ends.
    pub estimate: Estimate,
    /// Probability that the interval covers the true value, under the method's assumptions.
    pub level: f64,
    /// How the interval came about.
    pub rule: IntervalRule,
    /// Values that it rests on.
    pub count: usize,
}

impl Interval {
    /// Applies a monotonically increasing function to the value and both ends.
    #[must_use]
    pub fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self {
            estimate: Estimate {
                value: function(self.estimate.value),
                low: function(self.estimate.low),
                high: function(self.estimate.high),
            },
            ..self
        }
    }
}
