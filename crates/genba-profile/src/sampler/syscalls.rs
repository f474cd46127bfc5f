//! The system calls of perf events.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys as sys;
use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, perf_event_attr};

#[cfg(test)]
thread_local! {
    /// Error that `open` returns instead of calling the kernel, for tests.
    pub static REFUSE: std::cell::Cell<Option<i32>> = const { std::cell::Cell::new(None) };
}

/// Opens an event for a thread (`pid`; 0 is this one) on a CPU (-1 is any).
pub fn open(attr: &mut perf_event_attr, pid: i32, cpu: i32) -> io::Result<OwnedFd> {
    open_in_group(attr, pid, cpu, None)
}

/// The same, in the group of another event.
pub fn open_in_group(
    attr: &mut perf_event_attr,
    pid: i32,
    cpu: i32,
    leader: Option<&OwnedFd>,
) -> io::Result<OwnedFd> {
    #[cfg(test)]
    if let Some(errno) = REFUSE.get() {
        return Err(io::Error::from_raw_os_error(errno));
    }
    attr.size = size_of::<perf_event_attr>() as u32;
    let group = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: `attr` is a whole, initialised attribute of the size that it names.
    let fd = unsafe { sys::perf_event_open(attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Enables an event and those inherited from it.
pub fn enable(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is an event's; the request takes a number.
    check(unsafe { sys::ioctls::ENABLE(fd.as_raw_fd(), 0) })
}

/// Disables an event and those inherited from it.
pub fn disable(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: as for `enable`.
    check(unsafe { sys::ioctls::DISABLE(fd.as_raw_fd(), 0) })
}

/// Stops the output of an event into its ring buffer, or lets it go on. What happens meanwhile is lost.
pub fn pause_output(fd: &OwnedFd, pause: bool) -> io::Result<()> {
    // SAFETY: as for `enable`.
    check(unsafe { sys::ioctls::PAUSE_OUTPUT(fd.as_raw_fd(), u32::from(pause)) })
}

/// Redirects an event's records into the ring buffer of another event.
pub fn set_output(fd: &OwnedFd, ring: &OwnedFd) -> io::Result<()> {
    // SAFETY: both descriptors are events'.
    check(unsafe { sys::ioctls::SET_OUTPUT(fd.as_raw_fd(), ring.as_raw_fd()) })
}

/// Lets a tracepoint make records only where a filter on its fields holds (`Documentation/trace/events.rst`).
pub fn set_filter(fd: &OwnedFd, filter: &CStr) -> io::Result<()> {
    // SAFETY: the descriptor is an event's; the kernel reads the string up to its end.
    check(unsafe { sys::ioctls::SET_FILTER(fd.as_raw_fd(), filter.as_ptr().cast_mut()) })
}

/// Returns the id that an event's records carry.
pub fn id(fd: &OwnedFd) -> io::Result<u64> {
    let mut id = 0;
    // SAFETY: the kernel writes 8 bytes to `id`.
    check(unsafe { sys::ioctls::ID(fd.as_raw_fd(), &raw mut id) })?;
    Ok(id)
}

/// The attribute as bytes for a file, cut to the size that has all fields that genba sets
/// (`PERF_ATTR_SIZE_VER5`): perf refuses attributes that are longer than it knows.
pub fn attr_bytes(attr: &perf_event_attr) -> Vec<u8> {
    const VER5: usize = 112;
    let attr = perf_event_attr {
        size: VER5 as u32,
        ..*attr
    };
    let pointer = std::ptr::from_ref(&attr).cast::<u8>();
    // SAFETY: the struct is longer than VER5, plain integers without padding, and fully
    // initialised (zeroed).
    unsafe { std::slice::from_raw_parts(pointer, VER5) }.to_vec()
}

/// Returns how many descriptors this process may have.
pub fn descriptor_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map_or(usize::MAX, |limit| limit as usize)
}

/// Raises the limit on descriptors to the hard limit: there is one event per CPU and thread.
pub fn raise_descriptor_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls take a pointer to a whole rlimit; on failure the limit stays.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
            && limit.rlim_cur < limit.rlim_max
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
