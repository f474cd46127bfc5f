//! `genba investigate`: measure, profile, count and explain a command.

use std::time::Duration;

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::Options;
use genba_investigate::join_counts::ExecutionCountOptions;
use genba_profile::sampler::CallGraph;
use genba_report::terminal::{self, Next};
use genba_run::Output as Stream;

use genba_units::{parse_duration, parse_positive_number};

use crate::attach_args::AttachArgs;
use crate::command_args::CommandArgs;
use crate::exit_code::{Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::sampling_args::SamplingArgs;
use crate::unread_input;

/// Arguments of `genba investigate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba investigate -- ./prog args          measure, profile, explain; page under .genba/
  genba investigate --budget 10s 'gzip -c file | wc -c'
  genba investigate -g -- ./prog            call stacks by frame pointers
  genba investigate -p 1234 --seconds 30    a server that runs already; a page of it, too
  genba investigate --count-cmd './prog 100' --count-scale 1000 -- ./prog 100000")]
pub struct Args {
    /// Time for repeated runs, which stop sooner when the wall time is known to ±1 % [default: 30s]; with -p time to watch
    /// [default: 15s].
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    budget: Option<Duration>,

    /// Time for everything; longer runs are measured and sampled in part [default: 5 times --budget, at least 30s].
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    limit: Option<Duration>,

    /// Measure a command although it exits with an error.
    #[arg(short, long)]
    ignore_failure: bool,

    #[command(flatten)]
    attach: AttachArgs,

    #[command(flatten)]
    sampling: SamplingArgs,

    /// Do not sample the functions of Python (3.8 to 3.14) and Ruby (2.7 to 4.0) (a separate run, in which a thread is
    /// stopped for some microseconds up to 499 times a second).
    #[arg(long)]
    no_script: bool,

    /// Do not prove the first findings in the running program.
    #[arg(long)]
    no_proof: bool,

    /// Do not count executions: no calls, no cost per execution.
    #[arg(long)]
    no_count: bool,

    /// Count engine: `genba` or `callgrind` [default: the first that supports the command].
    #[arg(long, value_name = "NAME", conflicts_with = "no_count")]
    count_engine: Option<String>,

    /// Count a smaller run of the same program instead: a command line for the shell.
    #[arg(
        long,
        value_name = "LINE",
        conflicts_with = "no_count",
        requires = "count_scale"
    )]
    count_cmd: Option<String>,

    /// Work of the command divided by the work of --count-cmd.
    #[arg(long, value_name = "FACTOR", requires = "count_cmd", value_parser = parse_positive_number)]
    count_scale: Option<f64>,

    /// Time limit for counting executions, beyond which the first part stands for all.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, default_value = "300s", value_parser = parse_duration)]
    count_limit: Duration,

    /// Source directory at build time and its directory now.
    #[arg(long, value_name = "OLD=NEW")]
    source_prefix: Vec<String>,

    /// Name of the case.
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Default of `--budget`.
const DEFAULT_BUDGET: Duration = Duration::from_secs(30);

/// Runs `genba investigate`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    args.json.check_output(args.run.output.as_deref())?;
    let mut source_prefixes = Vec::new();
    for prefix in &args.source_prefix {
        let Some((old, new)) = prefix.split_once('=') else {
            return Err(Failure::usage(format!(
                "--source-prefix {prefix}: write OLD=NEW, the path at build time and the path here"
            )));
        };
        source_prefixes.push((old.to_owned(), new.to_owned()));
    }
    let budget = args.budget.unwrap_or(DEFAULT_BUDGET);
    let complete = Options::complete(budget, env!("CARGO_PKG_VERSION"));
    let options = Options {
        ignore_failure: args.ignore_failure,
        executions: executions(&args)?,
        record: args.sampling.options(CallGraph::None),
        script: !args.no_script,
        limit: args.limit.or(complete.limit),
        source_prefixes,
        ..complete
    };
    let cancel = interrupt::token()?;
    let store = Store::open_root();
    let mut progress = ProgressLine::new(output);
    let outcome = if args.attach.instead_of(&args.run)? {
        let time = (args.attach.time(&args.run).or(args.budget)).unwrap_or(WATCHED_TIME);
        let pids = &args.attach.pid;
        genba_investigate::investigate_processes(
            &store,
            pids,
            time,
            &options,
            &cancel,
            &mut progress,
        )?
    } else {
        unread_input::note(output);
        let mut prepared = args.run.prepare(Stream::Null)?;
        prepared.spec.stderr = Stream::Capture {
            limit: super::MAX_ERROR_OUTPUT,
        };
        prepared.workload.name.clone_from(&args.name);
        let (workload, spec) = (&prepared.workload, &prepared.spec);
        let proves = !args.no_proof && !args.no_count;
        let investigate = match proves {
            true => genba_investigate::proofs::investigate_and_prove,
            false => genba_investigate::investigate,
        };
        investigate(&store, workload, spec, &options, &cancel, &mut progress)?
    };
    drop(progress);
    if args.json.wanted() {
        output.json(&args.json, "investigation", outcome.investigation)?;
        return Ok(interrupt::exit());
    }
    let page = outcome.page.display().to_string();
    let command = genba_report::next_command(&outcome.investigation);
    let next = Next {
        page: Some(&page),
        command: command.as_deref(),
    };
    output.result(&terminal::investigation(
        &outcome.investigation,
        next,
        output.screen(),
    ))?;
    Ok(interrupt::exit())
}

/// Time for which running processes are watched without `--seconds`.
pub(super) const WATCHED_TIME: Duration = Duration::from_secs(15);

/// How executions are counted.
fn executions(args: &Args) -> Result<Option<ExecutionCountOptions>, Failure> {
    if args.no_count {
        return Ok(None);
    }
    let other = match (&args.count_cmd, args.count_scale) {
        (Some(line), Some(scale)) => Some((args.run.line(line)?, scale)),
        _ => None,
    };
    Ok(Some(ExecutionCountOptions {
        engine: args.count_engine.clone(),
        limit: args.count_limit,
        other,
    }))
}
