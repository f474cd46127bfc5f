//! Running real processes.

mod common;
mod end_of_process_tree;
mod run_account;
mod start;
mod streams;
