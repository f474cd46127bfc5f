//! `genba history explain`: the commit of a change point, and what changed in it.
//!
//! It does what other verbs do: `bisect git` finds the commit, `investigate` measures both sides, `diff` and
//! `explain` compare them.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_build::{CachedCheckout, commits_between, rev_parse};
use genba_case::Store;
use genba_history::{Build, History, named_change};
use genba_investigate::{Options, proofs};
use genba_model::{ChangeOrigin, HistoryChange, Workload};
use genba_report::terminal;
use genba_run::{Cancel, CommandSpec, Output as Stream, words_of_line};
use genba_units::parse_duration;

use super::selected_series::{self, SelectArgs};
use crate::compare::built_checkout;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::verbs::{MAX_ERROR_OUTPUT, bisect, diff, explain};

#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// The change point: its commit, or the beginning of its hash.
    point: String,

    /// Build command, run by the shell in a checkout of each commit [default: the one recorded].
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,

    /// Repository, or the directory in it, in which builds and commands run.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repository: PathBuf,

    /// Time for the bisection.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration, default_value = "1h")]
    budget: Duration,

    /// Time for the repeated runs of each side.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration, default_value = "10s")]
    side_budget: Duration,

    /// How the metric was defined when it was recorded, for the bisection.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=REGEX")]
    metric_regex: Vec<String>,

    /// The same for a metric in JSON.
    #[arg(long, value_name = "NAME[:UNIT][:more|less]=/POINTER")]
    metric_json: Vec<String>,

    #[command(flatten)]
    select: SelectArgs,

    /// Command, run in the checkouts [default: the one recorded].
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Time in which a side has runs enough to be profiled.
const MIN_SIDE_BUDGET: Duration = Duration::from_secs(1);

/// Runs `genba history explain`.
pub fn run(args: &ExplainArgs, output: &Output) -> VerbResult {
    let mut report = selected_series::report(&args.select, None, output)?;
    let mut found = named_change(&report.points, &args.point);
    if found.is_none() && args.select.metric.is_none() {
        let every_metric = SelectArgs {
            metric: Some(String::new()),
            ..args.select.clone()
        };
        report = selected_series::report(&every_metric, None, output)?;
        found = named_change(&report.points, &args.point);
    }
    let Some(change) = found else {
        return Err(Failure::usage(format!(
            "no change point at {:?} in the {} selected series; list them with: genba history show",
            args.point,
            report.series.len()
        )));
    };
    output.result(&terminal::history_change(change, output.screen()))?;
    if change.origin == ChangeOrigin::Host {
        output.result(
            "Nothing to search in the code: the anchor, an old build, changed as well.\n",
        )?;
        return Ok(Exit::Done);
    }
    let recorded = recorded_build(args, change)?;
    let job = Job {
        args,
        change,
        command: match args.command.as_slice() {
            [] => words_of_line(&recorded.command),
            words => words.to_vec(),
        },
        build: (args.build.clone().or(recorded.recipe)).ok_or_else(|| {
            Failure::usage(
                "the history has no build command of this point: give one with --build COMMAND",
            )
        })?,
        output,
    };
    let Some((before, culprit)) = job.culprit()? else {
        return Ok(Exit::Done);
    };
    job.compare(&before, &culprit)
}

/// What was recorded of the binary that the change was first measured with.
fn recorded_build(args: &ExplainArgs, change: &HistoryChange) -> Result<Build, Failure> {
    let mut history = History::open_existing(&args.select.store.location()?)?;
    history
        .build_after(change, &args.select.project, &args.select.branch)?
        .ok_or_else(|| {
            Failure::usage(
                "the change was measured outside a repository: there are no commits to search",
            )
        })
}

struct Job<'a> {
    args: &'a ExplainArgs,
    change: &'a HistoryChange,
    command: Vec<String>,
    build: String,
    output: &'a Output,
}

impl Job<'_> {
    /// The culprit and the commit before it; `None` if the bisection found none, which it has said.
    fn culprit(&self) -> Result<Option<(String, String)>, Failure> {
        let repository = &self.args.repository;
        let (good, bad) = (&self.change.last_before, &self.change.first_after);
        let commits = commits_between(repository, good, bad, false).map_err(Failure::usage)?;
        if let [before, culprit] = commits.as_slice() {
            self.output.result(&format!(
                "The range has one commit: {}\n",
                genba_report::sanitise(&culprit.detail)
            ))?;
            return Ok(Some((before.hash.clone(), culprit.hash.clone())));
        }
        self.output.note(&format!(
            "bisecting {} commits, at most {}",
            commits.len() - 1,
            genba_units::format::duration(self.args.budget.as_secs_f64())
        ));
        let found = bisect::search_commits(&self.bisection(good, bad), self.output)?;
        let Some(culprit) = found.culprit else {
            return Ok(None);
        };
        let hash = rev_parse(repository, &culprit.name).map_err(Failure::usage)?;
        let before = culprit.before.unwrap_or_else(|| format!("{hash}^"));
        let before = rev_parse(repository, &before).map_err(Failure::usage)?;
        Ok(Some((before, hash)))
    }

    /// Builds and measures both sides, and prints how they differ.
    fn compare(&self, before: &str, culprit: &str) -> VerbResult {
        let cancel = interrupt::token()?;
        let repository = &self.args.repository;
        let built = |commit: &str| {
            built_checkout(repository, commit, &self.build, None, &cancel, self.output)
        };
        let sides = [built(before)?, built(culprit)?];
        let [old, new] = (sides.each_ref()).map(|side| self.investigate(side, &cancel));
        let (old, new) = (old?, new?);
        let screen = self.output.screen();
        let difference = diff::text_of_cases(&old, &new, screen)?;
        let causes = explain::text_of_case(&new, screen)?;
        self.output.result(&format!("\n{difference}\n{causes}"))?;
        Ok(interrupt::exit())
    }

    /// The arguments of the search between two commits.
    fn bisection(&self, good: &str, bad: &str) -> Vec<String> {
        let args = self.args;
        let budget = format!("{}s", args.budget.as_secs());
        let repository = genba_run::text_of(args.repository.as_os_str());
        let mut words = Vec::new();
        let mut option = |name: &str, value: &str| words.extend([name, value].map(str::to_owned));
        option("--good", good);
        option("--bad", bad);
        option("--build", &self.build);
        option("--metric", &self.change.metric);
        option("--budget", &budget);
        option("--repository", &repository);
        for metric in &args.metric_regex {
            option("--metric-regex", metric);
        }
        for metric in &args.metric_json {
            option("--metric-json", metric);
        }
        words.push("--".to_owned());
        words.extend(self.command.iter().cloned());
        words
    }

    /// Investigates the command in a checkout; returns the case.
    fn investigate(&self, side: &CachedCheckout, cancel: &Cancel) -> Result<String, Failure> {
        let short: String = side.commit.chars().take(10).collect();
        self.output.note(&format!("investigating {short}"));
        let mut spec = CommandSpec::direct(&self.command);
        spec.directory = Some(side.path.clone());
        spec.stdout = Stream::Null;
        spec.stderr = Stream::Capture {
            limit: MAX_ERROR_OUTPUT,
        };
        let workload = Workload {
            command: self.command.clone(),
            shell: None,
            directory: side.path.display().to_string(),
            name: Some(short),
        };
        let budget = self.args.side_budget.max(MIN_SIDE_BUDGET);
        let outcome = proofs::investigate_and_prove(
            &Store::open_root(),
            &workload,
            &spec,
            &Options::complete(budget, env!("CARGO_PKG_VERSION")),
            cancel,
            &mut ProgressLine::new(self.output),
        )?;
        Ok(outcome.investigation.case)
    }
}
