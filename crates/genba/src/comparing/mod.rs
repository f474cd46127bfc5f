//! What `bench`, `gate` and `host doctor` share: arguments to plans, plans to reports.

mod args;
mod host;
mod named;
mod observer;
mod proved;
mod run;
mod runtime;
mod suite;
mod values;

pub use args::CompareArgs;
pub use host::{Here, measure};
pub use observer::progress_text;
pub use proved::{Proved, TRIALS};
pub use run::{Done, run, write};
pub use values::{cpu_list, duration, share};
