//! The differential profile: two profiles of the same work side by side.
//!
//! Functions are matched by name, lines by file and number, instructions by aligning their
//! text. Times are those of one run: shares of samples × CPU time of a run. Code that is a
//! function on one side and inlined on the other is found in its new place by the inline records
//! of the debug information, copies by the names that compilers give them; without either, who
//! called it and grew is named as likely.

mod against_baseline;
mod align_instructions;
mod function_rows;
mod lines_and_instructions;
mod moved_functions;
mod profile_diff;
mod profile_side;

pub use against_baseline::{Subject, diff_against_baseline};
pub use profile_diff::diff;
pub use profile_side::{Effort, Side};

#[cfg(test)]
mod tests;
