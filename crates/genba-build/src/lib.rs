//! Builds of a program in copies of its source tree: other flags, patches, other revisions.
//!
//! **Scope.** A [`BuildDirectory`] is a private directory for one session: copies of a tree
//! ([`BuildDirectory::copy`]), checkouts of a repository's revisions ([`BuildDirectory::checkout`]), patches
//! ([`apply_patch`]), the commits between two revisions ([`commits_between`]), and [`CompilerWrappers`]: compilers
//! that add flags to whatever the project's own build gives them. [`build_presets`](fn@build_presets) returns the presets as data ([`Recipe`]).
//! [`same_code`](fn@same_code) compares the programs of two builds.
//!
//! **What must hold.** Nothing is ever written into the user's tree, not even into its `.git`:
//! checkouts are clones of their own that borrow the objects. All that a build directory made vanishes
//! with it; one whose genba was killed is found by its lock and removed by the next.
//!
//! **Not here.** Running builds (this gives [`genba_run::CommandSpec`]s), measuring, deciding
//! what to try.

mod build_directory;
mod build_presets;
mod build_products;
mod build_recipe;
mod cached_checkout;
mod commit_list;
mod compiler_wrappers;
mod copy_tree;
mod error;
mod git_checkout;
mod head_revision;
mod remove_tree;
mod same_code;
mod source_copy;
mod toolchain;
mod tree_state;

pub use build_directory::BuildDirectory;
pub use build_presets::{build_presets, layout_presets};
pub use build_recipe::{Family, Recipe, Slot};
pub use cached_checkout::{CachedCheckout, cached_checkout};
pub use commit_list::{Commit, commits_between};
pub use compiler_wrappers::{BuildStage, CompilerWrappers};
pub use copy_tree::copy_tree;
pub use error::BuildError;
pub use git_checkout::{apply_patch, checkout, rev_parse};
pub use head_revision::{HeadRevision, head_revision, repository_root};
pub use remove_tree::remove_tree;
pub use same_code::same_code;
pub use source_copy::SourceCopy;
pub use toolchain::Toolchain;
pub use tree_state::TreeState;
