//! Whether a program can be sampled by a preloaded library.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::perfdata::byte_cursor::Cursor;

/// Why the library cannot be loaded into this program, if that is plain to see.
#[must_use]
pub fn why_not(program: &Path) -> Option<String> {
    const SET_ID: u32 = 0o6000;
    let mut file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(program)
        .ok()?;
    if file.metadata().ok()?.mode() & SET_ID != 0 {
        return Some("it is setuid or setgid, and the loader ignores LD_PRELOAD for such".into());
    }
    let mut head = vec![0; 4096];
    let n = file.read(&mut head).ok()?;
    is_static(&head[..n]).then(|| {
        "it is statically linked: there is no loader that could load the sampler".to_owned()
    })
}

/// Whether the head of an ELF file names no loader. Other files (scripts) are not static.
fn is_static(head: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    const CLASS_64: u8 = 2;
    if !head.starts_with(b"\x7fELF") || head.get(4) != Some(&CLASS_64) {
        return false;
    }
    let segments = || {
        let start = usize::try_from(Cursor::new(head.get(32..)?).u64()?).ok()?;
        let mut sizes = Cursor::new(head.get(54..)?);
        let (size, count) = (usize::from(sizes.u16()?), usize::from(sizes.u16()?));
        Some(head.get(start..)?.chunks_exact(size.max(4)).take(count))
    };
    match segments() {
        Some(mut list) => list.all(|s| Cursor::new(s).u32() != Some(PT_INTERP)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_rubbish_are_not_static() {
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(b"\x7fELF"));
        assert!(!is_static(
            &[b"\x7fELF\x02".as_slice(), &[0xff; 90]].concat()
        ));
        assert_eq!(why_not(Path::new("/proc/self/exe")), None);
    }
}
