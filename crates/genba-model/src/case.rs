//! What a list of cases says about each.

use serde::{Deserialize, Serialize};

/// How far a case came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseState {
    /// A genba process is writing to it now.
    Running,
    /// It was brought to its end.
    Complete,
    /// Its writer died or was stopped; the runs that ended are there.
    Interrupted,
    /// The file is damaged, foreign or of a newer genba.
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

/// What a case is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// One workload, where its time goes and why.
    #[default]
    Investigation,
    /// Variants against one another.
    Comparison,
    /// Ways of building and running a program, tried.
    Trial,
    /// Parts of a program, switched off one at a time.
    Ablation,
    /// A metric over a parameter.
    Sweep,
    /// The search for a culprit.
    Bisection,
}

impl CaseKind {
    /// Name in JSON and in the case file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Investigation => "investigation",
            Self::Comparison => "comparison",
            Self::Trial => "trial",
            Self::Ablation => "ablation",
            Self::Sweep => "sweep",
            Self::Bisection => "bisection",
        }
    }

    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Investigation,
        Self::Comparison,
        Self::Trial,
        Self::Ablation,
        Self::Sweep,
        Self::Bisection,
    ];

    /// Whether it is an experiment over a plan of its own, with a journal of its runs.
    #[must_use]
    pub fn is_experiment(self) -> bool {
        !matches!(self, Self::Investigation | Self::Comparison)
    }
}

/// One row of `genba case list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// Identifier, hexadecimal.
    pub id: String,
    /// What it is about.
    #[serde(default)]
    pub kind: CaseKind,
    /// How far it came.
    pub state: CaseState,
    /// Start, RFC 3339; empty if unreadable.
    pub started: String,
    /// End, RFC 3339, if it came to one.
    pub ended: Option<String>,
    /// The command, of a comparison its baseline's; empty if unreadable.
    pub command: Vec<String>,
    /// Name that people gave it.
    pub name: Option<String>,
    /// Measured runs that ended.
    pub runs: u64,
    /// Median wall time of them, seconds; `None` for a comparison, whose variants have one each.
    pub wall_seconds: Option<f64>,
    /// The case's directory.
    pub path: String,
    /// Why it is unreadable.
    pub error: Option<String>,
}

/// The document of `genba case list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseList {
    /// The cases, newest first.
    pub cases: Vec<CaseSummary>,
}
