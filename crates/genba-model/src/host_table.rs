//! What instructions and other elementary operations cost on one host.

use serde::{Deserialize, Serialize};

use crate::{Estimate, HostFingerprint};

/// Cost of one form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostTableEntry {
    /// The form: an instruction with the kinds of its operands (`add r64, r64`, `mov r64, m64`),
    /// with what else decides in brackets (`div r64 [large]`, `load [L2]`), or an operation
    /// (`system call`, `page fault [minor]`).
    pub form: String,
    /// What it belongs to, for printing: `integer`, `memory`, `vector`, `control`, `system`, …
    pub group: String,
    /// Cycles from operands to result along a dependent chain.
    pub latency_cycles: Option<Estimate>,
    /// Cycles for each of many independent ones.
    pub reciprocal_throughput_cycles: Option<Estimate>,
    /// Seconds for each, where cycles are not the natural unit (system calls, faults).
    #[serde(default)]
    pub seconds: Option<Estimate>,
    /// Bytes a second, for copies and streams.
    #[serde(default)]
    pub bytes_per_second: Option<Estimate>,
    /// Whether measurements of it scattered so much that the figures are doubtful.
    #[serde(default)]
    pub disturbed: bool,
    /// What it was measured on, where that decides: operands, working set, what was subtracted.
    #[serde(default)]
    pub detail: Option<String>,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostTable {
    /// Where it holds.
    pub host: HostFingerprint,
    /// When it was measured, RFC 3339.
    pub measured: String,
    /// Core clock while it was measured, cycles a second (median), by a chain of dependent additions.
    pub frequency_hz: f64,
    /// Lowest and highest clock seen meanwhile.
    pub frequency_range_hz: (f64, f64),
    /// Time that measuring took, seconds.
    pub seconds: f64,
    /// Entries in the order of printing.
    pub entries: Vec<HostTableEntry>,
    /// What the reader must know, a sentence each.
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
