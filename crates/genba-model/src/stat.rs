//! Event counters of one command, as `perf stat -d` has them.

use serde::{Deserialize, Serialize};

use crate::{Estimate, ExitKind};

/// Whether an event was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterState {
    /// It was counted.
    Counted,
    /// This machine or kernel does not have the event.
    NotSupported,
    /// It is supported, but was never scheduled onto the hardware in this run.
    NotCounted,
    /// The kernel does not permit it to this user.
    Forbidden,
}

/// A ratio derived from counters, as `perf stat` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterNote {
    /// The derived value.
    pub value: f64,
    /// Its unit: "insn per cycle", "GHz", "of all branches", "CPUs utilized".
    pub text: String,
}

/// An event counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// perf's name of the event.
    pub event: String,
    /// Whether it was counted.
    pub state: CounterState,
    /// Its value, extrapolated if it was multiplexed; the mean over repeated runs with `-r`.
    pub value: Option<Estimate>,
    /// `msec` for clocks, empty for counts.
    pub unit: String,
    /// Share of the time that it was on the hardware; below 1, `value` is extrapolated.
    pub running_share: f64,
    /// Derived ratio, if there is one for this event.
    pub note: Option<CounterNote>,
}

/// Counters of a part of the time, as of `genba stat -I`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatInterval {
    /// End of the interval, seconds after the start of counting; it began where the one before ended.
    pub end_seconds: f64,
    /// Counters of the interval.
    pub counters: Vec<Counter>,
}

/// Counters of a thread, as of `genba stat --per-thread`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatThread {
    /// Thread id.
    pub tid: i32,
    /// Name of the thread (comm).
    pub name: String,
    /// Its counters.
    pub counters: Vec<Counter>,
}

/// A part of a category of issue slots (level 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopdownPart {
    /// Its name: `memory`, `branch mispredictions`, `fetch latency`, …
    pub name: String,
    /// Share of all slots, 0…1.
    pub share: f64,
}

/// A category of issue slots of the pipeline (level 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopdownCategory {
    /// Its name in the literature: `retiring`, `bad speculation`, `frontend bound`, `backend bound`.
    pub name: String,
    /// Share of all slots, 0…1.
    pub share: f64,
    /// What it is divided into, where that was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<TopdownPart>,
}

/// Where the issue slots of the pipeline went (top-down analysis, Yasin 2014), from event counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topdown {
    /// How they were counted.
    pub method: String,
    /// Number of slots, extrapolated where its counter was multiplexed.
    pub slots: f64,
    /// The categories of level 1.
    pub categories: Vec<TopdownCategory>,
}

/// Result of `genba stat`: event counters of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// Program and arguments.
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
    /// Where issue slots went, with `--topdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topdown: Option<Topdown>,
    /// Counters of each thread, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<StatThread>,
    /// Counters of each interval, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<StatInterval>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
