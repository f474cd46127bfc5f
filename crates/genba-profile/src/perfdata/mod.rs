//! The `perf.data` file format: what a file says about itself, record layouts, and writing.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt` and `perf_event_open(2)`.

pub mod attr;
pub mod bytes;
pub mod feature;
pub mod file;
mod layout;
pub mod record;
pub mod synthesize;
pub mod writer;
