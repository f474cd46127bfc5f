//! Suites as they are written, and the scripts that they become.

mod snippets;
mod toml;
mod yaml;
