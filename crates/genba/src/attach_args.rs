//! Arguments of verbs that watch running processes instead of running a command.

use std::time::Duration;

use clap::Args;
use genba_units::parse_duration;

use crate::command_args::CommandArgs;
use crate::exit_code::Failure;

/// Which processes, and for how long.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Attach to these running processes, with all that they started.
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',',
          value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Vec<i32>,

    /// Watch the processes for this time.
    #[arg(long, value_name = "DURATION", requires = "pid", allow_negative_numbers = true,
          value_parser = parse_duration)]
    seconds: Option<Duration>,
}

impl AttachArgs {
    /// The time for which the processes are watched, by `--seconds` or `--timeout`.
    pub fn time(&self, run: &CommandArgs) -> Option<Duration> {
        self.seconds.or(run.timeout)
    }

    /// Whether processes are watched; an error where a command is given as well.
    pub fn instead_of(&self, run: &CommandArgs) -> Result<bool, Failure> {
        if !self.pid.is_empty() && !run.command.is_empty() {
            return Err(Failure::usage(
                "-p and a command exclude each other; for how long to watch the processes: --seconds",
            ));
        }
        Ok(!self.pid.is_empty())
    }
}
