//! Watching the directories for temporary files with inotify.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Watches directories for files that are being written.
pub struct TempFileWatch {
    inotify: OwnedFd,
    directories: Vec<(i32, PathBuf)>,
}

/// A file that appeared or was completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The file's path.
    pub path: PathBuf,
    /// Whether it is complete: closed after writing, or moved here.
    pub complete: bool,
}

impl TempFileWatch {
    /// Watches `/tmp` and one more directory (`TMPDIR`).
    pub fn new(extra: Option<PathBuf>) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut directories = Vec::new();
        for path in [Some(PathBuf::from("/tmp")), extra].into_iter().flatten() {
            let flags = WatchFlags::CREATE | WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO;
            if let Ok(id) = inotify::add_watch(&inotify, &path, flags) {
                directories.push((id, path));
            }
        }
        Ok(Self {
            inotify,
            directories,
        })
    }

    /// A descriptor that becomes readable when there are events.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// The events since the last call.
    pub fn events(&self) -> Vec<Event> {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut events = Vec::new();
        // Ends with EAGAIN when there is no more.
        while let Ok(event) = reader.next() {
            let directory = self.directories.iter().find(|(id, _)| *id == event.wd());
            let name = event.file_name().and_then(|name| name.to_str().ok());
            if let (Some((_, directory)), Some(name)) = (directory, name) {
                events.push(Event {
                    path: directory.join(name),
                    complete: !event.events().contains(ReadFlags::CREATE),
                });
            }
        }
        events
    }
}
