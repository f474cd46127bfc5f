//! Errors of preparing a build.

use std::io;
use std::path::{Path, PathBuf};

/// Why a build cannot be prepared. A failing build is not an error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A file or directory cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// The action.
        what: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The source tree is not a directory.
    #[error("{} is not a directory; give the directory of the sources with --source", path.display())]
    NoTree {
        /// The path given.
        path: PathBuf,
    },
    /// The file system has no space for the copies.
    #[error(
        "{} needs {needed} MB and {} has {free} MB left; set TMPDIR to another directory",
        tree.display(), place.display()
    )]
    NoRoom {
        /// The tree.
        tree: PathBuf,
        /// Its size, MiB.
        needed: u64,
        /// Directory of the copy.
        place: PathBuf,
        /// Space left there, MiB.
        free: u64,
    },
    /// git failed.
    #[error("git {action} failed in {}: {message}", place.display())]
    Git {
        /// The git command.
        action: String,
        /// The directory.
        place: PathBuf,
        /// Its error output.
        message: String,
    },
    /// The directory is not in a git repository.
    #[error("{} is not in a git repository; give one with --repository", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
    },
    /// The first commit of a range does not lead to the last.
    #[error(
        "{good} is not an ancestor of {bad}: give a good commit that is one (git merge-base {good} \
         {bad} finds it)"
    )]
    NotAnAncestor {
        /// The first commit, as given.
        good: String,
        /// The last commit, as given.
        bad: String,
    },
    /// A range of commits with nothing to search.
    #[error("no commits between {good} and {bad}")]
    NoCommits {
        /// The first commit, as given.
        good: String,
        /// The last commit, as given.
        bad: String,
    },
    /// A patch does not apply.
    #[error("{} cannot be applied: {message}", patch.display())]
    Patch {
        /// The patch.
        patch: PathBuf,
        /// Error output of git or patch.
        message: String,
    },
    /// A required program is missing.
    #[error("{program} is not installed; install it with: apt-get install {package}")]
    Missing {
        /// The program.
        program: String,
        /// Its Debian package.
        package: String,
    },
}

impl BuildError {
    /// Makes an I/O error an error of this crate, for `map_err`.
    pub(crate) fn file<'a>(
        what: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }
}
