//! Reading recordings: genba's own and those of `perf record`.
//!
//! [`Recording::open`] reads what a file says about itself; [`Recording::scan`] goes once over
//! its records in time order and hands out compact [`Sample`]s; [`Recording::load`] keeps them.

mod ahead;
mod crew;
#[cfg(test)]
mod crew_tests;
mod events;
mod generated;
mod hash;
mod order;
mod piece;
mod recording;
mod scan;
mod sieve;
#[cfg(test)]
mod sieve_tests;
mod sifted;
mod space;
mod tables;
mod unwind;
mod x86_64;

pub use recording::{EventInfo, Recording, RecordingInfo};
pub use scan::ReadOptions;
pub use sieve::{Tally, Wanted};
pub use tables::{
    Frame, Location, LocationId, Module, ModuleId, ModuleKind, Sample, Samples, StackId, Tables,
    Thread, ThreadId, Totals,
};
