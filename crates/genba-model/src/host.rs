//! The machine that a measurement was made on.

use serde::{Deserialize, Serialize};

/// What tells one host from another. Results of hosts whose `id` differs are never pooled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFingerprint {
    /// Short hash over the fields below that decide about speed.
    pub id: String,
    /// CPU model as the kernel names it.
    pub cpu: String,
    /// Microarchitecture where family and model are known ("Zen 5"), else empty.
    pub microarchitecture: String,
    /// CPUs that this process may run on.
    pub cpus: u32,
    /// Physical memory, bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system's own name ("Debian GNU/Linux 12 (bookworm)").
    pub os: String,
    /// Hypervisor's or container's name, if any ("kvm").
    pub virtualisation: Option<String>,
    /// Whether the CPU's cycle counter can be sampled and counted here.
    pub hardware_counters: bool,
}

/// Something about the host that spoils measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hazard {
    /// Stable identifier. Of the host: `governor`, `turbo`, `smt`, `steal`, `busy`, `one-cpu`,
    /// `swap`, `quota`, `throttle`. Of the runs of a comparison: `waiting`, `page-cache`,
    /// `first-run`, `prepare`, `disturbed`, `shell`.
    pub id: String,
    /// What was seen, in words with figures.
    pub text: String,
    /// What mends it, a command where there is one.
    pub remedy: Option<String>,
}
