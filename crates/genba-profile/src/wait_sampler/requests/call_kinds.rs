//! What system calls do to a connection, by their numbers.

/// Whether a call takes data out of a descriptor.
pub fn reads(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg
    )
}

/// Whether a call puts data into a descriptor.
pub fn writes(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendfile
    )
}

/// Whether a thread that is blocked in a call may be idle: what it was told before is done.
pub fn waits_for_work(number: i64) -> bool {
    reads(number)
        || matches!(
            number,
            libc::SYS_futex
                | libc::SYS_accept
                | libc::SYS_accept4
                | libc::SYS_nanosleep
                | libc::SYS_clock_nanosleep
        )
}

/// Whether a call waits for any of several descriptors.
pub fn waits_for_any(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
    )
}
