//! A performance-investigation workbench for native programs and language runtimes.
fn main() {}
