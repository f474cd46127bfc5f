//! What the plans have in common that `--on` makes of the options of an experiment. Pure.

use std::collections::BTreeMap;

use genba_experiment::{MetricPlan, MetricSource};
use genba_model::{CampaignAxis, Direction};

use crate::exit_code::Failure;
use crate::session::{ExperimentArgs, line_as_given};

/// The table `[campaign]` of a plan whose command is `command`, a template.
///
/// # Errors
/// An option that a block cannot have; `verb` runs without `--on` what is refused.
pub fn head(
    verb: &str,
    name: &str,
    command: &str,
    is_line: bool,
    compare: CampaignAxis,
    args: &ExperimentArgs,
) -> Result<String, Failure> {
    if let Some(flag) = unsupported(args) {
        return Err(Failure::usage(format!(
            "--on: {flag} is not possible on nodes; leave it out, or run genba {verb} on this machine without --on"
        )));
    }
    let measurement = &args.measurement;
    let shell = match (is_line && !measurement.no_shell, &measurement.shell) {
        (true, Some(shell)) => shell.as_str(),
        (true, None) => "sh",
        (false, _) => "none",
    };
    let axis = match compare {
        CampaignAxis::Revisions => "revisions",
        CampaignAxis::Builds => "builds",
        CampaignAxis::Options => "options",
    };
    let mut text = "[campaign]\n".to_owned();
    let mut key = |key: &str, value: String| text.push_str(&format!("{key} = {value}\n"));
    key("name", quoted(name));
    key("command", quoted(command));
    key("compare", quoted(axis));
    key("shell", quoted(shell));
    if let Some(metric) = &args.metric {
        key("metric", quoted(metric));
    }
    if let Some(delta) = measurement.delta {
        key("delta", quoted(&format!("{}%", delta * 100.0)));
    }
    if let Some(alpha) = measurement.alpha {
        key("alpha", quoted(&format!("{}%", alpha * 100.0)));
    }
    if let Some(warmup) = measurement.warmup {
        key("warmup", warmup.to_string());
    }
    if let Some(seed) = measurement.seed {
        key("seed", seed.to_string());
    }
    if let Some(timeout) = measurement.timeout {
        key("timeout", quoted(&format!("{}s", timeout.as_secs_f64())));
    }
    if let Some(prepare) = &args.prepare {
        key("prepare", quoted(&braces(prepare)));
    }
    if let Some(directory) = &args.directory {
        let directory = std::path::absolute(directory).map_err(Failure::usage)?;
        key("directory", quoted(&braces(&directory.to_string_lossy())));
    }
    Ok(text)
}

/// Whether a command is one string for the shell.
pub fn is_line(command: &[String]) -> bool {
    matches!(command, [line] if line.contains(char::is_whitespace))
}

/// The name of a campaign, the same for the same parts and program, so that it is resumed.
pub fn name(parts: &[&str], command: &[String]) -> String {
    let program = line_as_given(command);
    let program = program.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut name = String::new();
    for part in parts.iter().chain([&program]) {
        if !name.is_empty() {
            name.push('-');
        }
        name.extend(
            part.chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)),
        );
    }
    name
}

/// A table `[[option]]`.
pub fn option(name: &str, arguments: &str, environment: &BTreeMap<String, String>) -> String {
    let mut text = format!(
        "[[option]]\nname = {}\narguments = {}\n",
        quoted(name),
        quoted(arguments)
    );
    if !environment.is_empty() {
        text.push_str("[option.environment]\n");
    }
    for (name, value) in environment {
        text.push_str(&format!("{} = {}\n", quoted(name), quoted(value)));
    }
    text
}

/// The tables `[[metric]]`.
///
/// # Errors
/// A metric that is not written as its option wants it.
pub fn metrics(args: &ExperimentArgs) -> Result<String, Failure> {
    Ok((args.measurement.metrics()?.iter())
        .map(metric_table)
        .collect())
}

/// The first option that a block cannot have.
fn unsupported(args: &ExperimentArgs) -> Option<&'static str> {
    [
        (args.conclude.is_some(), "--conclude"),
        (args.setup.is_some(), "--setup"),
        (args.cleanup.is_some(), "--cleanup"),
        (args.input != "null", "--input"),
        (args.budget.is_some(), "--budget"),
        (args.measurement.pin.is_some(), "--pin"),
        (
            args.measurement.ignore_failure.is_some(),
            "--ignore-failure",
        ),
    ]
    .into_iter()
    .find_map(|(given, flag)| given.then_some(flag))
}

fn metric_table(metric: &MetricPlan) -> String {
    let better = match metric.direction {
        Some(Direction::MoreIsBetter) => "better = \"more\"\n",
        None if metric.unit.ends_with("/s") => "better = \"more\"\n",
        _ => "",
    };
    let source = match &metric.source {
        MetricSource::Regex(regex) => format!("regex = {}\n", quoted(regex.as_str())),
        MetricSource::Json(pointer) => format!("json = {}\n", quoted(pointer)),
        MetricSource::Channel => String::new(),
    };
    format!(
        "[[metric]]\nname = {}\nunit = {}\n{better}{source}",
        quoted(&metric.name),
        quoted(&metric.unit)
    )
}

/// A string of TOML, whose escapes are those of JSON but for DEL.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// A text whose braces are no placeholders.
pub fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
