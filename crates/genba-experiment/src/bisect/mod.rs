//! Searches for the culprit of a difference: in an ordered list ([`find_step`]), among the elements
//! of a set ([`find_elements`]), among the regions of a source file ([`find_regions`]).
//!
//! **Scope.** What is measured next, when enough was measured, what is verified and how. The ends
//! are verified first and the culprit last, both by the sequential judge of `genba bench`; the
//! searches of genba-stats choose everything in between.
//!
//! **Not here.** The statistics, and how a candidate's command is written: callers provide variants.

mod bisection_document;
mod commit_builds;
mod likely_points;
mod ordered_values;
mod region_search;
mod search_measurement;
mod search_result;
mod set_elements;
mod source_regions;
mod step_search;
mod variant_metrics;

pub use bisection_document::{SearchRequest, document};
pub use commit_builds::{CommitBuildPlan, CommitBuilds};
pub use ordered_values::OrderedValues;
pub use region_search::{SwitchableSource, find_regions};
pub use search_measurement::SearchBudget;
pub use search_result::{SearchResult, VerifiedEffect};
pub use set_elements::{ElementSet, find_elements};
pub use source_regions::{Region, Regions, SourceLanguage};
pub use step_search::{Candidate, CandidateList, find_step};
