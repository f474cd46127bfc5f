//! Starting the embedded launcher: from a sealed memfd, or from a file where that is forbidden.

use std::ffi::CStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::RunError;
use crate::launcher_channel::Channel;
use crate::protocol::{Header, reply, request};

static LAUNCHER: &[u8] = include_bytes!(env!("GENBA_LAUNCHER"));
const NAME: &CStr = c"genba-launcher";

/// A launcher that runs. Dropped, it ends what is left below it, and is reaped.
pub struct Process {
    /// `None` only while being dropped.
    channel: Option<Channel>,
    /// The guard; the worker is its child.
    child: Child,
    pid: i32,
    /// genba's directory when it was started, and so its own.
    pub directory: Option<PathBuf>,
}

impl Process {
    /// Starts a launcher and shakes hands with it.
    pub fn start() -> Result<Self, RunError> {
        let mut failures = Vec::new();
        match memfd().and_then(|memory| {
            spawn(&PathBuf::from(format!(
                "/proc/self/fd/{}",
                memory.as_raw_fd()
            )))
        }) {
            Ok(process) => return shake_hands(process),
            Err(error) => failures.push(format!("from memory: {error}")),
        }
        for directory in directories() {
            match from_file(&directory) {
                Ok(process) => return shake_hands(process),
                Err(error) => failures.push(format!("from {}: {error}", directory.display())),
            }
        }
        Err(RunError::Launcher {
            detail: failures.join("; "),
        })
    }

    pub fn channel(&self) -> Result<&Channel, RunError> {
        self.channel.as_ref().ok_or(RunError::LauncherDied)
    }

    /// Process id of the worker, the parent of targets.
    pub fn pid(&self) -> i32 {
        self.pid
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        crate::hard_end::forget_launcher(self.child.id() as i32);
        // The launcher takes the closed connection as the word to end everything and exit;
        // it is bounded in time, and so is this wait.
        self.channel = None;
        let _ = self.child.wait();
    }
}

fn memfd() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = match memfd_create(NAME, flags | MemfdFlags::EXEC) {
        // Linux before 6.3 does not know the flag.
        Err(Errno::INVAL) => memfd_create(NAME, flags)?,
        other => other?,
    };
    let mut file = fs::File::from(memory);
    file.write_all(LAUNCHER)?;
    let memory = OwnedFd::from(file);
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, seals)?;
    Ok(memory)
}

/// Where a file may be put, best first.
fn directories() -> Vec<PathBuf> {
    let named = ["XDG_RUNTIME_DIR", "TMPDIR"]
        .into_iter()
        .filter_map(std::env::var_os);
    named
        .map(PathBuf::from)
        .chain(["/tmp", "/var/tmp"].map(PathBuf::from))
        .collect()
}

fn from_file(directory: &Path) -> io::Result<(Child, OwnedFd)> {
    let pid = std::process::id();
    for attempt in 0..100 {
        let path = directory.join(format!("genba-launcher-{pid}-{attempt}"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&path);
        let mut file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other?,
        };
        let written = file.write_all(LAUNCHER);
        drop(file);
        let mut started = written.and_then(|()| spawn(&path));
        // Another thread may have forked while the file was open for writing; its child closes
        // it soon.
        for _ in 0..50 {
            match &started {
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    started = spawn(&path);
                }
                _ => break,
            }
        }
        let _ = fs::remove_file(&path);
        return started;
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn spawn(program: &Path) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // Its own group: a Ctrl-C at the terminal is genba's affair.
    let child = Command::new(program)
        .arg0("genba-launcher")
        .stdin(Stdio::from(theirs))
        .process_group(0)
        .env_clear()
        .spawn()?;
    Ok((child, ours))
}

fn shake_hands((child, socket): (Child, OwnedFd)) -> Result<Process, RunError> {
    let mut process = Process {
        channel: Some(Channel::new(socket)),
        child,
        pid: 0,
        directory: std::env::current_dir().ok(),
    };
    let hello = Header {
        kind: request::HELLO,
        body: 0,
        fds: 1,
    };
    let channel = process.channel()?;
    let greet = || {
        channel.send(&hello.encode(), &[io::stdin().as_fd()])?;
        channel.receive()
    };
    match greet() {
        Ok(answer) if answer.kind == reply::READY => {
            process.pid = answer.pid as i32;
            let socket = process.channel()?.as_fd().as_raw_fd();
            crate::hard_end::note_launcher(socket, process.child.id() as i32);
            Ok(process)
        }
        Ok(_) => Err(RunError::Protocol),
        Err(error) => Err(RunError::Launcher {
            detail: format!("it does not answer: {error}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_starts_from_a_file_too() {
        let directory = tempfile::tempdir().expect("a directory");
        let started = match from_file(directory.path()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                genba_testing::skip(
                    "the_launcher_starts_from_a_file_too",
                    genba_testing::MACHINE,
                    "noexec temp directory",
                );
                return;
            }
            started => started.expect("a launcher"),
        };
        let process = shake_hands(started).expect("a greeting");
        assert!(process.pid() > 0);
        assert_eq!(
            fs::read_dir(directory.path()).expect("a directory").count(),
            0
        );
    }
}
