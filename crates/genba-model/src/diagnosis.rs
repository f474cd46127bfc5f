//! A cause at a site as detectors hand it on: typed, without a sentence.

use serde::{Deserialize, Serialize};

use crate::{Cause, Confirmation, Estimate, Fact, FindingSite, Fix};

/// A cause with its site, gain and facts; `genba-report` words it as a [`crate::Finding`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The cause.
    pub cause: Cause,
    /// Site of the cause.
    pub site: FindingSite,
    /// Share of all time that the fix would change.
    pub share: Estimate,
    /// Counted: executions of the site.
    pub executions: Option<u64>,
    /// Measured ÷ counted: seconds for each of them.
    pub cost_seconds: Option<Estimate>,
    /// The same in cycles.
    pub cost_cycles: Option<Estimate>,
    /// Old ÷ new time of the whole program with the fix.
    pub predicted_speedup: Estimate,
    /// The same as model and shares of time give it, before it is calibrated on outcomes.
    pub modelled_speedup: Option<Estimate>,
    /// What was observed.
    pub facts: Vec<Fact>,
    /// What to change.
    pub fix: Fix,
    /// How to check it.
    pub confirmation: Confirmation,
}
