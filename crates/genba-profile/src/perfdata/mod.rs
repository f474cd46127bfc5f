//! The `perf.data` file format: headers, records, and writing.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt` and `perf_event_open(2)`.

pub mod attr;
pub mod byte_cursor;
pub mod feature_sections;
pub mod file_header;
pub mod record;
mod sample_layout;
pub mod synthesize;
pub mod writer;
