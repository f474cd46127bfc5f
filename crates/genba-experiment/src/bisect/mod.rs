//! Searches for what is responsible: a place in an ordered list ([`find_step`]), items of a set
//! ([`find_elements`]), regions of a source file ([`find_regions`]).
//!
//! **Scope.** What is measured next, when enough was measured, what is verified and how. The
//! ends are verified first, the culprit last, both by the judge of `genba bench`; all in between
//! is chosen by the searches of genba-stats.
//!
//! **Not here.** The statistics themselves, how a candidate is made (a build, a subset put into a
//! command): callers give variants.

mod bisection_document;
mod region_search;
mod search_measurement;
mod search_result;
mod set_elements;
mod source_regions;
mod step_search;
mod summary;

pub use bisection_document::{SearchRequest, document};
pub use region_search::{SwitchableSource, find_regions};
pub use search_measurement::SearchBudget;
pub use search_result::{SearchResult, VerifiedEffect};
pub use set_elements::{ElementSet, find_elements};
pub use source_regions::{Region, Regions, SourceLanguage};
pub use step_search::{Candidate, CandidateList, find_step};
