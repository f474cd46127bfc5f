//! What a program did in the bursts that were watched. Pure: bursts in, results for each place out.
//!
//! **Scope.** A burst is a stretch of one thread's execution in which every memory access, branch outcome and
//! call was recorded ([`genba_model::Burst`]). Each analysis is a function over all bursts in a file
//! of its own; [`observe`] runs them all. Within a burst events depend on one another, so bursts are
//! the clusters of every interval ([`Seen`]). What began before a burst or ends after it is unknown
//! there: each analysis says how it deals with that.
//!
//! **Not here.** Recording bursts (`genba-engine`), reading them (`genba-count`), causes (`genba-explain`).

mod advancing_calls;
mod allocated_blocks;
mod allocation_paths;
mod argument_values;
mod branch_predictor;
mod branches;
mod burst_limits;
mod burst_weights;
mod byte_map;
mod cache_geometry;
mod call_formats;
mod call_lengths;
mod call_stack;
mod call_work;
mod code_knowledge;
mod copied_again;
mod copy_runs;
mod data_places;
mod dead_stores;
mod deciding_branches;
mod fast_hash;
mod first_accesses;
mod first_steps;
mod last_calls;
mod line_use;
mod load_levels;
mod loads_in_common;
mod long_products;
mod long_ranges;
mod loop_runs;
mod loops_again;
mod net_stores;
mod number_texts;
mod observations;
mod open_calls;
mod operand_values;
mod overwritten_buffers;
mod partly_stored_loads;
mod piecewise_calls;
mod recaptures;
mod redundant_calls;
mod repeated_copies;
mod repeated_loops;
mod reuse_distance;
mod same_loads;
mod set_associative;
mod sharing;
mod silent_stores;
mod strides;
#[cfg(test)]
mod synthetic;
mod tally;
mod unasked_results;
mod unread_results;

pub use advancing_calls::AdvancingCall;
pub use allocation_paths::AllocationPath;
pub use argument_values::ArgumentValue;
pub use branches::{BranchSite, OneWayBranch};
pub use cache_geometry::{CacheGeometry, CacheSize};
pub use call_formats::CallFormats;
pub use call_lengths::{CallLength, SHORT_BYTES};
pub use call_work::CallWork;
pub use code_knowledge::{Allocation, ArgumentRegisters, Asked, CodeKnowledge};
pub use copied_again::CopiedAgain;
pub use data_places::{DataSite, MemoryPlace, PlaceShare};
pub use dead_stores::DeadStore;
pub use line_use::LineUse;
pub use load_levels::LoadSite;
pub use long_products::LongProduct;
pub use long_ranges::LongRange;
pub use loops_again::LoopAgain;
pub use number_texts::NumberText;
pub use observations::{Observations, Watched, observe};
pub use operand_values::{OperandValues, ValueShare};
pub use overwritten_buffers::OverwrittenBuffer;
pub use partly_stored_loads::PartlyStoredLoad;
pub use piecewise_calls::PiecewiseCall;
pub use recaptures::Recaptured;
pub use redundant_calls::{DoneElsewhere, MadeAgain, RedundantCall};
pub use repeated_copies::RepeatedCopy;
pub use repeated_loops::RepeatedLoop;
pub use same_loads::SameLoad;
pub use sharing::{SharedLine, SharingAccess};
pub use silent_stores::SilentStore;
pub use strides::Stride;
pub use tally::Seen;
pub use unasked_results::UnaskedResult;
pub use unread_results::UnreadResult;
