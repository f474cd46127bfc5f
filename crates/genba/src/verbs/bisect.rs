//! `genba bisect`: find the culprit of a difference.

mod git;
mod placeholders;
mod range;
mod set;
mod source;

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use genba_experiment::bisect::{SearchBudget, SearchRequest, SearchResult, document};
use genba_experiment::{Comparer, ExperimentError, VariantPlan};
use genba_model::{Bisection, BisectionKind, BisectionOutcome, CaseKind};
use genba_report::{page, terminal};

use crate::cli::{self, Verb};
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

The ends are compared first and the culprit last, both by the sequential test of genba bench. In
between, a probabilistic search chooses what to run next. With --metric exact-instructions there
is no noise, and a binary search is enough.")]
pub struct Args {
    #[command(subcommand)]
    what: What,

    /// Resume this case; added by `genba case resume`.
    #[arg(long, value_name = "CASE", hide = true)]
    continue_case: Option<String>,
}

/// What to search.
#[derive(Debug, Subcommand)]
enum What {
    /// Find the parameter value from which a metric changes.
    Range(range::Args),
    /// Find the commit from which a metric changes.
    Git(git::Args),
    /// Find the culprits among the elements of a set: options, methods, files.
    Set(set::Args),
    /// Find the regions of a C or C++ file that cost its compile time, or another metric.
    Source(source::Args),
}

/// Runs `genba bisect`.
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

/// Does what `genba bisect git` does with these arguments, and returns what it found. `genba case resume` resumes an
/// interrupted search as that verb.
pub fn search_commits(arguments: &[String], output: &Output) -> Result<Bisection, Failure> {
    let line: Vec<String> = (["bisect", "git"].into_iter().map(str::to_owned))
        .chain(arguments.iter().cloned())
        .collect();
    let words = std::iter::once("genba").chain(line.iter().map(String::as_str));
    let cli = cli::parse(words.map(genba_run::bytes_of)).map_err(Failure::usage)?;
    let Verb::Bisect(Args {
        what: What::Git(mut args),
        ..
    }) = cli.verb
    else {
        return Err(Failure::usage("not a search among commits"));
    };
    args.experiment.arguments = Some(line);
    match git::search(&args, output)? {
        (Exit::Interrupted, _) => Err(Failure::new(Exit::Interrupted, "interrupted")),
        (_, Some(found)) => Ok(found),
        (_, None) => Err(Failure::usage("a plan alone finds no commit")),
    }
}

/// Prints the plan.
fn dry_run(search: &SearchRequest, how: &str, output: &Output) -> VerbResult {
    output.result(&format!(
        "would search {} {} with: {}\n  metric {}, differences smaller than {} % are treated as equal\n  \
         {how}\n  time: unknown until the first run, {} at most\n",
        search.candidates,
        match search.of {
            BisectionKind::Range => "values",
            BisectionKind::Git => "commits",
            BisectionKind::Set => "elements",
            BisectionKind::Source => "regions",
        },
        genba_report::sanitise(&search.command),
        search.plan.primary,
        100.0 * search.plan.delta,
        genba_units::format::duration(search.budget.seconds),
    ))?;
    Ok(Exit::Done)
}

/// Runs of a noisy search, for the plan that `--dry-run` shows.
fn step_plan(points: u64) -> String {
    let log = 64 - points.saturating_sub(1).leading_zeros();
    format!(
        "ends first (13 or more pairs of runs), then about {log} candidates or, with noise of half \
         the difference, {} runs, then 13 or more pairs at the culprit; without noise {} runs",
        5 * log,
        log + 6
    )
}

/// Stores and prints the result; returns it with the exit code.
fn finish(
    session: Session,
    search: SearchRequest,
    found: SearchResult,
    seconds: f64,
    args: &ExperimentArgs,
) -> Result<(Exit, Bisection), Failure> {
    session.check_stored()?;
    let document = document(search, found, seconds, session.setting());
    let html = page::bisection_html(&document);
    let exit = session.finish(&document, &html, &args.json, |screen| {
        terminal::bisection(&document, screen)
    })?;
    let exit = match document.outcome {
        BisectionOutcome::Interrupted => Exit::Interrupted,
        _ => exit,
    };
    Ok((exit, document))
}

/// The search among candidates of this kind, with the metric, settings and budget of the arguments.
fn request(
    of: BisectionKind,
    candidates: u64,
    words: &[String],
    first: VariantPlan,
    args: &ExperimentArgs,
    session: &Session,
) -> Result<SearchRequest, Failure> {
    let mut plan = args.plan(vec![first], session.seed())?;
    // The length of the environment changes the instructions that the loader executes.
    plan.vary_environment &= !args.is_exact();
    let budget = args.budget.unwrap_or(default_budget(of));
    Ok(SearchRequest {
        of,
        command: genba_run::join_words(words),
        candidates,
        plan,
        budget: SearchBudget {
            seconds: budget.as_secs_f64(),
        },
    })
}

/// Time for a search where the user gives none.
fn default_budget(of: BisectionKind) -> Duration {
    Duration::from_secs(match of {
        BisectionKind::Source => 120,
        BisectionKind::Range => 600,
        BisectionKind::Set => 1_200,
        // With builds.
        BisectionKind::Git => 3_600,
    })
}

/// Runs a search; its result, and the seconds that it took.
fn run_search(
    session: &mut Session,
    search: &SearchRequest,
    find: impl FnOnce(&mut Comparer<'_>) -> Result<SearchResult, ExperimentError>,
) -> Result<(SearchResult, f64), Failure> {
    let mut comparer = session.comparer(&search.plan)?;
    let found = find(&mut comparer)?;
    Ok((found, comparer.elapsed()))
}

/// Opens the session of a bisection.
fn open(args: &ExperimentArgs, words: &[String], output: &Output) -> Result<Session, Failure> {
    let command = genba_run::join_words(words);
    Session::open(CaseKind::Bisection, args, &command, output)
}

/// The words of the command; an error if there are none.
fn words(words: &[String]) -> Result<&[String], Failure> {
    if words.is_empty() {
        return Err(Failure::usage("no command: write it after --"));
    }
    Ok(words)
}
