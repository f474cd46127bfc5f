//! What machine this is and what on it spoils measurements.
//!
//! **Scope.** The [fingerprint](fingerprint()) that tells one host from another, the
//! [hazards](hazards()) of measuring here (governor, boost, hyper-threads, steal time, other
//! load, swap, throttling), a [watch](NoiseWatch) over the window of a measurement, a short
//! [noise check](noise_check), and the host table: [measured](calibrate()), [kept](load) under
//! the fingerprint, and [asked](cost_of) by an instruction's form. Parsers, statistics and the
//! look-up are pure functions; only `sample`, `watch`, `fingerprint`, `noise`, `table_store` and
//! parts of `calibrate` touch the machine.
//!
//! **Not here.** Statistics over runs (genba-stats), starting the workload (genba-run), changing
//! any setting of the system: hazards name the command that would, the person runs it.
//!
//! But for the table, nothing here fails for want of a file: what cannot be read is unknown, and is left out.

mod affinity;
mod calibrate;
mod cpuinfo;
mod fingerprint;
mod form;
mod hazards;
mod microarchitecture;
mod noise;
mod procfs;
mod sample;
mod source;
mod table_store;
mod virtualisation;
mod watch;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use affinity::allowed_cpus;
pub use calibrate::{
    CalibrateError, CalibrateOptions, CalibrateProgress, CalibrateWatch, calibrate,
};
pub use cpuinfo::{CpuInfo, parse_cpuinfo};
pub use fingerprint::{FingerprintFacts, fingerprint, fingerprint_from};
pub use form::{FormCost, cost_of};
pub use hazards::{HazardSample, hazards};
pub use microarchitecture::microarchitecture;
pub use noise::{NoiseReport, noise_check};
pub use procfs::{
    CpuTicks, parse_load_average, parse_meminfo_bytes, parse_os_name, parse_proc_stat,
    parse_swap_pages,
};
pub use sample::{current_hazards, sample};
pub use table_store::{
    Loaded, Origin, StoreError, load, load_from, load_or_calibrate, store, store_in,
    table_directory,
};
pub use virtualisation::{VirtualisationFacts, virtualisation_name};
pub use watch::{NoiseWatch, Window};
