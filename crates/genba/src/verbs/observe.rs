//! `genba observe`: what a function or line did, seen in bursts.

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_count::{Transfers, saved_counts};
use genba_investigate::execution_counts::{self, CountPlan};
use genba_investigate::join_counts::COUNTS_FILE;
use genba_investigate::observations::{OBSERVATIONS, observations};
use genba_investigate::observed_place::observed_place;
use genba_model::{CaseKind, ObservedPlace};
use genba_observe::Observations;
use genba_report::terminal;
use genba_run::{Launcher, Output as Stream};

use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::unread_input;

/// Arguments of `genba observe`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba observe -i latest parse             a function of the newest case
  genba observe -i latest parse.c:120       a line
  genba observe longest_match -- gzip -k f  watch a run now")]
pub struct Args {
    /// Read a case (or `latest`) instead of running a command.
    #[arg(short = 'i', long, value_name = "CASE")]
    case: Option<String>,

    #[command(flatten)]
    json: JsonArgs,

    /// A function, a line, or FILE:LINE.
    place: String,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba observe`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let (found, exit) = match &args.case {
        Some(_) if !args.run.command.is_empty() => {
            return Err(Failure::usage(
                "-i and a command exclude each other: give one of them",
            ));
        }
        Some(case) => (of_case(case, &args.place)?, Exit::Done),
        None => of_command(&args, output)?,
    };
    if args.json.wanted() {
        output.json(&args.json, "observation", found)?;
    } else {
        output.result(&terminal::observed_place(&found, output.screen()))?;
    }
    Ok(exit)
}

fn of_case(name: &str, place: &str) -> Result<ObservedPlace, Failure> {
    let store = Store::open_root();
    let case = store.find(&store.id_among(name, &[CaseKind::Investigation])?)?;
    let Some(found) = case.get_document::<Observations>(OBSERVATIONS)? else {
        return Err(Failure::new(
            Exit::Unsupported,
            format!(
                "case {name} has no bursts: its run was not counted by genba's own engine, or too short"
            ),
        ));
    };
    // Without the file the executions are unknown, which the document says.
    let raw = saved_counts::read(&case.directory().join(COUNTS_FILE)).ok();
    let command = raw
        .as_ref()
        .map_or_else(Vec::new, |raw| raw.command.clone());
    Ok(observed_place(&found, raw.as_ref(), &command, place))
}

fn of_command(args: &Args, output: &Output) -> Result<(ObservedPlace, Exit), Failure> {
    unread_input::note(output);
    args.json.check_output(args.run.output.as_deref())?;
    let mut prepared = args.run.prepare(Stream::Null)?;
    prepared.spec.stderr = Stream::Capture {
        limit: super::MAX_ERROR_OUTPUT,
    };
    let plan = CountPlan {
        engine: None,
        transfers: Transfers::None,
        children: prepared.spec.shell_line.is_some(),
        native: false,
        ignore_failure: true,
        observe: true,
    };
    let cancel = interrupt::token()?;
    let mut launcher = Launcher::new()?;
    let spec = &prepared.spec;
    let mut progress = ProgressLine::beside(spec, output);
    let mut counted = execution_counts::count(&mut launcher, spec, &plan, &cancel, &mut progress)?;
    drop(progress);
    let (Some(found), _) = observations(&mut counted.raw, None) else {
        let engine = &counted.raw.engine.name;
        return Err(Failure::new(
            Exit::Unsupported,
            format!("no bursts: the run was too short, or {engine} has none"),
        ));
    };
    let raw = &counted.raw;
    let place = observed_place(&found, Some(raw), &raw.command, &args.place);
    Ok(match cancel.is_triggered() {
        true => (place, Exit::Interrupted),
        false => (place, Exit::Done),
    })
}
