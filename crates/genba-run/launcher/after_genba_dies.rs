//! What the launcher does when genba dies, even by SIGKILL: it ends the whole process tree.
//!
//! Worker and guard notice it by the closed socket and by their parent-death signal. The tree gets
//! SIGTERM, the grace period of the last run, then SIGKILL. The guard does the same if the worker
//! is killed.

use crate::protocol::Start;
use crate::target_run::{self, Phase, Run};
use crate::{Launcher, syscalls};

/// The guard's loop. It is the parent of the worker, so that even if SIGKILL ends the worker, the
/// guard inherits the worker's processes and ends them.
pub fn guard(worker: i32, genba: i32) {
    for fd in 0..3 {
        syscalls::close(fd);
    }
    let Ok(signals) = syscalls::signalfd(&[syscalls::SIGCHLD, syscalls::SIGTERM]) else {
        return;
    };
    let launcher = Launcher {
        socket: -1,
        signals,
        null: -1,
        pid: syscalls::getpid(),
        parent: genba,
        grace: core::cell::Cell::new(0),
    };
    let mut usage = syscalls::Rusage::default();
    loop {
        let options = syscalls::WEXITED | syscalls::WNOHANG;
        match syscalls::wait(syscalls::P_PID, worker, options, &mut usage) {
            Ok(None) => {}
            _ => return end_everything(&launcher),
        }
        let [_, signal] = target_run::wait_for_events(&launcher, None);
        if signal && launcher.take_signals() {
            // genba has died. The guard exits, and its parent-death signal tells the worker.
            return;
        }
    }
}

/// Ends every process below the launcher: SIGTERM, the grace period of the last run, SIGKILL.
pub fn end_everything(launcher: &Launcher) {
    // Nobody reads an account any more; the target, if any, is a child like the others.
    let mut run = Run::new(
        0,
        &Start {
            grace: launcher.grace.get(),
            ..Start::default()
        },
    );
    run.target_ended = true;
    let mut now = syscalls::now();
    if collect_rest() {
        return;
    }
    run.ask(now);
    loop {
        let until = match run.phase {
            Phase::Running => None,
            Phase::Asked { until } => Some(until),
            Phase::Killing { next, .. } => Some(next),
        };
        wait_for_signal(launcher, until);
        now = syscalls::now();
        if collect_rest() || run.advance(now) {
            return;
        }
    }
}

fn wait_for_signal(launcher: &Launcher, until: Option<u64>) {
    let mut fds = [syscalls::PollFd {
        fd: launcher.signals,
        events: syscalls::POLLIN,
        revents: 0,
    }];
    let _ = syscalls::ppoll(
        &mut fds,
        until.map(|until| until.saturating_sub(syscalls::now())),
    );
    launcher.take_signals();
}

/// Reaps without accounting; true when no process is left.
fn collect_rest() -> bool {
    target_run::reap_idle();
    let mut usage = syscalls::Rusage::default();
    let look = syscalls::WEXITED | syscalls::WNOHANG | syscalls::WNOWAIT;
    syscalls::wait(syscalls::P_ALL, 0, look, &mut usage) == Err(syscalls::ECHILD)
}
