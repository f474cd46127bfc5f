//! What instructions and other elementary operations cost on one host.

use serde::{Deserialize, Serialize};

use crate::{Estimate, HostFingerprint};

/// Cost of one instruction form or operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostTableEntry {
    /// The form: an instruction with the kinds of its operands (`add r64, r64`, `mov r64, m64`),
    /// with what else decides in brackets (`div r64 [large]`, `load [L2]`), or an operation
    /// (`system call`, `page fault [minor]`).
    pub form: String,
    /// Group for printing: `integer`, `memory`, `vector`, `control`, `system`, …
    pub group: String,
    /// Latency: cycles per instruction of a dependent chain.
    pub latency_cycles: Option<Estimate>,
    /// Reciprocal throughput: cycles per instruction of independent streams.
    pub reciprocal_throughput_cycles: Option<Estimate>,
    /// Time per execution, seconds, for system calls and page faults.
    #[serde(default)]
    pub seconds: Option<Estimate>,
    /// Bytes per second, for copies and streams.
    #[serde(default)]
    pub bytes_per_second: Option<Estimate>,
    /// Whether the measurements scattered too much to be reliable.
    #[serde(default)]
    pub disturbed: bool,
    /// Conditions of the measurement: operands, working set, what was subtracted.
    #[serde(default)]
    pub detail: Option<String>,
}

/// Result of `genba host table`: instruction costs of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostTable {
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// Time of the measurement, RFC 3339.
    pub measured: String,
    /// Median core clock during the measurement, from a chain of dependent additions.
    pub frequency_hz: f64,
    /// Lowest and highest core clock during the measurement.
    pub frequency_range_hz: (f64, f64),
    /// Duration of the measurement, seconds.
    pub seconds: f64,
    /// Entries in the order of printing.
    pub entries: Vec<HostTableEntry>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl HostTable {
    /// The entry of a form by its exact name.
    #[must_use]
    pub fn entry(&self, form: &str) -> Option<&HostTableEntry> {
        self.entries.iter().find(|entry| entry.form == form)
    }
}
