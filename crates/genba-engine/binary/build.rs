//! How the engine binary is linked: no start files, no libraries, nothing left to resolve.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-Wl,-Bsymbolic",
        "-Wl,--no-undefined",
        "-Wl,-z,norelro",
        "-Wl,-z,now",
        "-Wl,--build-id=none",
        "-Wl,--hash-style=sysv",
    ] {
        println!("cargo::rustc-link-arg-cdylib={argument}");
    }
}
