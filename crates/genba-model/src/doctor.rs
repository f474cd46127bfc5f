//! What a machine can measure: the document of `genba host doctor`.

use serde::{Deserialize, Serialize};

use crate::{Hazard, HostFingerprint, VerdictName};

/// What one metric can show on this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoctorMetric {
    /// Name of the metric.
    pub metric: String,
    /// The smallest difference (a share) that a comparison of this length detects with a
    /// probability of about 80 %; `null` if it had too few pairs.
    pub visible: Option<f64>,
    /// Robust standard deviation of the logarithm of a pair's ratio, a share.
    pub scatter: f64,
    /// Pairs of runs measured.
    pub pairs: u32,
    /// Verdict of the command compared with itself; anything but `same` and `undecided` is a false
    /// alarm.
    pub verdict: VerdictName,
}

/// Result of `genba host doctor`: a command compared with itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doctor {
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// The command that was compared with itself.
    pub command: String,
    /// Time of the measurement, seconds.
    pub seconds: f64,
    /// Median wall time of a run, seconds.
    pub run_seconds: f64,
    /// What each metric can show.
    pub metrics: Vec<DoctorMetric>,
    /// What disturbs measurements on this host.
    pub hazards: Vec<Hazard>,
    /// Notes for the reader, a sentence each.
    pub notes: Vec<String>,
}
