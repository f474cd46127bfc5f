//! `genba history`: results over commits and hosts.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use genba_history::{History, NamedRevision};
use genba_report::{page, terminal};

use crate::compare::{self, Anchor, CompareArgs};
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::json_args::JsonArgs;
use crate::optional_values;
use crate::output::Output;
use crate::output_file::write;

#[path = "history/explain_point.rs"]
mod explain_point;
#[path = "history/import.rs"]
mod import;
#[path = "history/selected_series.rs"]
mod selected_series;

use selected_series::SelectArgs;

/// Arguments of `genba history`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba history record -- ./prog input              measure, and keep the result with its commit
  genba history record --anchor './old/prog input' -- ./prog input
                                                    beside a fixed old build: tells host from code
  genba history list                                which series there are
  genba history show                                every series: plots or a table, change points
  genba history show --benchmark parse --metric wall --branch main --page history.html
  genba history compare v1.0 main                   two commits or branches, in each series
  genba history explain 3fa21c --build make         bisects, builds both sides, says what changed
  genba history import bench.json                   hyperfine, Criterion, Google Benchmark, …

The store is --history, $GENBA_HISTORY (sqlite:FILE or postgres://USER@HOST/DATABASE) or
.genba/history.sqlite. Series of different hosts are never pooled.")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure a command or a suite, and keep the result with commit, branch, host and environment.
    Record(Box<RecordArgs>),
    /// List the series of the store, without analysing them.
    List {
        #[command(flatten)]
        select: SelectArgs,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Show series with their change points.
    Show(ShowArgs),
    /// Compare two commits or branches in each series.
    Compare {
        /// The baseline: a branch, tag or other revision of git, or the beginning of a commit's hash.
        before: String,
        /// The other one.
        after: String,
        #[command(flatten)]
        show: ShowArgs,
    },
    /// Find the commit of a change point, and what in it changed the time.
    Explain(explain_point::ExplainArgs),
    /// Import results: JSON of hyperfine, pytest-benchmark, Google Benchmark or Criterion
    /// (sample.json, or its target/criterion), or what benchmark_driver printed.
    Import(import::ImportArgs),
}

#[derive(Debug, ClapArgs)]
struct RecordArgs {
    /// Measure this command in the same blocks: a fixed old build, which changes only with the host.
    #[arg(long, value_name = "COMMAND")]
    anchor: Option<String>,

    /// Do not count the instructions in a run of their own: a series without the machine's noise.
    #[arg(long)]
    no_count: bool,

    #[command(flatten)]
    compare: CompareArgs,
}

/// Which series to show, and how.
#[derive(Debug, ClapArgs)]
struct ShowArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Write a self-contained page to this file.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    #[command(flatten)]
    json: JsonArgs,
}

/// Runs recorded by default: pairs enough for ±1 % on a machine of usual noise.
const DEFAULT_RUNS: u32 = 30;
/// Name of the anchor among the variants.
const ANCHOR: &str = "anchor";

/// Runs `genba history`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    match args.action {
        Action::Record(args) => record(*args, output),
        Action::List { select, json } => list(&select, &json, output),
        Action::Show(args) => show(&args, None, output),
        Action::Compare {
            before,
            after,
            show: args,
        } => show(&args, Some([named(before), named(after)]), output),
        Action::Explain(args) => explain_point::run(&args, output),
        Action::Import(args) => import::run(&args, output),
    }
}

fn record(mut args: RecordArgs, output: &Output) -> VerbResult {
    let compare = &mut args.compare;
    join_words(compare, output)?;
    if compare.runs.is_none() && compare.budget.is_none() {
        compare.runs = Some(DEFAULT_RUNS);
    }
    compare.history.get_or_insert_default();
    if let Some(anchor) = args.anchor {
        let commands = &mut compare.commands.commands;
        commands.insert(0, (Some(ANCHOR.to_owned()), anchor));
        compare.anchor = Some(Anchor {
            variant: ANCHOR.to_owned(),
            ..Anchor::default()
        });
    }
    compare.count_instructions = !args.no_count;
    // The history keeps what a case would.
    compare.no_case = true;
    // Fails before anything is measured.
    let location = compare::location(compare.history.as_deref().unwrap_or_default())?;
    let line = compare::waiting_line(&location, output);
    History::open(&location)?;
    drop(line);
    let done = compare::run(compare, output)?;
    if compare.json.wanted() {
        for note in &done.notes {
            output.note(note);
        }
        output.json(&compare.json, "comparison", done.whole)?;
    } else {
        output.result(&super::bench::text(&done, output))?;
    }
    Ok(done.exit)
}

/// Makes one command line of the words after `--`; a suite and a quoted line are one word.
fn join_words(args: &mut CompareArgs, output: &Output) -> Result<(), Failure> {
    let commands = &mut args.commands.commands;
    if commands.len() < 2 {
        return Ok(());
    }
    let words: Vec<String> = commands.iter().map(|(_, word)| word.clone()).collect();
    if let Some(note) = optional_values::history_in_command(&words) {
        output.note(&note);
    }
    let line = shlex::try_join(words.iter().map(String::as_str)).map_err(Failure::usage)?;
    let name = commands[0].0.take();
    *commands = vec![(name, line)];
    Ok(())
}

/// A revision with the commit that the repository here has for it.
fn named(name: String) -> NamedRevision {
    let here = std::env::current_dir().unwrap_or_default();
    let commit = genba_build::rev_parse(&here, &name).ok();
    NamedRevision { name, commit }
}

fn list(select: &SelectArgs, json: &JsonArgs, output: &Output) -> VerbResult {
    let list = selected_series::list(select, output)?;
    if json.wanted() {
        output.json(json, "series-list", &list)?;
    } else {
        output.result(&terminal::series_list(&list, output.screen()))?;
    }
    Ok(Exit::Done)
}

fn show(args: &ShowArgs, revisions: Option<[NamedRevision; 2]>, output: &Output) -> VerbResult {
    let report = selected_series::report(&args.select, revisions.as_ref(), output)?;
    if let Some(path) = &args.page {
        write(path, &page::history_html(&report))?;
        output.note(&format!("page: {}", path.display()));
    }
    if args.json.wanted() {
        output.json(&args.json, "history", &report)?;
    } else {
        output.result(&terminal::history(&report, output.screen()))?;
    }
    Ok(Exit::Done)
}
