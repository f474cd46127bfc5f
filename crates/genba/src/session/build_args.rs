//! Arguments of builds in copies of the source tree, shared by `try` and `ablate`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::try_variants::BuildPlan;
use genba_units::parse_duration;

use crate::exit_code::Failure;

/// How the project is built.
#[derive(Debug, ClapArgs)]
pub struct BuildArgs {
    /// Build command of the project, run in copies of the source tree.
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,

    /// Command that removes an earlier build, run before each build.
    #[arg(long, value_name = "COMMAND", requires = "build")]
    pub clean: Option<String>,

    /// Root of the source tree.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "build")]
    pub source: PathBuf,

    /// End a build after this time [default: 20 times the baseline build, at least 5min].
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    pub build_timeout: Option<Duration>,
}

impl BuildArgs {
    /// The plan of the build, if there is one.
    pub fn plan(&self) -> Option<BuildPlan> {
        Some(BuildPlan {
            source: self.source.clone(),
            build: self.build.clone()?,
            clean: self.clean.clone(),
            timeout: self.build_timeout,
            keep_directory: false,
        })
    }
}

/// Fails where a patch cannot be read: before anything is built for minutes.
pub fn check_patch(path: &Path) -> Result<(), Failure> {
    let read = std::fs::read(path);
    read.map(drop).map_err(|error| {
        Failure::usage(format!("cannot read the patch {}: {error}", path.display()))
    })
}
