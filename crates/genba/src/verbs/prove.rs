//! `genba prove`: the fix of a finding, applied to the running program and measured.

use std::time::Duration;

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::proofs::{self, ProofOptions};
use genba_model::CaseKind;
use genba_report::terminal;
use genba_run::Launcher;
use genba_units::parse_duration;

use crate::exit_code::{Exit, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;

/// Arguments of `genba prove`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba explain -- ./prog args; genba prove     the first finding of that case
  genba prove 2 -i 7f3a                         the second finding of a case
  genba prove --json -i latest

The command of the case is run again some times. Its code runs translated, and the instructions
of the finding exist twice: as they are, and changed. Every few milliseconds each thread goes
from one to the other, in random order, and what an execution takes is compared. Nothing is
claimed where two copies of the unchanged code differ, or where the output of the changed
program does.")]
pub struct Args {
    /// Number of the finding, as `genba explain -i CASE` lists them.
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    number: u32,

    /// Case of the finding.
    #[arg(short = 'i', long, value_name = "CASE", default_value = "latest")]
    case: String,

    /// Time for all runs.
    #[arg(long, value_name = "DURATION", default_value = "50s", value_parser = parse_duration)]
    budget: Duration,

    /// Measure what would be gained if the cause were free: in copies of the process, which are discarded. Done
    /// without this option where no change that computes the same gains.
    #[arg(long)]
    upper_bound: bool,

    #[command(flatten)]
    json: JsonArgs,
}

/// Runs `genba prove`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let store = Store::open_root();
    let case = store.find_to_write(&store.id_among(&args.case, &[CaseKind::Investigation])?)?;
    let cancel = interrupt::token()?;
    let mut launcher = Launcher::new()?;
    let mut progress = ProgressLine::new(output);
    let options = ProofOptions {
        number: args.number,
        budget: args.budget,
        upper_bound: args.upper_bound,
    };
    let found = proofs::prove_in_case(&case, options, None, &mut launcher, &cancel, &mut progress);
    drop(progress);
    let found = found?;
    if args.json.wanted() {
        output.json(&args.json, "proof", &found)?;
    } else {
        output.result(&terminal::proof(&found, output.screen()))?;
    }
    Ok(if cancel.is_triggered() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}
