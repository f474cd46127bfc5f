//! Compilers that add flags to whatever the project's own build gives them.
//!
//! A directory of small scripts with the compilers' names is put first into `PATH`. That works
//! for make, CMake, autotools and Meson alike, and unlike `make CFLAGS=…` it takes nothing away
//! that the project says itself: what is added stands behind it, where it prevails.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use genba_run::{CommandSpec, Output};

use crate::build_recipe::link_time_flags;
use crate::toolchain::Role;
use crate::{BuildError, Family, Needs, Recipe, SourceCopy, Toolchain};

/// Which of the builds of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// The one to be measured.
    Final,
    /// Of a profiled recipe the first, which counts.
    Instrumented,
}

/// The tools of one tree.
#[derive(Clone, Debug)]
pub struct CompilerWrappers {
    directory: PathBuf,
    tree: SourceCopy,
    path: OsString,
    cargo: Vec<(String, String)>,
    rustc_wrapper: Option<PathBuf>,
}

impl CompilerWrappers {
    /// Writes the tools for building a tree by a recipe.
    ///
    /// # Errors
    /// A compiler or helper that the recipe needs is missing, a file cannot be written.
    pub fn make(
        tree: &SourceCopy,
        recipe: &Recipe,
        stage: BuildStage,
        chain: &Toolchain,
    ) -> Result<Self, BuildError> {
        if let Needs::Compiler(family) = recipe.needs()
            && !chain.has(family)
        {
            return Err(BuildError::Missing {
                program: family.programs().0.to_owned(),
                package: family.packages().to_owned(),
            });
        }
        let directory = tree.side.join("tools");
        let _ = fs::remove_dir_all(&directory);
        for path in [&directory, &tree.profile()] {
            fs::create_dir_all(path).map_err(BuildError::file("make", path))?;
        }
        let calls = tree.calls();
        let _ = fs::remove_file(&calls);
        let maker = Maker {
            tree: Some(tree),
            recipe,
            stage,
            chain,
        };
        let mut rustc_wrapper = None;
        for (name, (real, role)) in &chain.programs {
            let path = directory.join(name);
            let script = if *role == Role::Rustc {
                rustc_wrapper = Some(tree.side.join("rustc-wrapper"));
                (tree.side.join("rustc-wrapper"), maker.rustc())
            } else {
                (path, maker.script(name, real, *role)?)
            };
            write_script(&script.0, &script.1)?;
        }
        let mut path = directory.clone().into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        let mut cargo = recipe.cargo.clone();
        for (name, value) in [("DEBUG", "1"), ("STRIP", "none")] {
            cargo.push((format!("CARGO_PROFILE_RELEASE_{name}"), value.to_owned()));
        }
        Ok(Self {
            directory,
            tree: tree.clone(),
            path,
            cargo,
            rustc_wrapper,
        })
    }

    /// Writes the compilers of a recipe to a directory to be kept: what stands there adds the
    /// recipe's flags and nothing else. `false` for a recipe that one build does not make.
    ///
    /// # Errors
    /// As [`CompilerWrappers::make`].
    pub fn export(
        directory: &Path,
        recipe: &Recipe,
        chain: &Toolchain,
    ) -> Result<bool, BuildError> {
        if recipe.profiled || !(recipe.rust_flags.is_empty() && recipe.cargo.is_empty()) {
            return Ok(false);
        }
        fs::create_dir_all(directory).map_err(BuildError::file("make", directory))?;
        let maker = Maker {
            tree: None,
            recipe,
            stage: BuildStage::Final,
            chain,
        };
        for (name, (real, role)) in &chain.programs {
            if *role != Role::Rustc {
                write_script(&directory.join(name), &maker.script(name, real, *role)?)?;
            }
        }
        Ok(true)
    }

    /// The directory with the scripts.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A line of the build, for the shell, in the tree and with these tools; what it says goes
    /// to the tree's log.
    #[must_use]
    pub fn command(&self, line: &str) -> CommandSpec {
        let mut spec = CommandSpec::direct(["sh", "-c", "exec 2>&1; eval \"$1\"", "sh"]);
        spec.argv.push(self.tree.word(&line.into()));
        spec.shell_line = Some(line.to_owned());
        spec.directory = Some(self.tree.path.clone());
        spec.stdout = Output::File(self.tree.log());
        let environment = &mut spec.environment;
        environment.set("PATH", self.path.clone());
        // A directory of the person's own would be written into.
        environment.remove("CARGO_TARGET_DIR");
        environment.remove("CARGO_BUILD_TARGET_DIR");
        // What make was told that genba itself was started by.
        for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
            environment.remove(name);
        }
        if let Some(wrapper) = &self.rustc_wrapper {
            environment.set("RUSTC_WRAPPER", wrapper.clone());
        }
        for (name, value) in &self.cargo {
            environment.set(name, value);
        }
        spec
    }

    /// How many times the build called a compiler to compile or link something. 0: the recipe
    /// has changed nothing.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.tree.called().len()
    }

    /// The last lines of the build's log, at most `lines`.
    #[must_use]
    pub fn log_end(&self, lines: usize) -> String {
        log_end(&self.tree.log(), lines)
    }
}

/// Of a long log only so much of the end is read, bytes.
const LOG_TAIL: u64 = 64 << 10;

fn log_end(path: &Path, lines: usize) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(LOG_TAIL)))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

struct Maker<'a> {
    /// `None` for tools that are kept: these leave no traces and say nothing of any copy.
    tree: Option<&'a SourceCopy>,
    recipe: &'a Recipe,
    stage: BuildStage,
    chain: &'a Toolchain,
}

impl Maker<'_> {
    /// Debug information costs no time in the program, and the differential profile needs it;
    /// the sources are named as they lie in the person's tree. In front of the project's flags:
    /// what it says itself prevails.
    fn front(&self) -> Vec<OsString> {
        let Some(tree) = self.tree else {
            return Vec::new();
        };
        let mut map = OsString::from("-ffile-prefix-map=");
        map.push(&tree.path);
        map.push("=");
        map.push(&tree.source);
        vec!["-g".into(), map]
    }

    fn behind(&self, family: Family) -> Vec<OsString> {
        let recipe = self.recipe;
        let mut flags: Vec<OsString> = recipe.flags.iter().map(OsString::from).collect();
        if recipe.link_time {
            let lld = self.chain.find("ld.lld").is_some();
            flags.extend(link_time_flags(family, lld).into_iter().map(OsString::from));
        }
        if recipe.profiled
            && let Some(tree) = self.tree
        {
            let with = |flag: &str, path: PathBuf| {
                let mut flag = OsString::from(flag);
                flag.push(path);
                flag
            };
            let profile = tree.profile();
            match (self.stage, family) {
                (BuildStage::Instrumented, Family::Gcc) => {
                    flags.push(with("-fprofile-generate=", profile));
                    flags.push("-fprofile-update=prefer-atomic".into());
                }
                (BuildStage::Final, Family::Gcc) => {
                    flags.push(with("-fprofile-use=", profile));
                    flags.extend(["-fprofile-correction", "-Wno-missing-profile"].map(Into::into));
                }
                (BuildStage::Instrumented, Family::Clang) => {
                    flags.push(with("-fprofile-generate=", profile));
                }
                (BuildStage::Final, Family::Clang) => {
                    flags.push(with("-fprofile-use=", profile.join("merged.profdata")));
                }
            }
        }
        flags
    }

    fn script(&self, name: &str, real: &Path, role: Role) -> Result<Vec<u8>, BuildError> {
        let recipe = self.recipe;
        let family = recipe.compiler.unwrap_or_else(|| self.chain.usual_family());
        let helper = |usual: &str| -> Result<PathBuf, BuildError> {
            if !recipe.link_time {
                return Ok(real.to_owned());
            }
            let prefix = match family {
                Family::Gcc => "gcc",
                Family::Clang => "llvm",
            };
            let program = format!("{prefix}-{usual}");
            self.chain
                .find(&program)
                .ok_or_else(|| BuildError::Missing {
                    program,
                    package: if family == Family::Gcc { "gcc" } else { "llvm" }.to_owned(),
                })
        };
        let compiler = |own: Family, cxx: bool| -> (PathBuf, Family) {
            match recipe.compiler {
                Some(other) if other != own => {
                    let programs = other.programs();
                    let name = if cxx { programs.1 } else { programs.0 };
                    (
                        self.chain.find(name).unwrap_or_else(|| real.to_owned()),
                        other,
                    )
                }
                _ => (real.to_owned(), own),
            }
        };
        let (real, family) = match role {
            Role::C(own) => compiler(own, false),
            Role::Cxx(own) => compiler(own, true),
            Role::Ar => return Ok(plain_script(name, &helper("ar")?)),
            Role::Nm => return Ok(plain_script(name, &helper("nm")?)),
            Role::Ranlib => return Ok(plain_script(name, &helper("ranlib")?)),
            Role::Rustc => (real.to_owned(), family),
        };
        let mut script = head(name);
        script.extend(self.note(name, 2));
        script.extend(b"exec ");
        script.extend(quoted(real.as_os_str().as_bytes()));
        for flag in self.front() {
            script.push(b' ');
            script.extend(quoted(flag.as_bytes()));
        }
        script.extend(b" \"$@\"");
        for flag in self.behind(family) {
            script.push(b' ');
            script.extend(quoted(flag.as_bytes()));
        }
        script.push(b'\n');
        Ok(script)
    }

    /// Notes a call that compiles or links; a question for the version, of fewer words, does
    /// neither.
    fn note(&self, name: &str, words: usize) -> Vec<u8> {
        let Some(tree) = self.tree else {
            return Vec::new();
        };
        let mut line = format!("[ $# -lt {words} ] || echo ").into_bytes();
        line.extend(quoted(name.as_bytes()));
        line.extend(b" >>");
        line.extend(quoted(tree.calls().as_os_str().as_bytes()));
        line.push(b'\n');
        line
    }

    /// Cargo calls it with the compiler as its first argument.
    fn rustc(&self) -> Vec<u8> {
        let mut script = b"#!/bin/sh\n# What genba adds to this compiler's flags.\n".to_vec();
        script.extend(self.note("rustc", 3));
        script.extend(b"rustc=$1; shift\nexec \"$rustc\" \"$@\"");
        let map = self.tree.map(|tree| {
            let mut map = OsString::from("--remap-path-prefix=");
            map.push(&tree.path);
            map.push("=");
            map.push(&tree.source);
            map
        });
        let flags = self.recipe.rust_flags.iter().map(OsString::from);
        for flag in flags.chain(map) {
            script.push(b' ');
            script.extend(quoted(flag.as_bytes()));
        }
        script.push(b'\n');
        script
    }
}

/// Must hold: what a script starts never finds the scripts again. `gcc-ar` looks for `ar` in
/// `PATH`; were that one of ours, it would start `gcc-ar`, and so on until the machine is full.
/// So `PATH` is what it was, and for the case that this is not enough (another wrapper with ideas
/// of its own) a variable says that one of ours is already at work.
fn head(name: &str) -> Vec<u8> {
    let mut script = b"#!/bin/sh\n# What genba adds to this program.\n".to_vec();
    script.extend(b"if [ -n \"${GENBA_INSIDE-}\" ]; then\n  echo ");
    script.extend(quoted(
        format!("genba: {name} leads back to itself").as_bytes(),
    ));
    script.extend(b" >&2\n  exit 1\nfi\nGENBA_INSIDE=1\nexport GENBA_INSIDE\n");
    match std::env::var_os("PATH") {
        Some(path) => {
            script.extend(b"PATH=");
            script.extend(quoted(path.as_bytes()));
            script.extend(b"\nexport PATH\n");
        }
        None => script.extend(b"unset PATH\n"),
    }
    script
}

fn plain_script(name: &str, real: &Path) -> Vec<u8> {
    let mut script = head(name);
    script.extend(b"exec ");
    script.extend(quoted(real.as_os_str().as_bytes()));
    script.extend(b" \"$@\"\n");
    script
}

/// A word for the shell, whatever is in it.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    out
}

fn write_script(path: &Path, text: &[u8]) -> Result<(), BuildError> {
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(BuildError::file("write", path))
}

#[cfg(test)]
mod tests;
