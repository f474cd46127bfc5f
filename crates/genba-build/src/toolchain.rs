//! Compilers in `PATH` and their families.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Family;

/// Role of a program of a toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    C(Family),
    Cxx(Family),
    Ar,
    Nm,
    Ranlib,
    Rustc,
}

/// The compilers and their helpers that a build would find in `PATH`.
#[derive(Clone, Debug, Default)]
pub struct Toolchain {
    /// Path and role of each program, by name.
    pub(crate) programs: BTreeMap<String, (PathBuf, Role)>,
    pub(crate) path: Vec<PathBuf>,
    /// Family of the compiler that the project's own build calls, once known.
    called: Option<Family>,
}

impl Toolchain {
    /// The compilers in `PATH`.
    #[must_use]
    pub fn look() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::look_in(std::env::split_paths(&path).collect())
    }

    fn look_in(path: Vec<PathBuf>) -> Self {
        let mut programs = BTreeMap::new();
        for directory in &path {
            let Ok(entries) = fs::read_dir(directory) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                let Some(kind) = kind(name) else { continue };
                let path = entry.path();
                if programs.contains_key(name) || !is_executable(&path) || is_cache(&path) {
                    continue;
                }
                let role = role(kind, &path);
                programs.insert(name.to_owned(), (path, role));
            }
        }
        Self {
            programs,
            path,
            called: None,
        }
    }

    /// Sets the usual family to that of the compiler that a build called most.
    pub fn learn_from(&mut self, calls: &[String]) {
        let count = |family: Family| {
            let of = |name: &&String| matches!(self.programs.get(*name), Some((_, Role::C(own) | Role::Cxx(own))) if *own == family);
            calls.iter().filter(of).count()
        };
        let (gcc, clang) = (count(Family::Gcc), count(Family::Clang));
        if gcc + clang > 0 {
            self.called = Some(if clang > gcc {
                Family::Clang
            } else {
                Family::Gcc
            });
        }
    }

    /// Family of the compiler that the project's own build calls; before that is known, of `cc`.
    #[must_use]
    pub fn usual_family(&self) -> Family {
        if let Some(family) = self.called {
            return family;
        }
        match self.programs.get("cc").map(|(_, role)| *role) {
            Some(Role::C(family)) => family,
            _ => Family::Gcc,
        }
    }

    /// Path of a program.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        (self.programs.get(name).map(|(path, _)| path.clone()))
            .or_else(|| in_path(&self.path, name))
    }

    /// Whether C and C++ compilers of this family are installed.
    #[must_use]
    pub fn has(&self, family: Family) -> bool {
        let (c, cxx) = family.programs();
        self.find(c).is_some() && self.find(cxx).is_some()
    }
}

/// Path of a program in `PATH`.
#[cfg(test)]
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    in_path(&std::env::split_paths(&path).collect::<Vec<_>>(), name)
}

fn in_path(path: &[PathBuf], name: &str) -> Option<PathBuf> {
    let mut candidates = path.iter().map(|directory| directory.join(name));
    candidates.find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Whether a program is a compiler cache. It would search `PATH` for the compiler and find a wrapper
/// that calls the cache again.
fn is_cache(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = real.file_name().and_then(OsStr::to_str).unwrap_or_default();
    ["ccache", "sccache", "distcc", "icecc"]
        .iter()
        .any(|cache| name.starts_with(cache))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    C,
    Cxx,
    Ar,
    Nm,
    Ranlib,
    Rustc,
}

/// Kind of a program by its name, with or without target triplet and version.
fn kind(name: &str) -> Option<Kind> {
    let base = match name.rsplit_once('-') {
        Some((base, version))
            if !version.is_empty()
                && version
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.') =>
        {
            base
        }
        _ => name,
    };
    let base = ["x86_64-linux-gnu-", "x86_64-pc-linux-gnu-"]
        .iter()
        .find_map(|triplet| base.strip_prefix(triplet))
        .unwrap_or(base);
    match base {
        "cc" | "gcc" | "clang" | "c99" | "c89" | "c99-gcc" | "c89-gcc" => Some(Kind::C),
        "c++" | "g++" | "clang++" => Some(Kind::Cxx),
        "ar" | "gcc-ar" | "llvm-ar" => Some(Kind::Ar),
        "nm" | "gcc-nm" | "llvm-nm" => Some(Kind::Nm),
        "ranlib" | "gcc-ranlib" | "llvm-ranlib" => Some(Kind::Ranlib),
        "rustc" => Some(Kind::Rustc),
        _ => None,
    }
}

fn role(kind: Kind, path: &Path) -> Role {
    let family = || {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = real
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.contains("clang") {
            Family::Clang
        } else {
            Family::Gcc
        }
    };
    match kind {
        Kind::C => Role::C(family()),
        Kind::Cxx => Role::Cxx(family()),
        Kind::Ar => Role::Ar,
        Kind::Nm => Role::Nm,
        Kind::Ranlib => Role::Ranlib,
        Kind::Rustc => Role::Rustc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_with_triplet_and_version_are_recognised() {
        for name in ["cc", "gcc-12", "x86_64-linux-gnu-gcc", "clang-14", "c99"] {
            assert_eq!(kind(name), Some(Kind::C), "{name}");
        }
        for name in ["g++", "x86_64-linux-gnu-g++-12", "clang++-14", "c++"] {
            assert_eq!(kind(name), Some(Kind::Cxx), "{name}");
        }
        for name in [
            "i686-w64-mingw32-gcc",
            "cpp",
            "gcc-",
            "gccgo",
            "clang-format-14",
        ] {
            assert_eq!(kind(name), None, "{name}");
        }
    }

    #[test]
    fn compiler_caches_are_ignored_and_the_family_is_learned_from_calls() {
        let place = tempfile::tempdir().expect("a directory");
        let program = |directory: &str, name: &str| {
            let path = place.path().join(directory);
            fs::create_dir_all(&path).expect("made");
            fs::write(path.join(name), "#!/bin/sh\n").expect("written");
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o755)).expect("set");
            path
        };
        let cache = program("cache", "ccache");
        symlink("ccache", cache.join("gcc")).expect("linked");
        let real = program("real", "gcc");
        program("real", "clang-14");
        symlink("clang-14", real.join("cc")).expect("linked");
        let mut chain = Toolchain::look_in(vec![cache, real.clone()]);
        assert_eq!(chain.find("gcc"), Some(real.join("gcc")));
        assert_eq!(chain.usual_family(), Family::Clang);
        assert_eq!(chain.find("nothing"), None);
        // A build that calls another compiler than the usual one.
        chain.learn_from(&["make".to_owned()]);
        assert_eq!(chain.usual_family(), Family::Clang);
        chain.learn_from(&["gcc".to_owned(), "cc".to_owned(), "gcc".to_owned()]);
        assert_eq!(chain.usual_family(), Family::Gcc);
    }
}
