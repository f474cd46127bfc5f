//! Whether the sampling library can be preloaded into a program.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::perfdata::byte_cursor::Cursor;

/// The reason why the library cannot be preloaded into this program; `None` if none is known.
#[must_use]
pub fn preload_obstacle(program: &Path) -> Option<String> {
    const SET_ID: u32 = 0o6000;
    let mut file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(program)
        .ok()?;
    if file.metadata().ok()?.mode() & SET_ID != 0 {
        return Some("it is setuid or setgid: the loader ignores LD_PRELOAD".into());
    }
    let mut head = vec![0; 4096];
    let n = file.read(&mut head).ok()?;
    is_static(&head[..n]).then(|| {
        "it is statically linked: there is no loader that could preload the sampler".to_owned()
    })
}

/// Whether an ELF file that starts with `head` names no loader. Other files (scripts) are not
/// static.
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
    fn scripts_and_malformed_files_are_not_static() {
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(b"\x7fELF"));
        assert!(!is_static(
            &[b"\x7fELF\x02".as_slice(), &[0xff; 90]].concat()
        ));
        assert_eq!(preload_obstacle(Path::new("/proc/self/exe")), None);
    }
}
