//! A sweep as a campaign: each setting an option, all of them interleaved in each block. Pure.

use std::collections::BTreeMap;

use genba_experiment::parameters::replace;
use genba_experiment::sweep::SweptParameter;
use genba_experiment::{MetricPlan, MetricSource};
use genba_model::Direction;

use crate::exit_code::Failure;
use crate::session::{ExperimentArgs, line_as_given};

/// The text of the plan. `command` and `--env` have the parameters in braces.
pub fn plan_text(
    parameters: &[SweptParameter],
    command: &[String],
    args: &ExperimentArgs,
) -> Result<String, Failure> {
    if let Some(flag) = unsupported(args) {
        return Err(Failure::usage(format!(
            "--on: {flag} is not possible on nodes; leave it out, or sweep on this machine without --on"
        )));
    }
    let measurement = &args.measurement;
    let is_line = matches!(command, [line] if line.contains(char::is_whitespace));
    let shell = match (is_line && !measurement.no_shell, &measurement.shell) {
        (true, Some(shell)) => shell.as_str(),
        (true, None) => "sh",
        (false, _) => "none",
    };
    let mut text = format!(
        "[campaign]\nname = {}\ncommand = \"{{arguments}}\"\ncompare = \"options\"\nshell = {}\n",
        quoted(&name(parameters, command)),
        quoted(shell)
    );
    let mut key = |key: &str, value: String| text.push_str(&format!("{key} = {value}\n"));
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
    for values in settings(parameters) {
        text.push_str(&option(&values, command, &measurement.env)?);
    }
    for metric in measurement.metrics()? {
        text.push_str(&metric_table(&metric));
    }
    Ok(text)
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

/// The same for the same sweep, so that it is resumed: parameters and program.
fn name(parameters: &[SweptParameter], command: &[String]) -> String {
    let program = line_as_given(command);
    let program = program.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut name = "sweep".to_owned();
    for part in parameters
        .iter()
        .map(|one| one.name.as_str())
        .chain([program])
    {
        name.push('-');
        name.extend(
            part.chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)),
        );
    }
    name
}

/// All settings of the grid, in order.
fn settings(parameters: &[SweptParameter]) -> Vec<BTreeMap<String, String>> {
    let mut all = vec![BTreeMap::new()];
    for parameter in parameters {
        all = all
            .iter()
            .flat_map(|before: &BTreeMap<String, String>| {
                parameter.initial_grid().into_iter().map(|value| {
                    let mut values = before.clone();
                    values.insert(parameter.name.clone(), value);
                    values
                })
            })
            .collect();
    }
    all
}

fn option(
    values: &BTreeMap<String, String>,
    command: &[String],
    env: &[String],
) -> Result<String, Failure> {
    let words: Vec<String> = command.iter().map(|word| replace(word, values)).collect();
    let name: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut text = format!(
        "[[option]]\nname = {}\narguments = {}\n",
        quoted(&name.join(" ")),
        quoted(&line_as_given(&words))
    );
    if !env.is_empty() {
        text.push_str("[option.environment]\n");
    }
    for variable in env {
        let Some((name, value)) = variable.split_once('=') else {
            return Err(Failure::usage(format!(
                "--env {variable}: write NAME=VALUE"
            )));
        };
        text.push_str(&format!(
            "{} = {}\n",
            quoted(name),
            quoted(&replace(value, values))
        ));
    }
    Ok(text)
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
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// A text whose braces are no placeholders.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::path::Path;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ExperimentArgs,
    }

    fn text(words: &[&str], command: &[&str]) -> Result<String, Failure> {
        let line = Line::try_parse_from(words).expect("options");
        let parameters =
            ["N=1..4:log2", "M=a,b"].map(|one| SweptParameter::parse(one).expect("valid"));
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        plan_text(&parameters, &command, &line.args)
    }

    #[test]
    fn each_setting_is_an_option_of_one_group() {
        let words = [
            "sweep",
            "--metric",
            "ns",
            "--metric-regex",
            "ns=([0-9.]+) \"ns\"",
            "--env",
            "SIZE={N}\"\n",
            "--timeout",
            "3s",
            "--delta",
            "2%",
        ];
        let text = text(&words, &["./a b", "{N}", "'{M}"]).expect("a plan");
        let plan =
            genba_campaign::parse_plan(&text, "--on", "sweep", Path::new("/work")).expect("valid");
        assert_eq!(plan.name, "sweep-N-M-a");
        assert_eq!(plan.options.len(), 6);
        assert_eq!(plan.options[3].name, "M=b N=2");
        assert_eq!(plan.options[3].arguments, r"'./a b' 2 ''\''b'");
        assert_eq!(plan.options[3].environment["SIZE"], "2\"\n");
        assert_eq!(plan.metrics[0].regex.as_deref(), Some("([0-9.]+) \"ns\""));
        assert_eq!(
            (plan.measure.metric.as_str(), plan.measure.delta),
            ("ns", 0.02)
        );
        assert_eq!(plan.measure.shell.as_deref(), Some("none"));
    }

    #[test]
    fn line_with_blanks_is_for_the_shell() {
        let text = text(&["sweep"], &["echo {N} | wc -c"]).expect("a plan");
        assert!(
            text.contains("shell = \"sh\"") && text.contains("\"echo 4 | wc -c\""),
            "{text}"
        );
    }

    #[test]
    fn what_blocks_cannot_have_is_refused() {
        let refused = text(&["sweep", "--cleanup", "rm x"], &["./a", "{N}"]);
        assert!(refused.is_err_and(|error| format!("{error:?}").contains("--cleanup")));
    }
}
