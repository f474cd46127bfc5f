//! The history of a project's results: what was measured at which commit on which host.
//!
//! **Scope.** [`History`] is a store in SQLite ([`Location::Sqlite`]) or PostgreSQL
//! ([`Location::Postgres`]). It keeps [`Recording`]s: the measurements that one job made block by
//! block, with commit, branch, host, build and environment. [`History::series`] and
//! [`History::points`] read them back as series over commits. The series of different hosts are
//! different series.
//!
//! **Concurrency.** A recording is one transaction and has a key. Recording a key again changes
//! nothing, so a writer that does not know whether its last write arrived repeats it.
//!
//! **Analysis.** [`history_report`] finds the change points of series (by `genba-stats`), tells
//! changes of the host from those of the code by anchor measurements, and compares revisions.
//! [`import`] reads the results of other programs.
//!
//! **Not here.** Measuring, rendering, git.

mod analysis;
mod comparison_recording;
mod engine;
mod error;
mod history_report;
pub mod import;
mod location;
mod migrations;
mod named_change;
mod points;
mod postgres_engine;
mod recording;
mod recording_file;
mod recording_rows;
mod sample_bytes;
mod series;
mod sqlite_engine;
mod store;

pub use analysis::NamedRevision;
pub use comparison_recording::{RecordingContext, VariantOrigin, recording};
pub use error::{Error, Result};
pub use genba_model::Revision;
pub use history_report::history_report;
pub use location::Location;
pub use named_change::named_change;
pub use points::{AnchorValues, Point, PointFilter};
pub use recording::{Build, MAX_TEXT_BYTES, MAX_VALUES, Measurement, Recording, Role};
pub use recording_file::{recording_of_text, recording_text};
pub use series::SeriesFilter;
pub use store::{History, Recorded};
