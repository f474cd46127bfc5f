//! Seeing through language runtimes.
//!
//! **Scope.** Names of code for live views ([`names`], [`live`]); functions of interpreted languages
//! beside the native stack ([`script`]); what a runtime says of itself ([`shim`]).
//!
//! **Not here.** Shares, intervals and tables; recording native samples.

pub mod live;
pub mod names;
pub mod script;
pub mod shim;
