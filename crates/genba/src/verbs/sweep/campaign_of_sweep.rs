//! A sweep as a campaign: each setting an option, all of them interleaved in each block. Pure.

use std::collections::BTreeMap;

use genba_experiment::parameters::replace;
use genba_experiment::sweep::SweptParameter;
use genba_model::CampaignAxis;

use crate::exit_code::Failure;
use crate::session::{ExperimentArgs, line_as_given};
use crate::verbs::campaign::plan_of_experiment::{head, is_line, metrics, name, option};

/// The text of the plan. `command` and `--env` have the parameters in braces.
pub fn plan_text(
    parameters: &[SweptParameter],
    command: &[String],
    args: &ExperimentArgs,
) -> Result<String, Failure> {
    let names = parameters.iter().map(|one| one.name.as_str());
    let parts: Vec<&str> = ["sweep"].into_iter().chain(names).collect();
    let mut text = head(
        "sweep",
        &name(&parts, command),
        "{arguments}",
        is_line(command),
        CampaignAxis::Options,
        args,
    )?;
    for values in settings(parameters) {
        let words: Vec<String> = command.iter().map(|word| replace(word, &values)).collect();
        let name: Vec<String> = (values.iter())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let environment = (args.measurement.env.iter())
            .map(|variable| match variable.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), replace(value, &values))),
                None => Err(Failure::usage(format!(
                    "--env {variable}: write NAME=VALUE"
                ))),
            })
            .collect::<Result<_, _>>()?;
        text.push_str(&option(
            &name.join(" "),
            &line_as_given(&words),
            &environment,
        ));
    }
    text.push_str(&metrics(args)?);
    Ok(text)
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
