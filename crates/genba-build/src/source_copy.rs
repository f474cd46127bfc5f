//! A copy or checkout of the sources to build in.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A copy or checkout of the sources, with a directory next to it for wrappers, profile and log.
#[derive(Clone, Debug)]
pub struct SourceCopy {
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    pub(crate) source: PathBuf,
    pub(crate) reference: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) side: PathBuf,
}

impl SourceCopy {
    /// Directory that corresponds to the copied directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The copied directory.
    #[must_use]
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// Notes on skipped entries, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Path of the build log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.side.join("log")
    }

    /// Path of the list of compiler calls.
    #[must_use]
    pub fn calls(&self) -> PathBuf {
        self.side.join("calls")
    }

    /// Names of the called compilers, one for each call.
    #[must_use]
    pub fn called(&self) -> Vec<String> {
        let text = std::fs::read(self.calls()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// Directory of the profile of an instrumented build.
    #[must_use]
    pub fn profile(&self) -> PathBuf {
        self.side.join("profile")
    }

    /// A word of a command line for this copy: absolute paths into the source tree become paths into
    /// the copy, and `{tree}` its directory.
    #[must_use]
    pub fn word(&self, word: &OsString) -> OsString {
        let tree = self.path.as_os_str().as_bytes();
        let replaced = replace(word.as_bytes(), b"{tree}", tree, |_| true);
        let source = self.source.as_os_str().as_bytes();
        // Only whole names: /src/lua, but not /src/lua-old.
        let ends = |next: Option<u8>| next.is_none_or(|byte| !is_name(byte));
        OsString::from_vec(if source == b"/" {
            replaced
        } else {
            replace(&replaced, source, tree, ends)
        })
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'~') || byte > 127
}

fn replace(text: &[u8], from: &[u8], to: &[u8], ends: impl Fn(Option<u8>) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if !from.is_empty() && rest.starts_with(from) && ends(rest.get(from.len()).copied()) {
            out.extend_from_slice(to);
            rest = &rest[from.len()..];
        } else {
            out.push(rest[0]);
            rest = &rest[1..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_into_the_sources_become_paths_into_the_copy() {
        let tree = SourceCopy {
            number: 0,
            path: "/tmp/w/0000".into(),
            source: "/home/me/lua".into(),
            reference: None,
            notes: Vec::new(),
            side: "/tmp/w/0000-of".into(),
        };
        let word = |text: &str| tree.word(&text.into()).into_string().expect("text");
        assert_eq!(word("/home/me/lua/src/lua"), "/tmp/w/0000/src/lua");
        assert_eq!(word("--with=/home/me/lua"), "--with=/tmp/w/0000");
        assert_eq!(word("/home/me/lua-old/lua"), "/home/me/lua-old/lua");
        assert_eq!(word("{tree}/x {tree}"), "/tmp/w/0000/x /tmp/w/0000");
        assert_eq!(word("./src/lua"), "./src/lua");
    }
}
