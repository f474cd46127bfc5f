//! `genba flame`: write a flame graph of a recording.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use genba_attribution::ProfileOptions;
use genba_model::{Event, Precision, Profile, ScriptProfile, Waits};
use genba_report::flame_graph::{self, FlameOptions};
use genba_report::wall_flame_graph::{self, Shown};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::recording_args::RecordingArgs;
use crate::standard_input;

/// Arguments of `genba flame`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba record -g -- ./prog && genba flame     writes flame.svg
  genba flame -i latest -o -                   to standard output
  genba flame --collapsed -o stacks.txt        collapsed stacks for other flame graph tools
  genba wait -- ./prog && genba flame latest   wall time of all threads, on CPUs and off
  genba flame --off-cpu                        only where threads wait, of the newest case

A case of wait or investigate that knows the waits is drawn with them; --on-cpu draws its samples.")]
pub struct Args {
    /// Recording to read, as with --input.
    #[arg(value_name = "FILE|CASE", value_parser = standard_input::parser())]
    from: Option<PathBuf>,

    #[command(flatten)]
    recording: RecordingArgs,

    /// File to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "flame.svg")]
    output: PathBuf,

    /// Draw the graph downwards (icicle graph).
    #[arg(long)]
    inverted: bool,

    /// Merge stacks from the leaves: callers of the hot functions.
    #[arg(long)]
    reversed: bool,

    /// Show functions of Python and Ruby with the C functions they call (needs record --script).
    #[arg(long)]
    script: bool,

    /// Draw only the time of threads off a CPU, of a case of `genba wait` or `genba investigate`
    /// [default: the newest case].
    #[arg(long, conflicts_with_all = ["script", "on_cpu"])]
    off_cpu: bool,

    /// Draw only samples on a CPU, also of a case that knows the waits.
    #[arg(long)]
    on_cpu: bool,

    /// Write collapsed stacks instead of an SVG.
    #[arg(long)]
    collapsed: bool,
}

/// Runs `genba flame`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    args.recording.or_input(args.from.take())?;
    let options = FlameOptions {
        inverted: args.inverted,
        reversed: args.reversed,
        ..FlameOptions::default()
    };
    if let Some((waits, shown)) = wall_time(&args)? {
        let text = match args.collapsed {
            true => wall_flame_graph::collapsed(&waits, shown),
            false => wall_flame_graph::svg(&waits, shown, &options).map_err(Failure::usage)?,
        };
        return write(&args, &text, output);
    }
    let stored = args
        .recording
        .case()
        .map(|case| case.profile())
        .transpose()?
        .flatten();
    let profile = match stored {
        _ if args.script => of_script(args.recording.script()?),
        Some(profile) => profile,
        None if let Some(profile) = args.recording.imported_profile()? => profile,
        None => {
            let options = ProfileOptions {
                collapsed: true,
                ..ProfileOptions::default()
            };
            args.recording.open(true, true)?.profile(&options)
        }
    };
    if !profile.stacks {
        output.note(
            "note: the samples have no call stacks, so the graph has one level; record with -g",
        );
    }
    let text = if args.collapsed {
        flame_graph::collapsed(&profile)
    } else {
        flame_graph::svg(&profile, &options).map_err(Failure::usage)?
    };
    write(&args, &text, output)
}

/// The waits to draw: those that were requested, or those of the case, unless only samples are
/// requested.
fn wall_time(args: &Args) -> Result<Option<(Waits, Shown)>, Failure> {
    if args.off_cpu {
        return Ok(Some((args.recording.waits()?, Shown::OffCpu)));
    }
    if args.on_cpu || args.script {
        return Ok(None);
    }
    let waits = args.recording.waits_of_case()?;
    Ok(waits.map(|waits| (waits, Shown::All)))
}

fn write(args: &Args, text: &str, output: &Output) -> VerbResult {
    if args.output.as_os_str() == "-" {
        output.result(text)?;
        return Ok(Exit::Done);
    }
    std::fs::write(&args.output, text).map_err(|error| {
        Failure::usage(format!("cannot write {}: {error}", args.output.display()))
    })?;
    output.note(&format!("wrote {}", args.output.display()));
    Ok(Exit::Done)
}

/// The stacks of a script profile as a native profile.
fn of_script(script: ScriptProfile) -> Profile {
    Profile {
        event: Event {
            name: "cpu-clock".to_owned(),
            hardware: false,
            frequency_hz: genba_runtime::script::DEFAULT_SCRIPT_RATE_HZ,
            kernel: false,
            precision: Precision::Skid,
        },
        imported_from: None,
        thread_times: Vec::new(),
        command: script.command,
        samples: script.samples,
        lost: 0,
        throttled: 0,
        duration_seconds: script.cpu_seconds,
        kernel_share: genba_model::Estimate::exact(0.0),
        stacks: true,
        truncated_stacks: 0.0,
        functions: Vec::new(),
        lines: Vec::new(),
        modules: Vec::new(),
        threads: Vec::new(),
        edges: Vec::new(),
        collapsed: script.collapsed,
        concentration: None,
        counted: None,
        notes: script.notes,
    }
}
