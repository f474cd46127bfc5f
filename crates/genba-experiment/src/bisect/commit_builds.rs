//! The commits of a history as candidates: each is checked out, built, and retained for a while.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use genba_build::{BuildDirectory, BuildError, Commit, SourceCopy};
use genba_model::ExitKind;
use genba_run::CommandSpec;

use super::step_search::{Candidate, CandidateList};
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

    fn candidate(
        &mut self,
        comparer: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError> {
        let built = &mut self.built;
        if let Some(place) = built.iter().position(|(at, _, _)| *at == point)
            && let Some(used) = built.remove(place)
        {
            let variant = used.2.clone();
            built.push_back(used);
            return Ok(Ok(variant));
        }
        self.remove_oldest_build();
        let commit = &self.commits[point as usize];
        comparer.say(&format!("building {}", commit.short), None);
        let checkout = self
            .build_directory
            .checkout(self.plan.repository, &commit.hash);
        let tree = match checkout {
            Ok(tree) => tree,
            Err(error) => return Ok(Err(format!("git checkout failed: {error}"))),
        };
        if let Some(reason) = self.build(comparer, &tree)? {
            self.remove(&tree);
            return Ok(Err(reason));
        }
        let variant = (self.plan.variant)(&commit.short, &tree)?;
        self.built.push_back((point, tree, variant.clone()));
        Ok(Ok(variant))
    }
}

impl CommitBuilds<'_> {
    /// Builds a checkout; returns why it failed, if it did.
    fn build(
        &self,
        comparer: &mut Comparer<'_>,
        tree: &SourceCopy,
    ) -> Result<Option<String>, ExperimentError> {
        let Some(line) = self.plan.build else {
            return Ok(None);
        };
        let mut spec = CommandSpec::shell(line);
        spec.directory = Some(tree.path().to_owned());
        spec.timeout = Some(self.plan.build_timeout);
        let done = comparer.command(&spec)?;
        let how = match done.record.exit {
            ExitKind::Code(0) => return Ok(None),
            ExitKind::Cancelled => return Err(ExperimentError::Interrupted),
            ExitKind::Code(code) => format!("build failed with exit code {code}"),
            ExitKind::Signal { signal, .. } => format!("build was killed by signal {signal}"),
            _ => "build timed out".to_owned(),
        };
        let end = last_lines(&String::from_utf8_lossy(&done.stderr.captured));
        Ok(Some(if end.is_empty() {
            how
        } else {
            format!("{how}: {end}")
        }))
    }

    /// Makes room for another build: removes the least recently used one, except the two ends.
    fn remove_oldest_build(&mut self) {
        let last = self.count() - 1;
        let inner = |(at, _, _): &(u64, SourceCopy, VariantPlan)| *at != 0 && *at != last;
        let built = &mut self.built;
        if built.iter().filter(|one| inner(one)).count() < MAX_BUILDS {
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
