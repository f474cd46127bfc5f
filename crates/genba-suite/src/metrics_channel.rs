//! Metrics channel for the trial runs of snippets: the descriptor that generated scripts write to.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use genba_run::PassFd;
use rustix::fs::{MemfdFlags, OFlags};

/// Bytes that are read at most.
const MAX_READ_BYTES: usize = 64 << 10;

/// A memory file, which nobody has to read while the script runs.
pub struct Channel(Arc<OwnedFd>);

impl Channel {
    pub fn new() -> Result<Self, rustix::io::Errno> {
        let file = rustix::fs::memfd_create("genba-snippet", MemfdFlags::CLOEXEC)?;
        // So that a script that opens it anew does not overwrite what is there.
        rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(Self(Arc::new(file)))
    }

    pub fn pass(&self) -> PassFd {
        PassFd {
            fd: Arc::clone(&self.0),
            number: 3,
            variable: Some("GENBA_METRICS_FD".into()),
        }
    }

    /// The number that a run reported under a name, if finite.
    pub fn number(&self, name: &str) -> Option<f64> {
        let mut bytes = vec![0; MAX_READ_BYTES];
        let count = rustix::io::pread(&*self.0, &mut bytes, 0).ok()?;
        find(&String::from_utf8_lossy(&bytes[..count]), name)
    }
}

fn find(text: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().rev().map(str::split_whitespace);
    let mut words = lines.find(|words| words.clone().next() == Some(name))?;
    words
        .nth(1)?
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_of_a_name_counts() {
        let text = "iterations 5 count\nother 1\niterations 6 count\n";
        assert_eq!(find(text, "iterations"), Some(6.0));
        assert_eq!(find(text, "iteration"), None);
        assert_eq!(find("iterations\n", "iterations"), None);
        assert_eq!(find("iterations NaN\n", "iterations"), None);
    }
}
