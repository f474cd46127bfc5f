//! Limits of resources (`ulimit`): those of the target that stand in the way of the engine, and
//! genba's own limit of file sizes.

use std::fs::File;
use std::io;

use genba_engine::count_file_layout::FILE_SIZE;
use genba_engine::resource_limits::{ADDRESS_SPACE, DATA, Verdict, judge};

/// Descriptors by which a process's limit is raised while the engine needs one.
const MORE_DESCRIPTORS: u64 = 64;

type Resource = libc::__rlimit_resource_t;

/// Returns a process's limit; 0 is genba itself.
fn get(pid: i32, resource: Resource) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: writes the limit.
    match unsafe { libc::prlimit(pid, resource, std::ptr::null(), &raw mut limit) } {
        0 => Ok(limit),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets a process's limit; whether that succeeded.
fn set(pid: i32, resource: Resource, limit: libc::rlimit) -> bool {
    // SAFETY: reads the limit.
    unsafe { libc::prlimit(pid, resource, &raw const limit, std::ptr::null_mut()) == 0 }
}

/// Calls `body` while the soft limit is at least `least`, as far as genba may raise it.
fn with_limit<T>(pid: i32, resource: Resource, least: u64, body: impl FnOnce() -> T) -> T {
    let Ok(before) = get(pid, resource) else {
        return body();
    };
    if before.rlim_cur >= least {
        return body();
    }
    let wanted = [before.rlim_max.max(least), before.rlim_max].map(|hard| libc::rlimit {
        rlim_cur: hard.min(least),
        rlim_max: hard,
    });
    // Raising the hard limit takes a privilege.
    let raised = wanted.into_iter().any(|limit| set(pid, resource, limit));
    let result = body();
    if raised {
        set(pid, resource, before);
    }
    result
}

/// Checks the limits of a process that is about to be counted: whether one is near enough for a note;
/// an error if one leaves no room for the engine.
pub fn check(pid: i32) -> io::Result<bool> {
    let mut near = false;
    for resource in [ADDRESS_SPACE, DATA] {
        let limit = get(pid, resource as Resource)?;
        match judge(resource, limit.rlim_cur) {
            Verdict::NoEffect => {}
            Verdict::Near => near = true,
            Verdict::Refused(reason) => return Err(io::Error::other(reason)),
        }
    }
    Ok(near)
}

/// Calls `body` while a process may open more descriptors than it may by itself.
pub fn with_more_descriptors<T>(pid: i32, body: impl FnOnce() -> T) -> T {
    let resource = libc::RLIMIT_NOFILE;
    // Descriptors that are open may have larger numbers than a limit that was lowered.
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let limit = get(pid, resource).map_or(0, |limit| limit.rlim_cur);
    let least = limit.max(open as u64) + MORE_DESCRIPTORS;
    with_limit(pid, resource, least, body)
}

/// Sets the size of a count file. It is sparse and not the user's file, so genba's limit of file
/// sizes does not hold for it as far as genba may raise it.
pub fn set_size(file: &File) -> io::Result<()> {
    with_limit(0, libc::RLIMIT_FSIZE, FILE_SIZE, || {
        // Beyond the limit the kernel would send SIGXFSZ.
        if get(0, libc::RLIMIT_FSIZE)?.rlim_cur < FILE_SIZE {
            return Err(io::Error::other(
                "the size of files is limited (RLIMIT_FSIZE, ulimit -f), also that of the file in \
                 which the engine counts",
            ));
        }
        file.set_len(FILE_SIZE)
    })
}
