//! Rewrites of C and C++ sources that remove a cause of lost time: source text and a finding's place in,
//! edits out. Pure.
//!
//! **Scope.** [`rewrites()`] proposes changes for a cause at a [`Place`] in parsed [`Sources`]; each kind is
//! a file below `rewrites/`. [`apply`] and [`unified_diff`] make texts and patches of edits.
//!
//! **What must hold.** A rewrite computes the same. What it needs for that it checks in the source, or
//! refuses; what nobody can check there (that two pointers do not overlap) it says in
//! [`Rewrite::assumes`]. Nothing here trusts a tree: texts that do not parse have no rewrite.
//!
//! **Not here.** Files, builds, measurements (`genba-experiment`'s `fix`).

mod counted_loop;
mod declarations;
mod edit;
mod effects;
mod macro_expansion;
mod rewrites;
mod source_file;
#[cfg(test)]
mod test_support;

pub use edit::{Edit, apply, unified_diff};
pub use rewrites::{Place, Rewrite, Sources, check_cause, rewrites};
pub use source_file::{Dialect, SourceFile};
