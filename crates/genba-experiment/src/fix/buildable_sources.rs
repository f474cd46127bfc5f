//! The sources of a finding and the build of its program: the user's, or derived from debug information.

use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_model::{Finding, Workload};

use super::{DerivedBuild, SourceTree, derived_build};
use crate::try_variants::BuildPlan;

/// The source tree that a finding's rewrites are of, and how its program is built in copies of it.
pub struct BuildableSources {
    /// The tree that is read and copied.
    pub tree: SourceTree,
    /// The user's tree.
    pub root: PathBuf,
    /// The build.
    pub plan: BuildPlan,
    /// The build, if it was derived.
    derived: Option<DerivedBuild>,
}

impl BuildableSources {
    /// The sources and build that the user gave, else those that debug information of the workload's
    /// program tells; a program's name is relative to `directory`. `build_timeout` is that of a derived
    /// build.
    ///
    /// # Errors
    /// Why there are none, as a clause.
    pub fn of_finding(
        finding: &Finding,
        workload: &Workload,
        directory: &Path,
        given: Option<BuildPlan>,
        build_timeout: Option<Duration>,
    ) -> Result<Self, String> {
        let sites = std::iter::successors(Some(&finding.site), |site| site.called_from.as_deref());
        let files: Vec<&str> = sites.filter_map(|site| site.file.as_deref()).collect();
        if files.is_empty() {
            return Err("it has no source lines; build the program with -g".to_owned());
        }
        if let Some(plan) = given {
            let tree = tree_with_any_of(&files, &plan.source)?;
            return Ok(Self {
                root: tree.root.clone(),
                tree,
                plan,
                derived: None,
            });
        }
        let needs =
            |reason: String| format!("the build is not known ({reason}); give --build COMMAND");
        if workload.shell.is_some() {
            return Err(needs("the command is a line for a shell".to_owned()));
        }
        let program = workload.command.first().map_or("", String::as_str);
        let program = directory.join(genba_run::bytes_of(program));
        let derived = derived_build(&program).map_err(needs)?;
        Ok(Self {
            tree: tree_with_any_of(&files, derived.sources.path())?,
            root: derived.root.clone(),
            plan: BuildPlan {
                source: derived.sources.path().to_owned(),
                build: derived.command.clone(),
                clean: None,
                timeout: build_timeout,
                keep_directory: true,
            },
            derived: Some(derived),
        })
    }

    /// The words of the workload's command; a derived build's program instead of the workload's.
    #[must_use]
    pub fn command_words(&self, workload: &Workload) -> Vec<String> {
        let mut words = workload.command.clone();
        if let (Some(derived), Some(first)) = (&self.derived, words.first_mut()) {
            *first = format!("{{tree}}/{}", derived.program);
        }
        words
    }
}

/// The source tree, with the first of the files that lies in it.
fn tree_with_any_of(files: &[&str], root: &Path) -> Result<SourceTree, String> {
    let mut trees = files.iter().map(|file| SourceTree::read(root, file));
    let first = trees.next().ok_or("it has no source lines")?;
    first.or_else(|reason| trees.find_map(Result::ok).ok_or(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_is_read_with_the_first_file_that_lies_in_it_and_the_reason_is_of_the_first() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(
            directory.path().join("own.c"),
            "int f(void) { return 1; }\n",
        )
        .expect("written");
        let tree = tree_with_any_of(&["/usr/lib/header.h", "own.c"], directory.path());
        let tree = tree.unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!(tree.sources.files[tree.file].path, "own.c");
        let reason = tree_with_any_of(&["/usr/lib/header.h", "gone.c"], directory.path()).err();
        assert!(reason.is_some_and(|reason| reason.contains("/usr/lib/header.h")));
    }
}
