//! `genba sweep`: measure a metric over one or two parameters.

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use genba_experiment::parameters::{mentions, replace};
use genba_experiment::sweep::{SweepPlan, SweptParameter, document};
use genba_experiment::{ExperimentError, Plan, VariantPlan};
use genba_model::{CaseKind, ExperimentDryRun};
use genba_report::{page, terminal};
use genba_run::line_as_given;

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::session::{ExperimentArgs, Session};
use crate::verbs::campaign;

/// Arguments of `genba sweep`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba sweep --param N=1..1024:log2 -- ruby --jit-max-cache={N} page.rb
  genba sweep --param LEVEL=1..9 --metric user -- gzip -{LEVEL} -k -c file
  genba sweep --param SIZE=4K..256M:log2 --metric ns --metric-regex 'ns=([0-9.]+)' -- ./chase {SIZE}
  genba sweep --param N=0..64:8 --param M=1,2,4 -- ./prog {N} {M}     two parameters: a table
  genba sweep --param LEVEL=1..9 --on slurm -- gzip -{LEVEL} -c file   on the nodes of a cluster

Measures a coarse grid first, every setting once per block in random order, then adds settings
where the curve changes, until each change point (knee) is located as finely as the parameter
allows or the budget is spent. The first runs may need up to twice the budget; no run goes on
beyond that. Change points are steps or hinges; a smooth curve has none.")]
pub struct Args {
    /// Parameter: NAME=1..1024:log2 (powers of two, refined between them), NAME=0..64:8 (steps of
    /// 8), NAME=1..9 or NAME=a,b,c; twice for two parameters.
    #[arg(long = "param", value_name = "NAME=VALUES", required = true)]
    params: Vec<String>,

    /// Measure the first grid in blocks on the nodes of a cluster (slurm), or here (local), as a
    /// campaign: a verdict for each setting and kind of host; resumed by the same command.
    #[arg(long, value_name = "WHERE", value_enum)]
    on: Option<campaign::Place>,

    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Command with {NAME} in place of the value (also in --env): a program with its arguments, or
    /// one string for the shell.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Default budget for each setting of the first grid, seconds.
const SECONDS_PER_SETTING: f64 = 10.0;
/// Default budget for settings added later, seconds.
const SECONDS_FOR_REFINING: f64 = 60.0;

/// Runs `genba sweep`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let parameters = parameters(&args)?;
    if let Some(on) = args.on {
        let options = campaign::experiment_options("sweep", &args.command, &args.experiment)?;
        let here = std::env::current_dir().map_err(Failure::usage)?;
        let plan = genba_campaign::sweep_plan(&parameters, &options, &here)?;
        let (dry_run, json) = (args.experiment.dry_run, args.experiment.json.clone());
        return campaign::run_made(plan, on, dry_run, json, output);
    }
    let line = line_as_given(&args.command);
    let first: usize = parameters
        .iter()
        .map(|one| one.initial_grid().len())
        .product();
    let budget = (args.experiment.budget).map_or(
        SECONDS_PER_SETTING * first as f64 + SECONDS_FOR_REFINING,
        |budget| budget.as_secs_f64(),
    );
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
    session.check_stored()?;
    let found = document(&plan, &swept?, session.setting(), &line);
    let html = page::sweep_html(&found);
    session.finish(&found, &html, &args.experiment.json, |screen| {
        terminal::sweep(&found, screen)
    })
}

fn parameters(args: &Args) -> Result<Vec<SweptParameter>, Failure> {
    if args.params.len() > 2 {
        return Err(Failure::usage(
            "a sweep has at most two parameters; for more, use -L and -P of genba bench",
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
                "the command does not contain {{{0}}}, which --param defines",
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

/// The variant with these parameter values.
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
            let value = genba_run::bytes_of(&replace(value, values));
            variant.spec.environment.set(name, value);
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
            genba_report::sanitise(&parameter.initial_grid().join(" "))
        ));
    }
    text.push_str(&format!(
        "first look: {first} settings, 5 blocks, {} runs; then settings are refined where the \
         curve has a knee\nexpected time: unknown until the first run; at most {}\n",
        first * 5,
        genba_units::format::duration(budget)
    ));
    if args.experiment.json.wanted() {
        output.json(
            &args.experiment.json,
            "plan",
            ExperimentDryRun {
                settings: Some(first as u64),
                runs: Some(first as u64 * 5),
                max_seconds: Some(budget),
                ..ExperimentDryRun::default()
            },
        )?;
    } else {
        output.result(&text)?;
    }
    Ok(Exit::Done)
}
