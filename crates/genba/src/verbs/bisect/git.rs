//! `genba bisect git`: search the commits between two revisions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_build::{SourceCopy, commits_between};
use genba_experiment::VariantPlan;
use genba_experiment::bisect::{CommitBuildPlan, CommitBuilds, find_step};
use genba_model::{Bisection, BisectionKind};
use genba_units::parse_duration;

use super::{dry_run, finish, open, request, run_search, step_plan, words};
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::session::ExperimentArgs;

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
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration, default_value = "30min")]
    build_timeout: Duration,

    /// Build so many commits at once: the one that is needed and those that are likely to follow. Nothing is measured while
    /// builds run.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64), requires = "build")]
    jobs: u8,

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
    Ok(search(args, output)?.0)
}

/// Searches, stores and prints; returns the result, or none after a dry run.
pub fn search(args: &Args, output: &Output) -> Result<(Exit, Option<Bisection>), Failure> {
    let words = words(&args.command)?;
    let experiment = &args.experiment;
    if experiment.directory.is_some() {
        return Err(Failure::usage(
            "--directory is not supported: commands run in the checkouts; give a directory of the \
             repository with --repository",
        ));
    }
    let commits = commits_between(&args.repository, &args.good, &args.bad, args.ancestry_path)
        .map_err(Failure::usage)?;
    let mut session = open(experiment, words, output)?;
    let first = experiment.variant_of_words("first", words)?;
    let search = request(
        BisectionKind::Git,
        commits.len() as u64,
        words,
        first,
        experiment,
        &session,
    )?;
    if experiment.dry_run {
        let how = format!(
            "{}; each measured commit is built first",
            step_plan(search.candidates)
        );
        return Ok((dry_run(&search, &how, output)?, None));
    }
    let of_checkout = |name: &str, tree: &SourceCopy| Ok(variant(args, name, tree)?);
    let builds = CommitBuildPlan {
        repository: &args.repository,
        build: args.build.as_deref(),
        build_timeout: args.build_timeout,
        jobs: usize::from(args.jobs),
        variant: &of_checkout,
    };
    let mut history = CommitBuilds::new(commits, builds).map_err(Failure::usage)?;
    let (found, seconds) = run_search(&mut session, &search, |comparer| {
        find_step(comparer, &search.plan, &mut history, search.budget)
    })?;
    drop(history);
    let (exit, found) = finish(session, search, found, seconds, experiment)?;
    Ok((exit, Some(found)))
}

/// The command in a checkout.
fn variant(args: &Args, name: &str, tree: &SourceCopy) -> Result<VariantPlan, Failure> {
    let words: Vec<String> = (args.command.iter())
        .map(|word| {
            tree.word(&OsString::from(word))
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let experiment = &args.experiment;
    let mut variant = experiment.variant_of_words(name, &words)?;
    // A program of the checkout, named relative to the user's tree.
    if words[0].contains('/') && !Path::new(&words[0]).is_absolute() {
        let program = tree.path().join(&words[0]);
        if program.exists() {
            variant.spec.argv[0] = program.into_os_string();
        }
    }
    variant.command = genba_run::join_words(&args.command);
    variant.spec.directory = Some(tree.path().to_owned());
    for step in variant.steps_mut() {
        step.directory = Some(tree.path().to_owned());
    }
    Ok(variant)
}
