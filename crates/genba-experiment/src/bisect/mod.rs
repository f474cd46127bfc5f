//! Searches for what is responsible: a place in an ordered list ([`find_step`]), items of a set
//! ([`find_items`]), regions of a source file ([`find_regions`]).
//!
//! **Scope.** What is measured next, when enough was measured, what is verified and how. The
//! ends are verified first, the culprit last, both by the judge of `genba bench`; all in between
//! is chosen by the searches of genba-stats.
//!
//! **Not here.** The statistics themselves, how a candidate is made (a build, a subset put into a
//! command): callers give variants.

mod document;
mod items;
mod meter;
mod outcome;
mod regions;
mod source;
mod step;
mod summary;

pub use document::{Search, document};
pub use items::{ItemSet, find_items};
pub use meter::Budget;
pub use outcome::{Found, Verified};
pub use regions::{Region, Regions, SourceLanguage};
pub use source::{SourceSet, find_regions};
pub use step::{Candidate, Steps, find_step};
