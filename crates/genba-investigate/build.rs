//! Compiles the library that counts what the target asks of the C library (`preload/`), which the
//! crate embeds.

fn main() {
    let kind = genba_embed::Kind::SharedLibrary;
    let _ = genba_embed::compile(
        "libgenba_requests.so",
        kind,
        "preload/library_requests.rs",
        &[],
    );
}
