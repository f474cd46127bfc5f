//! `genba history explain`: the commit of a change point, and what changed in it.
//!
//! The work is done by other verbs, as processes of their own: `bisect git` finds the commit,
//! `investigate` measures both sides, `diff` and `explain` compare them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_build::{CachedCheckout, commits_between, rev_parse};
use genba_case::Store;
use genba_history::{Build, History, named_change};
use genba_model::{Bisection, ChangeOrigin, Document, HistoryChange};
use genba_report::terminal;
use genba_units::parse_duration;

use super::selected_series::{self, SelectArgs};
use crate::compare::built_checkout;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::output::Output;

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

/// Runs `genba history explain`.
pub fn run(args: &ExplainArgs, output: &Output) -> VerbResult {
    let report = selected_series::report(&args.select, None, output)?;
    let Some(change) = named_change(&report.points, &args.point) else {
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
            [] => shlex::split(&recorded.command).unwrap_or_default(),
            words => words.to_vec(),
        },
        build: (args.build.clone().or(recorded.recipe)).ok_or_else(|| {
            Failure::usage(
                "the history has no build command of this point: give one with --build COMMAND",
            )
        })?,
        cases: cases()?,
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

/// The directory of cases, as the children need it.
fn cases() -> Result<PathBuf, Failure> {
    let store = Store::open_root();
    store.make_root()?;
    (store.root().canonicalize())
        .map_err(|error| Failure::usage(format!("cannot use the directory of cases: {error}")))
}

struct Job<'a> {
    args: &'a ExplainArgs,
    change: &'a HistoryChange,
    command: Vec<String>,
    build: String,
    cases: PathBuf,
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
        let file = tempfile::NamedTempFile::new()
            .map_err(|error| Failure::usage(format!("cannot write a temporary file: {error}")))?;
        let mut words = words(&["bisect", "git", "--good", good, "--bad", bad]);
        words.extend(["--build".into(), self.build.clone()]);
        words.extend(["--metric".into(), self.change.metric.clone()]);
        for one in &self.args.metric_regex {
            words.extend(["--metric-regex".into(), one.clone()]);
        }
        for one in &self.args.metric_json {
            words.extend(["--metric-json".into(), one.clone()]);
        }
        let budget = format!("{}s", self.args.budget.as_secs());
        words.extend(["--budget".into(), budget]);
        words.extend(["--repository".into(), text(repository)]);
        words.push(format!("--json={}", text(file.path())));
        words.push("--".into());
        words.extend(self.command.iter().cloned());
        self.verb(&words, Path::new("."), Stdio::null())?;
        let document: Document<Bisection> = (std::fs::read(file.path()).ok())
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .ok_or_else(|| Failure::new(Exit::TargetFailed, "the bisection has no result"))?;
        let found = document.body;
        self.output
            .result(&terminal::bisection(&found, self.output.screen()))?;
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
        let [old, new] = sides.each_ref().map(|side| self.investigate(side));
        let (old, new) = (old?, new?);
        self.output.result("\n")?;
        self.verb(
            &words(&["diff", &old, &new]),
            Path::new("."),
            Stdio::inherit(),
        )?;
        self.output.result("\n")?;
        self.verb(
            &words(&["explain", "-i", &new]),
            Path::new("."),
            Stdio::inherit(),
        )
    }

    /// Investigates the command in a checkout; returns the case.
    fn investigate(&self, side: &CachedCheckout) -> Result<String, Failure> {
        let short: String = side.commit.chars().take(10).collect();
        self.output.note(&format!("investigating {short}"));
        let file = tempfile::NamedTempFile::new()
            .map_err(|error| Failure::usage(format!("cannot write a temporary file: {error}")))?;
        let budget = format!("{}s", self.args.side_budget.as_secs().max(1));
        let mut words = words(&["investigate", "--name", &short, "--budget", &budget]);
        words.push(format!("--json={}", text(file.path())));
        words.push("--".into());
        words.extend(self.command.iter().cloned());
        self.verb(&words, &side.path, Stdio::null())?;
        let document: serde_json::Value = (std::fs::read(file.path()).ok())
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        (document.get("case").and_then(serde_json::Value::as_str))
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(Exit::TargetFailed, format!("no case of {short}")))
    }

    /// Runs another verb; an error unless it ends with 0. Its messages are the user's.
    fn verb(&self, words: &[String], directory: &Path, stdout: Stdio) -> VerbResult {
        let mut command = Command::new("/proc/self/exe");
        let words = words.iter().map(|word| genba_run::bytes_of(word));
        command.args(words).current_dir(directory);
        command.env("GENBA_HOME", &self.cases).stdout(stdout);
        let status = command
            .status()
            .map_err(|error| Failure::usage(format!("cannot start genba itself: {error}")))?;
        match status.code() {
            Some(0) => Ok(Exit::Done),
            Some(130) | None => Err(Failure::new(Exit::Interrupted, "interrupted")),
            Some(code) => Err(Failure::new(
                Exit::TargetFailed,
                format!("the step ended with exit code {code}; its message is above"),
            )),
        }
    }
}

fn words(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

fn text(path: &Path) -> String {
    genba_run::text_of(path.as_os_str())
}
