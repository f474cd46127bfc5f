//! Attribution of samples to functions, lines and instructions.
//!
//! **Scope.** Joins a recording (where samples stood) with code (what stands there):
//! [`Scene::open`] reads both, [`Scene::profile`] says where the time is, and
//! [`Scene::annotate`] goes into one function. The skid of samples is put right in
//! [`attribution`]. [`Scene::join_counts`] adds exact counts, which make costs per execution of shares
//! of time; [`counts()`] gives them names without any samples.
//!
//! **Not here.** Taking samples, reading ELF or DWARF, printing.

mod annotate;
pub mod attribution;
pub mod causes;
mod code_base;
mod counted;
mod error;
mod focus;
mod function_code;
mod hits;
mod lines;
pub mod loop_bound;
mod merge;
mod profile;
mod scene;
mod stacks;

pub use annotate::AnnotateOptions;
pub use counted::{Clock, JoinOptions, Joined, PerUnit, counted_detail, counts, merged};
pub use error::ExplainError;
pub use merge::with_stacks_of;
pub use profile::ProfileOptions;
pub use scene::{Scene, SceneOptions};
