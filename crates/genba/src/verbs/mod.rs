//! One file per verb: its arguments, and the call of the library that does the work.

pub mod annotate;
pub mod case;
pub mod flame;
pub mod generate;
pub mod investigate;
pub mod record;
pub mod report;
pub mod stat;
