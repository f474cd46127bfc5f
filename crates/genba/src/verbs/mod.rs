//! One file per verb: its arguments, and the call of the library that does the work.

pub mod ablate;
pub mod annotate;
pub mod bench;
pub mod bisect;
pub mod campaign;
pub mod case;
pub mod completions_and_man;
pub mod count;
pub mod diff;
pub mod explain;
pub mod export;
pub mod fix;
pub mod flame;
pub mod gate;
pub mod grow;
pub mod history;
pub mod host;
pub mod investigate;
pub mod mcp;
pub mod observe;
pub mod prove;
pub mod record;
pub mod report;
pub mod stat;
pub mod sweep;
pub mod top;
pub mod try_variants;
pub mod wait;

/// Bytes of the target's standard error that are captured for messages.
pub const MAX_ERROR_OUTPUT: usize = 64 << 10;
