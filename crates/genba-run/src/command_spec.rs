//! What to run, and how.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::{RunError, Shell};

/// Time between SIGTERM and SIGKILL unless a spec says otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_millis(500);

/// Where the target's standard input comes from.
#[derive(Clone, Debug, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// genba's own. If that is a terminal, the target stays in genba's process group, so that
    /// interactive programs work.
    Inherit,
    /// A file, opened again for each run; a relative path is relative to genba's directory.
    File(PathBuf),
    /// These bytes, as a file in memory: any size, and no writer whose speed could show in the
    /// measurement.
    Bytes(Arc<[u8]>),
}

/// Where an output stream of the target goes.
#[derive(Clone, Debug, Default)]
pub enum Output {
    /// `/dev/null`.
    #[default]
    Null,
    /// genba's own.
    Inherit,
    /// A file, created or truncated for each run; a relative path is relative to genba's
    /// directory.
    File(PathBuf),
    /// A pipe: read, counted, hashed and discarded.
    Count,
    /// A pipe: counted and hashed, and the first `limit` bytes captured.
    Capture {
        /// Bytes to keep.
        limit: usize,
    },
}

/// The target's environment: genba's own with changes.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Start from an empty environment.
    pub clear: bool,
    /// Variables to set, or to remove (`None`).
    pub changes: BTreeMap<OsString, Option<OsString>>,
}

impl Environment {
    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.changes.insert(name.into(), Some(value.into()));
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: impl Into<OsString>) {
        self.changes.insert(name.into(), None);
    }

    /// The value that the target will see.
    #[must_use]
    pub fn get(&self, name: &OsStr) -> Option<OsString> {
        match self.changes.get(name) {
            Some(change) => change.clone(),
            None if self.clear => None,
            None => std::env::var_os(name),
        }
    }

    /// Puts a library in front of `LD_PRELOAD`, keeping what is there.
    ///
    /// # Errors
    /// When the path has a space or a colon in it: these separate libraries.
    pub fn add_preload(&mut self, library: &Path) -> Result<(), RunError> {
        let bytes = library.as_os_str().as_bytes();
        if bytes.iter().any(|byte| matches!(byte, b' ' | b':')) {
            return Err(RunError::Preload {
                path: library.to_owned(),
            });
        }
        let mut value = library.as_os_str().to_owned();
        let name = OsStr::new("LD_PRELOAD");
        if let Some(before) = self.get(name).filter(|value| !value.is_empty()) {
            value.push(":");
            value.push(before);
        }
        self.set(name, value);
        Ok(())
    }

    /// All variables, unsorted.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let own =
            std::env::vars_os().filter(|(name, _)| !self.clear && !self.changes.contains_key(name));
        let set =
            (self.changes.iter()).filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        own.chain(set).collect()
    }
}

/// A descriptor for the target.
#[derive(Clone, Debug)]
pub struct PassFd {
    /// What it gets.
    pub fd: Arc<OwnedFd>,
    /// The number under which it gets it, 3 or more.
    pub number: i32,
    /// Variable of the environment that names the number.
    pub variable: Option<OsString>,
}

/// A command and everything about how it is run.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// Program (looked up in the target's PATH if it has no slash) and arguments.
    pub argv: Vec<OsString>,
    /// The line that a shell interprets, if one does; for records, not for starting.
    pub shell_line: Option<String>,
    /// Working directory of the target; genba's own if `None`. A program path with a slash that
    /// is relative is relative to it.
    pub directory: Option<PathBuf>,
    /// Environment.
    pub environment: Environment,
    /// Standard input.
    pub stdin: Stdin,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Time-out of the run.
    pub timeout: Option<Duration>,
    /// Time between SIGTERM and SIGKILL, when it is ended.
    pub grace: Duration,
    /// CPUs to run on (numbers as in `/proc/cpuinfo`); all that genba may use if `None`.
    pub cpus: Option<Vec<usize>>,
    /// A descriptor for the target.
    pub pass_fd: Option<PassFd>,
    /// Leave processes that the target leaves behind running until the [`crate::Launcher`] is
    /// dropped, for set-up commands that start a server. Otherwise they end with the run.
    pub leave_running: bool,
}

impl CommandSpec {
    /// A program with its arguments, started directly (`-N`); text may stand for bytes that are not
    /// UTF-8 ([`crate::bytes_of`]).
    pub fn direct<I>(argv: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        Self {
            argv: argv.into_iter().map(|word| as_bytes(word.into())).collect(),
            shell_line: None,
            directory: None,
            environment: Environment::default(),
            stdin: Stdin::default(),
            stdout: Output::default(),
            stderr: Output::default(),
            timeout: None,
            grace: DEFAULT_GRACE,
            cpus: None,
            pass_fd: None,
            leave_running: false,
        }
    }

    /// A line for `sh -c`.
    #[must_use]
    pub fn shell(line: &str) -> Self {
        let mut spec = Self::direct(["sh", "-c", line]);
        spec.shell_line = Some(line.to_owned());
        spec
    }

    /// A line for the shell given, or split into words where that is [`Shell::None`].
    ///
    /// # Errors
    /// An empty line, or (without a shell) a quote that is not closed.
    pub fn from_line(line: &str, shell: &Shell) -> Result<Self, RunError> {
        match shell {
            Shell::None => Ok(Self::direct(crate::split_words(line)?)),
            Shell::Command(words) => {
                if line.trim().is_empty() {
                    return Err(RunError::EmptyCommand);
                }
                let tail = ["-c".to_owned(), line.to_owned()];
                let mut spec = Self::direct(words.iter().cloned().chain(tail));
                spec.shell_line = Some(line.to_owned());
                Ok(spec)
            }
        }
    }

    /// The program as given, for messages.
    pub(crate) fn program(&self) -> String {
        self.argv
            .first()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

fn as_bytes(word: OsString) -> OsString {
    match word.to_str() {
        Some(text) => crate::bytes_of(text),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloads_are_added_in_front() {
        let mut environment = Environment {
            clear: true,
            ..Environment::default()
        };
        environment
            .add_preload(Path::new("/a.so"))
            .expect("a plain path");
        environment
            .add_preload(Path::new("/b.so"))
            .expect("a plain path");
        assert_eq!(
            environment.get(OsStr::new("LD_PRELOAD")),
            Some("/b.so:/a.so".into())
        );
        assert!(
            environment
                .add_preload(Path::new("/with space.so"))
                .is_err()
        );
        assert!(
            environment
                .add_preload(Path::new("/with:colon.so"))
                .is_err()
        );
    }

    #[test]
    fn changes_override_and_remove() {
        let mut environment = Environment::default();
        environment.set("GENBA_TEST", "1");
        environment.remove("PATH");
        let variables = environment.variables();
        assert!(variables.contains(&("GENBA_TEST".into(), "1".into())));
        assert!(variables.iter().all(|(name, _)| name != "PATH"));
        environment.clear = true;
        assert_eq!(environment.variables().len(), 1);
    }
}
