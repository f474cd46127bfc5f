//! `genba bisect`: what is responsible.

mod git;
mod placeholders;
mod range;
mod set;
mod source;

use clap::{Args as ClapArgs, Subcommand};
use genba_experiment::bisect::{SearchBudget, SearchRequest, SearchResult, document};
use genba_experiment::{Plan, VariantPlan};
use genba_model::{BisectionKind, BisectionOutcome, CaseKind};
use genba_report::{page, terminal};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::session::{ExperimentArgs, Session};

/// Arguments of `genba bisect`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba bisect range --param N=1..256 -- ./prog --level {N}
  genba bisect range --param build=r100,r101,r107 -- ./bench-{build}
  genba bisect git --good v1.2 --bad main --build 'make -j2' -- ./prog input
  genba bisect set --items inline,unroll,gvn,licm -- ./jit --enable={ITEMS} page.rb
  genba bisect source big.c -- gcc -O2 -c {FILE} -o /dev/null

The ends are verified first, the culprit last, both by the judge of genba bench. In between a
search chooses what to run next: it needs few runs, and believes none of them alone. With
--metric exact-instructions there is no noise, and a logarithm of runs is enough.")]
pub struct Args {
    #[command(subcommand)]
    what: What,

    /// Go on with this case; `genba case resume` adds it behind the verb.
    #[arg(long, value_name = "CASE", hide = true)]
    continue_case: Option<String>,
}

/// What is searched.
#[derive(Debug, Subcommand)]
enum What {
    /// From which value of a parameter on a metric is at another level.
    Range(range::Args),
    /// From which commit on a metric is at another level.
    Git(git::Args),
    /// Which items of a set are responsible: options, methods, files.
    Set(set::Args),
    /// Which regions of a C or C++ file cost its compile time, or another metric.
    Source(source::Args),
}

/// Runs it.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let mut what = args.what;
    let experiment = match &mut what {
        What::Range(args) => &mut args.experiment,
        What::Git(args) => &mut args.experiment,
        What::Set(args) => &mut args.experiment,
        What::Source(args) => &mut args.experiment,
    };
    if args.continue_case.is_some() {
        experiment.continue_case = args.continue_case;
    }
    match what {
        What::Range(args) => range::run(&args, output),
        What::Git(args) => git::run(&args, output),
        What::Set(args) => set::run(&args, output),
        What::Source(args) => source::run(&args, output),
    }
}

/// The budget: what the person said, else so many seconds.
fn budget(args: &ExperimentArgs, seconds: f64) -> SearchBudget {
    SearchBudget {
        seconds: args.budget.map_or(seconds, |budget| budget.as_secs_f64()),
    }
}

/// Says what would be done.
fn dry_run(search: &SearchRequest, how: &str, output: &Output) -> VerbResult {
    output.answer(&format!(
        "would search {} {} with: {}\n  metric {}, differences up to {} % are of no interest\n  \
         {how}\n  time: unknown until the first run, {} at most\n",
        search.candidates,
        match search.of {
            BisectionKind::Range => "values",
            BisectionKind::Git => "commits",
            BisectionKind::Set => "items",
            BisectionKind::Source => "regions",
        },
        genba_report::sanitise(&search.command),
        search.plan.primary,
        100.0 * search.plan.delta,
        genba_report::number::duration(search.budget.seconds),
    ))?;
    Ok(Exit::Done)
}

/// Runs of a noisy search, for the plan that `--dry-run` shows.
fn step_plan(points: u64) -> String {
    let log = 64 - points.saturating_sub(1).leading_zeros();
    format!(
        "ends first (13 pairs of runs or more), then about {log} places or, where the noise is \
         half of the step, {} runs, at last 13 pairs or more at the place found; without noise \
         {} runs",
        5 * log,
        log + 6
    )
}

/// Keeps and shows what was found.
fn finish(
    session: Session,
    search: SearchRequest,
    found: SearchResult,
    seconds: f64,
    args: &ExperimentArgs,
) -> VerbResult {
    session.trouble()?;
    let document = document(search, found, seconds, session.setting());
    let html = page::bisection_html(&document);
    session.answer(&document, &html, args.json, |screen| {
        terminal::bisection(&document, screen)
    })?;
    Ok(match document.outcome {
        BisectionOutcome::Interrupted => Exit::Interrupted,
        _ => Exit::Done,
    })
}

/// The plan with the metric and settings of the arguments.
fn plan(args: &ExperimentArgs, first: VariantPlan, session: &Session) -> Result<Plan, Failure> {
    let mut plan = args.plan(vec![first], session.seed())?;
    // A longer environment costs the loader instructions.
    plan.vary_environment &= !args.is_exact();
    Ok(plan)
}

/// Opens a session for a bisection.
fn open(args: &ExperimentArgs, command: &str, output: &Output) -> Result<Session, Failure> {
    Session::open(CaseKind::Bisection, args, command, output)
}

/// The words of the workload, which must not be missing.
fn words(words: &[String]) -> Result<&[String], Failure> {
    if words.is_empty() {
        return Err(Failure::usage("there is no command; write it behind --"));
    }
    Ok(words)
}
