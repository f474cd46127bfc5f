//! `genba report`: functions, lines, modules and threads of a recording by samples.

use clap::{Args as ClapArgs, ValueEnum};
use genba_attribution::ProfileOptions;
use genba_report::terminal::{self, ReportOptions};

use crate::exit_code::{Exit, VerbResult};
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::recording_args::RecordingArgs;
use crate::standard_input;

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Functions by self and total time.
    Function,
    /// Source lines.
    Line,
    /// Executables and libraries.
    Module,
    /// Threads.
    Thread,
    /// Processes: the target and its children.
    Process,
    /// Functions of Python and Ruby, recorded with --script.
    Script,
    /// Where the data of loads and stores was, recorded with --data or `perf mem record`.
    Data,
}

/// Arguments of `genba report`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba report                          functions of ./perf.data
  genba report -i 7f3a --by line        source lines of a case
  genba report --by script              functions of Python or Ruby (needs record --script)
  genba report --by data                cache levels and latencies of loads (needs record --data)
  genba report --calls qsort            callers and callees of qsort (needs -g)
  genba wait -- ./prog && genba report --off-cpu
                                        functions and stacks by the time off a CPU, with reasons
  genba report 7f3a --off-cpu           the same of a case of wait or investigate")]
pub struct Args {
    /// Recording to read, as with --input.
    #[arg(value_name = "FILE|CASE", value_parser = standard_input::parser())]
    from: Option<std::path::PathBuf>,

    #[command(flatten)]
    recording: RecordingArgs,

    /// Group samples by this.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,

    /// Show callers and callees of this function instead.
    #[arg(long, value_name = "FUNCTION")]
    calls: Option<String>,

    /// Maximum number of rows; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,

    /// Hide rows below this percentage.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1)]
    percent_limit: f64,

    /// Show lines without skid correction.
    #[arg(long)]
    raw: bool,

    /// Show the time of threads off a CPU instead: waits with reason and object, of a case of `genba
    /// wait` or `genba investigate` [default: the newest case].
    #[arg(long, conflicts_with_all = ["by", "calls", "raw"])]
    off_cpu: bool,

    #[command(flatten)]
    json: JsonArgs,
}

/// Runs `genba report`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    args.recording.or_input(args.from.take())?;
    if args.off_cpu {
        return off_cpu(&args, output);
    }
    match args.by {
        By::Script => return script(&args, output),
        By::Data => return data(&args, output),
        _ => {}
    }
    let stored = if args.raw {
        None
    } else {
        args.recording.case()
    };
    let profile = match stored.map(|case| case.profile()).transpose()?.flatten() {
        Some(profile) => profile,
        None if let Some(profile) = args.recording.imported_profile()? => profile,
        None => {
            let options = ProfileOptions {
                raw: args.raw,
                lines: true,
                collapsed: false,
            };
            args.recording.open(true, true)?.profile(&options)
        }
    };
    if args.json.wanted() {
        output.json(&args.json, "profile", profile)?;
        return Ok(Exit::Done);
    }
    let options = ReportOptions {
        by: match args.by {
            By::Function => terminal::By::Function,
            By::Line => terminal::By::Line,
            By::Module => terminal::By::Module,
            By::Thread => terminal::By::Thread,
            By::Process => terminal::By::Process,
            // Shown before.
            By::Script | By::Data => return Ok(Exit::Done),
        },
        limit: rows(args.limit),
        min_share: args.percent_limit / 100.0,
        calls_of: args.calls,
        input: args.recording.given_input(),
    };
    output.result(&terminal::report(&profile, &options, output.screen()))?;
    Ok(Exit::Done)
}

/// Functions and stacks off a CPU.
fn off_cpu(args: &Args, output: &Output) -> VerbResult {
    let found = genba_investigate::waits::off_cpu(&args.recording.waits()?);
    if args.json.wanted() {
        output.json(&args.json, "off-cpu", found)?;
        return Ok(Exit::Done);
    }
    let options = ReportOptions {
        limit: rows(args.limit),
        min_share: args.percent_limit / 100.0,
        ..ReportOptions::default()
    };
    output.result(&terminal::off_cpu(&found, &options, output.screen()))?;
    Ok(Exit::Done)
}

/// The maximum number of rows, 0 being all.
fn rows(limit: usize) -> usize {
    match limit {
        0 => usize::MAX,
        limit => limit,
    }
}

/// Loads and stores by where their data was.
fn data(args: &Args, output: &Output) -> VerbResult {
    let profile = args.recording.data_profile()?;
    if args.json.wanted() {
        output.json(&args.json, "data-profile", profile)?;
        return Ok(Exit::Done);
    }
    let options = terminal::ScriptOptions {
        limit: rows(args.limit),
        min_share: args.percent_limit / 100.0,
    };
    output.result(&terminal::data(&profile, options, output.screen()))?;
    Ok(Exit::Done)
}

/// The functions of an interpreted language.
fn script(args: &Args, output: &Output) -> VerbResult {
    let mut profile = args.recording.script()?;
    if args.json.wanted() {
        // Flame graphs have the stacks.
        profile.collapsed.clear();
        output.json(&args.json, "script-profile", profile)?;
        return Ok(Exit::Done);
    }
    let options = terminal::ScriptOptions {
        limit: rows(args.limit),
        min_share: args.percent_limit / 100.0,
    };
    output.result(&terminal::script(&profile, options, output.screen()))?;
    Ok(Exit::Done)
}
