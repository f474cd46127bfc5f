//! `type: command_stdout` and `type: ruby_stdout`: a number from what a program prints.

use std::path::{Path, PathBuf};

use genba_model::Direction;

use super::yaml_document::{CommandStdout, RubyStdout};
use crate::error::invalid;
use crate::suite_model::{Benchmark, MetricSource, MetricSpec, Settings, Suite, Variant, Work};
use crate::{Executable, Places, SuiteError, field_checks};

/// Where the document says that a metric's number is.
struct Source<'a> {
    /// Key of the Ruby code.
    key: &'a str,
    code: Option<&'a str>,
    regex: (&'static str, Option<&'a str>),
    json: (&'static str, Option<&'a str>),
}

pub fn command_stdout(
    document: CommandStdout,
    places: &Places<'_>,
    executables: &[Executable],
) -> Result<Suite, SuiteError> {
    let kind = &document.metrics_type;
    let name = kind.name.clone().unwrap_or_else(|| "value".to_owned());
    let source = Source {
        key: "stdout_to_metrics",
        code: document.stdout_to_metrics.as_deref(),
        regex: ("metrics_regex", document.metrics_regex.as_deref()),
        json: ("metrics_json", document.metrics_json.as_deref()),
    };
    let mut notes = Vec::new();
    // Without `larger_better` benchmark_driver takes the larger for the better.
    let metric = metric(
        &name,
        &kind.unit,
        kind.larger_better,
        &source,
        places,
        &mut notes,
    )?;
    let work = &document.command;
    let directory = document.working_directory.as_deref();
    suite(
        &document.name,
        work,
        directory,
        vec![metric],
        notes,
        places,
        executables,
    )
}

pub fn ruby_stdout(
    document: RubyStdout,
    places: &Places<'_>,
    executables: &[Executable],
) -> Result<Suite, SuiteError> {
    let mut notes = Vec::new();
    let mut metrics = Vec::new();
    for (name, given) in &document.metrics.0 {
        let key = format!("from_stdout of {name:?}");
        let source = Source {
            key: &key,
            code: given.from_stdout.as_deref(),
            regex: ("regex", given.regex.as_deref()),
            json: ("json", given.json.as_deref()),
        };
        let larger = given.larger_better;
        metrics.push(metric(
            name,
            &given.unit,
            larger,
            &source,
            places,
            &mut notes,
        )?);
    }
    if !document.environment.0.is_empty() {
        notes.push(
            "environment is Ruby code in this file: it is not evaluated, and not shown".to_owned(),
        );
    }
    let work = &document.command;
    let directory = document.working_directory.as_deref();
    suite(
        &document.name,
        work,
        directory,
        metrics,
        notes,
        places,
        executables,
    )
}

fn metric(
    name: &str,
    unit: &str,
    larger_better: Option<bool>,
    source: &Source<'_>,
    places: &Places<'_>,
    notes: &mut Vec<String>,
) -> Result<MetricSpec, SuiteError> {
    let wrong = |message: String| invalid(places.file, None, message);
    // benchmark_driver's names may have spaces; a metric's is one word.
    let name = name.split_whitespace().collect::<Vec<_>>().join("_");
    field_checks::metric_name(&name).map_err(wrong)?;
    let found = match (source.regex, source.json) {
        ((_, Some(text)), (_, None)) => {
            field_checks::regex(text).map_err(wrong)?;
            MetricSource::Regex(text.to_owned())
        }
        ((_, None), (_, Some(text))) => {
            field_checks::json_pointer(text).map_err(wrong)?;
            MetricSource::Json(text.to_owned())
        }
        ((regex, None), (json, None)) => {
            return Err(match source.code {
                Some(code) => SuiteError::RubyCode {
                    file: places.file.to_owned(),
                    key: source.key.to_owned(),
                    regex,
                    json,
                    suggestion: suggestion(code),
                },
                None => wrong(format!("metric {name:?}: {regex} or {json} is missing")),
            });
        }
        ((regex, _), (json, _)) => {
            return Err(wrong(format!(
                "metric {name:?}: {regex} or {json}, not both"
            )));
        }
    };
    if source.code.is_some() {
        notes.push(format!("{} is not evaluated", source.key));
    }
    Ok(MetricSpec {
        name,
        source: found,
        unit: unit.to_owned(),
        direction: if larger_better.unwrap_or(true) {
            Direction::MoreIsBetter
        } else {
            Direction::LessIsBetter
        },
    })
}

/// The regular expression in code such as `stdout.match(/fps: (\d+)/)[1].to_f`, if it is valid
/// here, too.
fn suggestion(code: &str) -> Option<String> {
    let (_, rest) = code.split_once('/')?;
    let mut escaped = false;
    let end = rest.find(|c| {
        let end = c == '/' && !escaped;
        escaped = c == '\\' && !escaped;
        end
    })?;
    let text = rest[..end].replace("\\/", "/");
    let single_line = !text.contains(['\n', '\'']);
    (single_line && text.contains('(') && field_checks::regex(&text).is_ok()).then_some(text)
}

fn suite(
    name: &str,
    command: &str,
    directory: Option<&str>,
    metrics: Vec<MetricSpec>,
    notes: Vec<String>,
    places: &Places<'_>,
    executables: &[Executable],
) -> Result<Suite, SuiteError> {
    field_checks::name(name).map_err(|message| invalid(places.file, None, message))?;
    if metrics.is_empty() {
        return Err(invalid(
            places.file,
            None,
            "metrics: there is nothing in it",
        ));
    }
    let words = shlex::split(command).ok_or_else(|| {
        invalid(
            places.file,
            None,
            format!("command {command:?}: a quote is not closed"),
        )
    })?;
    let variant = |executable: &Executable| {
        // The command is the interpreter's arguments, and finds its interpreter first in PATH.
        let program = executable.command.iter().chain(&words).cloned().collect();
        let mut variant = Variant::new(&executable.name, Work::Direct(program));
        variant.directory = directory.map(|directory| places.directory.join(directory));
        variant.metrics.clone_from(&metrics);
        if let Some(path) = path_of(&executable.command[0]) {
            variant.environment.insert("PATH".to_owned(), path);
        }
        variant
    };
    Ok(Suite {
        name: name.to_owned(),
        builds: Vec::new(),
        benchmarks: vec![Benchmark {
            name: name.to_owned(),
            parameters: Default::default(),
            variants: executables.iter().map(variant).collect(),
            metric: metrics.first().map(|metric| metric.name.clone()),
            subtract: None,
        }],
        settings: Settings::default(),
        notes,
    })
}

/// A PATH that begins with the interpreter's directory, where it is given with one.
fn path_of(program: &str) -> Option<String> {
    let directory: PathBuf = Path::new(program).parent()?.into();
    let directory = directory.to_str().filter(|text| !text.is_empty())?;
    let rest = std::env::var("PATH").ok()?;
    Some(format!("{directory}:{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_expressions_in_ruby_code() {
        let found = suggestion(r"stdout.match(/^fps: (?<fps>\d+\.\d+)$/)[:fps].to_f");
        assert_eq!(found.as_deref(), Some(r"^fps: (?<fps>\d+\.\d+)$"));
        assert_eq!(suggestion(r"x[/a\/(b)/]").as_deref(), Some("a/(b)"));
        assert_eq!(suggestion("stdout.to_f"), None);
        assert_eq!(suggestion("a / b"), None);
        assert_eq!(suggestion("stdout[/(?<=x)(y)/]"), None, "looks behind");
    }
}
