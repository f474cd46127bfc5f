//! Samples and counts resolved to functions, lines and instructions.
//!
//! **Scope.** Joins a recording (where samples are) with code (what is there):
//! [`ResolvedProfile::open`] reads both, [`ResolvedProfile::profile`] says where the time is, and
//! [`ResolvedProfile::annotate`] goes into one function. [`skid_correction`] moves samples to the
//! instructions that took the time. [`ResolvedProfile::join_counts`] adds exact counts, which turn
//! shares of time into costs per execution; [`counts()`] names counts without any samples.
//! Annotated loops carry the verdict of `genba-loop-model`.
//!
//! **Not here.** Taking samples, reading ELF or DWARF, causes, printing.

mod annotate;
mod calls_without_return;
mod constants;
pub mod counted;
mod data_profile;
mod error;
mod function_code;
mod lines;
mod merge_stacks;
mod name_addresses;
mod profile;
mod resolved_profile;
mod sample_sums;
mod sampled_addresses;
mod sampled_detail;
mod sampled_profile;
mod single_function;
pub mod skid_correction;
mod stack_ends;
mod stacks;
mod thread_rows;

pub use annotate::AnnotateOptions;
pub use counted::{
    Clock, FunctionLines, JoinOptions, Joined, PerUnit, counted_detail, counts,
    counts_without_lines, instruction_change, merged,
};
pub use data_profile::data_profile;
pub use error::AttributionError;
pub use function_code::FunctionCode;
pub use merge_stacks::with_stacks_of;
pub use name_addresses::name_addresses;
pub use profile::ProfileOptions;
pub use resolved_profile::{
    Function, FunctionId, Place, ResolveOptions, ResolvedProfile, TimedSample, share_of,
};
pub use sample_sums::{AddressHits, Histogram, Hits};
pub use sampled_profile::sampled_profile;
