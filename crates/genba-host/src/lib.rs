//! What machine this is and what on it spoils measurements.
//!
//! **Scope.** The [fingerprint](fingerprint()) that tells one host from another, the
//! [hazards](hazards()) of measuring here (governor, boost, hyper-threads, steal time, other
//! load, swap, throttling), a [watch](NoiseWatch) over the window of a measurement, and a short
//! [noise check](noise_check). Parsers are pure functions over text; only `sample`, `watch`,
//! `fingerprint` and `noise` touch the machine.
//!
//! **Not here.** Statistics over runs (genba-stats), starting the workload (genba-run), changing
//! any setting of the system: hazards name the command that would, the person runs it.
//!
//! Nothing here fails for want of a file: what cannot be read is unknown, and is left out.

mod affinity;
mod cpuinfo;
mod fingerprint;
mod hazards;
mod microarchitecture;
mod noise;
mod procfs;
mod sample;
mod source;
mod virtualisation;
mod watch;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use cpuinfo::{CpuInfo, parse_cpuinfo};
pub use fingerprint::{FingerprintFacts, fingerprint, fingerprint_from};
pub use hazards::{HazardSample, hazards};
pub use microarchitecture::microarchitecture;
pub use noise::{NoiseReport, noise_check};
pub use procfs::{
    CpuTicks, parse_load_average, parse_meminfo_bytes, parse_os_name, parse_proc_stat,
    parse_swap_pages,
};
pub use sample::{current_hazards, sample};
pub use virtualisation::{VirtualisationFacts, virtualisation_name};
pub use watch::{NoiseWatch, Window};
