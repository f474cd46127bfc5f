//! Reading recordings: genba's own and those of `perf record`.
//!
//! [`Recording::open`] parses a file's header; [`Recording::scan`] reads the records once in time
//! order and returns compact [`Sample`]s one by one; [`Recording::load`] returns all of them.

mod address_space;
mod event_lookup;
mod frame_pointer_search;
mod generated_code;
mod recording;
mod sample_tables;
mod scan;
mod stack_unwinder;
mod time_order;
mod x86_64;

pub use recording::{EventInfo, Recording, RecordingInfo};
pub use sample_tables::{
    Frame, Location, LocationId, Module, ModuleId, ModuleKind, Sample, Samples, StackId, Tables,
    Thread, ThreadId, Totals,
};
pub use scan::ReadOptions;

/// A hash map for small keys. Keys come from files, so collisions can be crafted; they cost only time in
/// reading that file.
type FastMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;
