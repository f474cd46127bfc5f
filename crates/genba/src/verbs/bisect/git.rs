//! `genba bisect git`: search the commits between two revisions.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_build::{BuildDirectory, SourceCopy};
use genba_experiment::bisect::{Candidate, CandidateList, SearchRequest, find_step};
use genba_experiment::{Comparer, ExperimentError, VariantPlan};
use genba_model::{BisectionKind, ExitKind};
use genba_run::CommandSpec;

use super::{budget, dry_run, finish, open, step_plan, words};
use genba_units::parse_duration;

use crate::exit_code::{Failure, VerbResult};
use crate::output::Output;
use crate::session::{ExperimentArgs, line_of};

/// Default budget with builds, seconds.
const SECONDS: f64 = 3_600.0;
/// Builds retained at a time besides those of the two ends: the search returns to the neighbours
/// of a suspected commit.
const MAX_BUILDS: usize = 8;
/// Lines of a failed build's output that are shown.
const MAX_ERROR_LINES: usize = 3;

/// Arguments of `genba bisect git`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Commit before the change.
    #[arg(long, value_name = "COMMIT")]
    good: String,

    /// Commit with the change.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    bad: String,

    /// Build command, run by the shell in a separate checkout of each commit.
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,

    /// End a build after this time; its commit is skipped.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30min")]
    build_timeout: Duration,

    /// Repository, or the directory in it, in which builds and commands run.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repository: PathBuf,

    /// Search all commits that descend from the good one, not only first parents of merges.
    #[arg(long)]
    ancestry_path: bool,

    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Command, run in the checkout; {tree} is replaced by its directory.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `genba bisect git`.
pub fn run(args: &Args, output: &Output) -> VerbResult {
    let words = words(&args.command)?;
    let command = line_of(words);
    let experiment = &args.experiment;
    if experiment.directory.is_some() {
        return Err(Failure::usage(
            "--directory is not supported: commands run in the checkouts; give a directory of the \
             repository with --repository",
        ));
    }
    let commits = history(args)?;
    let mut session = open(experiment, &command, output)?;
    let first = experiment.variant_of_words("first", words)?;
    let plan = super::plan(experiment, first, &session)?;
    let search = SearchRequest {
        of: BisectionKind::Git,
        command,
        candidates: commits.len() as u64,
        plan,
        budget: budget(experiment, SECONDS),
    };
    if experiment.dry_run {
        let how = format!(
            "{}; each measured commit is built first",
            step_plan(search.candidates)
        );
        return dry_run(&search, &how, output);
    }
    let mut history = History {
        args,
        commits,
        build_directory: BuildDirectory::open().map_err(Failure::usage)?,
        built: VecDeque::new(),
    };
    let mut comparer = session.comparer(&search.plan)?;
    let found = find_step(&mut comparer, &search.plan, &mut history, search.budget)?;
    let seconds = comparer.elapsed();
    drop(comparer);
    drop(history);
    finish(session, search, found, seconds, experiment)
}

struct Commit {
    full: String,
    short: String,
    /// Date, author, subject.
    detail: String,
}

/// The good commit and all after it, oldest first.
fn history(args: &Args) -> Result<Vec<Commit>, Failure> {
    let format = "--format=%H%x00%h%x00%ad%x00%an%x00%s";
    let name = |commit: &str| -> Result<String, Failure> {
        let of = format!("{commit}^{{commit}}");
        let found = git(
            args,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &of],
        )?;
        found.map(|text| text.trim().to_owned()).ok_or_else(|| {
            Failure::usage(format!(
                "no commit {commit:?} in the repository at {}",
                args.repository.display()
            ))
        })
    };
    let (good, bad) = (name(&args.good)?, name(&args.bad)?);
    if git(args, &["merge-base", "--is-ancestor", &good, &bad])?.is_none() {
        return Err(Failure::usage(format!(
            "{} is not an ancestor of {}: give a good commit that is one (git merge-base {0} {1} finds \
             it)",
            args.good, args.bad
        )));
    }
    let range = format!("{good}..{bad}");
    let path = if args.ancestry_path {
        "--ancestry-path"
    } else {
        "--first-parent"
    };
    let log = ["log", "--reverse", "--topo-order", "--date=short", format];
    let first = git(args, &[&log[..], &["-1", &good]].concat())?;
    let rest = git(args, &[&log[..], &[path, &range]].concat())?;
    let text = first.unwrap_or_default() + &rest.unwrap_or_default();
    let commits: Vec<Commit> = text.lines().filter_map(commit).collect();
    if commits.len() < 2 {
        return Err(Failure::usage(format!(
            "no commits between {} and {}",
            args.good, args.bad
        )));
    }
    Ok(commits)
}

fn commit(line: &str) -> Option<Commit> {
    let mut parts = line.splitn(5, '\0');
    let mut next = || parts.next().map(str::to_owned);
    let (full, short, date) = (next()?, next()?, next()?);
    let (author, subject) = (next()?, next().unwrap_or_default());
    Some(Commit {
        full,
        short,
        detail: format!("{date} {author}: {subject}"),
    })
}

/// The standard output of git; `None` if it fails.
fn git(args: &Args, words: &[&str]) -> Result<Option<String>, Failure> {
    let mut command = Command::new("git");
    command.current_dir(&args.repository).args(words);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    // Read only: git does not even refresh the index.
    command.env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let done = command.output().map_err(|error| {
        Failure::usage(format!(
            "cannot run git in {}: {error}",
            args.repository.display()
        ))
    })?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        if said.contains("not a git repository") {
            return Err(Failure::usage(format!(
                "{} is not in a git repository; give one with --repository",
                args.repository.display()
            )));
        }
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&done.stdout).into_owned()))
}

/// The commits with their retained builds.
struct History<'a> {
    args: &'a Args,
    commits: Vec<Commit>,
    build_directory: BuildDirectory,
    /// Builds by index of the commit, the most recently used last.
    built: VecDeque<(u64, SourceCopy, VariantPlan)>,
}

impl CandidateList for History<'_> {
    fn count(&self) -> u64 {
        self.commits.len() as u64
    }

    fn name(&self, point: u64) -> String {
        self.commits[point as usize].short.clone()
    }

    fn detail(&self, point: u64) -> Option<String> {
        Some(self.commits[point as usize].detail.clone())
    }

    fn candidate(
        &mut self,
        comparer: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError> {
        if let Some(place) = self.built.iter().position(|(at, _, _)| *at == point)
            && let Some(used) = self.built.remove(place)
        {
            let variant = used.2.clone();
            self.built.push_back(used);
            return Ok(Ok(variant));
        }
        self.remove_oldest_build();
        let commit = &self.commits[point as usize];
        comparer.say(&format!("building {}", commit.short), None);
        let tree = match self
            .build_directory
            .checkout(&self.args.repository, &commit.full)
        {
            Ok(tree) => tree,
            Err(error) => return Ok(Err(format!("git checkout failed: {error}"))),
        };
        if let Some(reason) = self.build(comparer, &tree)? {
            self.remove(&tree);
            return Ok(Err(reason));
        }
        let variant = self
            .variant(&commit.short, &tree)
            .map_err(ExperimentError::from)?;
        self.built.push_back((point, tree, variant.clone()));
        Ok(Ok(variant))
    }
}

impl History<'_> {
    /// Builds a checkout; returns why it failed, if it did.
    fn build(
        &self,
        comparer: &mut Comparer<'_>,
        tree: &SourceCopy,
    ) -> Result<Option<String>, ExperimentError> {
        let Some(line) = &self.args.build else {
            return Ok(None);
        };
        let mut spec = CommandSpec::shell(line);
        spec.directory = Some(tree.path().to_owned());
        spec.timeout = Some(self.args.build_timeout);
        let done = comparer.command(&spec)?;
        let how = match done.record.exit {
            ExitKind::Code(0) => return Ok(None),
            ExitKind::Cancelled => return Err(ExperimentError::Interrupted),
            ExitKind::Code(code) => format!("build failed with exit code {code}"),
            ExitKind::Signal { signal, .. } => format!("build was killed by signal {signal}"),
            _ => "build timed out".to_owned(),
        };
        let said = String::from_utf8_lossy(&done.stderr.captured).into_owned();
        let lines: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let end = lines[lines.len().saturating_sub(MAX_ERROR_LINES)..].join(" | ");
        Ok(Some(if end.is_empty() {
            how
        } else {
            format!("{how}: {end}")
        }))
    }

    fn variant(&self, name: &str, tree: &SourceCopy) -> Result<VariantPlan, Failure> {
        let words: Vec<String> = (self.args.command.iter())
            .map(|word| {
                tree.word(&OsString::from(word))
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        let experiment = &self.args.experiment;
        let mut variant = experiment.variant_of_words(name, &words)?;
        // A program of the checkout, named relative to the user's tree.
        if words[0].contains('/') && !Path::new(&words[0]).is_absolute() {
            let program = tree.path().join(&words[0]);
            if program.exists() {
                variant.spec.argv[0] = program.into_os_string();
            }
        }
        variant.command = line_of(&self.args.command);
        variant.spec.directory = Some(tree.path().to_owned());
        for step in variant.steps_mut() {
            step.directory = Some(tree.path().to_owned());
        }
        Ok(variant)
    }

    /// Makes room for another build: removes the least recently used one, except the two ends.
    fn remove_oldest_build(&mut self) {
        let last = self.count() - 1;
        let inner = |(at, _, _): &(u64, SourceCopy, VariantPlan)| *at != 0 && *at != last;
        if self.built.iter().filter(|built| inner(built)).count() < MAX_BUILDS {
            return;
        }
        if let Some(place) = self.built.iter().position(inner)
            && let Some((_, tree, _)) = self.built.remove(place)
        {
            self.remove(&tree);
        }
    }

    /// Removes a checkout; what cannot be removed now is removed with the build directory.
    fn remove(&self, tree: &SourceCopy) {
        let place = self.build_directory.path();
        let first = (tree.path().strip_prefix(place).ok()).and_then(|below| below.iter().next());
        if let Some(first) = first {
            let _ = std::fs::remove_dir_all(place.join(first));
        }
    }
}
