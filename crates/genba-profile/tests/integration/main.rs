//! Recording real processes, and reading recordings.

mod damaged_and_perf_files;
mod recorded_processes;
mod support;
