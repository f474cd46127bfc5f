//! `genba fix`: rewrites of the sources that may remove a finding's cause, tried in copies of them.
//!
//! The rewrites are `genba-fix`'s. Each becomes a patch and a variant of [`crate::try_variants`]: built in a
//! copy, its output compared with the baseline's, raced against it beside a build that differs only in
//! layout. A patch comes out only of one that compiles, prints the same, passes the project's tests where
//! these are known, and gains.

mod buildable_sources;
mod derived_build;
mod source_tree;
mod tried_rewrites;

pub use buildable_sources::BuildableSources;
use derived_build::{DerivedBuild, derived_build};
pub use genba_fix::check_cause;
pub use source_tree::SourceTree;
pub use tried_rewrites::{FixOptions, Proposal, apply_to_sources, proposals, try_proposals};
