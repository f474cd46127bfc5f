//! Samples of loads and stores by where their data was.

use serde::{Deserialize, Serialize};

use crate::Event;

/// Accesses whose data was at one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataLevelRow {
    /// `L1d`, `fill buffer`, `L2`, `L3`, `remote cache`, `memory`, `remote memory`, … or `unknown`.
    pub level: String,
    /// Number of samples.
    pub samples: u64,
    /// Mean latency of those samples that have one, cycles, as the processor reports it.
    pub mean_latency_cycles: Option<f64>,
}

/// The accesses of a function, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataAccesses {
    /// Number of samples that say where their data was.
    pub samples: u64,
    /// Loads among them.
    pub loads: u64,
    /// Stores among them.
    pub stores: u64,
    /// Samples whose address was in no TLB.
    pub page_walks: u64,
    /// Samples whose line another core had modified (HITM).
    pub modified_elsewhere: u64,
    /// Mean latency of those samples that have one, cycles, as the processor reports it.
    pub mean_latency_cycles: Option<f64>,
    /// By level, from the nearest to the farthest.
    pub levels: Vec<DataLevelRow>,
}

/// The accesses of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataFunction {
    /// Function.
    pub function: String,
    /// Module.
    pub module: String,
    /// Its accesses.
    pub accesses: DataAccesses,
}

/// `genba report --by data`: where the data of sampled loads and stores was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataProfile {
    /// The event that was sampled.
    pub event: Event,
    /// Program and arguments, as recorded.
    pub command: Vec<String>,
    /// All accesses.
    pub all: DataAccesses,
    /// By function, that with most samples first.
    pub functions: Vec<DataFunction>,
    /// Notes on the result, a sentence each.
    pub notes: Vec<String>,
}
