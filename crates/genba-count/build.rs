//! Compiles the plugin for qemu-user (`plugin/`), which the library embeds.

fn main() {
    let kind = genba_embed::Kind::SharedLibrary;
    let _ = genba_embed::compile("libgenba_qemu.so", kind, "plugin/plugin.rs", &[]);
}
