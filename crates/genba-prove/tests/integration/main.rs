//! Changing the code of running programs.

mod edited_programs;
mod upper_bounds;
