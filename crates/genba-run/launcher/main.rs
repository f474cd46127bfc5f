//! genba's launcher: a tiny static program that starts targets and takes them to account.
//!
//! **Why a program of its own.** On `execve` the kernel carries the high-water mark of the old
//! address space into the target's `ru_maxrss`, so a target started by a large process looks
//! large. This one stays well under 300 KiB. It also outlives genba long enough to end what
//! genba started, however genba dies.
//!
//! **Two processes.** The worker does everything; the guard, its parent, only ends what the
//! worker leaves behind should somebody kill that.
//!
//! **Not here.** Looking programs up, reading output, any policy: genba does that.
//!
//! Neither libc nor std: `build.rs` compiles it with `rustc` alone.

#![no_std]
#![no_main]

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
#[cfg(not(target_arch = "x86_64"))]
compile_error!("the launcher has system calls for x86-64 only as yet");

mod child;
mod procstat;
#[expect(dead_code)]
mod protocol;
mod run;
mod start;
mod sys;
mod tree;

use protocol::{HEADER, Header, Reply, reply, request};

/// What the launcher is for as long as it lives.
pub struct Launcher {
    /// Connection to genba.
    socket: i32,
    /// SIGCHLD and SIGTERM.
    signals: i32,
    /// `/dev/null`.
    null: i32,
    pid: i32,
    /// Whose end is the end: genba for the guard, the guard for the worker.
    parent: i32,
    /// Grace period of the last run, nanoseconds.
    grace: u64,
}

impl Launcher {
    fn reply(&self, reply: &Reply) {
        // If genba has gone, the next poll says so.
        let _ = sys::send(self.socket, &reply.encode());
    }

    /// Whether the parent has died; the second line of defence, should the socket not tell
    /// because somebody else holds its other end.
    fn orphaned(&self) -> bool {
        sys::getppid() != self.parent
    }

    /// Empties the signal queue; true if one of them says that genba has died.
    fn take_signals(&self) -> bool {
        let mut info = [0u8; 128];
        let mut died = false;
        while sys::read(self.signals, &mut info).is_ok_and(|count| count == info.len()) {
            let signal = protocol::get32(&info, 0).unwrap_or(0) as i32;
            died |= signal == sys::SIGTERM && self.orphaned();
            if signal == sys::SIGCHLD {
                // Pending at most once; saves a read that would say "none".
                break;
            }
        }
        died
    }

    fn receive(&self, fds: &mut [i32; protocol::MAX_FDS]) -> Option<Header> {
        let mut bytes = [0; HEADER];
        let count = sys::receive_with_fds(self.socket, &mut bytes, fds)?;
        Header::decode(&bytes).filter(|header| header.fds as usize == count)
    }

    /// A small body that is of no interest or of eight bytes.
    fn receive_u64(&self, header: Header) -> Option<u64> {
        let mut body = [0; 8];
        let body = body.get_mut(..header.body as usize)?;
        if !sys::receive_all(self.socket, body) {
            return None;
        }
        Some(protocol::get64(body, 0).unwrap_or(0))
    }

    /// Serves until genba goes away.
    fn serve(&mut self) -> Option<core::convert::Infallible> {
        loop {
            let [request, signal] = run::wait_for_events(self, None);
            if signal {
                run::reap_idle();
                if self.take_signals() {
                    return None;
                }
            }
            if !request {
                continue;
            }
            let mut fds = [-1; protocol::MAX_FDS];
            let header = self.receive(&mut fds)?;
            match header.kind {
                request::START => run::serve(self, header, fds)?,
                // The run ended before genba's wish arrived.
                request::END | request::RELEASE => drop(self.receive_u64(header)?),
                _ => return None,
            }
        }
    }
}

/// What guard and worker have in common: orphans come to it, and it hears of its parent's end.
/// That signal also comes when merely the thread that started it ends, hence the look at the
/// parent in [`Launcher::orphaned`].
fn settle() {
    let _ = sys::prctl(sys::PR_SET_CHILD_SUBREAPER, 1);
    let _ = sys::prctl(sys::PR_SET_PDEATHSIG, sys::SIGTERM as usize);
}

fn connect(guard: i32) -> Option<Launcher> {
    settle();
    // genba passes the connection as stdin, and the real stdin over it.
    let socket = sys::dup_above(0, 3).ok()?;
    let launcher = Launcher {
        socket,
        signals: sys::signalfd(&[sys::SIGCHLD, sys::SIGTERM]).ok()?,
        null: sys::open(None, c"/dev/null", sys::O_RDWR).ok()?,
        pid: sys::getpid(),
        parent: guard,
        grace: 0,
    };
    let mut fds = [-1; protocol::MAX_FDS];
    let header = launcher.receive(&mut fds)?;
    if header.kind != request::HELLO || header.fds != 1 || launcher.orphaned() {
        return None;
    }
    launcher.receive_u64(header)?;
    sys::dup_to(fds[0], 0).ok()?;
    sys::close(fds[0]);
    launcher.reply(&Reply {
        kind: reply::READY,
        pid: launcher.pid as u64,
        ..Reply::default()
    });
    Some(launcher)
}

/// Stands behind the worker, so that even a worker killed by SIGKILL leaves nothing behind:
/// what was below it comes to the guard then.
fn guard(worker: i32, genba: i32) {
    for fd in 0..3 {
        sys::close(fd);
    }
    let Ok(signals) = sys::signalfd(&[sys::SIGCHLD, sys::SIGTERM]) else {
        return;
    };
    let launcher = Launcher {
        socket: -1,
        signals,
        null: -1,
        pid: sys::getpid(),
        parent: genba,
        grace: 0,
    };
    let mut usage = sys::Rusage::default();
    loop {
        let options = sys::WEXITED | sys::WNOHANG;
        match sys::wait(sys::P_PID, worker, options, &mut usage) {
            Ok(None) => {}
            _ => return run::end_everything(&launcher),
        }
        let [_, signal] = run::wait_for_events(&launcher, None);
        if signal && launcher.take_signals() {
            // genba has died. So does the guard, and the worker hears of that.
            return;
        }
    }
}

/// Where `_start` goes.
pub extern "C" fn launcher_main() -> ! {
    sys::set_signal_mask(true);
    sys::set_name(c"genba-launcher");
    settle();
    let (genba, guard_pid) = (sys::getppid(), sys::getpid());
    match sys::fork() {
        Ok(0) => {
            if let Some(mut launcher) = connect(guard_pid) {
                let _ = launcher.serve();
                run::end_everything(&launcher);
            }
        }
        Ok(worker) => guard(worker, genba),
        Err(_) => {}
    }
    sys::exit(0)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // Targets have PDEATHSIG, and genba sees the connection close.
    sys::exit(125)
}
