//! benchmark_driver's YAML.
//!
//! Read as benchmark_driver reads it (its README and parsers), except that no Ruby in the file
//! is evaluated but the benchmarks themselves: `stdout_to_metrics` and `from_stdout` are
//! refused unless `metrics_regex` or `metrics_json` (`regex` or `json` within `metrics`) says
//! where the number is. A file with both works with both programs.
//!
//! With several executables or contexts, each benchmark of the file is a comparison of these;
//! with one, the benchmarks are compared with one another, as benchmark_driver's `compare`
//! output does.

mod yaml_commands;
mod yaml_document;
mod yaml_snippets;

use serde::de::DeserializeOwned;
use serde_saphyr::{Budget, Options};

use crate::{Executable, Places, Suite, SuiteError};

/// Reads a YAML suite for these executables; for `ruby` if there are none. Pure.
///
/// # Errors
/// Not YAML, unknown keys (they are named, with the line), code that would have to be evaluated.
pub fn parse_yaml(
    text: &str,
    places: &Places<'_>,
    executables: &[Executable],
) -> Result<Suite, SuiteError> {
    let kind: yaml_document::Kind = read(text, places.file)?;
    let default = [Executable {
        name: "ruby".to_owned(),
        command: vec!["ruby".to_owned()],
    }];
    let executables = if executables.is_empty() {
        &default
    } else {
        executables
    };
    match kind.kind.as_deref().unwrap_or("ruby") {
        "ruby" => yaml_snippets::suite(read(text, places.file)?, places, executables),
        "command_stdout" => {
            yaml_commands::command_stdout(read(text, places.file)?, places, executables)
        }
        "ruby_stdout" => yaml_commands::ruby_stdout(read(text, places.file)?, places, executables),
        other => Err(crate::error::invalid(
            places.file,
            None,
            format!(
                "type {other:?} is not known; there are ruby (the default), command_stdout and \
                 ruby_stdout"
            ),
        )),
    }
}

/// One document, with bounds above those of real suites: aliases cannot expand it beyond a few
/// thousand nodes.
fn read<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, SuiteError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| SuiteError::Syntax {
        file: file.to_owned(),
        message: crate::error::printable(&error.without_snippet().to_string()),
    })
}

fn options() -> Options {
    let budget: Option<Budget> = serde_saphyr::budget! {
        max_events: 200_000,
        max_aliases: 1_000,
        max_anchors: 1_000,
        max_depth: 32,
        max_documents: 1,
        max_nodes: 100_000,
        max_total_scalar_bytes: 4 << 20,
        max_recorded_anchor_events: 20_000,
        max_recorded_anchor_bytes: 4 << 20,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 1_000,
        },
    }
}
