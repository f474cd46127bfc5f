//! Results over commits: the document of `genba history`.

use serde::{Deserialize, Serialize};

use crate::{Direction, Estimate, HostFingerprint};

/// Result of `genba history show`, `compare` and `explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryReport {
    /// Version of genba that made it.
    pub genba: String,
    /// The store, without password.
    pub store: String,
    /// The change points of all series, those that made something worse first.
    pub points: Vec<HistoryChange>,
    /// The series; those of different hosts are different series.
    pub series: Vec<HistorySeries>,
    /// Two revisions compared in each series, if requested.
    #[serde(default)]
    pub comparisons: Vec<HistoryComparison>,
    /// The hosts of the series.
    pub hosts: Vec<HostFingerprint>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Result of `genba history list`: which series there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesList {
    /// Version of genba that made it.
    pub genba: String,
    /// The store, without password.
    pub store: String,
    /// The series, by project, benchmark, variant, metric and host.
    pub series: Vec<SeriesSummary>,
}

/// One metric of one benchmark on one host, without its measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// Number in this store.
    pub id: i64,
    /// Name of the project.
    pub project: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Options and build flavour; may be empty.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// `seconds`, `bytes`, `count`, or the target's own unit.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
    /// Id of the host's fingerprint.
    pub host: String,
    /// Number of measurements, without those of anchors.
    pub measurements: u64,
}

/// What changed at a change point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOrigin {
    /// The code: the ratio to the anchor build changed.
    Code,
    /// The host: the anchor build itself changed.
    Host,
    /// Code or host: there is no anchor build that tells them apart.
    Undetermined,
}

/// A change of level in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryChange {
    /// Index of the series in `series`.
    pub series: u32,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Options and build flavour; may be empty.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Id of the host.
    pub host: String,
    /// Most likely first commit with the new level; the time of the measurement outside a
    /// repository.
    pub commit: String,
    /// Subject of that commit.
    pub subject: String,
    /// Last measured commit that has the old level (95 %); the change is after it.
    pub last_before: String,
    /// First measured commit that has the new level (95 %); the change is in it or before it.
    pub first_after: String,
    /// Level before.
    pub before: Estimate,
    /// Level after.
    pub after: Estimate,
    /// Level after ÷ level before.
    pub change: Estimate,
    /// Whether the new level is worse.
    pub worse: bool,
    /// Posterior probability of a change in the range, with one change in 1,000 measurements
    /// expected beforehand.
    pub probability: f64,
    /// What changed.
    pub origin: ChangeOrigin,
    /// What of the recorded environment differs between the two sides of the range.
    #[serde(default)]
    pub environment: Vec<String>,
}

/// One metric of one benchmark on one host, over commits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistorySeries {
    /// Name of the project.
    pub project: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Options and build flavour; may be empty.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// `seconds`, `bytes`, `count`, or the target's own unit.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
    /// Id of the host.
    pub host: String,
    /// Branch; empty for all branches together.
    pub branch: String,
    /// Commit or command of the anchor build that levels are corrected by; empty without one.
    pub anchor: String,
    /// Standard error of a typical measurement, as a share; `None` for fewer than two.
    pub noise: Option<f64>,
    /// Smallest step that is found within three measurements in 95 %, as a share.
    pub visible_step: Option<f64>,
    /// The measurements in the order of commits.
    pub measurements: Vec<HistoryMeasurement>,
}

/// One measurement of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryMeasurement {
    /// The commit; empty outside a repository.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// Branch.
    pub branch: String,
    /// Whether the tree had changes that are not committed.
    pub dirty: bool,
    /// Time of the measurement, RFC 3339.
    pub started: String,
    /// Level; with an anchor, corrected for what the anchor did.
    pub level: Estimate,
    /// Median of the anchor build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<f64>,
    /// Number of runs.
    pub runs: u32,
}

/// Two revisions in one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryComparison {
    /// Index of the series in `series`.
    pub series: u32,
    /// The revision that is the baseline.
    pub before: String,
    /// The other one.
    pub after: String,
    /// Level of `after` ÷ level of `before`.
    pub ratio: Estimate,
    /// Measurements of each.
    pub measurements: (u32, u32),
}
