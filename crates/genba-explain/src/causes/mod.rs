//! Why the time goes where it goes: causes with evidence and predicted gains.

mod build;
pub mod candidate;
mod catalogue;
mod divisions;
mod duplicate_division;
pub mod frame;
mod kernel;
pub mod values;
mod words;

pub use build::{RunFacts, is_own};
pub use candidate::Limits;
pub use catalogue::{CATALOGUE, Cause, explain};
