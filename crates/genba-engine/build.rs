//! With the feature `binary`: builds the engine binary for targets' processes from `binary/`, which
//! depends on this crate without that feature and without std.

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_BINARY").is_none() {
        return;
    }
    let directory = genba_embed::compile_package("binary");
    let library = directory.join("libgenba_engine_binary.so");
    println!("cargo::rustc-env=GENBA_ENGINE_BINARY={}", library.display());
}
