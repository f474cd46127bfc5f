//! `--json`, shared by all verbs that have it.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit_code::Failure;
use crate::output_file;

/// Where the JSON document goes, if one is wanted.
#[derive(Clone, Debug, Default, Args)]
pub struct JsonArgs {
    /// Print one JSON document, or write it to FILE: then standard output is the command's.
    #[arg(
        id = "json",
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-",
        value_parser = output_file::parser()
    )]
    target: Option<PathBuf>,
}

impl JsonArgs {
    /// Whether a document is wanted.
    pub fn wanted(&self) -> bool {
        self.target.is_some()
    }

    /// The file for the document; `None` for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.target
            .as_deref()
            .filter(|file| *file != Path::new("-"))
    }

    /// Whether the document goes to standard output, which is then no one else's.
    pub fn takes_stdout(&self) -> bool {
        self.wanted() && self.file().is_none()
    }

    /// Refuses a command that would write to the document's standard output.
    pub fn check_output(&self, output_of_command: Option<&str>) -> Result<(), Failure> {
        if self.takes_stdout() && output_of_command == Some("inherit") {
            return Err(Failure::usage(
                "--output inherit would put the command's output in front of the JSON document; \
                 write the document to a file: --json=FILE",
            ));
        }
        Ok(())
    }
}
