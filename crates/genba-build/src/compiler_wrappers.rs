//! Compiler wrappers: scripts that append flags to those of the project's own build.
//!
//! A directory of small scripts with the names of the compilers is first in `PATH`. That works for
//! make, CMake, autotools and Meson. Unlike `make CFLAGS=…` it does not replace the flags of the
//! project; the appended flags take precedence.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use genba_run::{CommandSpec, Output, quote_bytes};

use crate::build_recipe::{Needs, link_time_flags};
use crate::toolchain::Role;
use crate::{BuildError, Family, Recipe, SourceCopy, Toolchain};

/// Build of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// The build that is measured.
    Final,
    /// The instrumented first build of a profile-guided recipe.
    Instrumented,
}

/// The compiler wrappers of one copy.
#[derive(Clone, Debug)]
pub struct CompilerWrappers {
    directory: PathBuf,
    tree: SourceCopy,
    path: OsString,
    cargo: Vec<(String, String)>,
    rustc_wrapper: Option<PathBuf>,
}

impl CompilerWrappers {
    /// Writes the wrappers for building a copy with a recipe.
    ///
    /// # Errors
    /// A compiler or helper that the recipe needs is missing, or a file cannot be written.
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
        let maker = WrapperWriter {
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

    /// Writes wrappers to a permanent directory that append the flags of a recipe and nothing else.
    /// `false` for a recipe that needs more than one build.
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
        let maker = WrapperWriter {
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

    /// Directory of the wrappers.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A shell command of the build, in the copy and with these wrappers; its output goes to the log.
    #[must_use]
    pub fn command(&self, line: &str) -> CommandSpec {
        let mut spec = CommandSpec::direct(["sh", "-c", "exec 2>&1; eval \"$1\"", "sh"]);
        spec.argv.push(self.tree.word(&line.into()));
        spec.shell_line = Some(line.to_owned());
        spec.directory = Some(self.tree.path.clone());
        spec.stdout = Output::File(self.tree.log());
        let environment = &mut spec.environment;
        environment.set("PATH", self.path.clone());
        // A build in a directory of the user would write into it.
        environment.remove("CARGO_TARGET_DIR");
        environment.remove("CARGO_BUILD_TARGET_DIR");
        // Variables of a make that started genba itself.
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

    /// Number of calls of a compiler to compile or link; with 0 the recipe has changed nothing.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.tree.called().len()
    }

    /// The last lines of the build log, at most `lines`.
    #[must_use]
    pub fn log_end(&self, lines: usize) -> String {
        log_end(&self.tree.log(), lines)
    }
}

/// Bytes read from the end of a log at most.
const LOG_TAIL_BYTES: u64 = 64 << 10;

fn log_end(path: &Path, lines: usize) -> String {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(LOG_TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
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

struct WrapperWriter<'a> {
    /// `None` for exported wrappers, which record no calls and know no copy.
    tree: Option<&'a SourceCopy>,
    recipe: &'a Recipe,
    stage: BuildStage,
    chain: &'a Toolchain,
}

impl WrapperWriter<'_> {
    /// Flags in front of those of the project, which take precedence: debug information for the
    /// differential profile, with the paths of the user's tree.
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
        script.extend(quote_bytes(real.as_os_str().as_bytes()));
        for flag in self.front() {
            script.push(b' ');
            script.extend(quote_bytes(flag.as_bytes()));
        }
        script.extend(b" \"$@\"");
        for flag in self.behind(family) {
            script.push(b' ');
            script.extend(quote_bytes(flag.as_bytes()));
        }
        script.push(b'\n');
        Ok(script)
    }

    /// Records a call that compiles or links; a query of the version has fewer arguments.
    fn note(&self, name: &str, words: usize) -> Vec<u8> {
        let Some(tree) = self.tree else {
            return Vec::new();
        };
        let mut line = format!("[ $# -lt {words} ] || echo ").into_bytes();
        line.extend(quote_bytes(name.as_bytes()));
        line.extend(b" >>");
        line.extend(quote_bytes(tree.calls().as_os_str().as_bytes()));
        line.push(b'\n');
        line
    }

    /// The wrapper for rustc; Cargo passes the compiler as its first argument.
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
            script.extend(quote_bytes(flag.as_bytes()));
        }
        script.push(b'\n');
        script
    }
}

/// Beginning of a wrapper. Programs started by a wrapper must never find the wrappers: `gcc-ar`
/// searches `PATH` for `ar`, which would start `gcc-ar` again without end. So `PATH` is restored, and
/// a variable detects recursion through other wrappers.
fn head(name: &str) -> Vec<u8> {
    let mut script = b"#!/bin/sh\n# What genba adds to this program.\n".to_vec();
    script.extend(b"if [ -n \"${GENBA_INSIDE-}\" ]; then\n  echo ");
    script.extend(quote_bytes(
        format!("genba: the wrapper of {name} calls itself").as_bytes(),
    ));
    script.extend(b" >&2\n  exit 1\nfi\nGENBA_INSIDE=1\nexport GENBA_INSIDE\n");
    match std::env::var_os("PATH") {
        Some(path) => {
            script.extend(b"PATH=");
            script.extend(quote_bytes(path.as_bytes()));
            script.extend(b"\nexport PATH\n");
        }
        None => script.extend(b"unset PATH\n"),
    }
    script
}

fn plain_script(name: &str, real: &Path) -> Vec<u8> {
    let mut script = head(name);
    script.extend(b"exec ");
    script.extend(quote_bytes(real.as_os_str().as_bytes()));
    script.extend(b" \"$@\"\n");
    script
}

fn write_script(path: &Path, text: &[u8]) -> Result<(), BuildError> {
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(BuildError::file("write", path))
}

#[cfg(test)]
mod tests;
