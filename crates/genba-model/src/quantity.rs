//! Numbers with their uncertainty and their unit.

use serde::{Deserialize, Serialize};

/// A quantity with its 95 % interval, or another level where a field says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Point estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// A value known exactly (a count): the interval has no width.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// Half the interval's width as a share of the value; `None` for a value of zero.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        (self.value != 0.0).then(|| (self.high - self.low) / 2.0 / self.value.abs())
    }

    /// The same quantity in another unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A plain count.
    Count,
}
