//! Causes of slowness with evidence and predicted gains.
//!
//! **Scope.** [`AnalysisInput::of`] turns a resolved profile with counts into plain data: hot
//! functions with code, counts, value numbers, costs and calls ([`input`]). Detectors
//! (`causes/`, one file each) are pure functions of it and return candidates;
//! [`explain`] rates them: Amdahl's gain with its interval, minimum gain, overlaps.
//! [`time_places`] says where the time goes, whether a cause is known or not. [`follow_up_runs`] says which further runs would decide what is suspected.
//!
//! **Not here.** Measuring, attributing samples (`genba-attribution`), the loop model
//! (`genba-loop-model`).

mod candidate;
mod catalogue;
mod causes;
mod constants;
mod finding_site;
mod findings;
pub mod follow_up_runs;
mod gain;
pub mod input;
mod patterns;
mod places;
mod script_lists;

#[cfg(test)]
mod tests;

pub use candidate::Candidate;
pub use catalogue::explain;
pub use findings::Limits;
pub use input::analysis_input::AnalysisInput;
pub use input::from_profile::{RunFacts, is_own};
pub use patterns::search_loops::compares as compares_texts;
pub use places::{script_lines, time_places};
pub use script_lists::script_lists;
