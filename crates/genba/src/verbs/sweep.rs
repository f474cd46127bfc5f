//! `genba sweep`: a metric over one parameter or two.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use genba_experiment::parameters::{mentions, replace};
use genba_experiment::sweep::{SweepPlan, SweptParameter, document};
use genba_experiment::{ExperimentError, Plan, VariantPlan};
use genba_model::CaseKind;
use genba_report::{page, terminal};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::session::{ExperimentArgs, Session, line_as_given};

/// Arguments of `genba sweep`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba sweep --param N=1..1024:log2 -- ruby --jit-max-cache={N} page.rb
  genba sweep --param LEVEL=1..9 --metric user -- gzip -{LEVEL} -k -c file
  genba sweep --param SIZE=4K..256M:log2 --metric ns --metric-regex 'ns=([0-9.]+) ns' -- ./chase {SIZE}
  genba sweep --param N=0..64:8 --param M=1,2,4 -- ./prog {N} {M}     two parameters: a table

It measures a coarse grid, every setting once a block in random order, then places settings where
the curve has a knee, until the knee's place is as fine as the parameter or the time is spent.
A step, a hinge, or none: a smooth curve is not called a knee.")]
pub struct Args {
    /// A parameter: NAME=1..1024:log2 (powers of two and what lies between), NAME=0..64:8 (steps
    /// of 8), NAME=1..9, NAME=a,b,c; twice for two.
    #[arg(long = "param", value_name = "NAME=VALUES", required = true)]
    params: Vec<String>,

    #[command(flatten)]
    experiment: ExperimentArgs,

    /// The command with {NAME} where the parameter goes (also in --env): a program with its
    /// arguments, or one string for the shell.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// Time for each setting of the first look when nobody said how much, seconds.
const SECONDS_EACH: f64 = 10.0;
/// And for what is placed later.
const SECONDS_LATER: f64 = 60.0;

/// Runs it.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let parameters = parameters(&args)?;
    let line = line_as_given(&args.command);
    let first: usize = parameters
        .iter()
        .map(|one| one.first_look().len())
        .product();
    let budget = (args.experiment.budget)
        .map_or(SECONDS_EACH * first as f64 + SECONDS_LATER, |budget| {
            budget.as_secs_f64()
        });
    if args.experiment.dry_run {
        return dry_run(&args, &parameters, first, budget, output);
    }
    let mut session = Session::open(CaseKind::Sweep, &args.experiment, &line, output)?;
    let example: BTreeMap<String, String> = (parameters.iter())
        .map(|one| (one.name.clone(), one.grid[0].clone()))
        .collect();
    let variant = variant(&args, &example)?;
    let plan = args.experiment.plan(vec![variant], session.seed())?;
    let plan = SweepPlan {
        parameters,
        plan: Plan {
            variants: Vec::new(),
            ..plan
        },
        budget,
    };
    let mut comparer = session.comparer(&SweepPlan::clone(&plan).plan)?;
    let make = |values: &BTreeMap<String, String>| {
        self::variant(&args, values).map_err(ExperimentError::from)
    };
    let swept = genba_experiment::sweep::sweep(&mut comparer, &plan, &make);
    drop(comparer);
    session.trouble()?;
    let found = document(&plan, &swept?, session.setting(), &line);
    let html = page::sweep_html(&found);
    session.answer(&found, &html, args.experiment.json, |screen| {
        terminal::sweep(&found, screen)
    })?;
    Ok(Exit::Done)
}

fn parameters(args: &Args) -> Result<Vec<SweptParameter>, Failure> {
    if args.params.len() > 2 {
        return Err(Failure::usage(
            "a sweep has one parameter or two; take -L and -P of genba bench for more",
        ));
    }
    let mut parameters: Vec<SweptParameter> = Vec::new();
    for text in &args.params {
        let parameter = SweptParameter::parse(text).map_err(Failure::usage)?;
        let texts = args.command.iter().chain(&args.experiment.measurement.env);
        if !texts
            .into_iter()
            .any(|text| mentions(text, &parameter.name))
        {
            return Err(Failure::usage(format!(
                "the command has no {{{0}}} in it, which --param gives values for",
                parameter.name
            )));
        }
        if parameters.iter().any(|one| one.name == parameter.name) {
            return Err(Failure::usage(format!(
                "the parameter {} is given twice",
                parameter.name
            )));
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

/// The variant of a setting.
fn variant(args: &Args, values: &BTreeMap<String, String>) -> Result<VariantPlan, Failure> {
    let words: Vec<String> = (args.command.iter())
        .map(|word| replace(word, values))
        .collect();
    let name: Vec<String> = (values.iter())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let name = name.join(" ");
    let mut variant = args.experiment.variant_as_given(&name, &words)?;
    for variable in &args.experiment.measurement.env {
        if let Some((name, value)) = variable.split_once('=') {
            variant.spec.environment.set(name, replace(value, values));
        }
    }
    variant.parameters = values.clone();
    Ok(variant)
}

fn dry_run(
    args: &Args,
    parameters: &[SweptParameter],
    first: usize,
    budget: f64,
    output: &Output,
) -> VerbResult {
    let mut text = String::new();
    for parameter in parameters {
        text.push_str(&format!(
            "{}: {}\n",
            genba_report::sanitise(&parameter.name),
            genba_report::sanitise(&parameter.first_look().join(" "))
        ));
    }
    text.push_str(&format!(
        "first look: {first} settings, 5 blocks, {} runs; then settings are placed where the \
         curve has a knee\nexpected time: unknown until the first run; at most {}\n",
        first * 5,
        genba_report::number::duration(budget)
    ));
    if args.experiment.json {
        output.json(
            "plan",
            serde_json::json!({ "settings": first, "runs": first * 5, "most_seconds": budget }),
        )?;
    } else {
        output.answer(&text)?;
    }
    Ok(Exit::Done)
}
