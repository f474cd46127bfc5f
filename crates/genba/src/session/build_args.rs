//! How a program is built in copies of its sources: what `try` and `ablate` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::try_variants::BuildPlan;
use genba_units::parse_duration;

/// The project's own build.
#[derive(Debug, ClapArgs)]
pub struct BuildArgs {
    /// The project's own build, run in copies of the sources.
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,

    /// What removes a former build, run before each build.
    #[arg(long, value_name = "COMMAND", requires = "build")]
    pub clean: Option<String>,

    /// Directory of the sources.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "build")]
    pub source: PathBuf,

    /// End a build after so long [default: 20 times that of the project's own, 5 min at least].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
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
        })
    }
}
