//! `genba stat`: count hardware and software events of a command.

use clap::Args as ClapArgs;
use genba_investigate::event_counters::{self, CounterOptions};
use genba_model::{Counter, CounterState, ExitKind, Stat};
use genba_profile::event::EventSpec;
use genba_profile::{Attach, ProfileError, perf_stat};
use genba_report::terminal;
use genba_run::{Cancel, Launcher};

use crate::attach_args::AttachArgs;
use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::unread_input;

/// Arguments of `genba stat`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba stat -- gzip -k9 file               the events of perf stat -d
  genba stat -r 10 -- ./prog                means with intervals over ten runs
  genba stat -e cycles:u,branch-misses -- ./prog
  genba stat -e r01c2,cpu/event=0xc0/u -- ./prog    raw events and those of a PMU in sysfs
  genba stat -p 1234                        a running process, until Ctrl-C or its end
  genba stat -p 1234 -- sleep 3             for three seconds (or --seconds 3)")]
pub struct Args {
    /// Events instead of the default list, separated by commas.
    #[arg(short, long, value_name = "EVENTS")]
    event: Option<String>,

    /// The detailed list of events, as in perf (the default).
    #[arg(short, long, conflicts_with = "event")]
    detailed: bool,

    /// Number of runs.
    #[arg(short, long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: u32,

    /// Exit with 0 although the command fails.
    #[arg(short, long)]
    ignore_failure: bool,

    #[command(flatten)]
    attach: AttachArgs,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba stat`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    if args.runs == 1 {
        args.run.pass_input_on();
    } else {
        unread_input::note(output);
    }
    let events = match &args.event {
        Some(list) => perf_stat::parse_list(list).map_err(|error| match error {
            ProfileError::EventNotHere { .. } => error.into(),
            other => Failure::usage(other.to_string()),
        })?,
        None => perf_stat::detailed(),
    };
    let cancel = interrupt::token()?;
    if !args.attach.pid.is_empty() {
        let stat = of_processes(&args, &events, &cancel)?;
        return print(&args, stat, &cancel, output);
    }
    let prepared = args.run.prepare_shown(&args.json)?;
    // A single run that fails is shown with its counters, as perf does.
    let ignore_failure = args.ignore_failure || args.runs == 1;
    let options = CounterOptions {
        events,
        runs: args.runs,
        ignore_failure,
    };
    let mut launcher = Launcher::new()?;
    let mut progress = ProgressLine::beside(&prepared.spec, output);
    let stat = event_counters::count(
        &mut launcher,
        &prepared.spec,
        &prepared.workload.command,
        &options,
        &cancel,
        &mut progress,
    )?;
    drop(progress);
    print(&args, stat, &cancel, output)
}

/// Counts the events of running processes.
fn of_processes(args: &Args, events: &[EventSpec], cancel: &Cancel) -> Result<Stat, Failure> {
    let mut launcher;
    let prepared;
    let command = if args.run.command.is_empty() {
        None
    } else {
        prepared = args.run.prepare_shown(&args.json)?;
        launcher = Launcher::new()?;
        Some((&mut launcher, &prepared.spec))
    };
    let attach = Attach {
        pids: &args.attach.pid,
        timeout: args.attach.time(&args.run),
        command,
    };
    Ok(perf_stat::of_processes(attach, events, cancel)?)
}

/// Prints the counters.
fn print(args: &Args, stat: Stat, cancel: &Cancel, output: &Output) -> VerbResult {
    let exit = stat.exit;
    // The default list has events that many machines lack; those that the user names are the result.
    let nothing_counted = args.event.is_some() && none_is_possible(&stat.counters);
    if args.json.wanted() {
        output.json(&args.json, "stat", stat)?;
    } else {
        output.result(&terminal::stat(&stat, output.screen()))?;
    }
    Ok(match exit {
        // Ctrl-C is the usual end of watching a process.
        _ if cancel.is_triggered() && args.attach.pid.is_empty() => Exit::Interrupted,
        ExitKind::Code(0) if nothing_counted => {
            output.note("none of these events can be counted on this machine or by this user; events that always can: -e task-clock,page-faults");
            Exit::Unsupported
        }
        ExitKind::Code(0) => Exit::Done,
        _ if args.ignore_failure => Exit::Done,
        _ => Exit::TargetFailed,
    })
}

/// Whether this machine, kernel or user can count none of the events.
fn none_is_possible(counters: &[Counter]) -> bool {
    let impossible = [CounterState::NotSupported, CounterState::Forbidden];
    !counters.is_empty()
        && counters
            .iter()
            .all(|counter| impossible.contains(&counter.state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(state: CounterState) -> Counter {
        Counter {
            event: "cycles".to_owned(),
            state,
            value: None,
            unit: String::new(),
            running_share: 0.0,
            note: None,
        }
    }

    #[test]
    fn events_are_impossible_only_if_all_are_refused() {
        use CounterState::{Counted, Forbidden, NotCounted, NotSupported};
        let of = |states: &[CounterState]| {
            let all: Vec<Counter> = states.iter().map(|&state| counter(state)).collect();
            none_is_possible(&all)
        };
        assert!(of(&[NotSupported, Forbidden]));
        assert!(!of(&[NotSupported, Counted]));
        // A run that is too short for the event is no fault of the machine.
        assert!(!of(&[NotCounted]));
        assert!(!of(&[]));
    }
}
