//! A sweep as a campaign: each setting an option, all of them interleaved in each block. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use genba_experiment::parameters::replace;
use genba_experiment::sweep::SweptParameter;
use genba_model::CampaignAxis;
use genba_run::line_as_given;

use crate::experiment_plan::{
    ExperimentOptions, campaign_name, campaign_table, metric_tables, option_table, parsed,
};
use crate::{CampaignError, CampaignPlan};

/// The plan that measures the first grid of a sweep. The command and the values of the environment have
/// the parameters in braces; `here` is the directory in which it runs unless the options name one.
///
/// # Errors
/// A plan that cannot be: a name without letters, more settings than a campaign has.
pub fn sweep_plan(
    parameters: &[SweptParameter],
    options: &ExperimentOptions<'_>,
    here: &Path,
) -> Result<CampaignPlan, CampaignError> {
    let names = parameters.iter().map(|one| one.name.as_str());
    let parts: Vec<&str> = ["sweep"].into_iter().chain(names).collect();
    let name = campaign_name(&parts, options.command);
    let mut text = campaign_table(&name, "{arguments}", CampaignAxis::Options, options)?;
    for values in settings(parameters) {
        let words: Vec<String> = (options.command.iter())
            .map(|word| replace(word, &values))
            .collect();
        let name: Vec<String> = (values.iter())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let environment = (options.environment.iter())
            .map(|(name, value)| (name.clone(), replace(value, &values)))
            .collect();
        text.push_str(&option_table(
            &name.join(" "),
            &line_as_given(&words),
            &environment,
        ));
    }
    text.push_str(&metric_tables(&options.metrics));
    parsed(&text, here)
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
    use genba_experiment::MetricPlan;
    use std::time::Duration;

    fn plan(options: ExperimentOptions<'_>, command: &[&str]) -> CampaignPlan {
        let parameters =
            ["N=1..4:log2", "M=a,b"].map(|one| SweptParameter::parse(one).expect("valid"));
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let options = ExperimentOptions {
            command: &command,
            ..options
        };
        sweep_plan(&parameters, &options, Path::new("/work")).expect("a plan")
    }

    #[test]
    fn each_setting_is_an_option_of_one_group() {
        let options = ExperimentOptions {
            metric: Some("ns"),
            metrics: vec![MetricPlan::parse_regex("ns=([0-9.]+) \"ns\"").expect("valid")],
            environment: BTreeMap::from([("SIZE".to_owned(), "{N}\"\n\u{7f}".to_owned())]),
            timeout: Some(Duration::from_secs(3)),
            delta: Some(0.02),
            prepare: Some("echo {x}"),
            ..ExperimentOptions::default()
        };
        let plan = plan(options, &["./a b", "{N}", "'{M}"]);
        assert_eq!(plan.name, "sweep-N-M-a");
        assert_eq!(plan.options.len(), 6);
        assert_eq!(plan.options[3].name, "M=b N=2");
        assert_eq!(plan.options[3].arguments, r"'./a b' 2 ''\''b'");
        assert_eq!(plan.options[3].environment["SIZE"], "2\"\n\u{7f}");
        assert_eq!(plan.metrics[0].regex.as_deref(), Some("([0-9.]+) \"ns\""));
        let measure = &plan.measure;
        assert_eq!((measure.metric.as_str(), measure.delta), ("ns", 0.02));
        assert_eq!(measure.shell.as_deref(), Some("none"));
        assert_eq!(measure.timeout_seconds, Some(3.0));
        assert_eq!(measure.prepare.as_deref(), Some("echo {{x}}"));
    }

    #[test]
    fn line_with_blanks_is_for_the_shell() {
        let command = ["echo {N} | wc -c"];
        let by_default = plan(ExperimentOptions::default(), &command);
        assert_eq!(by_default.measure.shell.as_deref(), Some("sh"));
        assert_eq!(by_default.options[4].arguments, "echo 4 | wc -c");
        let split = ExperimentOptions {
            shell: Some("none"),
            ..ExperimentOptions::default()
        };
        assert_eq!(plan(split, &command).measure.shell.as_deref(), Some("none"));
    }
}
