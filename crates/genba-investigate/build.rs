//! Builds the library that tallies the sizes of allocations and copies.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    for file in ["sizes.rs", "layout.rs"] {
        println!("cargo::rerun-if-changed=preload/{file}");
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("libgenba_sizes.so");
    let status = Command::new(variable("RUSTC"))
        .args(["--crate-name", "genba_sizes", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "-C", "panic=abort"])
        .args(["-C", "opt-level=2", "-C", "strip=symbols"])
        .args(["-C", "relocation-model=pic"])
        .args(["--target", &variable("TARGET")])
        .arg("-o")
        .arg(&library)
        .arg("preload/sizes.rs")
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("the library that tallies sizes could not be built: {other:?}"),
    }
}
