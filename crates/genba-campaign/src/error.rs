//! Errors of campaigns.

use std::io;
use std::path::{Path, PathBuf};

use genba_build::BuildError;
use genba_experiment::ExperimentError;
use genba_run::RunError;

/// Why a campaign cannot go on. A build or block that fails is not an error: the others go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// The plan has a mistake; the text names line and key.
    #[error("{file}{}: {message}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
    Plan {
        /// Name of the file.
        file: String,
        /// Line, if known.
        line: Option<usize>,
        /// What is wrong and what to do.
        message: String,
    },
    /// A file of the campaign cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// The action.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// Reason of the operating system.
        source: io::Error,
    },
    /// A stored file does not have what it should have.
    #[error("{} is damaged: {message}; remove it, and what it held is measured again", path.display())]
    Damaged {
        /// Its path.
        path: PathBuf,
        /// What the parser says.
        message: String,
    },
    /// Another genba is at work on the same campaign.
    #[error("another genba runs this campaign ({}); end it first", path.display())]
    Busy {
        /// Directory of the campaign.
        path: PathBuf,
    },
    /// A worker was asked for something that is not in its plan.
    #[error("{key} is not in the plan")]
    UnknownTask {
        /// Key of the build or block.
        key: String,
    },
    /// Slurm refused or failed.
    #[error("{program} failed: {message}")]
    Slurm {
        /// Which of its programs.
        program: &'static str,
        /// What it said.
        message: String,
    },
    /// Slurm's programs know no cluster.
    #[error(
        "{program} finds no Slurm cluster from here: run this on a machine of the cluster, say in SLURM_CONF \
         where its slurm.conf is, or take --on local ({message})"
    )]
    NoCluster {
        /// Which of its programs.
        program: &'static str,
        /// What it said.
        message: String,
    },
    /// A program of Slurm is missing.
    #[error(
        "{program} is not installed: --on slurm needs Slurm's client programs (Debian: slurm-client)"
    )]
    NoSlurm {
        /// Which of its programs.
        program: &'static str,
    },
    /// A revision cannot be found or checked out.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The driver refuses something.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Something could not be started.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl CampaignError {
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

    /// Whether this machine lacks something, rather than the plan being wrong.
    #[must_use]
    pub fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::NoSlurm { .. } | Self::Slurm { .. })
    }
}
