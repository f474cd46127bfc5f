//! Compiles the launcher (`launcher/`), which the library embeds: a static program of a few
//! kilobytes without libc or std.

fn main() {
    let options = [
        "opt-level=s",
        "lto=fat",
        "codegen-units=1",
        "relocation-model=static",
        "link-arg=-nostartfiles",
        "link-arg=-nostdlib",
        "link-arg=-static",
        "link-arg=-no-pie",
        // Few pages, and the same bytes from every build.
        "link-arg=-Wl,--build-id=none,-z,noseparate-code,-z,norelro",
    ];
    let kind = genba_embed::Kind::Program;
    let launcher = genba_embed::compile("genba-launcher", kind, "launcher/main.rs", &options);
    println!("cargo::rustc-env=GENBA_LAUNCHER={}", launcher.display());
}
