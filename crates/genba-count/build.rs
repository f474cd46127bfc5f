//! Compiles the plugin for qemu-user (`plugin/`), which the library embeds with the feature
//! `qemu-oracle`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_QEMU_ORACLE").is_none() {
        return;
    }
    let kind = genba_embed::Kind::SharedLibrary;
    let _ = genba_embed::compile("libgenba_qemu.so", kind, "plugin/plugin.rs", &[]);
}
