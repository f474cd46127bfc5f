//! `genba host calibrate` and `genba host table`.

use std::ops::ControlFlow;
use std::time::Duration;

use clap::Args;
use genba_host::{
    CalibrateError, CalibrateOptions, CalibrateProgress, Origin, calibrate as measure, load, store,
};
use genba_investigate::Progress as _;
use genba_model::HostTable;
use genba_report::terminal;

use genba_units::parse_duration;

use crate::compare::ThisHost;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;

/// Arguments of `genba host calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  genba host calibrate
  genba host calibrate --cpu 3              on that CPU, where CPUs differ
  genba host calibrate --budget 4s          more repetitions on a busy machine")]
pub struct CalibrateArgs {
    /// CPU to measure on [default: the one that genba runs on].
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<usize>,
    /// Time for repeating disturbed entries.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, default_value = "1.5s", value_parser = parse_duration)]
    budget: Duration,
    #[command(flatten)]
    json: JsonArgs,
}

/// Arguments of `genba host table`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  genba host table
  genba host table --json | jq '.entries[] | select(.disturbed)'")]
pub struct TableArgs {
    #[command(flatten)]
    json: JsonArgs,
}

/// Measures the table, stores and prints it.
pub fn calibrate(args: &CalibrateArgs, output: &Output) -> VerbResult {
    let options = CalibrateOptions {
        budget: args.budget,
        cpu: args.cpu,
    };
    let table = measured(&options, output)?;
    print(&table, &args.json, output)
}

/// Prints the stored table; measures it if there is none.
pub fn table(args: &TableArgs, output: &Output) -> VerbResult {
    let host = ThisHost::detect().fingerprint;
    let table = match load(&host.id) {
        Some(table) => table,
        None => {
            output.note("no table of this host is stored yet: measuring it, 1 to 2 s");
            measured(&CalibrateOptions::default(), output)?
        }
    };
    print(&table, &args.json, output)
}

/// Measures the table and prints where it was stored.
fn measured(options: &CalibrateOptions, output: &Output) -> Result<HostTable, Failure> {
    let host = ThisHost::detect().fingerprint;
    let cancel = interrupt::token()?;
    let mut line = ProgressLine::new(output);
    let mut watch = |progress: CalibrateProgress| {
        let stage = format!(
            "measuring instruction costs: {} of {}",
            progress.measured, progress.kernels
        );
        line.update(&stage, Some(progress.left));
        if cancel.is_triggered() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let table = measure(host, options, &mut watch).map_err(|error| {
        let exit = match error {
            CalibrateError::Interrupted => Exit::Interrupted,
            CalibrateError::Cpu { .. } => Exit::Usage,
            CalibrateError::Architecture(_) | CalibrateError::Memory(_) => Exit::Unsupported,
        };
        Failure::new(exit, error)
    })?;
    drop(line);
    let origin = store(&table).map_or_else(Origin::NotStored, Origin::Measured);
    output.note(&match origin {
        Origin::Stored(path) | Origin::Measured(path) => format!(
            "measured in {:.1} s, stored in {}",
            table.seconds,
            path.display()
        ),
        Origin::NotStored(error) => format!("measured in {:.1} s; {error}", table.seconds),
    });
    Ok(table)
}

fn print(table: &HostTable, json: &JsonArgs, output: &Output) -> VerbResult {
    if json.wanted() {
        output.json(json, "host-table", table)?;
    } else {
        output.result(&terminal::host_table(table, output.screen()))?;
    }
    Ok(Exit::Done)
}
