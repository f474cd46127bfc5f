//! Builds of a program in copies of its source tree: with other flags, patched, of another
//! revision.
//!
//! **Scope.** A [`Workshop`] is a private directory for one sitting: copies of a tree
//! ([`Workshop::copy`]), checkouts of a repository's revisions ([`Workshop::checkout`]), patches
//! ([`apply_patch`]), and [`Tools`]: compilers that add flags to whatever the project's own build
//! gives them. [`catalogue`] holds the known ways of building otherwise as data ([`Recipe`]).
//! [`same_code`] says whether two builds are the same program.
//!
//! **What must hold.** Nothing is ever written into the user's tree, not even into its `.git`:
//! checkouts are clones of their own that borrow the objects. All that a workshop made vanishes
//! with it; one whose genba was killed is found by its lock and removed by the next.
//!
//! **Not here.** Running builds (this gives [`genba_run::CommandSpec`]s), measuring, deciding
//! what to try.

mod catalogue;
mod checkout;
mod copy;
mod error;
mod identical;
mod recipe;
mod remove;
mod state;
mod toolchain;
mod tools;
mod tree;
mod workshop;

pub use catalogue::{catalogue, layouts};
pub use checkout::apply_patch;
pub use error::BuildError;
pub use identical::same_code;
pub use recipe::{Family, Needs, Recipe, Slot};
pub use state::TreeState;
pub use toolchain::Toolchain;
pub use tools::{Stage, Tools};
pub use tree::Tree;
pub use workshop::Workshop;
