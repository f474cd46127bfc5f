//! `genba grow`: how executions grow with the size of the input.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::parameters::{mentions, replace};
use genba_investigate::growth::{self, GrowthPlan, size_parameter};
use genba_report::terminal;
use genba_run::{CommandSpec, Launcher, Output as Stream};
use genba_units::{parse_duration, parse_positive_number};

use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::unread_input;

/// Arguments of `genba grow`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba grow -- ./parse --records {N}
  genba grow --prepare 'seq {N} | shuf > in' -- sort -n in
  genba grow --param N=1000..100000 --at 1e6 -- ./load {N}
  genba grow --param N=100,200,400,800,1600 -- python3 script.py {N}

Counts executions exactly at sizes that it doubles while they are affordable, and fits for each
function how its instructions and calls grow: constant, log, linear, n log n, quadratic, cubic,
exponential. Child processes are counted, too. What grows faster than n log n is named with its
line, and extrapolated to --at.")]
pub struct Args {
    /// Size of the input: NAME=64..65536 (doublings between), NAME=64.. or NAME=100,200,400
    /// [default: the one {NAME} in the command, from 64 on].
    #[arg(long, value_name = "NAME=SIZES")]
    param: Option<String>,

    /// Size to extrapolate to [default: ten times the largest; 1.2 times if all grows
    /// exponentially].
    #[arg(long, value_name = "SIZE", value_parser = parse_positive_number)]
    at: Option<f64>,

    /// Shell command before each run, with {NAME} in place of the size: makes the input.
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,

    /// Time for all runs together.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    budget: Duration,

    /// Maximum number of runs.
    #[arg(long, value_name = "N", default_value_t = 20)]
    runs: usize,

    /// Count engine: `genba` or `callgrind` [default: the first that supports the command].
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,

    /// Maximum number of rows; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba grow`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    unread_input::note(output);
    args.json.check_output(args.run.output.as_deref())?;
    // A missing command is said before anything about its sizes.
    args.run.prepare(Stream::Null)?;
    let (name, sizes) = match &args.param {
        Some(text) => size_parameter::parse(text, args.runs, args.budget),
        None => {
            let words = args.run.command.iter().chain(&args.prepare);
            size_parameter::of_command(words.map(String::as_str), args.runs, args.budget)
        }
    }
    .map_err(Failure::usage)?;
    let mut texts = args.run.command.iter().chain(&args.prepare);
    if !texts.any(|text| mentions(text, &name)) {
        return Err(Failure::usage(format!(
            "neither the command nor --prepare contains {{{name}}}, which --param defines"
        )));
    }
    // Everything that can be wrong with the commands is wrong at any size.
    let example = commands(&args, &name, 64)?;
    let make = |size: u64| commands(&args, &name, size).unwrap_or_else(|_| example.clone());
    let plan = GrowthPlan {
        command: args.run.command.clone(),
        parameter: name.clone(),
        sizes,
        at: args.at,
        engine: args.engine.clone(),
        make: &make,
    };
    let cancel = interrupt::token()?;
    let mut launcher = Launcher::new()?;
    let mut progress = ProgressLine::beside(&example.0, output);
    let found = growth::grow(&mut launcher, &plan, &cancel, &mut progress)?;
    drop(progress);
    if args.json.wanted() {
        output.json(&args.json, "growth", &found)?;
    } else {
        let limit = if args.limit == 0 {
            usize::MAX
        } else {
            args.limit
        };
        output.result(&terminal::growth(&found, limit, output.screen()))?;
    }
    Ok(if cancel.is_triggered() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

/// The command and the one that prepares it, at a size.
fn commands(
    args: &Args,
    name: &str,
    size: u64,
) -> Result<(CommandSpec, Option<CommandSpec>), Failure> {
    let values = BTreeMap::from([(name.to_owned(), size.to_string())]);
    let mut spec = args.run.with_values(&values).prepare(Stream::Null)?.spec;
    spec.stderr = Stream::Capture {
        limit: super::MAX_ERROR_OUTPUT,
    };
    let prepare = (args.prepare.as_ref())
        .map(|line| args.run.line(&replace(line, &values)))
        .transpose()?;
    Ok((spec, prepare))
}
