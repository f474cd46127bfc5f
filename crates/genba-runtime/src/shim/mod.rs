//! The runtime's own numbers: small programs that are loaded before the target and report to
//! `$GENBA_METRICS_FD` (lines `NAME VALUE UNIT`) what its garbage collector did.
//!
//! Nothing of the target has to be changed: Ruby loads its shim by `RUBYOPT`, Python by a
//! `sitecustomize` that stands before the user's own and runs it. Both put the variables back
//! for what the target starts, and report for the process that loaded them only.

mod runtime_metrics;

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use genba_run::PrivateDirectory;

pub use runtime_metrics::{REPORTED, Reported, Reporter, reported};

const RUBY: &str = include_str!("shim.rb");
const PYTHON: &str = include_str!("sitecustomize.py");
const REQUESTS: &str = include_str!("requests.rb");

/// Runtimes whose own numbers are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeChoice {
    /// CRuby.
    Ruby,
    /// CPython.
    Python,
    /// Whichever of them the target is.
    Both,
}

/// The shims as files, which exist as long as this value.
#[derive(Debug)]
pub struct Shims {
    directory: PrivateDirectory,
}

/// The metric that decides between runs of requests.
pub const PER_REQUEST: &str = "per_request";

impl Shims {
    /// Writes the shims into a directory of their own, which is removed on drop.
    ///
    /// # Errors
    /// The operating system's, when the directory or a file cannot be made.
    pub fn new() -> io::Result<Self> {
        let temporary = std::env::temp_dir();
        // RUBYOPT and PYTHONPATH have no way to quote these.
        let strange = |c: char| c.is_whitespace() || c == ':';
        let base = match temporary.to_str() {
            Some(text) if !text.contains(strange) => temporary,
            _ => PathBuf::from("/tmp"),
        };
        let directory = PrivateDirectory::new_in(&base, "shims")?;
        // A target may run as another user.
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
        let shims = Self { directory };
        for (name, text) in [
            ("genba_shim.rb", RUBY),
            ("genba_requests.rb", REQUESTS),
            ("sitecustomize.py", PYTHON),
        ] {
            let mut file = std::fs::File::options()
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(shims.directory().join(name))?;
            io::Write::write_all(&mut file, text.as_bytes())?;
        }
        Ok(shims)
    }

    /// Environment variables that load the shims. `now` gives the value that the target would
    /// have of a variable (`RUBYOPT`, `PYTHONPATH`), which is kept.
    #[must_use]
    pub fn environment(
        &self,
        which: RuntimeChoice,
        iterations: Option<u64>,
        now: &dyn Fn(&OsStr) -> Option<OsString>,
    ) -> Vec<(OsString, OsString)> {
        let mut out: Vec<(OsString, OsString)> = Vec::new();
        if which != RuntimeChoice::Python {
            let was = now("RUBYOPT".as_ref()).unwrap_or_default();
            let mut value = OsString::from("-r");
            value.push(self.directory().join("genba_shim.rb"));
            if !was.is_empty() {
                value.push(" ");
                value.push(&was);
            }
            out.push(("GENBA_RUBYOPT".into(), was));
            out.push(("RUBYOPT".into(), value));
        }
        if which != RuntimeChoice::Ruby {
            let was = now("PYTHONPATH".as_ref()).unwrap_or_default();
            let mut value = self.directory().as_os_str().to_owned();
            if !was.is_empty() {
                value.push(":");
                value.push(&was);
            }
            out.push(("GENBA_PYTHONPATH".into(), was));
            out.push(("PYTHONPATH".into(), value));
        }
        if let Some(n) = iterations {
            out.push(("GENBA_ITERATIONS".into(), n.to_string().into()));
        }
        out
    }

    /// The program that sends requests to a Rack application.
    #[must_use]
    pub fn requests(&self) -> PathBuf {
        self.directory().join("genba_requests.rb")
    }

    /// Directory of the shims.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_user_are_kept_behind_the_shims() {
        let shims = Shims::new().unwrap();
        let user = |name: &OsStr| (name == "RUBYOPT").then(|| OsString::from("-W0"));
        let set = shims.environment(RuntimeChoice::Both, Some(7), &user);
        let get = |name: &str| {
            let found = set.iter().find(|(n, _)| n == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned())
        };
        let here = shims.directory().display().to_string();
        assert_eq!(get("RUBYOPT"), Some(format!("-r{here}/genba_shim.rb -W0")));
        assert_eq!(get("GENBA_RUBYOPT").as_deref(), Some("-W0"));
        assert_eq!(get("PYTHONPATH"), Some(here.clone()));
        assert_eq!(get("GENBA_ITERATIONS").as_deref(), Some("7"));
        drop(shims);
        assert!(!Path::new(&here).exists());
    }
}
