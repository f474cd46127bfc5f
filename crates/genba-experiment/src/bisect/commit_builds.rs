//! The commits of a history as candidates: each is checked out, built, and retained for a while.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use genba_build::{BuildDirectory, BuildError, Commit, SourceCopy};
use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Finished, Launcher};

use super::step_search::{Candidate, CandidateList};
use crate::output_streams::capture_errors;
use crate::{Comparer, ExperimentError, VariantPlan};

/// Builds retained at a time besides those of the two ends: the search returns to the neighbours
/// of a suspected commit.
const MAX_BUILDS: usize = 8;
/// Lines of a failed build's output that are shown.
const MAX_ERROR_LINES: usize = 3;

/// The variant that runs in the checkout of a commit, given the commit's name.
pub type VariantOfCheckout<'a> =
    dyn Fn(&str, &SourceCopy) -> Result<VariantPlan, ExperimentError> + 'a;

/// How the commits of a history are built.
pub struct CommitBuildPlan<'a> {
    /// Repository of the commits, or the directory in it whose copy builds run in.
    pub repository: &'a Path,
    /// Build command for the shell.
    pub build: Option<&'a str>,
    /// Time after which a build is ended and its commit skipped.
    pub build_timeout: Duration,
    /// Number of builds at once.
    pub jobs: usize,
    /// What runs in a checkout.
    pub variant: &'a VariantOfCheckout<'a>,
}

/// A history whose commits are built when they are measured.
pub struct CommitBuilds<'a> {
    plan: CommitBuildPlan<'a>,
    /// Commits, oldest first.
    commits: Vec<Commit>,
    /// Where the checkouts lie.
    build_directory: BuildDirectory,
    /// Builds by index of the commit, the most recently used last.
    built: VecDeque<(u64, SourceCopy, VariantPlan)>,
    /// Why commits could not be built.
    failed: BTreeMap<u64, String>,
}

impl<'a> CommitBuilds<'a> {
    /// The commits, oldest first, none of them built yet.
    ///
    /// # Errors
    /// The directory of the checkouts cannot be made.
    pub fn new(commits: Vec<Commit>, plan: CommitBuildPlan<'a>) -> Result<Self, BuildError> {
        Ok(Self {
            plan,
            commits,
            build_directory: BuildDirectory::open()?,
            built: VecDeque::new(),
            failed: BTreeMap::new(),
        })
    }
}

impl CandidateList for CommitBuilds<'_> {
    fn count(&self) -> u64 {
        self.commits.len() as u64
    }

    fn name(&self, point: u64) -> String {
        self.commits[point as usize].short.clone()
    }

    fn detail(&self, point: u64) -> Option<String> {
        Some(self.commits[point as usize].detail.clone())
    }

    fn jobs(&self) -> usize {
        self.plan.jobs.max(1)
    }

    fn prepare(
        &mut self,
        comparer: &mut Comparer<'_>,
        points: &[u64],
    ) -> Result<(), ExperimentError> {
        // Until the first one is missing, the builds of an earlier call serve.
        let next = points.first().copied().unwrap_or_default();
        if self.plan.build.is_none() || self.is_known(next) {
            return Ok(());
        }
        let mut missing = points.to_vec();
        missing.retain(|point| !self.is_known(*point));
        self.build_all(comparer, &missing)
    }

    fn candidate(
        &mut self,
        comparer: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError> {
        if !self.is_known(point) {
            self.build_all(comparer, &[point])?;
        }
        let built = &mut self.built;
        if let Some(place) = built.iter().position(|(at, _, _)| *at == point)
            && let Some(used) = built.remove(place)
        {
            let variant = used.2.clone();
            built.push_back(used);
            return Ok(Ok(variant));
        }
        let reason = self.failed.get(&point).cloned();
        Ok(Err(reason.unwrap_or_else(|| "not built".to_owned())))
    }
}

impl CommitBuilds<'_> {
    /// Whether a commit is built, or cannot be.
    fn is_known(&self, point: u64) -> bool {
        self.failed.contains_key(&point) || self.built.iter().any(|(at, _, _)| *at == point)
    }

    /// Checks these commits out and builds them beside one another.
    fn build_all(
        &mut self,
        comparer: &mut Comparer<'_>,
        points: &[u64],
    ) -> Result<(), ExperimentError> {
        let names: Vec<&str> = (points.iter())
            .map(|point| self.commits[*point as usize].short.as_str())
            .collect();
        comparer.say(&format!("building {}", names.join(", ")), None);
        let mut trees = Vec::new();
        for &point in points {
            self.remove_oldest_build();
            let hash = &self.commits[point as usize].hash;
            match self.build_directory.checkout(self.plan.repository, hash) {
                Ok(tree) => trees.push((point, tree)),
                Err(error) => {
                    let reason = format!("git checkout failed: {error}");
                    self.failed.insert(point, reason);
                }
            }
        }
        let specs: Vec<CommandSpec> = (trees.iter())
            .filter_map(|(_, tree)| self.build_command(tree))
            .collect();
        let reasons = match &specs[..] {
            [] => vec![None; trees.len()],
            [one] => vec![failure_of(&comparer.command(one)?)?],
            _ => run_all(&specs, comparer.cancel())?
                .iter()
                .map(failure_of)
                .collect::<Result<_, _>>()?,
        };
        for ((point, tree), reason) in trees.into_iter().zip(reasons) {
            match reason {
                Some(reason) => {
                    self.remove(&tree);
                    self.failed.insert(point, reason);
                }
                None => {
                    let name = &self.commits[point as usize].short;
                    let variant = (self.plan.variant)(name, &tree)?;
                    self.built.push_back((point, tree, variant));
                }
            }
        }
        Ok(())
    }

    fn build_command(&self, tree: &SourceCopy) -> Option<CommandSpec> {
        let mut spec = CommandSpec::shell(self.plan.build?);
        spec.directory = Some(tree.path().to_owned());
        spec.timeout = Some(self.plan.build_timeout);
        Some(spec)
    }

    /// Makes room for another build: removes the least recently used one, except the two ends.
    fn remove_oldest_build(&mut self) {
        let last = self.count() - 1;
        let inner = |(at, _, _): &(u64, SourceCopy, VariantPlan)| *at != 0 && *at != last;
        let built = &mut self.built;
        let most = MAX_BUILDS.max(2 * self.plan.jobs);
        if built.iter().filter(|one| inner(one)).count() < most {
            return;
        }
        if let Some(place) = built.iter().position(inner)
            && let Some((_, tree, _)) = built.remove(place)
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

/// Runs commands at once, each below a launcher of its own; returns their ends in order.
fn run_all(specs: &[CommandSpec], cancel: &Cancel) -> Result<Vec<Finished>, ExperimentError> {
    let run = |spec: &CommandSpec| -> Result<Finished, ExperimentError> {
        let mut spec = spec.clone();
        capture_errors(&mut spec);
        Ok(Launcher::new()?.run(&spec, cancel)?)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = specs.iter().map(|spec| scope.spawn(|| run(spec))).collect();
        let ended = running.into_iter().map(|one| match one.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// Why a build failed, if it did.
fn failure_of(done: &Finished) -> Result<Option<String>, ExperimentError> {
    if done.record.exit == ExitKind::Cancelled {
        return Err(ExperimentError::Interrupted);
    }
    let end = last_lines(&String::from_utf8_lossy(&done.stderr.captured));
    let failure = done.record.exit.failure();
    Ok(failure.map(|how| match end.is_empty() {
        true => format!("build {how}"),
        false => format!("build {how}: {end}"),
    }))
}

/// The last lines of a build's error output, joined; blank ones are skipped.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(MAX_ERROR_LINES)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_failed_build_is_shown_without_blank_lines() {
        assert_eq!(last_lines("a\nb\n\n  c\nd\n\n"), "b | c | d");
        assert_eq!(last_lines("\n"), "");
    }
}
