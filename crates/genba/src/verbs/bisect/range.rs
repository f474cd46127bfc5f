//! `genba bisect range`: search an ordered list of parameter values.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use genba_experiment::bisect::{Candidate, CandidateList, OrderedValues, find_step};
use genba_experiment::parameters::mentions;
use genba_experiment::{Comparer, ExperimentError, VariantPlan};
use genba_model::BisectionKind;

use super::placeholders::variant_with_values;
use super::{dry_run, finish, open, request, run_search, step_plan, words};
use crate::exit_code::{Failure, VerbResult};
use crate::output::Output;
use crate::session::ExperimentArgs;

/// Arguments of `genba bisect range`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Parameter, written {NAME} in the command: LOW..HIGH (whole numbers, both included) or an
    /// ordered list.
    #[arg(short, long, value_name = "NAME=LOW..HIGH|A,B,C")]
    param: String,

    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// The command.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `genba bisect range`.
pub fn run(args: &Args, output: &Output) -> VerbResult {
    let words = words(&args.command)?;
    let list = OrderedValues::parse(&args.param)?;
    let experiment = &args.experiment;
    let fixed = [&experiment.prepare, &experiment.conclude, &experiment.setup];
    let used = words.iter().chain(&experiment.measurement.env);
    if !used
        .chain(fixed.into_iter().flatten())
        .any(|word| mentions(word, &list.name))
    {
        return Err(Failure::usage(format!(
            "the command does not contain {{{0}}}: write {{{0}}} in place of the value",
            list.name
        )));
    }
    let mut session = open(experiment, words, output)?;
    let mut values = Values { args, list };
    let first = values.variant(0)?;
    let search = request(
        BisectionKind::Range,
        values.count(),
        words,
        first,
        experiment,
        &session,
    )?;
    if experiment.dry_run {
        return dry_run(&search, &step_plan(values.count()), output);
    }
    let (found, seconds) = run_search(&mut session, &search, |comparer| {
        find_step(comparer, &search.plan, &mut values, search.budget)
    })?;
    Ok(finish(session, search, found, seconds, experiment)?.0)
}

struct Values<'a> {
    args: &'a Args,
    list: OrderedValues,
}

impl Values<'_> {
    fn variant(&self, point: u64) -> Result<VariantPlan, Failure> {
        let value = self.list.value(point);
        let values = BTreeMap::from([(self.list.name.clone(), value)]);
        let experiment = &self.args.experiment;
        let mut variant =
            variant_with_values(experiment, &self.name(point), &self.args.command, &values)?;
        variant.parameters = values;
        Ok(variant)
    }
}

impl CandidateList for Values<'_> {
    fn count(&self) -> u64 {
        self.list.count()
    }

    fn name(&self, point: u64) -> String {
        format!("{}={}", self.list.name, self.list.value(point))
    }

    fn candidate(
        &mut self,
        _: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError> {
        self.variant(point).map(Ok).map_err(ExperimentError::from)
    }
}
