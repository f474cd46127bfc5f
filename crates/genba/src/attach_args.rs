//! Arguments of verbs that watch running processes, or whole CPUs, instead of running a command.

use std::time::Duration;

use clap::Args;
use genba_units::{parse_cpu_list, parse_duration};

use crate::command_args::CommandArgs;
use crate::exit_code::Failure;

/// The id of a process.
///
/// # Errors
/// What is wrong, with what finds ids.
pub fn parse_pid(text: &str) -> Result<i32, String> {
    if let Ok(pid @ 1..) = text.trim().parse() {
        return Ok(pid);
    }
    if text.contains(',') {
        return Err("one id only; what the process started is included".to_owned());
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_number = text.parse::<i128>().is_ok();
    let name = match !is_number && !text.is_empty() && text.chars().all(is_name) {
        true => text,
        false => "NAME",
    };
    Err(format!(
        "not the id of a process; to find it by name: pgrep -o {name}"
    ))
}

/// Which processes, and for how long.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Attach to these running processes, with all that they started.
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',',
          value_parser = parse_pid)]
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

/// All that runs on CPUs, instead of a command or processes.
#[derive(Debug, Args)]
pub struct SystemArgs {
    /// All that runs on all CPUs, until Ctrl-C, --timeout or the end of the command.
    #[arg(short, long, conflicts_with = "pid")]
    all_cpus: bool,

    /// All that runs on these CPUs (`0,2-3`).
    #[arg(short = 'C', long, value_name = "LIST", conflicts_with = "pid", value_parser = cpu_list)]
    cpu: Option<CpuList>,
}

impl SystemArgs {
    /// Whether it is asked for.
    pub fn is_wanted(&self) -> bool {
        self.all_cpus || self.cpu.is_some()
    }

    /// The CPUs, if not all of them.
    pub fn cpus(&self) -> Option<&[i32]> {
        self.cpu.as_ref().map(|list| list.0.as_slice())
    }
}

/// Numbers of CPUs.
#[derive(Clone, Debug)]
struct CpuList(Vec<i32>);

fn cpu_list(text: &str) -> Result<CpuList, String> {
    let cpus = parse_cpu_list(text)?;
    Ok(CpuList(cpus.into_iter().map(|cpu| cpu as i32).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_an_id_has_the_command_that_finds_one() {
        assert_eq!(parse_pid("17"), Ok(17));
        let error = |text| parse_pid(text).unwrap_err();
        assert!(error("nginx").ends_with("pgrep -o nginx"));
        for text in ["0", "-3", "", "$(rm x)", "99999999999"] {
            assert!(error(text).ends_with("pgrep -o NAME"), "{text}");
        }
        assert!(error("1,2").starts_with("one id only"));
    }
}
