//! Copy of a source tree.

use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::BuildError;

/// Marker of directories with files that can be regenerated: <https://bford.info/cachedir/>. Cargo's
/// `target` has it.
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Copies a tree with times and permissions; links stay links. Returns notes on what was skipped.
///
/// # Errors
/// The tree cannot be read, the copy not be written.
pub fn copy_tree(source: &Path, to: &Path) -> Result<Vec<String>, BuildError> {
    if !source.is_dir() {
        return Err(BuildError::NoTree {
            path: source.to_owned(),
        });
    }
    let plan = Plan::of(source, to)?;
    plan.check_room(source, to)?;
    let mut notes = plan.notes;
    for step in &plan.steps {
        if !step.copy()? {
            notes.push(format!(
                "{} vanished while it was copied",
                step.from.display()
            ));
        }
    }
    // Afterwards and inside out: writing into a directory changes its time, and may need a
    // permission that it does not have in the end.
    for step in plan
        .steps
        .iter()
        .rev()
        .filter(|step| step.kind == Kind::Directory)
    {
        if let Ok(like) = fs::metadata(&step.from) {
            let _ = set_times(&step.to, &like);
            let mode = like.permissions().mode() | 0o700;
            let _ = fs::set_permissions(&step.to, fs::Permissions::from_mode(mode));
        }
    }
    Ok(notes)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Link,
}

struct Step {
    kind: Kind,
    from: PathBuf,
    to: PathBuf,
}

struct Plan {
    steps: Vec<Step>,
    bytes: u64,
    notes: Vec<String>,
}

impl Plan {
    fn of(source: &Path, to: &Path) -> Result<Self, BuildError> {
        let mut plan = Self {
            steps: Vec::new(),
            bytes: 0,
            notes: Vec::new(),
        };
        let mut pending = vec![(source.to_owned(), to.to_owned())];
        while let Some((from, to)) = pending.pop() {
            let below = |path: &Path| {
                let below = path.strip_prefix(source).unwrap_or(path);
                below.display().to_string()
            };
            if from != source {
                if is_cache(&from) {
                    continue;
                }
                if let Some(why) = has_absolute_paths(&from) {
                    plan.notes.push(format!(
                        "{} was skipped in the copies: {why}; --build must create it again",
                        below(&from)
                    ));
                    continue;
                }
            }
            let entries = fs::read_dir(&from).map_err(BuildError::file("read", &from))?;
            plan.steps.push(Step {
                kind: Kind::Directory,
                from: from.clone(),
                to: to.clone(),
            });
            for entry in entries {
                let entry = entry.map_err(BuildError::file("read", &from))?;
                let (path, target) = (entry.path(), to.join(entry.file_name()));
                let about = (entry.metadata()).map_err(BuildError::file("read", &path))?;
                let kind = about.file_type();
                if kind.is_dir() {
                    // genba's own cases are not sources.
                    if entry.file_name() != ".genba" && !to.starts_with(&path) {
                        pending.push((path, target));
                    }
                } else if kind.is_file() || kind.is_symlink() {
                    plan.bytes += if kind.is_file() { about.len() } else { 0 };
                    plan.steps.push(Step {
                        kind: if kind.is_file() {
                            Kind::File
                        } else {
                            Kind::Link
                        },
                        from: path,
                        to: target,
                    });
                } else if kind.is_socket() || kind.is_fifo() {
                    plan.notes.push(format!(
                        "{} is not a regular file and was not copied",
                        below(&path)
                    ));
                }
            }
        }
        Ok(plan)
    }

    fn check_room(&self, tree: &Path, to: &Path) -> Result<(), BuildError> {
        let place = to.parent().unwrap_or(to);
        let Ok(about) = rustix::fs::statvfs(place) else {
            return Ok(());
        };
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        // The build needs space, too.
        if self.bytes.saturating_mul(2) < free {
            return Ok(());
        }
        Err(BuildError::NoRoom {
            tree: tree.to_owned(),
            needed: self.bytes >> 20,
            place: place.to_owned(),
            free: free >> 20,
        })
    }
}

impl Step {
    /// Copies one entry; false if it no longer exists.
    fn copy(&self) -> Result<bool, BuildError> {
        let done = match self.kind {
            Kind::Directory => fs::create_dir(&self.to),
            Kind::File => copy_file(&self.from, &self.to),
            Kind::Link => fs::read_link(&self.from).and_then(|to| symlink(to, &self.to)),
        };
        match done {
            Ok(()) => Ok(true),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && self.kind != Kind::Directory =>
            {
                Ok(false)
            }
            Err(error) => Err(BuildError::file("copy", &self.from)(error)),
        }
    }
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    // Shares the blocks if the file system supports it.
    fs::copy(from, to)?;
    let like = fs::metadata(from)?;
    set_times(to, &like).or_else(|error| match error.kind() {
        // A read-only file keeps the time of the copy.
        io::ErrorKind::PermissionDenied => Ok(()),
        _ => Err(error),
    })
}

/// Sets the times of a copy, because `make` compares them.
fn set_times(path: &Path, like: &fs::Metadata) -> io::Result<()> {
    let times = FileTimes::new().set_modified(like.modified()?);
    let times = times.set_accessed(like.accessed()?);
    File::open(path)?.set_times(times)
}

fn is_cache(directory: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; CACHE_SIGNATURE.len()];
    File::open(directory.join(CACHE_TAG))
        .and_then(|mut file| file.read_exact(&mut start))
        .is_ok_and(|()| start == CACHE_SIGNATURE)
}

/// Why a directory cannot be copied: a configured build directory of CMake or Meson contains its
/// absolute path in every rule, so a build in the copy would write into the user's tree.
fn has_absolute_paths(directory: &Path) -> Option<&'static str> {
    if directory.join("CMakeCache.txt").exists() {
        Some("CMake configured it with its absolute path")
    } else if directory.join("meson-private").is_dir() {
        Some("Meson configured it with its absolute path")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_is_identical_except_for_caches_and_configured_directories() {
        let place = tempfile::tempdir().expect("a directory");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        for directory in ["src/deep", "target", "build", ".genba/1"] {
            fs::create_dir_all(from.join(directory)).expect("made");
        }
        let write = |name: &str, text: &[u8]| fs::write(from.join(name), text).expect("written");
        write("src/a.c", b"int a;");
        write("src/deep/run", b"#!/bin/sh");
        write("target/CACHEDIR.TAG", CACHE_SIGNATURE);
        write("target/big", b"x");
        write("build/CMakeCache.txt", b"");
        fs::set_permissions(from.join("src/deep/run"), fs::Permissions::from_mode(0o555))
            .expect("set");
        symlink("a.c", from.join("src/b.c")).expect("linked");
        let notes = copy_tree(&from, &to).expect("copied");
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("CMake"));
        assert!(!to.join("target").exists() && !to.join(".genba").exists());
        assert_eq!(
            fs::read_link(to.join("src/b.c")).expect("a link"),
            Path::new("a.c")
        );
        let about = |path: PathBuf| fs::metadata(path).expect("there");
        let (one, two) = (
            about(from.join("src/deep/run")),
            about(to.join("src/deep/run")),
        );
        assert_eq!(one.permissions().mode(), two.permissions().mode());
        let (one, two) = (about(from.join("src/a.c")), about(to.join("src/a.c")));
        assert_eq!(one.modified().expect("time"), two.modified().expect("time"));
    }
}
