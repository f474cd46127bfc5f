//! `genba history`: results over commits and hosts.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use genba_history::{
    History, Location, NamedRevision, PointFilter, SeriesFilter, analyse, compare_revisions,
};
use genba_model::HistoryReport;
use genba_report::{page, terminal};

use crate::compare::{self, Anchor, CompareArgs, write};
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::json_args::JsonArgs;
use crate::output::Output;

#[path = "history/import.rs"]
mod import;

/// Arguments of `genba history`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba history record -- ./prog input                   measure, and keep the result with its commit
  genba history record --anchor './old/prog input' -- ./prog input
                                                         beside a fixed old build: tells host from code
  genba history show                                     every series: plots or a table, change points
  genba history show --benchmark parse --metric wall --branch main --page history.html
  genba history compare v1.0 main                        two commits or branches, in each series
  genba history import bench.json                        hyperfine, Criterion, Google Benchmark, …

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
    /// Import results: JSON of hyperfine, pytest-benchmark, Google Benchmark or Criterion
    /// (sample.json, or its target/criterion), or what benchmark_driver printed.
    Import(import::ImportArgs),
}

#[derive(Debug, ClapArgs)]
struct RecordArgs {
    /// Measure this command in the same blocks: a fixed old build, which changes only with the host.
    #[arg(long, value_name = "COMMAND")]
    anchor: Option<String>,

    #[command(flatten)]
    compare: CompareArgs,
}

/// Which series of which store.
#[derive(Debug, ClapArgs)]
struct ShowArgs {
    /// The store: sqlite:FILE or postgres://….
    #[arg(
        long,
        value_name = "STORE",
        default_value = "",
        hide_default_value = true
    )]
    history: String,

    /// Benchmark: its name, or a part of it.
    #[arg(
        short,
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    benchmark: String,

    /// Variant.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    variant: String,

    /// Metric [default: wall, or all where there is none].
    #[arg(short, long, value_name = "NAME")]
    metric: Option<String>,

    /// Branch [default: all].
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    branch: String,

    /// Beginning of the host's id [default: all, each as a series of its own].
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    host: String,

    /// Project [default: all].
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    project: String,

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
        Action::Show(args) => show(&args, None, output),
        Action::Compare {
            before,
            after,
            show: args,
        } => show(&args, Some([named(before), named(after)]), output),
        Action::Import(args) => import::run(&args, output),
    }
}

fn record(mut args: RecordArgs, output: &Output) -> VerbResult {
    let compare = &mut args.compare;
    join_words(compare)?;
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
    // The history keeps what a case would.
    compare.no_case = true;
    // Fails before anything is measured.
    History::open(&compare::location(
        compare.history.as_deref().unwrap_or_default(),
    )?)?;
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
fn join_words(args: &mut CompareArgs) -> Result<(), Failure> {
    let commands = &mut args.commands.commands;
    if commands.len() < 2 {
        return Ok(());
    }
    let words: Vec<&str> = commands.iter().map(|(_, word)| word.as_str()).collect();
    let line = shlex::try_join(words).map_err(Failure::usage)?;
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

fn show(args: &ShowArgs, revisions: Option<[NamedRevision; 2]>, output: &Output) -> VerbResult {
    let location = compare::location(&args.history)?;
    let report = report(args, &location, revisions.as_ref())?;
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

/// Reads and analyses the series that are selected.
fn report(
    args: &ShowArgs,
    location: &Location,
    revisions: Option<&[NamedRevision; 2]>,
) -> Result<HistoryReport, Failure> {
    let mut history = History::open_existing(location)?;
    let mut filter = SeriesFilter {
        project: args.project.clone(),
        benchmark: args.benchmark.clone(),
        variant: args.variant.clone(),
        metric: args.metric.clone().unwrap_or_else(|| "wall".to_owned()),
        host: args.host.clone(),
        branch: args.branch.clone(),
    };
    let mut selected = history.series(&filter)?;
    if selected.is_empty() && args.metric.is_none() {
        filter.metric = String::new();
        selected = history.series(&filter)?;
    }
    if selected.is_empty() {
        return Err(Failure::usage(format!(
            "no series in {} is selected; list them with: genba history show",
            location.display()
        )));
    }
    let points = PointFilter {
        branch: args.branch.clone(),
    };
    let mut report = HistoryReport {
        genba: env!("CARGO_PKG_VERSION").to_owned(),
        store: location.display(),
        points: Vec::new(),
        series: Vec::new(),
        comparisons: Vec::new(),
        hosts: Vec::new(),
        notes: Vec::new(),
    };
    for one in &selected {
        let analysed = analyse(one, &history.points(one.id, &points)?, &args.branch);
        let index = report.series.len() as u32;
        if let Some([before, after]) = revisions {
            let compared = compare_revisions(&analysed.series, before, after);
            let Some(compared) = compared else {
                continue;
            };
            report.comparisons.push(genba_model::HistoryComparison {
                series: index,
                ..compared
            });
        }
        let changes = analysed.changes.into_iter();
        report
            .points
            .extend(changes.map(|change| genba_model::HistoryChange {
                series: index,
                ..change
            }));
        report.series.push(analysed.series);
        report.notes.extend(analysed.notes);
        if !report.hosts.iter().any(|host| host.id == one.host) {
            report.hosts.push(history.host(&one.host)?);
        }
    }
    if report.series.is_empty()
        && let Some([before, after]) = revisions
    {
        return Err(Failure::usage(format!(
            "no series has measurements of both {:?} and {:?}; genba history show lists what there is",
            before.name, after.name
        )));
    }
    report.points.sort_by_key(|one| !one.worse);
    Ok(report)
}
