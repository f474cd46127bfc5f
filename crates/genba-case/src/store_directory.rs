//! Which directory the cases are in when the environment names none.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directory of cases within a project.
const NAME: &str = ".genba";

/// What is known of a directory on the way up from the working directory.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// It belongs to this user, and not everybody may create files in it.
    private: bool,
    /// It has a directory of cases (no symbolic link) that belongs to this user.
    has_cases: bool,
    /// Nothing above it belongs to the same project: the root of a git work tree, or the home directory.
    ends_project: bool,
}

/// `.genba` in the working directory, else that of the nearest directory above within the same project;
/// where there is none, it will be made in the working directory.
///
/// Cases of other users are never found: in a directory that is shared, as `/tmp`, anybody can put some down.
pub fn nearest() -> PathBuf {
    let here = PathBuf::from(NAME);
    let Ok(working) = std::env::current_dir() else {
        return here;
    };
    let Ok(user) = std::fs::metadata("/proc/self").map(|process| process.uid()) else {
        return here;
    };
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let levels = working
        .ancestors()
        .map(|directory| level(directory, user, home.as_deref()));
    match height(levels) {
        None | Some(0) => here,
        Some(height) => working
            .ancestors()
            .nth(height)
            .map_or(here, |directory| directory.join(NAME)),
    }
}

/// How many directories up the cases are; `None` where there are none.
fn height(levels: impl Iterator<Item = Level>) -> Option<usize> {
    for (height, level) in levels.enumerate() {
        if !level.private {
            return None;
        }
        if level.has_cases {
            return Some(height);
        }
        if level.ends_project {
            return None;
        }
    }
    None
}

fn level(directory: &Path, user: u32, home: Option<&Path>) -> Level {
    let of_user = |path: &Path| {
        let found = path.symlink_metadata().ok()?;
        (found.is_dir() && found.uid() == user).then_some(found)
    };
    Level {
        private: of_user(directory).is_some_and(|found| found.mode() & 0o002 == 0),
        has_cases: of_user(&directory.join(NAME)).is_some(),
        ends_project: home == Some(directory) || directory.join(".git").exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(what: &str) -> Level {
        Level {
            private: !what.contains("shared"),
            has_cases: what.contains("cases"),
            ends_project: what.contains("root"),
        }
    }

    fn height_of(levels: &[&str]) -> Option<usize> {
        height(levels.iter().map(|what| level(what)))
    }

    #[test]
    fn cases_of_the_nearest_directory_of_the_project_are_taken() {
        assert_eq!(height_of(&["", "cases", "cases root"]), Some(1));
        assert_eq!(height_of(&["cases", "cases"]), Some(0));
        assert_eq!(height_of(&["", "", "cases root"]), Some(2));
        assert_eq!(height_of(&["", ""]), None);
    }

    #[test]
    fn cases_beyond_the_project_or_in_shared_directories_are_not() {
        assert_eq!(height_of(&["", "root", "cases"]), None);
        assert_eq!(height_of(&["", "shared cases"]), None);
        assert_eq!(height_of(&["", "shared", "cases"]), None);
    }

    #[test]
    fn linked_directory_of_cases_is_not_of_the_user() {
        let directory = tempfile::tempdir().expect("a directory");
        let elsewhere = tempfile::tempdir().expect("a directory");
        let user = directory.path().metadata().expect("there").uid();
        let seen = |user| super::level(directory.path(), user, None);
        std::os::unix::fs::symlink(elsewhere.path(), directory.path().join(NAME)).expect("a link");
        assert!(seen(user).private && !seen(user).has_cases);
        std::fs::remove_file(directory.path().join(NAME)).expect("it is there");
        std::fs::create_dir(directory.path().join(NAME)).expect("a directory");
        assert!(seen(user).has_cases);
        assert!(!seen(user + 1).has_cases && !seen(user + 1).private);
    }
}
