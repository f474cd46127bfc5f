//! genba from end to end: the binary run on real programs, a file for each verb or quality.
//!
//! They are one test binary, so that what waits in one overlaps with what works in another.

mod ablate;
mod attach;
mod bench;
mod bench_flags;
mod bisect;
mod campaign;
mod case_serve;
mod case_serve_browser;
mod count;
mod data_addresses;
mod error_messages;
mod export;
mod first_attempts;
mod fix;
mod gate;
mod generated_code;
mod grow;
mod history;
mod host_table;
mod hostile_surroundings;
mod import;
mod interrupts;
mod investigate_and_case;
mod limits_of_the_target;
mod mcp;
mod observe;
mod record_report_annotate;
mod runtime_metrics;
mod script_functions;
mod snapshots;
mod stat_flags;
mod support;
mod sweep;
mod top;
mod try_variants;
mod wait;
mod wait_requests;
