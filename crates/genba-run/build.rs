//! Compiles the launcher (`launcher/main.rs`), which the library embeds.
//!
//! It is a static program without libc or std, so `rustc` and a linker are all it takes.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=launcher");
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let output = PathBuf::from(variable("OUT_DIR")).join("genba-launcher");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "genba_launcher",
            "--crate-type",
            "bin",
        ])
        .arg("--target")
        .arg(variable("TARGET"))
        .args(["-C", "panic=abort", "-C", "opt-level=s", "-C", "lto=fat"])
        .args(["-C", "codegen-units=1", "-C", "strip=symbols"])
        .args(["-C", "relocation-model=static"])
        .args(["-C", "link-arg=-nostartfiles", "-C", "link-arg=-nostdlib"])
        .args(["-C", "link-arg=-static", "-C", "link-arg=-no-pie"])
        // Few pages and the same bytes every time.
        .args([
            "-C",
            "link-arg=-Wl,--build-id=none,-z,noseparate-code,-z,norelro",
        ])
        .arg("-o")
        .arg(&output)
        .arg("launcher/main.rs");
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    let status = rustc.status().expect("rustc starts");
    assert!(status.success(), "the launcher does not compile: {rustc:?}");
    println!("cargo::rustc-env=GENBA_LAUNCHER={}", output.display());
}
