//! Predicted and measured gains: the document of `genba explain --calibration`.

use serde::{Deserialize, Serialize};

use crate::{Comparison, Estimate, Finding, Proof, ProofKind, Proven, VerdictName};

/// A finding whose predicted gain was measured, by `genba bench --proves` or `genba prove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Id of the case of the finding.
    pub case: String,
    /// Number of the finding in its case, from 1.
    pub finding: u32,
    /// Cause of the finding.
    pub cause: String,
    /// Function of the finding.
    pub function: String,
    /// Line of the finding, if it is known.
    pub line: Option<u32>,
    /// Predicted speedup, old ÷ new.
    pub predicted: Estimate,
    /// Measured speedup, old ÷ new.
    pub measured: Estimate,
    /// The compared metric.
    pub metric: String,
    /// Verdict of the comparison.
    pub verdict: VerdictName,
    /// Id of the case of the comparison, if one was stored.
    pub comparison: Option<String>,
    /// Whether the fix was made in the running program (`genba prove`) rather than in the source.
    #[serde(default)]
    pub in_flight: bool,
    /// Whether what was measured is an upper bound: a piece of work was left out, and a fix gains at most that.
    #[serde(default)]
    pub upper_bound: bool,
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
            in_flight: false,
            upper_bound: false,
        })
    }

    /// The trial of a finding by a proof.
    #[must_use]
    pub fn in_flight(case: &str, proof: &Proof, proven: &Proven) -> Self {
        let measured = proven.program_speedup;
        Self {
            case: case.to_owned(),
            finding: proof.finding,
            cause: proof.cause.clone(),
            function: proof.site.function.clone(),
            line: proof.site.line,
            predicted: proof.predicted_speedup,
            measured,
            metric: "cpu".to_owned(),
            verdict: match (measured.low > 1.0, measured.high < 1.0) {
                (true, _) => VerdictName::Faster,
                (_, true) => VerdictName::Slower,
                _ => VerdictName::Undecided,
            },
            comparison: None,
            in_flight: true,
            upper_bound: proven.kind == ProofKind::UpperBound,
        }
    }

    /// Whether the prediction's interval and the measurement's have a point in common; of an upper bound, whether the
    /// prediction begins below it.
    #[must_use]
    pub fn holds(&self) -> bool {
        let reached = self.upper_bound || self.measured.low <= self.predicted.high;
        self.predicted.low <= self.measured.high && reached
    }
}

/// Result of `genba explain --calibration`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Checked findings of all cases, the latest case first.
    pub trials: Vec<Trial>,
    /// How many predictions hold: the predicted and the measured interval overlap.
    pub held: u32,
    /// Part of the predicted intervals that hold the measured speedup itself, 0 to 1, upper bounds left out; absent
    /// without checked findings.
    #[serde(default)]
    pub coverage: Option<f64>,
    /// Median of the upper ÷ the lower end of the predicted intervals; absent without checked findings.
    #[serde(default)]
    pub width: Option<f64>,
}

impl Calibration {
    /// The document of checked findings.
    #[must_use]
    pub fn of(trials: Vec<Trial>) -> Self {
        let held = trials.iter().filter(|trial| trial.holds()).count() as u32;
        let of_fixes = || trials.iter().filter(|trial| !trial.upper_bound);
        let covers = |trial: &&Trial| {
            let (predicted, measured) = (trial.predicted, trial.measured.value);
            predicted.low <= measured && measured <= predicted.high
        };
        let covered = of_fixes().filter(covers).count();
        let mut widths: Vec<f64> = of_fixes()
            .map(|trial| trial.predicted.high / trial.predicted.low)
            .collect();
        widths.sort_by(f64::total_cmp);
        Self {
            held,
            coverage: (!widths.is_empty()).then(|| covered as f64 / widths.len() as f64),
            width: widths.get(widths.len() / 2).copied(),
            trials,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(measured: f64) -> Trial {
        Trial {
            case: "a1".to_owned(),
            finding: 1,
            cause: "duplicate-division".to_owned(),
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
            in_flight: false,
            upper_bound: false,
        }
    }

    #[test]
    fn coverage_is_of_measured_values_and_width_the_median() {
        let all = Calibration::of(vec![trial(1.25), trial(1.19), trial(1.5)]);
        assert_eq!(all.held, 2);
        assert!((all.coverage.unwrap_or_default() - 1.0 / 3.0).abs() < 1e-12);
        assert!((all.width.unwrap_or_default() - 1.4 / 1.2).abs() < 1e-12);
        assert_eq!(Calibration::of(Vec::new()), Calibration::default());
        // What leaving the work out gains is not a measurement of a fix.
        let bound = Trial {
            upper_bound: true,
            ..trial(9.0)
        };
        let with_bound = Calibration::of(vec![trial(1.25), bound]);
        assert_eq!((with_bound.held, with_bound.coverage), (2, Some(1.0)));
    }

    #[test]
    fn prediction_holds_if_the_intervals_overlap() {
        assert!(trial(1.25).holds());
        assert!(trial(1.19).holds());
        assert!(!trial(1.5).holds());
        assert!(!trial(1.0).holds());
        let bound = |measured| Trial {
            upper_bound: true,
            ..trial(measured)
        };
        assert!(bound(9.0).holds() && !bound(1.1).holds());
    }
}
