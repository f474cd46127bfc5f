//! Identifies the host, finds what disturbs measurements on it, and measures its instruction costs.
//!
//! **Scope.** The [fingerprint](fingerprint()) that identifies a host, the [hazards](hazards()) of
//! measuring here (governor, boost, hyper-threads, steal time, other
//! load, swap, throttling), a [watch](NoiseWatch) over the window of a measurement, a short
//! [noise check](noise_check), and the host table: [measured](calibrate()), [stored](load) under
//! the fingerprint, and [looked up](cost_of) by an instruction's form. Parsers, statistics and the
//! look-up are pure functions; only `hazard_sample`, `noise_watch`, `fingerprint`, `noise_check`, `table_store` and
//! parts of `calibrate` touch the machine.
//!
//! **Not here.** Statistics over runs (genba-stats), starting the workload (genba-run), changing
//! any setting of the system: a hazard names the command, the user runs it.
//!
//! Except for the table, nothing here fails because a file is missing: its value is then unknown.

mod affinity;
mod calibrate;
mod cpuinfo;
mod fingerprint;
mod form;
mod hazard_sample;
mod hazards;
#[cfg(target_arch = "x86_64")]
mod hypervisor_cpuid;
mod microarchitecture;
mod noise_check;
mod noise_watch;
mod procfs;
mod small_files;
mod speed_environment;
mod table_store;
mod virtualisation;

pub use affinity::allowed_cpus;
pub use calibrate::{
    CalibrateError, CalibrateOptions, CalibrateProgress, CalibrateWatch, calibrate,
};
pub use cpuinfo::CpuInfo;
pub use fingerprint::{fingerprint, processor};
pub use form::{FormCost, cost_of};
pub use hazard_sample::{current_hazards, sample};
pub use hazards::{HazardSample, hazards};
pub use microarchitecture::microarchitecture;
pub use noise_check::{NoiseReport, noise_check};
pub use noise_watch::{NoiseWatch, Window};
pub use procfs::CpuTicks;
pub use speed_environment::speed_environment;
pub use table_store::{Loaded, Origin, StoreError, load, load_or_calibrate, store};
