//! Kinds and states of cases, and the document of `genba case list`.

use serde::{Deserialize, Serialize};

/// State of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseState {
    /// A genba process is writing to it.
    Running,
    /// It is complete.
    Complete,
    /// It was interrupted; the runs that had ended are stored.
    Interrupted,
    /// The file is damaged, not a case, or of a newer genba.
    Unreadable,
}

impl CaseState {
    /// Name in JSON and in the list.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Kind of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// `genba investigate` and `genba explain`.
    #[default]
    Investigation,
    /// `genba bench` and `genba gate`.
    Comparison,
    /// `genba wait`.
    Waits,
    /// `genba try`.
    Trial,
    /// `genba ablate`.
    Ablation,
    /// `genba sweep`.
    Sweep,
    /// `genba bisect`.
    Bisection,
}

impl CaseKind {
    /// Name in JSON and in the case file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Investigation => "investigation",
            Self::Comparison => "comparison",
            Self::Waits => "waits",
            Self::Trial => "trial",
            Self::Ablation => "ablation",
            Self::Sweep => "sweep",
            Self::Bisection => "bisection",
        }
    }

    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Investigation,
        Self::Comparison,
        Self::Waits,
        Self::Trial,
        Self::Ablation,
        Self::Sweep,
        Self::Bisection,
    ];

    /// Whether it is an experiment over a plan of its own, with a journal of its runs.
    #[must_use]
    pub fn is_experiment(self) -> bool {
        !matches!(self, Self::Investigation | Self::Comparison | Self::Waits)
    }
}

/// One row of `genba case list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// Id of the case, hexadecimal.
    pub id: String,
    /// Kind of the case.
    #[serde(default)]
    pub kind: CaseKind,
    /// State of the case.
    pub state: CaseState,
    /// Start time, RFC 3339; empty if unreadable.
    pub started: String,
    /// End time, RFC 3339, if it ended.
    pub ended: Option<String>,
    /// Program and arguments, those of the baseline for a comparison; empty if unreadable.
    pub command: Vec<String>,
    /// Name given by the user.
    pub name: Option<String>,
    /// Number of measured runs.
    pub runs: u64,
    /// Median wall time of the runs, seconds; `None` for a comparison.
    pub wall_seconds: Option<f64>,
    /// Directory of the case.
    pub path: String,
    /// Why it is unreadable.
    pub error: Option<String>,
}

/// Result of `genba case list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseList {
    /// The cases, newest first.
    pub cases: Vec<CaseSummary>,
}
