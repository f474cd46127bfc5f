//! What the reports of a gate are made of.

use genba_model::{ComparisonReport, InstructionChange};

/// The result of a gate.
#[derive(Clone, Copy, Debug)]
pub struct GateResult<'a> {
    /// The comparison.
    pub report: &'a ComparisonReport,
    /// The share (0.01 is 1 %) beyond which "slower" is refused
    /// ([`genba_model::Comparison::is_worse_by`]).
    pub threshold: f64,
    /// The instructions of base and change, if they were counted.
    pub counted: Option<&'a InstructionChange>,
    /// Whether the measurement was interrupted.
    pub interrupted: bool,
}

impl<'a> GateResult<'a> {
    /// The result of a measurement that ended by itself, without counts.
    #[must_use]
    pub fn new(report: &'a ComparisonReport, threshold: f64) -> Self {
        Self {
            report,
            threshold,
            counted: None,
            interrupted: false,
        }
    }
}
