//! Symbols, lines and inlined functions of real, split, partial and damaged files.

mod compiled_programs;
mod damaged_files;
mod debuginfod;
mod partial_reading;
mod split_dwarf;
