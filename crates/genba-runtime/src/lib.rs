//! Seeing through language runtimes.
//!
//! **Scope.** Names of code for live views ([`names`]).
//!
//! **Not here.** Shares, intervals and tables; recording native samples.

pub mod live;
pub mod names;
pub mod script;
