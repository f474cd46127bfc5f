//! Builds the library that samples by timer signals where perf events are forbidden.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    for file in ["timer.rs", "c.rs", "interpose.rs", "layout.rs", "x86_64.rs"] {
        println!("cargo::rerun-if-changed=preload/{file}");
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("libgenba_timer.so");
    let status = Command::new(variable("RUSTC"))
        .args([
            "--crate-name",
            "genba_timer",
            "--crate-type",
            "cdylib",
            "--edition",
            "2024",
        ])
        .args([
            "-C",
            "panic=abort",
            "-C",
            "opt-level=2",
            "-C",
            "strip=symbols",
        ])
        .args([
            "-C",
            "relocation-model=pic",
            "--target",
            &variable("TARGET"),
        ])
        .arg("-o")
        .arg(&library)
        .arg("preload/timer.rs")
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("the sampling library could not be built: {other:?}"),
    }
}
