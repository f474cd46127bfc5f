//! `genba record`: sample a command or a process into a perf.data file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_model::Workload;
use genba_profile::sampler::{CallGraph, RecordOptions};
use genba_profile::{Attach, Companion, RecordOutcome, Snapshotted};
use genba_run::{Cancel, Launcher, Output as Stream};
use genba_runtime::script::{DEFAULT_SCRIPT_RATE_HZ, ScriptSampler};

use crate::attach_args::{SystemArgs, parse_pid};
use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::output::Output;
use crate::sampling_args::SamplingArgs;
use crate::snapshot_args::SnapshotArgs;

/// Arguments of `genba record`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba record -g -- ./prog args             frame-pointer call stacks
  genba record --call-graph dwarf -- ./prog  stacks of programs built without frame pointers
  genba record --script -- python3 prog.py   functions of Python and Ruby as well
  genba record -p 1234                       a running process, until Ctrl-C or its end
  genba record -p 1234,5678 -- sleep 3       running processes for three seconds (or --timeout 3s)
  genba record --data -- ./prog              cache levels and latencies of loads
  sudo genba record -a -- sleep 5            all that runs on all CPUs (-C 0,2: on these)
  genba record --snapshot=30s -g -p 1234     a case of the last 30 s at each SIGUSR2
  genba report; genba annotate FUNCTION      show the recording")]
pub struct Args {
    #[command(flatten)]
    sampling: SamplingArgs,

    /// Attach to these running processes with all that they started, until Ctrl-C, their end, or
    /// the end of the command or --timeout if one is given.
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',',
          value_parser = parse_pid)]
    pid: Vec<i32>,

    #[command(flatten)]
    system: SystemArgs,

    /// Sample the functions of Python (3.8 to 3.14) and Ruby (2.7 to 4.0) as well, by stopping a thread for some
    /// microseconds 499 times per second of its CPU time; shown by genba report --by script.
    #[arg(long)]
    script: bool,

    /// Sample loads and stores with address, cache level and latency of their data, as `perf mem` does (Intel: load
    /// latency; AMD: IBS; else the event of -e); shown by genba report --by data.
    #[arg(short, long)]
    data: bool,

    /// Record each switch of the target to and from a CPU as well, for `perf script --show-switch-events`.
    #[arg(long)]
    switch_events: bool,

    #[command(flatten)]
    snapshot: SnapshotArgs,

    /// File to write; an existing one becomes FILE.old.
    #[arg(short = 'o', long, value_name = "FILE", default_value = "perf.data")]
    file: PathBuf,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba record`. The command's output is passed through, as perf does.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    args.run.pass_input_on();
    let mut options = args.sampling.options(CallGraph::None);
    options.switches = args.switch_events;
    options.data = args.data;
    // Timer signals know no addresses of data.
    options.no_timer_fallback |= args.data;
    let cancel = interrupt::token()?;
    let command: Vec<String> = std::env::args_os()
        .map(|word| genba_run::text_of(&word))
        .collect();
    let mut script = args
        .script
        .then(|| ScriptSampler::new(&args.file, DEFAULT_SCRIPT_RATE_HZ, command));
    let mut alone = ();
    let companion: &mut dyn Companion = match &mut script {
        Some(script) => script,
        None => &mut alone,
    };
    let attached = !args.pid.is_empty() || args.system.is_wanted();
    if args.system.is_wanted() && args.script {
        return Err(Failure::usage(
            "--script samples one process, not a machine",
        ));
    }
    if attached && args.script && args.pid.len() > 1 {
        return Err(Failure::usage(
            "--script samples one process: give a single PID",
        ));
    }
    if args.snapshot.is_wanted() {
        return snapshots(&args, options, &cancel, output);
    }
    let mut launcher;
    let outcome = if attached && args.run.command.is_empty() {
        keep_old(&args.file)?;
        let attach = Attach {
            pids: &args.pid,
            timeout: args.run.timeout,
            command: None,
        };
        watch(&args, attach, &options, &cancel, companion)?
    } else {
        let mut prepared = args.run.prepare(Stream::Inherit)?;
        prepared.spec.stderr = Stream::Inherit;
        launcher = Launcher::new()?;
        keep_old(&args.file)?;
        let spec = &prepared.spec;
        let file = &args.file;
        if attached {
            let attach = Attach {
                pids: &args.pid,
                timeout: args.run.timeout,
                command: Some((&mut launcher, spec)),
            };
            watch(&args, attach, &options, &cancel, companion)?
        } else {
            genba_profile::record_with(&mut launcher, spec, &options, file, &cancel, companion)?
        }
    };
    print_summary(&outcome, Some(&args.file), output);
    if attached && outcome.samples == 0 {
        output.note(
            "note: nothing of this ran on a CPU meanwhile; to see what it waits for: genba wait -p PID",
        );
    }
    exit_of(&outcome, attached, &args.run, output)
}

/// Records snapshots, which are written on request.
fn snapshots(args: &Args, options: RecordOptions, cancel: &Cancel, output: &Output) -> VerbResult {
    if options.force_timer {
        return Err(Failure::usage(
            "--snapshot needs perf events: omit --sampler timer",
        ));
    }
    let attached = !args.pid.is_empty() || args.system.is_wanted();
    let mut launcher;
    let prepared;
    let command = if !attached || !args.run.command.is_empty() {
        let mut ready = args.run.prepare(Stream::Inherit)?;
        ready.spec.stderr = Stream::Inherit;
        args.snapshot.tell_command(&mut ready.spec);
        prepared = ready;
        launcher = Launcher::new()?;
        Some((&mut launcher, &prepared))
    } else {
        None
    };
    let here =
        |command| Workload::in_directory(command, &std::env::current_dir().unwrap_or_default());
    let mut workload = match (&command, args.pid.first()) {
        (Some((_, prepared)), None) if !attached => prepared.workload.clone(),
        (_, Some(&pid)) => here(genba_investigate::command_line(pid)),
        _ => here(vec!["CPUs".to_owned()]),
    };
    workload.name = Some("snapshot".to_owned());
    let attach = |command| Attach {
        pids: &args.pid,
        timeout: args.run.timeout,
        command,
    };
    let command = command.map(|(launcher, prepared)| (launcher, &prepared.spec));
    let what = match command {
        Some((launcher, spec)) if !attached => Snapshotted::Command(launcher, spec),
        command if args.system.is_wanted() => {
            Snapshotted::Cpus(args.system.cpus(), attach(command))
        }
        command => Snapshotted::Processes(attach(command)),
    };
    let outcome = (args.snapshot).record(what, workload, &args.pid, options, cancel, output)?;
    print_summary(&outcome, None, output);
    exit_of(&outcome, attached, &args.run, output)
}

/// How genba ends after a recording.
fn exit_of(
    outcome: &RecordOutcome,
    attached: bool,
    run: &CommandArgs,
    output: &Output,
) -> VerbResult {
    let is_bounded = !attached || run.timeout.is_some() || !run.command.is_empty();
    let exit = interrupt::exit_of_watching(is_bounded);
    let Some(finished) = outcome.runs.last() else {
        return Ok(exit);
    };
    if exit == Exit::Interrupted {
        return Ok(exit);
    }
    // A command beside processes that were attached to is ended with them.
    if !attached && !finished.record.exit.success() {
        output.note(&genba_investigate::in_words(&finished.record));
        return Ok(Exit::TargetFailed);
    }
    Ok(exit)
}

/// Records what runs already.
fn watch(
    args: &Args,
    attach: Attach<'_>,
    options: &RecordOptions,
    cancel: &Cancel,
    companion: &mut dyn Companion,
) -> Result<RecordOutcome, Failure> {
    let file = &args.file;
    Ok(match args.system.is_wanted() {
        true => genba_profile::record_cpus(args.system.cpus(), attach, options, file, cancel)?,
        false => genba_profile::attach_with(attach, options, file, cancel, companion)?,
    })
}

/// Prints the number of samples, why this event was chosen, and what was lost. Snapshots have no file.
fn print_summary(outcome: &RecordOutcome, file: Option<&Path>, output: &Output) {
    for note in &outcome.notes {
        output.note(&format!("note: {note}"));
    }
    if !outcome.event.hardware {
        output.note(&format!(
            "note: sampled by {}: {}",
            outcome.event.name, outcome.reason
        ));
    }
    let mut lost = String::new();
    if outcome.lost > 0 {
        lost.push_str(&format!(", {} lost", outcome.lost));
    }
    if outcome.throttled > 0 {
        lost.push_str(&format!(", throttled {} times", outcome.throttled));
    }
    let place = match file {
        Some(file) => file.display().to_string(),
        None if outcome.samples == 0 => "no snapshot was written".to_owned(),
        None => "in snapshots".to_owned(),
    };
    output.note(&format!(
        "{} of {} in {:.2} s{lost}: {place}",
        genba_units::format::plural(outcome.samples, "sample"),
        outcome.event.name,
        outcome.duration_seconds,
    ));
}

/// Renames an existing recording to `FILE.old`, as perf does.
fn keep_old(file: &Path) -> Result<(), Failure> {
    if !file.is_file() {
        return Ok(());
    }
    let mut old: OsString = file.as_os_str().to_owned();
    old.push(".old");
    std::fs::rename(file, &old)
        .map_err(|error| Failure::usage(format!("cannot rename {}: {error}", file.display())))?;
    // The files stored with the recording move with it.
    genba_profile::jit::JitArtifactRecorder::remove_old(Path::new(&old));
    let stored = genba_profile::jit::directory_of(file);
    if stored.is_dir() {
        let _ = std::fs::rename(stored, genba_profile::jit::directory_of(Path::new(&old)));
    }
    Ok(())
}
