//! Predictions beside what experiments measured.

use serde::{Deserialize, Serialize};

use crate::{Comparison, Estimate, Finding, VerdictName};

/// A finding that an experiment proved or refuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Identifier of the case that the finding is of.
    pub case: String,
    /// Number of the finding in it, from 1.
    pub finding: u32,
    /// Its cause.
    pub cause: String,
    /// Where it is: function, and line where it is known.
    pub function: String,
    /// Line.
    pub line: Option<u32>,
    /// Old ÷ new time as it was predicted.
    pub predicted: Estimate,
    /// Old ÷ new time as it was measured.
    pub measured: Estimate,
    /// The metric that was compared.
    pub metric: String,
    /// What the comparison came to.
    pub verdict: VerdictName,
    /// Case of the comparison, if one is kept.
    pub comparison: Option<String>,
}

impl Trial {
    /// The trial of a finding by a comparison of the program as it was (baseline) and mended.
    #[must_use]
    pub fn of(
        case: &str,
        number: u32,
        finding: &Finding,
        comparison: &Comparison,
        kept: Option<&str>,
    ) -> Option<Self> {
        let ratio = comparison.ratio;
        let positive = ratio.low > 0.0 && ratio.high.is_finite();
        positive.then(|| Self {
            case: case.to_owned(),
            finding: number,
            cause: finding.cause.clone(),
            function: finding.site.function.clone(),
            line: finding.site.line,
            predicted: finding.predicted_speedup,
            measured: Estimate {
                value: 1.0 / ratio.value,
                low: 1.0 / ratio.high,
                high: 1.0 / ratio.low,
            },
            metric: comparison.metric.clone(),
            verdict: comparison.verdict,
            comparison: kept.map(ToOwned::to_owned),
        })
    }

    /// Whether the prediction's interval and the measurement's have a point in common.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.predicted.low <= self.measured.high && self.measured.low <= self.predicted.high
    }
}

/// The document of `genba explain --calibration`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// All trials of the cases here, the latest case first.
    pub trials: Vec<Trial>,
    /// How many of them measured what was predicted.
    pub held: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(measured: f64) -> Trial {
        Trial {
            case: "a1".to_owned(),
            finding: 1,
            cause: "spill".to_owned(),
            function: "f".to_owned(),
            line: None,
            predicted: Estimate {
                value: 1.3,
                low: 1.2,
                high: 1.4,
            },
            measured: Estimate {
                value: measured,
                low: measured * 0.98,
                high: measured * 1.02,
            },
            metric: "cpu".to_owned(),
            verdict: VerdictName::Faster,
            comparison: None,
        }
    }

    #[test]
    fn a_prediction_holds_where_the_intervals_meet() {
        assert!(trial(1.25).holds());
        assert!(trial(1.19).holds());
        assert!(!trial(1.5).holds());
        assert!(!trial(1.0).holds());
    }
}
