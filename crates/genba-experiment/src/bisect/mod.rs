//! Searches for what is responsible: a place in an ordered list ([`find_step`]), items of a set
//! ([`find_items`]), regions of a source file ([`find_regions`]).
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

pub use bisection_document::{Search, document};
pub use region_search::{SourceSet, find_regions};
pub use search_measurement::Budget;
pub use search_result::{Found, Verified};
pub use set_elements::{ItemSet, find_items};
pub use source_regions::{Region, Regions, SourceLanguage};
pub use step_search::{Candidate, Steps, find_step};
