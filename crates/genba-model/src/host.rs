//! The host that a measurement was made on, and what disturbs measurements there.

use serde::{Deserialize, Serialize};

/// Identity of a host. Results of hosts with different ids are never pooled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFingerprint {
    /// Short hash over the fields that affect speed.
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
    /// Name of the operating system ("Debian GNU/Linux 12 (bookworm)").
    pub os: String,
    /// Name of the hypervisor or container, if any ("kvm").
    pub virtualisation: Option<String>,
    /// Whether CPU cycles can be counted and sampled.
    pub hardware_counters: bool,
}

/// A condition of the host or of the runs that disturbs measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hazard {
    /// Stable id. Of the host: `governor`, `turbo`, `smt`, `steal`, `busy`, `one-cpu`,
    /// `swap`, `quota`, `throttle`. Of the runs of a comparison: `waiting`, `page-cache`,
    /// `first-run`, `prepare`, `disturbed`, `shell`.
    pub id: String,
    /// What was observed, a sentence with figures.
    pub text: String,
    /// Remedy, a command if there is one.
    pub remedy: Option<String>,
}
