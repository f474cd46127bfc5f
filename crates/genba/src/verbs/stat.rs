//! `genba stat`: count hardware and software events of a command.

use std::time::Duration;

use clap::Args as ClapArgs;
use genba_investigate::event_counters::{self, CounterOptions};
use genba_model::{Counter, CounterState, ExitKind, Stat, StatInterval};
use genba_profile::event::EventSpec;
use genba_profile::perf_stat::{Intervals, Watched, WatchedCpus, topdown};
use genba_profile::{Attach, ProfileError, perf_stat};
use genba_report::terminal;
use genba_run::{Cancel, Launcher};
use genba_units::parse_interval;

use crate::attach_args::{AttachArgs, SystemArgs};
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
  genba stat -e '{cycles,instructions}' -- ./prog   a group: counted at the same time or not at all
  genba stat --topdown -- ./prog            what the pipeline's issue slots are lost to
  genba stat -I 1000 -- ./prog              also each second
  genba stat -a -- sleep 3                  all that runs on all CPUs (as root); -C 0,2-3: on these
  genba stat --per-thread -p 1234           also each thread of a running process
  genba stat -p 1234                        a running process, until Ctrl-C or its end
  genba stat -p 1234 -- sleep 3             for three seconds (or --seconds 3)")]
pub struct Args {
    /// Events instead of the default list, separated by commas.
    #[arg(short, long, value_name = "EVENTS")]
    event: Option<String>,

    /// The detailed list of events, as in perf (the default).
    #[arg(short, long, conflicts_with = "event")]
    detailed: bool,

    /// Where the issue slots of the pipeline go instead: retiring, bad speculation, frontend and backend bound, and what
    /// these are divided into (Intel since Sandy Bridge, AMD since Zen 4).
    #[arg(long, conflicts_with_all = ["event", "detailed"])]
    topdown: bool,

    /// Number of runs.
    #[arg(short, long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: u32,

    /// Exit with 0 although the command fails.
    #[arg(short, long)]
    ignore_failure: bool,

    /// Print the counters at this interval as well: milliseconds, or a duration (`1s`).
    #[arg(short = 'I', long = "interval-print", value_name = "MS", value_parser = parse_interval)]
    interval: Option<Duration>,

    #[command(flatten)]
    system: SystemArgs,

    /// Show the counters of each thread of the processes of -p as well.
    #[arg(long, requires = "pid")]
    per_thread: bool,

    #[command(flatten)]
    attach: AttachArgs,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba stat`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    let output = &output.behind_command(args.run.passes_output_on(&args.json));
    if args.runs == 1 {
        args.run.pass_input_on();
    } else {
        unread_input::note(output);
    }
    let method = args.topdown.then(topdown_method).transpose()?;
    let events = match &args.event {
        None if let Some(method) = method => method.events()?,
        Some(list) => perf_stat::parse_list(list).map_err(|error| match error {
            ProfileError::EventNotHere { .. } => error.into(),
            other => Failure::usage(other.to_string()),
        })?,
        None => perf_stat::detailed(),
    };
    if args.runs > 1 && (args.interval.is_some() || args.system.is_wanted()) {
        return Err(Failure::usage("-I, -a and -C are for one run: omit -r"));
    }
    let cancel = interrupt::token()?;
    let mut shown = Vec::new();
    let mut stat = of_whatever(&args, events, &mut shown, &cancel, output)?;
    stat.intervals = shown;
    if let Some(method) = method {
        match topdown::of_counters(method, &stat.counters) {
            Ok(found) => stat.topdown = Some(found),
            Err(missing) => stat.notes.push(format!(
                "no top-down analysis: these events were not counted: {}",
                missing.join(", ")
            )),
        }
    }
    print(&args, stat, output)
}

/// How this machine counts issue slots.
fn topdown_method() -> Result<topdown::Method, Failure> {
    let cpu = genba_host::processor();
    let cpu = topdown::Processor {
        microarchitecture: genba_host::microarchitecture(&cpu).to_owned(),
        vendor: cpu.vendor,
        family: cpu.family.unwrap_or(0),
        model: cpu.model.unwrap_or(0),
    };
    topdown::method_here(&cpu)
        .map_err(|why| ProfileError::NoTopdown(topdown::refusal(why, &cpu)).into())
}

/// Counts what the arguments name; `shown` gets the intervals, which are printed as they end.
fn of_whatever(
    args: &Args,
    events: Vec<EventSpec>,
    shown: &mut Vec<StatInterval>,
    cancel: &Cancel,
    output: &Output,
) -> Result<Stat, Failure> {
    let silent = args.json.wanted();
    let mut each = |interval: StatInterval| {
        if !silent {
            // A reader that has gone is told of by what follows.
            let head = if shown.is_empty() {
                terminal::STAT_INTERVAL_HEAD
            } else {
                ""
            };
            let _ = output.result(&format!("{head}{}", terminal::stat_interval(&interval)));
        }
        shown.push(interval);
    };
    let intervals = args.interval.map(|every| Intervals {
        every,
        each: &mut each,
    });
    let has_command = !args.run.command.is_empty();
    let mut launcher;
    let prepared;
    let watches = args.system.is_wanted() || !args.attach.pid.is_empty();
    let command = if has_command || !watches {
        prepared = args.run.prepare_shown(&args.json)?;
        launcher = Launcher::new()?;
        Some((&mut launcher, &prepared))
    } else {
        None
    };
    if args.system.is_wanted() {
        let what = WatchedCpus {
            cpus: args.system.cpus(),
            timeout: args.run.timeout,
            command: command.map(|(launcher, prepared)| (launcher, &prepared.spec)),
            intervals,
        };
        return Ok(perf_stat::of_cpus(what, &events, cancel)?);
    }
    if !args.attach.pid.is_empty() {
        let attach = Attach {
            pids: &args.attach.pid,
            timeout: args.attach.time(&args.run),
            command: command.map(|(launcher, prepared)| (launcher, &prepared.spec)),
        };
        let watched = Watched {
            per_thread: args.per_thread,
            intervals,
        };
        return Ok(perf_stat::of_processes(attach, &events, watched, cancel)?);
    }
    let Some((launcher, prepared)) = command else {
        return Err(Failure::usage("no command to run"));
    };
    let (spec, words) = (&prepared.spec, &prepared.workload.command);
    if intervals.is_some() {
        let run = perf_stat::once_at_intervals(launcher, spec, &events, cancel, intervals)?;
        return Ok(perf_stat::stat_of(words, vec![run]));
    }
    let options = CounterOptions {
        events,
        runs: args.runs,
        // A single run that fails is shown with its counters, as perf does.
        ignore_failure: args.ignore_failure || args.runs == 1,
    };
    let mut progress = ProgressLine::beside(spec, output);
    Ok(event_counters::count(
        launcher,
        spec,
        words,
        &options,
        cancel,
        &mut progress,
    )?)
}

/// Prints the counters.
fn print(args: &Args, stat: Stat, output: &Output) -> VerbResult {
    let exit = stat.exit;
    // The default list has events that many machines lack; those that the user names are the result.
    let named = args.event.is_some() || args.topdown;
    let nothing_counted = named && none_is_possible(&stat.counters);
    if args.json.wanted() {
        output.json(&args.json, "stat", stat)?;
    } else {
        output.last_result(&terminal::stat(&stat, output.screen()))?;
    }
    let watches = !args.attach.pid.is_empty() || args.system.is_wanted();
    let is_bounded =
        !watches || args.attach.time(&args.run).is_some() || !args.run.command.is_empty();
    Ok(match exit {
        _ if interrupt::exit_of_watching(is_bounded) == Exit::Interrupted => Exit::Interrupted,
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
        // A run that is too short for the event is not a fault of the machine.
        assert!(!of(&[NotCounted]));
        assert!(!of(&[]));
    }
}
