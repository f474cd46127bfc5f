//! The options of an experiment that `--on` hands to a campaign.

use genba_campaign::ExperimentOptions;

use crate::exit_code::Failure;
use crate::session::ExperimentArgs;

/// The options of blocks that measure `command`.
///
/// # Errors
/// An option that a block cannot have; `verb` runs without `--on` what is refused.
pub fn experiment_options<'a>(
    verb: &str,
    command: &'a [String],
    args: &'a ExperimentArgs,
) -> Result<ExperimentOptions<'a>, Failure> {
    if let Some(flag) = unsupported(args) {
        return Err(Failure::usage(format!(
            "--on: {flag} is not possible on nodes; leave it out, or run genba {verb} on this machine without --on"
        )));
    }
    let measurement = &args.measurement;
    let directory = args.directory.as_ref().map(std::path::absolute);
    let environment = measurement.environment()?.into_iter();
    Ok(ExperimentOptions {
        command,
        shell: match measurement.no_shell {
            true => Some("none"),
            false => measurement.shell.as_deref(),
        },
        metric: args.metric.as_deref(),
        delta: measurement.delta,
        alpha: measurement.alpha,
        warmup: measurement.warmup,
        seed: measurement.seed,
        timeout: measurement.timeout,
        prepare: args.prepare.as_deref(),
        directory: directory.transpose().map_err(Failure::usage)?,
        environment: environment
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        metrics: measurement.metrics()?,
    })
}

/// The first option that a block cannot have.
fn unsupported(args: &ExperimentArgs) -> Option<&'static str> {
    let measurement = &args.measurement;
    [
        (args.conclude.is_some(), "--conclude"),
        (args.setup.is_some(), "--setup"),
        (args.cleanup.is_some(), "--cleanup"),
        (args.input != "null", "--input"),
        (args.budget.is_some(), "--budget"),
        (measurement.pin.is_some(), "--pin"),
        (measurement.ignore_failure.is_some(), "--ignore-failure"),
    ]
    .into_iter()
    .find_map(|(given, flag)| given.then_some(flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ExperimentArgs,
    }

    #[test]
    fn what_blocks_cannot_have_is_refused() {
        for refused in ["--cleanup=rm x", "--input=file", "--pin=0", "--budget=1s"] {
            let line = Line::try_parse_from(["sweep", refused]).expect("options");
            let error = experiment_options("sweep", &[], &line.args).expect_err("refused");
            let flag = refused.split('=').next().unwrap_or_default();
            assert!(error.message.contains(flag), "{}", error.message);
        }
    }

    #[test]
    fn variables_are_names_with_values() {
        let line = Line::try_parse_from(["sweep", "--env", "A=b=c"]).expect("options");
        let options = experiment_options("sweep", &[], &line.args).expect("options");
        assert_eq!(options.environment["A"], "b=c");
        let line = Line::try_parse_from(["sweep", "--env", "A"]).expect("options");
        assert!(experiment_options("sweep", &[], &line.args).is_err());
    }
}
