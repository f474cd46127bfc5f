//! The differential profile: two profiles of the same work side by side.
//!
//! Functions are matched by name, lines and instructions by aligning their text.
//! Times are per run: shares of samples × CPU time of a run. A function that was inlined on the other
//! side is found there by the inline records of the debug information, a clone by the suffixes that
//! compilers give to names; without either, the caller that grew most is named as likely.

mod against_baseline;
mod align_instructions;
mod align_lines;
mod counted_change;
mod function_rows;
mod lines_and_instructions;
mod moved_functions;
mod profile_diff;
mod profile_side;

pub use against_baseline::{Subject, diff_against_baseline};
pub use counted_change::counted_change;
pub use profile_diff::diff;
pub use profile_side::{Effort, Side};

#[cfg(test)]
mod tests;
