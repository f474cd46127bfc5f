//! Why the time goes where it goes: causes with evidence and predicted gains.

mod build;
pub mod candidate;
mod catalogue;
pub mod frame;
mod kernel;
pub mod values;

pub use build::{RunFacts, is_own};
pub use candidate::Limits;
pub use catalogue::{CATALOGUE, Cause, explain};
