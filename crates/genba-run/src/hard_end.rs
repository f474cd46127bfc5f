//! The end of genba from another thread than the one that waits for a run: no process and no temporary
//! file is left behind.

use std::os::fd::RawFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::private_directory;
use crate::protocol::{Header, request};
use crate::valgrind_files::remove_files_of_ended_valgrinds;

/// A launcher of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Living {
    /// genba's end of the connection.
    socket: RawFd,
    /// The guard, which ends when all below it has ended.
    guard: i32,
}

static LIVING: Mutex<Vec<Living>> = Mutex::new(Vec::new());

/// Time between checks whether a launcher has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Notes a launcher. What must hold: the socket stays open until [`forget_launcher`].
pub fn note_launcher(socket: RawFd, guard: i32) {
    let mut living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
    living.push(Living { socket, guard });
}

/// Removes the note of a launcher.
pub fn forget_launcher(guard: i32) {
    let mut living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
    living.retain(|one| one.guard != guard);
}

/// Ends all process trees of this process at once by SIGKILL, waits for their end for at most `limit`,
/// removes all private directories, and exits. Other threads that would start or end a launcher
/// meanwhile wait for ever.
pub fn exit_at_once(code: i32, limit: Duration) -> ! {
    let living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
    for one in living.iter() {
        end_without_grace(one.socket);
    }
    let until = Instant::now() + limit;
    while Instant::now() < until && living.iter().any(|one| !has_ended(one.guard)) {
        std::thread::sleep(POLL_INTERVAL);
    }
    private_directory::remove_all();
    remove_files_of_ended_valgrinds();
    std::process::exit(code)
}

/// Asks a launcher to kill what runs below it and to exit.
fn end_without_grace(socket: RawFd) {
    let header = Header {
        kind: request::END,
        body: 8,
        fds: 0,
    };
    let mut frame = header.encode().to_vec();
    frame.extend_from_slice(&0u64.to_le_bytes());
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the frame's bytes; the socket is open as long as it is noted. A launcher that does not
    // get the whole frame exits as well.
    unsafe {
        libc::send(socket, frame.as_ptr().cast(), frame.len(), flags);
        libc::shutdown(socket, libc::SHUT_RDWR);
    }
}

/// Whether a child has ended; it is not reaped.
fn has_ended(pid: i32) -> bool {
    // SAFETY: all zero is a value of this type.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: writes the information.
    let result = unsafe { libc::waitid(libc::P_PID, pid as u32, &raw mut info, options) };
    // SAFETY: `waitid` has filled it in for a child.
    result != 0 || unsafe { info.si_pid() } != 0
}
