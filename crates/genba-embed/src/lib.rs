//! For build scripts: compiles binaries that genba embeds and later preloads, injects or starts in
//! other processes.
//!
//! **Scope.** One source file with its modules, compiled by `rustc` alone ([`compile`]); or a
//! package with dependencies that must be built with other settings than the workspace
//! ([`compile_package`]). Both are compiled for the target of the build, optimised whatever its
//! profile, and abort on panic.
//!
//! **Not here.** What the binaries do; how they get into a process.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built from a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A shared library with a C interface, to be preloaded or loaded as a plugin.
    SharedLibrary,
    /// A program.
    Program,
}

/// Compiles `source` with its modules, which are beside it, to `OUT_DIR/NAME`; the path of the
/// result. Cargo runs the build script again when anything in that directory changes.
///
/// `options` come after `-C opt-level=2 -C panic=abort -C strip=symbols`, so they can overrule
/// these.
///
/// # Panics
/// Where the compiler does not start or reports an error: the build cannot go on.
#[must_use]
pub fn compile(name: &str, kind: Kind, source: &str, options: &[&str]) -> PathBuf {
    let directory = Path::new(source).parent().unwrap_or(Path::new("."));
    println!("cargo::rerun-if-changed={}", directory.display());
    println!("cargo::rerun-if-changed=build.rs");
    let output = PathBuf::from(variable("OUT_DIR")).join(name);
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition", "2024", "--crate-name"])
        .arg(crate_name(name))
        .arg("--crate-type")
        .arg(match kind {
            Kind::SharedLibrary => "cdylib",
            Kind::Program => "bin",
        })
        .arg("--target")
        .arg(variable("TARGET"))
        .args(["-C", "opt-level=2", "-C", "panic=abort"])
        .args(["-C", "strip=symbols"])
        .args(options.iter().flat_map(|option| ["-C", option]))
        .arg("-o")
        .arg(&output)
        .arg(source);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    run(&mut rustc, name);
    output
}

/// Builds the package in `directory`, which is not a member of the workspace, with its own
/// `release` profile and the lock file beside its manifest; the directory of the results. Cargo
/// runs the build script again when its sources or manifest change.
///
/// # Panics
/// Where cargo does not start or reports an error: the build cannot go on.
#[must_use]
pub fn compile_package(directory: &str) -> PathBuf {
    for path in ["src", "build.rs", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={directory}/{path}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let target = PathBuf::from(variable("OUT_DIR")).join(directory);
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(format!("{directory}/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    for (name, _) in env::vars_os() {
        if is_of_outer_build(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    run(&mut cargo, directory);
    target.join("release")
}

/// Whether an environment variable configures the build around this one, which has other flags,
/// features and wrappers.
fn is_of_outer_build(name: &str) -> bool {
    const PREFIXES: [&str; 4] = [
        "CARGO_ENCODED",
        "CARGO_FEATURE_",
        "CARGO_PROFILE_",
        "CARGO_BUILD_",
    ];
    const NAMES: [&str; 6] = [
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// The crate's name of a file: `libgenba_timer.so` is of `genba_timer`.
fn crate_name(file: &str) -> String {
    let stem = file.split('.').next().unwrap_or(file);
    stem.strip_prefix("lib").unwrap_or(stem).replace('-', "_")
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo does not set {name}"))
}

fn run(command: &mut Command, name: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{name} does not compile ({status}): {command:?}"),
        Err(error) => {
            panic!("{name} does not compile, as a tool cannot start: {error}: {command:?}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_names_are_those_of_the_files_without_prefix_and_suffix() {
        assert_eq!(crate_name("libgenba_timer.so"), "genba_timer");
        assert_eq!(crate_name("genba-launcher"), "genba_launcher");
    }

    #[test]
    fn settings_of_the_outer_build_do_not_reach_the_inner_one() {
        for name in [
            "RUSTFLAGS",
            "CARGO_FEATURE_ENGINE_BINARY",
            "CARGO_TARGET_DIR",
        ] {
            assert!(is_of_outer_build(name), "{name}");
        }
        for name in [
            "PATH",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(!is_of_outer_build(name), "{name}");
        }
    }
}
