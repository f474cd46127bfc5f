//! With the feature `image`: builds the engine as an image for targets' processes, from
//! `blob/`, which depends on this crate without that feature and without std.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    for path in [
        "build.rs",
        "src",
        "blob/src",
        "blob/Cargo.toml",
        "blob/Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    if env::var_os("CARGO_FEATURE_IMAGE").is_none() {
        return;
    }
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let target = PathBuf::from(variable("OUT_DIR")).join("blob");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args([
            "build",
            "--release",
            "--locked",
            "--manifest-path",
            "blob/Cargo.toml",
        ])
        .arg("--target-dir")
        .arg(&target);
    // What is meant for the build around this one.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let meant = name.starts_with("CARGO_ENCODED")
            || name.starts_with("CARGO_FEATURE_")
            || name.starts_with("CARGO_PROFILE_")
            || name.starts_with("CARGO_BUILD_")
            || name == "RUSTFLAGS"
            || name == "RUSTC_WRAPPER"
            || name == "RUSTC_WORKSPACE_WRAPPER"
            || name == "CARGO_TARGET_DIR"
            || name == "CLIPPY_ARGS"
            || name == "CLIPPY_CONF_DIR";
        if meant {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().expect("cargo starts");
    assert!(
        status.success(),
        "the engine's image does not build: {cargo:?}"
    );
    let image = target.join("release/libgenba_engine_blob.so");
    println!("cargo::rustc-env=GENBA_ENGINE_IMAGE={}", image.display());
}
