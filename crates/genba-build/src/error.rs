//! Why a build cannot be prepared.

use std::io;
use std::path::{Path, PathBuf};

/// Why a build cannot be prepared. That a build *fails* is no error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A file or directory.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The tree is no directory.
    #[error("{} is no directory; give the directory of the sources with --source", path.display())]
    NoTree {
        /// What was given.
        path: PathBuf,
    },
    /// The copies would not fit.
    #[error(
        "{} holds {needed} MB and {} has {free} MB left; give another place with TMPDIR=DIR",
        tree.display(), place.display()
    )]
    NoRoom {
        /// The tree.
        tree: PathBuf,
        /// Its size, megabytes.
        needed: u64,
        /// Where the copy was to be.
        place: PathBuf,
        /// What is left there, megabytes.
        free: u64,
    },
    /// git refused.
    #[error("git {action} failed in {}: {message}", place.display())]
    Git {
        /// What it was to do.
        action: String,
        /// Where.
        place: PathBuf,
        /// What it says.
        message: String,
    },
    /// The directory belongs to no repository.
    #[error("{} is not in a git repository", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
    },
    /// A patch does not fit.
    #[error("{} cannot be applied: {message}", patch.display())]
    Patch {
        /// The patch.
        patch: PathBuf,
        /// What git or patch says.
        message: String,
    },
    /// A tool that is needed is missing.
    #[error("{program} is not installed; install it with: apt-get install {package}")]
    Missing {
        /// The program.
        program: String,
        /// Its Debian package.
        package: String,
    },
}

impl BuildError {
    /// For `map_err`.
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
