//! Which file a program's name means.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::RunError;

/// PATH where the environment has none (as `execvp` of glibc).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// What a path turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Program,
    NotExecutable,
    /// In a directory that the user must not search.
    Hidden,
    Directory,
    Missing,
}

/// Looks on the disk.
fn look(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Found::Directory,
        Ok(_) => match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => Found::Program,
            Err(_) => Found::NotExecutable,
        },
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Found::Hidden,
        Err(_) => Found::Missing,
    }
}

/// The path to give to `execve` for `program`, as `execvp` finds it: a name with a slash means
/// that very file, another is looked for in `path` (the target's PATH). Relative paths are
/// relative to `directory`, where the target will be.
///
/// # Errors
/// Not found, not executable, a directory.
pub fn resolve_program(
    program: &OsStr,
    path: Option<&OsStr>,
    directory: Option<&Path>,
) -> Result<PathBuf, RunError> {
    resolve(program, path, &|candidate| match directory {
        Some(directory) => look(&directory.join(candidate)),
        None => look(candidate),
    })
}

fn resolve(
    program: &OsStr,
    path: Option<&OsStr>,
    look: &dyn Fn(&Path) -> Found,
) -> Result<PathBuf, RunError> {
    if program.is_empty() {
        return Err(RunError::EmptyCommand);
    }
    if program.as_bytes().contains(&b'/') {
        let file = PathBuf::from(program);
        return match look(&file) {
            Found::Program => Ok(file),
            Found::NotExecutable | Found::Hidden => Err(RunError::NotExecutable { path: file }),
            Found::Directory => Err(RunError::IsDirectory { path: file }),
            Found::Missing => Err(RunError::NoSuchFile { path: file }),
        };
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut refused = None;
    for entry in path.as_bytes().split(|&byte| byte == b':') {
        // An empty entry means the directory itself.
        let entry = if entry.is_empty() {
            b".".as_slice()
        } else {
            entry
        };
        let candidate = Path::new(OsStr::from_bytes(entry)).join(program);
        match look(&candidate) {
            Found::Program => return Ok(candidate),
            Found::NotExecutable if refused.is_none() => refused = Some(candidate),
            _ => {}
        }
    }
    Err(match refused {
        Some(path) => RunError::NotExecutable { path },
        None => RunError::NotFound {
            program: program.to_string_lossy().into_owned(),
            searched: " in PATH".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn disk(path: &Path) -> Found {
        match path.to_str() {
            Some("/bin/ls" | "./here" | "tool" | "/opt/x") => Found::Program,
            Some("/sbin/ls" | "/sbin/secret") => Found::NotExecutable,
            Some(hidden) if hidden.starts_with("/root/") => Found::Hidden,
            Some("/bin" | "/sbin/bin" | "sub/dir") => Found::Directory,
            _ => Found::Missing,
        }
    }

    fn find(program: &str, path: &str) -> Result<PathBuf, RunError> {
        resolve(OsStr::new(program), Some(OsStr::new(path)), &disk)
    }

    #[test]
    fn directories_of_path_that_must_not_be_searched_are_passed_over() {
        assert_eq!(
            find("ls", "/root/bin:/bin").expect("ls"),
            Path::new("/bin/ls")
        );
        let error = find("tool", "/root/bin:/bin").expect_err("it is nowhere");
        assert!(matches!(error, RunError::NotFound { .. }), "{error}");
        let error = find("/root/bin/tool", "/bin").expect_err("it is hidden");
        assert!(matches!(error, RunError::NotExecutable { .. }), "{error}");
    }

    #[test]
    fn the_first_program_in_path_wins_over_what_may_not_be_executed() {
        assert_eq!(
            find("ls", "/none:/sbin:/bin").expect("found"),
            Path::new("/bin/ls")
        );
        assert_eq!(find("here", "/none:").expect("found"), Path::new("./here"));
        assert!(matches!(
            find("secret", "/sbin:/bin"),
            Err(RunError::NotExecutable { .. })
        ));
        assert!(matches!(
            find("bin", "/sbin"),
            Err(RunError::NotFound { .. })
        ));
        assert!(matches!(find("", "/bin"), Err(RunError::EmptyCommand)));
    }

    #[test]
    fn a_slash_means_that_very_file() {
        assert_eq!(find("/opt/x", "").expect("found"), Path::new("/opt/x"));
        assert!(matches!(
            find("sub/dir", "/bin"),
            Err(RunError::IsDirectory { .. })
        ));
        assert!(matches!(
            find("./ls", "/bin"),
            Err(RunError::NoSuchFile { .. })
        ));
    }

    proptest! {
        #[test]
        fn what_is_found_is_a_program(name in "[a-z/.]{1,6}", path in "[a-z/.:]{0,12}") {
            if let Ok(found) = find(&name, &path) {
                prop_assert_eq!(disk(&found), Found::Program);
            }
        }
    }
}
