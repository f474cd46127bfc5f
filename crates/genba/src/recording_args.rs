//! Which recording to read, and how; shared by `report`, `annotate` and `flame`.

use std::path::PathBuf;

use clap::Args;
use genba_case::{Case, Store};
use genba_explain::{ExplainError, Scene, SceneOptions};

use crate::exit::{Exit, Failure};

/// Which recording to read, and how.
#[derive(Debug, Args)]
pub struct RecordingArgs {
    /// Recording to read: a perf.data of genba's or perf's, or the id of a case (`latest` too).
    #[arg(short, long, value_name = "FILE|CASE", default_value = "perf.data")]
    input: PathBuf,

    /// Which event of a recording that has several.
    #[arg(short, long, value_name = "EVENT")]
    event: Option<String>,
}

impl RecordingArgs {
    /// The case that is meant, if the input is no file: what it keeps needs no binaries.
    pub fn case(&self) -> Option<Case> {
        if self.event.is_some() || self.input.exists() {
            return None;
        }
        Store::open_root().find(&self.input.to_string_lossy()).ok()
    }

    /// Opens the recording and joins it with the code.
    pub fn open(&self, stacks: bool, kernel_names: bool) -> Result<Scene, Failure> {
        let path = self.path()?;
        let options = SceneOptions {
            event: self.event.clone(),
            stacks,
            kernel_names,
        };
        Scene::open(&path, &options).map_err(|error| failure(&error))
    }

    /// The file itself, or the recording of the case of that name.
    fn path(&self) -> Result<PathBuf, Failure> {
        if self.input.exists() {
            return Ok(self.input.clone());
        }
        let name = self.input.to_string_lossy();
        if name == "perf.data" {
            return Err(Failure::usage(
                "there is no perf.data here; make one with: genba record -- COMMAND",
            ));
        }
        match Store::open_root().find(&name) {
            Ok(case) => Ok(case.recording_path()),
            Err(_) => Err(Failure::usage(format!(
                "{name} is neither a file nor a case here"
            ))),
        }
    }
}

/// The exit code of an error in reading.
pub fn failure(error: &ExplainError) -> Failure {
    let exit = match error {
        ExplainError::Read(_) | ExplainError::NoSuchFunction { .. } => Exit::Usage,
        ExplainError::NoSamples { .. } => Exit::TargetFailed,
        ExplainError::NoCode { .. } => Exit::Unsupported,
    };
    Failure::new(exit, error)
}
