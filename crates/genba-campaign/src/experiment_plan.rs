//! Plans made of an experiment's options instead of a file: what those of all experiments have in
//! common. The text of a plan is written and parsed as a user's is, so that one place checks both. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_experiment::{MetricPlan, MetricSource};
use genba_model::{CampaignAxis, Direction};
use genba_run::{is_shell_line, line_as_given};

use crate::plan_file::braces;
use crate::{CampaignError, CampaignPlan};

/// The options of an experiment that a block can have. What is `None` or empty has a plan's default.
#[derive(Clone, Debug, Default)]
pub struct ExperimentOptions<'a> {
    /// The command as it was given: one string with blanks is a line for the shell, all else words.
    pub command: &'a [String],
    /// Shell of a line; `none` splits it into words.
    pub shell: Option<&'a str>,
    /// Primary metric.
    pub metric: Option<&'a str>,
    /// Equivalence margin δ, a share.
    pub delta: Option<f64>,
    /// Significance level α.
    pub alpha: Option<f64>,
    /// Runs of each variant in a block that are not measured.
    pub warmup: Option<u32>,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// Time-out of one run.
    pub timeout: Option<Duration>,
    /// Shell line before each run.
    pub prepare: Option<&'a str>,
    /// Working directory of the command, absolute.
    pub directory: Option<PathBuf>,
    /// Environment of the command.
    pub environment: BTreeMap<String, String>,
    /// Metrics that the target reports.
    pub metrics: Vec<MetricPlan>,
}

/// The plan of a text that was made of options; `here` is what relative paths are relative to.
pub(crate) fn parsed(text: &str, here: &Path) -> Result<CampaignPlan, CampaignError> {
    crate::parse_plan(text, "--on", "experiment", here)
}

/// The error of options that make no plan.
pub(crate) fn refused(message: impl Into<String>) -> CampaignError {
    CampaignError::Plan {
        file: "--on".to_owned(),
        line: None,
        message: message.into(),
    }
}

/// The table `[campaign]` of a plan whose command is `template`.
pub(crate) fn campaign_table(
    name: &str,
    template: &str,
    compare: CampaignAxis,
    options: &ExperimentOptions<'_>,
) -> Result<String, CampaignError> {
    let shell = match is_shell_line(options.command) {
        true => options.shell.unwrap_or("sh"),
        false => "none",
    };
    let axis = match compare {
        CampaignAxis::Revisions => "revisions",
        CampaignAxis::Builds => "builds",
        CampaignAxis::Options => "options",
    };
    let percent = |share: f64| quoted(&format!("{}%", share * 100.0));
    let seconds = |time: Duration| quoted(&format!("{}s", time.as_secs_f64()));
    let directory = options.directory.as_deref().map(utf8).transpose()?;
    let keys = [
        ("name", Some(quoted(name))),
        ("command", Some(quoted(template))),
        ("compare", Some(quoted(axis))),
        ("shell", Some(quoted(shell))),
        ("metric", options.metric.map(quoted)),
        ("delta", options.delta.map(percent)),
        ("alpha", options.alpha.map(percent)),
        ("warmup", options.warmup.map(|count| count.to_string())),
        ("seed", options.seed.map(|seed| seed.to_string())),
        ("timeout", options.timeout.map(seconds)),
        ("prepare", options.prepare.map(|line| quoted(&braces(line)))),
        ("directory", directory.map(|path| quoted(&braces(path)))),
    ];
    let mut text = "[campaign]\n".to_owned();
    for (key, value) in keys {
        if let Some(value) = value {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    Ok(text)
}

/// The name of a campaign, the same for the same parts and program, so that it is resumed.
pub(crate) fn campaign_name(parts: &[&str], command: &[String]) -> String {
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
pub(crate) fn option_table(
    name: &str,
    arguments: &str,
    environment: &BTreeMap<String, String>,
) -> String {
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
pub(crate) fn metric_tables(metrics: &[MetricPlan]) -> String {
    metrics.iter().map(metric_table).collect()
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
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// A path as text, which is what a plan can have.
pub(crate) fn utf8(path: &Path) -> Result<&str, CampaignError> {
    path.to_str()
        .ok_or_else(|| refused(format!("{} is not UTF-8", path.display())))
}
