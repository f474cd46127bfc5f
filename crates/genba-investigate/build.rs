//! Compiles the library that counts the sizes of allocations and copies (`preload/`), which the
//! crate embeds.

fn main() {
    let kind = genba_embed::Kind::SharedLibrary;
    let _ = genba_embed::compile(
        "libgenba_sizes.so",
        kind,
        "preload/allocation_sizes.rs",
        &[],
    );
}
