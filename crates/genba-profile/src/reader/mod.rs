//! Reading recordings: genba's own and those of `perf record`.
//!
//! [`Recording::open`] reads what a file says about itself; [`Recording::scan`] goes once over
//! its records in time order and hands out compact [`Sample`]s; [`Recording::load`] keeps them.

mod events;
mod generated;
mod hash;
mod order;
mod recording;
mod scan;
mod space;
mod tables;
mod unwind;
mod x86_64;

pub use recording::{EventInfo, Recording, RecordingInfo};
pub use scan::ReadOptions;
pub use tables::{
    Frame, Location, LocationId, Module, ModuleId, ModuleKind, Sample, Samples, StackId, Tables,
    Thread, ThreadId, Totals,
};
