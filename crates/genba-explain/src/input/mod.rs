//! What detectors read: the hot functions and the program as plain values.

pub mod analysis_input;
pub(crate) mod call_paths;
pub(crate) mod conversion_routines;
pub mod conversions;
pub(crate) mod copied_bytes;
pub mod event_places;
pub mod from_profile;
mod function_input;
pub(crate) mod functions_with_callees;
pub(crate) mod kernel_work;
pub(crate) mod library_time;
pub(crate) mod linked_calls;
pub mod named_files;
pub mod observed_events;
pub(crate) mod place_of_frames;
pub mod request_sizes;
pub(crate) mod runtime_services;
pub(crate) mod runtime_use;
pub mod shared_cache_lines;
pub(crate) mod user_lines;
pub mod user_places;
pub(crate) mod value_numbering;
pub(crate) mod value_uses;
pub mod values;
pub(crate) mod written_cache_lines;

pub use conversion_routines::format_register;
