//! genba's launcher: a tiny static program that starts targets and accounts for them.
//!
//! **Why a program of its own.** On `execve` the kernel carries the high-water mark of the old
//! address space into the target's `ru_maxrss`, so a target started by a large process looks
//! large. This one stays well under 300 KiB. It also outlives genba long enough to end what
//! genba started, however genba dies.
//!
//! **Two processes.** The worker does everything; the guard, its parent, only ends what the
//! worker leaves behind if it is killed (`after_genba_dies.rs`).
//!
//! **Not here.** Resolving programs, reading output, any policy: genba does that.
//!
//! Neither libc nor std: `build.rs` compiles it with `rustc` alone.

#![no_std]
#![no_main]

#[cfg(target_arch = "x86_64")]
#[path = "syscalls_x86_64.rs"]
mod arch;
#[cfg(not(target_arch = "x86_64"))]
compile_error!("the launcher has system calls for x86-64 only as yet");

mod after_genba_dies;
mod exec_child;
mod process_tree;
mod procstat;
#[expect(dead_code)]
mod protocol;
mod start_request;
mod syscalls;
mod target_run;

use core::cell::Cell;

use protocol::{HEADER, Header, Reply, reply, request};

/// State of the launcher.
pub struct Launcher {
    /// Connection to genba.
    socket: i32,
    /// SIGCHLD and SIGTERM.
    signals: i32,
    /// `/dev/null`.
    null: i32,
    pid: i32,
    /// The process whose death ends this one: genba for the guard, the guard for the worker.
    parent: i32,
    /// Grace period of the last run, or of the last request to end it, nanoseconds.
    grace: Cell<u64>,
}

impl Launcher {
    fn reply(&self, reply: &Reply) {
        // If genba has died, the next poll notices.
        let _ = syscalls::send(self.socket, &reply.encode());
    }

    /// Whether the parent has died. The socket does not tell if another process holds its other
    /// end.
    fn orphaned(&self) -> bool {
        syscalls::getppid() != self.parent
    }

    /// Empties the signal queue; true if the parent has died.
    fn take_signals(&self) -> bool {
        let mut info = [0u8; 128];
        let mut died = false;
        while syscalls::read(self.signals, &mut info).is_ok_and(|count| count == info.len()) {
            let signal = protocol::get32(&info, 0).unwrap_or(0) as i32;
            died |= signal == syscalls::SIGTERM && self.orphaned();
            if signal == syscalls::SIGCHLD {
                // Pending at most once; saves a read that would say "none".
                break;
            }
        }
        died
    }

    fn receive(&self, fds: &mut [i32; protocol::MAX_FDS]) -> Option<Header> {
        let mut bytes = [0; HEADER];
        let count = syscalls::receive_with_fds(self.socket, &mut bytes, fds)?;
        Header::decode(&bytes).filter(|header| header.fds as usize == count)
    }

    /// Receives a body of at most eight bytes as a number.
    fn receive_u64(&self, header: Header) -> Option<u64> {
        let mut body = [0; 8];
        let body = body.get_mut(..header.body as usize)?;
        if !syscalls::receive_all(self.socket, body) {
            return None;
        }
        Some(protocol::get64(body, 0).unwrap_or(0))
    }

    /// Serves requests until genba closes the connection or dies.
    fn serve(&mut self) -> Option<core::convert::Infallible> {
        loop {
            let [request, signal] = target_run::wait_for_events(self, None);
            if signal {
                target_run::reap_idle();
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
                request::START => target_run::serve(self, header, fds)?,
                // The run ended before the request arrived.
                request::END => self.grace.set(self.receive_u64(header)?),
                request::RELEASE => drop(self.receive_u64(header)?),
                _ => return None,
            }
        }
    }
}

/// Makes this process (guard or worker) a subreaper that gets SIGTERM when its parent dies. That
/// signal also comes when only the parent's thread ends, so [`Launcher::orphaned`] checks.
fn become_subreaper() {
    let _ = syscalls::prctl(syscalls::PR_SET_CHILD_SUBREAPER, 1);
    let _ = syscalls::prctl(syscalls::PR_SET_PDEATHSIG, syscalls::SIGTERM as usize);
}

fn connect(guard: i32) -> Option<Launcher> {
    become_subreaper();
    // genba passes the connection as stdin, and the real stdin over it.
    let socket = syscalls::dup_above(0, 3).ok()?;
    let launcher = Launcher {
        socket,
        signals: syscalls::signalfd(&[syscalls::SIGCHLD, syscalls::SIGTERM]).ok()?,
        null: syscalls::open(None, c"/dev/null", syscalls::O_RDWR).ok()?,
        pid: syscalls::getpid(),
        parent: guard,
        grace: Cell::new(0),
    };
    let mut fds = [-1; protocol::MAX_FDS];
    let header = launcher.receive(&mut fds)?;
    if header.kind != request::HELLO || header.fds != 1 || launcher.orphaned() {
        return None;
    }
    launcher.receive_u64(header)?;
    syscalls::dup_to(fds[0], 0).ok()?;
    syscalls::close(fds[0]);
    launcher.reply(&Reply {
        kind: reply::READY,
        pid: launcher.pid as u64,
        ..Reply::default()
    });
    Some(launcher)
}

/// Entry point, called by `_start`.
pub extern "C" fn launcher_main() -> ! {
    syscalls::set_signal_mask(true);
    syscalls::set_name(c"genba-launcher");
    become_subreaper();
    let (genba, guard_pid) = (syscalls::getppid(), syscalls::getpid());
    match syscalls::fork() {
        Ok(0) => {
            if let Some(mut launcher) = connect(guard_pid) {
                let _ = launcher.serve();
                after_genba_dies::end_everything(&launcher);
            }
        }
        Ok(worker) => after_genba_dies::guard(worker, genba),
        Err(_) => {}
    }
    syscalls::exit(0)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // Targets have PDEATHSIG, and genba sees the connection close.
    syscalls::exit(125)
}
