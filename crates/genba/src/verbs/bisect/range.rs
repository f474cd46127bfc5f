//! `genba bisect range`: search an ordered list of parameter values.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use genba_experiment::bisect::{Candidate, CandidateList, SearchRequest, find_step};
use genba_experiment::parameters::{Parameter, mentions};
use genba_experiment::{Comparer, ExperimentError, VariantPlan};
use genba_model::BisectionKind;

use super::placeholders::variant_with_values;
use super::{budget, dry_run, finish, open, step_plan, words};
use crate::exit_code::{Failure, VerbResult};
use crate::output::Output;
use crate::session::{ExperimentArgs, line_of};

/// Default budget, seconds.
const SECONDS: f64 = 600.0;

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
    let list = ParameterValues::parse(&args.param)?;
    let command = line_of(words);
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
    let mut session = open(experiment, &command, output)?;
    let mut values = Values { args, list };
    let first = values.variant(0)?;
    let plan = super::plan(experiment, first, &session)?;
    let search = SearchRequest {
        of: BisectionKind::Range,
        command,
        candidates: values.count(),
        plan,
        budget: budget(experiment, SECONDS),
    };
    if experiment.dry_run {
        return dry_run(&search, &step_plan(values.count()), output);
    }
    let mut comparer = session.comparer(&search.plan)?;
    let found = find_step(&mut comparer, &search.plan, &mut values, search.budget)?;
    let seconds = comparer.elapsed();
    drop(comparer);
    finish(session, search, found, seconds, experiment)
}

/// The values of the parameter.
struct ParameterValues {
    name: String,
    values: ValueRange,
}

enum ValueRange {
    Numbers { first: i64, count: u64, up: bool },
    Words(Vec<String>),
}

impl ParameterValues {
    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::usage(format!("--param {text}: {what}"));
        let Some((name, values)) = text.split_once('=') else {
            return Err(wrong("write NAME=LOW..HIGH or NAME=A,B,C".to_owned()));
        };
        let values = match values.split_once("..") {
            Some((low, high)) => {
                let number = |text: &str| -> Result<i64, Failure> {
                    text.trim()
                        .parse()
                        .map_err(|_| wrong(format!("{text:?} is not a whole number")))
                };
                let (first, last) = (number(low)?, number(high)?);
                let count = last.abs_diff(first).saturating_add(1);
                ValueRange::Numbers {
                    first,
                    count,
                    up: last >= first,
                }
            }
            None => ValueRange::Words(
                Parameter::list(name, values)
                    .map_err(Failure::usage)?
                    .values,
            ),
        };
        let list = Self {
            // Checked as the name of a parameter.
            name: Parameter::list(name, "").map_err(Failure::usage)?.name,
            values,
        };
        if list.count() < 2 {
            return Err(wrong("give at least two values".to_owned()));
        }
        Ok(list)
    }

    fn count(&self) -> u64 {
        match &self.values {
            ValueRange::Numbers { count, .. } => *count,
            ValueRange::Words(words) => words.len() as u64,
        }
    }

    fn value(&self, point: u64) -> String {
        match &self.values {
            ValueRange::Numbers { first, up, .. } => {
                let (first, point) = (i128::from(*first), i128::from(point));
                (if *up { first + point } else { first - point }).to_string()
            }
            ValueRange::Words(words) => words[point as usize].clone(),
        }
    }
}

struct Values<'a> {
    args: &'a Args,
    list: ParameterValues,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_are_parsed_in_order() {
        let of = |text: &str| {
            let list = ParameterValues::parse(text)
                .unwrap_or_else(|failure| panic!("{}", failure.message));
            (0..list.count())
                .map(|point| list.value(point))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("N=3..5"), ["3", "4", "5"]);
        assert_eq!(of("N=1..-1"), ["1", "0", "-1"]);
        assert_eq!(of("N=a,b\\,c"), ["a", "b,c"]);
        let full = ParameterValues::parse("N=-9223372036854775808..9223372036854775807").ok();
        assert_eq!(
            full.map(|list| list.value(1)).as_deref(),
            Some("-9223372036854775807")
        );
        for wrong in ["N", "=1..2", "N=1", "N=1..1", "N=a..b", "N=", "{=1,2"] {
            assert!(ParameterValues::parse(wrong).is_err(), "{wrong}");
        }
    }
}
