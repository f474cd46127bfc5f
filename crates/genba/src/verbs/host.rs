//! `genba host`: what this machine can measure, and what its instructions cost.

#[path = "host/host_table.rs"]
mod host_table;

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use genba_experiment::doctor;
use genba_experiment::{FinishedRun, Observer, Progress};
use genba_investigate::Progress as _;
use genba_report::terminal;
use genba_run::CommandSpec;

use genba_units::parse_duration;

use crate::compare::{ThisHost, measure};
use crate::exit_code::{Exit, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;

/// Arguments of `genba host`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba host calibrate                     measure instruction costs, and store them
  genba host table                         print them, measuring first if necessary
  genba host table --json | jq '.entries[] | select(.form | startswith(\"div\"))'
  genba host doctor                        smallest differences visible here in 20 s
  genba host doctor --budget 1min -- ./prog args")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure what instructions and system operations cost on this host, in one to two seconds.
    ///
    /// Latency is measured with dependent chains, throughput with independent streams, and cycles
    /// with a chain of additions run beside each. The table is stored for this host (under
    /// $XDG_CACHE_HOME or ~/.cache) and used wherever costs are explained.
    Calibrate(host_table::CalibrateArgs),
    /// Print the instruction costs of this host; measured first if none are stored.
    Table(host_table::TableArgs),
    /// Compare a command with itself: which differences are visible here, and what disturbs them.
    Doctor {
        /// Time for the measurement.
        #[arg(long, value_name = "DURATION", allow_negative_numbers = true, default_value = "20s", value_parser = parse_duration)]
        budget: Duration,
        #[command(flatten)]
        json: JsonArgs,
        /// The command [default: a short loop of the shell].
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// About 10 ms of CPU work.
const DEFAULT_COMMAND: &str = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";

/// Runs `genba host`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    match args.action {
        Action::Calibrate(args) => host_table::calibrate(&args, output),
        Action::Table(args) => host_table::table(&args, output),
        Action::Doctor {
            budget,
            json,
            command,
        } => doctor_verb(budget, &json, &command, output),
    }
}

fn doctor_verb(
    budget: Duration,
    json: &JsonArgs,
    command: &[String],
    output: &Output,
) -> VerbResult {
    let (spec, line) = if command.is_empty() {
        (
            CommandSpec::shell(DEFAULT_COMMAND),
            DEFAULT_COMMAND.to_owned(),
        )
    } else {
        (CommandSpec::direct(command), command.join(" "))
    };
    let here = ThisHost::detect();
    let mut plan = doctor::plan(&spec, &line, budget.as_secs_f64());
    if here.fingerprint.hardware_counters {
        plan.counters = vec!["instructions".to_owned()];
    }
    let cancel = interrupt::token()?;
    let mut watcher = Watcher(ProgressLine::new(output));
    let report = measure(&plan, &here, &cancel, &mut watcher)?;
    drop(watcher);
    let diagnosis = doctor::diagnose(&report);
    if json.wanted() {
        output.json(json, "doctor", diagnosis)?;
    } else {
        output.result(&terminal::doctor(&diagnosis, output.screen()))?;
    }
    Ok(if cancel.is_triggered() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

struct Watcher(ProgressLine);

impl Observer for Watcher {
    fn progress(&mut self, progress: &Progress<'_>) {
        let left = (progress.left_seconds).and_then(|left| Duration::try_from_secs_f64(left).ok());
        let stage = format!(
            "comparing the command with itself: pair {}",
            progress.blocks + 1
        );
        self.0.update(&stage, left);
    }

    fn keep(&mut self, _: &FinishedRun<'_>) -> Result<(), String> {
        Ok(())
    }
}
