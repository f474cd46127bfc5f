//! Compiles the library that samples by timer signals where perf events are forbidden
//! (`preload/`), which the crate embeds.

fn main() {
    let kind = genba_embed::Kind::SharedLibrary;
    let _ = genba_embed::compile("libgenba_timer.so", kind, "preload/timer.rs", &[]);
}
