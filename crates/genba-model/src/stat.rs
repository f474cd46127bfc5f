//! Event counters of one command, as `perf stat -d` has them.

use serde::{Deserialize, Serialize};

use crate::{Estimate, ExitKind};

/// Whether a counter could be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterState {
    /// Counted.
    Counted,
    /// This machine or kernel does not have the event.
    NotSupported,
    /// Supported, yet never scheduled onto the hardware in this run.
    NotCounted,
    /// The kernel refuses it to this user.
    Forbidden,
}

/// A ratio derived from counters, in perf's words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterNote {
    /// The derived value.
    pub value: f64,
    /// Its unit in words: "insn per cycle", "GHz", "of all branches", "CPUs utilized".
    pub text: String,
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// perf's name of the event.
    pub event: String,
    /// Whether it was counted.
    pub state: CounterState,
    /// Its value, scaled up if it was multiplexed; over the repeated runs with `-r`.
    pub value: Option<Estimate>,
    /// `msec` for clocks, empty for counts.
    pub unit: String,
    /// Share of the time that it was on the hardware; below 1 the value is extrapolated.
    pub running_share: f64,
    /// Derived ratio, if it has one.
    pub note: Option<CounterNote>,
}

/// The counters of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// The command.
    pub command: Vec<String>,
    /// Number of runs.
    pub runs: u32,
    /// Counters in the order of output.
    pub counters: Vec<Counter>,
    /// Wall time, seconds.
    pub wall: Estimate,
    /// User CPU time, seconds.
    pub user: Estimate,
    /// System CPU time, seconds.
    pub system: Estimate,
    /// How the last run ended.
    pub exit: ExitKind,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
