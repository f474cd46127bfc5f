//! Builds the plugin for qemu-user.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let files = [
        "plugin", "api", "branch", "calls", "layout", "maps", "store",
    ];
    for file in files {
        println!("cargo::rerun-if-changed=plugin/{file}.rs");
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("libgenba_qemu.so");
    let status = Command::new(variable("RUSTC"))
        .args(["--crate-name", "genba_qemu", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "-C", "panic=abort"])
        .args(["-C", "opt-level=2", "-C", "strip=symbols"])
        .args(["--target", &variable("TARGET")])
        .arg("-o")
        .arg(&library)
        .arg("plugin/plugin.rs")
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("the plugin for qemu could not be built: {other:?}"),
    }
}
