//! Files whose paths come from elsewhere: only regular ones are opened, never waiting on a FIFO,
//! never touching a device.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a regular file to read it; `None` for anything else.
#[must_use]
pub fn open_regular(path: &Path) -> Option<File> {
    with(path, 0)
}

/// As [`open_regular`], where anybody may have put a file: a link is not followed.
#[must_use]
pub fn open_regular_nofollow(path: &Path) -> Option<File> {
    with(path, libc::O_NOFOLLOW)
}

fn with(path: &Path, flags: i32) -> Option<File> {
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | flags)
        .open(path)
        .ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_without_waiting() {
        let place = tempfile::tempdir().unwrap();
        let (file, link, fifo) = (
            place.path().join("file"),
            place.path().join("link"),
            place.path().join("fifo"),
        );
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(open_regular(&file).is_some() && open_regular_nofollow(&file).is_some());
        assert!(open_regular(&link).is_some() && open_regular_nofollow(&link).is_none());
        for other in [fifo.as_path(), place.path(), Path::new("/dev/null")] {
            assert!(open_regular(other).is_none(), "{}", other.display());
        }
        assert!(open_regular(&place.path().join("none")).is_none());
    }
}
