//! `genba explain`: the causes of the time, with evidence, fix and predicted gain.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::Options;
use genba_investigate::proofs::{self, FirstProofs};
use genba_model::{Explanation, Investigation};
use genba_report::{Screen, terminal};
use genba_run::Output as Stream;

use genba_units::parse_duration;

use crate::attach_args::AttachArgs;
use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::recording_args::RecordingArgs;
use crate::unread_input;
use crate::verbs::investigate::WATCHED_TIME;

/// Arguments of `genba explain`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba explain -- ./prog args              measure, count, explain; writes a case
  genba explain -i latest                   explain the newest case
  genba explain --prove -- ./prog args      and measure the first fix in the running program
  genba explain -i perf.data --counts counts.json
  genba explain -p 1234 --seconds 30        a process that runs already
  genba bench --proves latest:1 ./old ./new; genba explain --calibration")]
pub struct Args {
    /// Explain a recording (of genba or perf) or a case (or `latest`) instead of a command.
    #[arg(short = 'i', long, value_name = "FILE|CASE")]
    recording: Option<PathBuf>,

    /// Join exact counts: a file written by `genba count -o`. A case has its own.
    #[arg(long, value_name = "FILE", requires = "recording")]
    counts: Option<PathBuf>,

    /// Re-evaluate the measurements of a case with the detectors of this version.
    #[arg(long, requires = "recording", alias = "anew")]
    reevaluate: bool,

    /// Time for repeated runs; counting takes additional time.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, default_value = "10s", value_parser = parse_duration)]
    budget: Duration,

    /// Time for everything; longer runs are measured and sampled in part.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    limit: Option<Duration>,

    /// Time limit for counting executions, beyond which the first part stands for all [default: what is left of half a minute in total].
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    count_limit: Option<Duration>,

    /// Explain a command although it exits with an error.
    #[arg(long)]
    ignore_failure: bool,

    /// Apply the fix of the first finding that allows it to the running program, and measure what it gains.
    #[arg(long, conflicts_with_all = ["recording", "calibration", "pid"])]
    prove: bool,

    /// Show predicted and measured gains of all findings that `genba bench --proves` or `genba prove`
    /// checked.
    #[arg(long, conflicts_with_all = ["recording", "command"])]
    calibration: bool,

    #[command(flatten)]
    attach: AttachArgs,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba explain`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    if args.calibration {
        return calibration(&args, output);
    }
    let explanation = match &args.recording {
        None => of_command(&args, output)?,
        Some(_) if !args.attach.pid.is_empty() => {
            return Err(Failure::usage(
                "-i and -p exclude each other: give one of them",
            ));
        }
        Some(_) if !args.run.command.is_empty() => {
            return Err(Failure::usage(
                "-i and a command exclude each other: give one of them",
            ));
        }
        Some(input) => {
            let recording = RecordingArgs::of(input.clone(), args.counts.clone());
            match recording.case().filter(|_| !args.reevaluate) {
                Some(case) => of_investigation(case.investigation()?)?,
                None => {
                    let resolved = recording.open(false, true)?;
                    genba_investigate::explain_recording(&resolved, recording.case().as_ref())?
                }
            }
        }
    };
    if args.json.wanted() {
        output.json(&args.json, "explanation", explanation)?;
    } else {
        output.result(&terminal::explanation(&explanation, output.screen()))?;
    }
    Ok(interrupt::exit())
}

/// The explanation that a case has, as text for the terminal.
pub fn text_of_case(case: &str, screen: Screen) -> Result<String, Failure> {
    let all = Store::open_root().find(case)?.investigation()?;
    Ok(terminal::explanation(&of_investigation(all)?, screen))
}

/// Prints the checked predictions of all cases.
fn calibration(args: &Args, output: &Output) -> VerbResult {
    let all = genba_investigate::calibration(&Store::open_root())?;
    if args.json.wanted() {
        output.json(&args.json, "calibration", all)?;
    } else {
        output.result(&terminal::calibration(&all, output.screen()))?;
    }
    Ok(Exit::Done)
}

/// Users wait about half a minute for an explanation: after this time no optional run is started.
const ANSWER_WITHIN: Duration = Duration::from_secs(25);

/// Maximum time of the count where the user set no limit: on an idle machine it ends sooner, since it
/// has what is left of [`ANSWER_WITHIN`].
const MAX_COUNT_TIME: Duration = Duration::from_secs(60);

fn of_command(args: &Args, output: &Output) -> Result<Explanation, Failure> {
    args.json.check_output(args.run.output.as_deref())?;
    let limit = args.count_limit;
    let answer_within = limit.map_or(ANSWER_WITHIN, |limit| limit.max(ANSWER_WITHIN));
    let options = Options {
        ignore_failure: args.ignore_failure,
        limit: args.limit,
        // A longer limit for the count extends the total time.
        ..Options::for_findings(
            args.budget,
            limit.unwrap_or(MAX_COUNT_TIME),
            args.limit.unwrap_or(answer_within),
            env!("CARGO_PKG_VERSION"),
        )
    };
    let cancel = interrupt::token()?;
    let store = Store::open_root();
    let mut progress = ProgressLine::new(output);
    let all = if args.attach.instead_of(&args.run)? {
        let time = args.attach.time(&args.run).unwrap_or(WATCHED_TIME);
        let pids = &args.attach.pid;
        genba_investigate::investigate_processes(
            &store,
            pids,
            time,
            &options,
            &cancel,
            &mut progress,
        )?
        .investigation
    } else {
        unread_input::note(output);
        let mut prepared = args.run.prepare(Stream::Null)?;
        prepared.spec.stderr = Stream::Capture {
            limit: super::MAX_ERROR_OUTPUT,
        };
        let (workload, spec) = (&prepared.workload, &prepared.spec);
        let outcome = genba_investigate::investigate(
            &store,
            workload,
            spec,
            &options,
            &cancel,
            &mut progress,
        )?;
        if args.prove {
            let all = outcome.investigation;
            proofs::prove_first(&store, all, FIRST_PROOF, spec, &cancel, &mut progress)?
        } else {
            outcome.investigation
        }
    };
    drop(progress);
    output.note(&format!("case {}", all.case));
    of_investigation(all)
}

/// Which findings `--prove` proves: the first that can be.
const FIRST_PROOF: FirstProofs = FirstProofs {
    tried: 3,
    wanted: 1,
    budget: Duration::from_secs(120),
    budget_each: Duration::from_secs(40),
};

fn of_investigation(all: Investigation) -> Result<Explanation, Failure> {
    // Of an idle process there are waits alone.
    let waits = (all.waits.as_ref()).map(|_| {
        let case = &all.case;
        format!("\n  what was waited for: genba case show {case}")
    });
    genba_investigate::stored_explanation(all).map_err(|notes| {
        let waits = waits.unwrap_or_default();
        let what = format!("no samples to explain: {}{waits}", notes.join("; "));
        Failure::new(Exit::Unsupported, what)
    })
}
