//! What a blocked system call waits for, from its number and arguments.

use genba_model::WaitReason;

/// What a blocked thread waits on, before names are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitedOn {
    /// A futex word at this address.
    Futex(u64),
    /// A descriptor.
    Descriptor(i32),
    /// So many structures of `poll` at this address.
    Polled(u64, u64),
    /// The descriptors of this epoll instance.
    Epoll(i32),
    /// The operations of this io_uring.
    Ring(i32),
    /// The sets of `select` at these addresses, with descriptors below a number.
    Selected(u64, [u64; 2]),
    /// A child process, or any child (0 or below).
    Child(i32),
    /// Nothing that has a name.
    Nothing,
}

/// A blocked system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedCall {
    /// Its number; -1 where the thread is blocked outside of system calls: in a page fault.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// User stack pointer.
    pub stack_pointer: u64,
    /// User instruction pointer.
    pub instruction: u64,
}

impl BlockedCall {
    /// Whether it waits on a word of memory that processes may share (futex(2)).
    #[must_use]
    pub fn is_shared_futex(&self) -> bool {
        const PRIVATE: u64 = 128;
        self.number == libc::SYS_futex && self.arguments[1] & PRIVATE == 0
    }

    /// For how long the call waits for descriptors at most, ns; `None` where it waits for ever, or is another call. `read` reads the caller's memory and returns how many bytes it could.
    pub fn time_limit(&self, read: impl Fn(u64, &mut [u8]) -> usize) -> Option<u64> {
        let pair = |address: u64, unit: u64| time_in_memory(&read, address, unit);
        let milliseconds = |limit: u64| {
            let limit = u64::try_from(limit as i32).ok()?;
            Some(limit * 1_000_000)
        };
        let [first, second, third, fourth, fifth, _] = self.arguments;
        let limit = match self.number {
            libc::SYS_poll if second > 0 => milliseconds(third),
            libc::SYS_ppoll if second > 0 => pair(third, 1),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => milliseconds(fourth),
            libc::SYS_select if first > 0 && fourth == 0 => pair(fifth, 1_000),
            libc::SYS_pselect6 if first > 0 && fourth == 0 => pair(fifth, 1),
            _ => None,
        };
        limit.filter(|limit| *limit > 0)
    }

    /// For how long a wait for a word in memory still lasts at most, ns; `None` where it waits for ever, or is another call.
    /// `clock` returns the time of CLOCK_REALTIME, or else of CLOCK_MONOTONIC, ns (futex(2)).
    pub fn futex_limit(
        &self,
        read: impl Fn(u64, &mut [u8]) -> usize,
        clock: impl Fn(bool) -> u64,
    ) -> Option<u64> {
        const WAIT_BITSET: u64 = libc::FUTEX_WAIT_BITSET as u64;
        let [_, operation, _, limit, ..] = self.arguments;
        let futex = self.number == libc::SYS_futex;
        let limit = time_in_memory(read, limit, 1).filter(|_| futex)?;
        let realtime = operation & libc::FUTEX_CLOCK_REALTIME as u64 != 0;
        let left = match operation & libc::FUTEX_CMD_MASK as u64 {
            0 => limit,
            WAIT_BITSET => limit.saturating_sub(clock(realtime)),
            _ => 0,
        };
        Some(left).filter(|left| *left > 0)
    }

    /// For how long the call sleeps at least, ns; `None` where it sleeps until a time of day, or does not sleep.
    pub fn sleep_time(&self, read: impl Fn(u64, &mut [u8]) -> usize) -> Option<u64> {
        let [first, second, third, ..] = self.arguments;
        let time = match self.number {
            libc::SYS_nanosleep => time_in_memory(&read, first, 1),
            libc::SYS_clock_nanosleep if second & libc::TIMER_ABSTIME as u64 == 0 => {
                time_in_memory(&read, third, 1)
            }
            _ => None,
        };
        time.filter(|time| *time > 0)
    }

    /// Parses `/proc/TID/syscall` (proc(5)); `None` while the thread runs or is runnable, and where
    /// it has ended.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let number: i64 = words.next()?.parse().ok()?;
        let mut hex = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let mut arguments = [0; 6];
        if number >= 0 {
            for argument in &mut arguments {
                *argument = hex()?;
            }
        }
        Some(Self {
            number,
            arguments,
            stack_pointer: hex()?,
            instruction: hex()?,
        })
    }

    /// Whether the thread has ended and is not reaped yet: there is neither a call nor a stack.
    #[must_use]
    pub fn is_of_ended_thread(&self) -> bool {
        self.number < 0 && self.stack_pointer == 0 && self.instruction == 0
    }

    /// What it waits for and on; descriptors say more once they are looked up.
    #[must_use]
    pub fn waits(&self) -> (WaitReason, WaitedOn) {
        let [first, second, ..] = self.arguments;
        let descriptor = WaitedOn::Descriptor(first as i32);
        match self.number {
            -1 => (WaitReason::PageFault, WaitedOn::Nothing),
            libc::SYS_futex => (WaitReason::Condition, WaitedOn::Futex(first)),
            FUTEX_WAIT => (WaitReason::Condition, WaitedOn::Futex(first)),
            libc::SYS_read
            | libc::SYS_write
            | libc::SYS_readv
            | libc::SYS_writev
            | libc::SYS_pread64
            | libc::SYS_pwrite64
            | libc::SYS_preadv
            | libc::SYS_pwritev
            | libc::SYS_preadv2
            | libc::SYS_pwritev2
            | libc::SYS_splice
            | libc::SYS_vmsplice
            | libc::SYS_tee
            | libc::SYS_copy_file_range
            | libc::SYS_ftruncate
            | libc::SYS_fallocate
            | libc::SYS_fstat
            | libc::SYS_getdents64
            | libc::SYS_close
            | libc::SYS_ioctl => (WaitReason::File, descriptor),
            libc::SYS_sendfile => (WaitReason::File, descriptor),
            libc::SYS_recvfrom
            | libc::SYS_sendto
            | libc::SYS_recvmsg
            | libc::SYS_sendmsg
            | libc::SYS_recvmmsg
            | libc::SYS_sendmmsg
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_connect
            | libc::SYS_shutdown => (WaitReason::Socket, descriptor),
            libc::SYS_fsync
            | libc::SYS_fdatasync
            | libc::SYS_syncfs
            | libc::SYS_sync_file_range => (WaitReason::Fsync, descriptor),
            libc::SYS_sync | libc::SYS_msync => (WaitReason::Fsync, WaitedOn::Nothing),
            libc::SYS_open
            | libc::SYS_openat
            | libc::SYS_openat2
            | libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_access
            | libc::SYS_faccessat
            | libc::SYS_unlink
            | libc::SYS_unlinkat
            | libc::SYS_rename
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_mkdir
            | libc::SYS_mkdirat
            | libc::SYS_rmdir
            | libc::SYS_truncate
            | libc::SYS_readlink
            | libc::SYS_readlinkat
            | libc::SYS_execve
            | libc::SYS_execveat
            | libc::SYS_io_getevents => (WaitReason::File, WaitedOn::Nothing),
            libc::SYS_wait4 => (WaitReason::Child, WaitedOn::Child(first as i32)),
            libc::SYS_waitid => {
                const P_PID: u64 = 1;
                let child = if first == P_PID { second as i32 } else { 0 };
                (WaitReason::Child, WaitedOn::Child(child))
            }
            // A thread that is blocked in creating a process waits for a vfork's child.
            libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => {
                (WaitReason::Child, WaitedOn::Child(0))
            }
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => {
                (WaitReason::Sleep, WaitedOn::Nothing)
            }
            // Without descriptors only the time is left.
            libc::SYS_poll | libc::SYS_ppoll if second == 0 => {
                (WaitReason::Sleep, WaitedOn::Nothing)
            }
            libc::SYS_select | libc::SYS_pselect6 if first == 0 => {
                (WaitReason::Sleep, WaitedOn::Nothing)
            }
            libc::SYS_poll | libc::SYS_ppoll => (WaitReason::Poll, WaitedOn::Polled(first, second)),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
                (WaitReason::Poll, WaitedOn::Epoll(first as i32))
            }
            libc::SYS_select | libc::SYS_pselect6 => (
                WaitReason::Poll,
                WaitedOn::Selected(first, [second, self.arguments[2]]),
            ),
            // With IORING_ENTER_REGISTERED_RING it is an index of rings of which nothing is known.
            libc::SYS_io_uring_enter if self.arguments[3] & REGISTERED_RING == 0 => {
                (WaitReason::Poll, WaitedOn::Ring(first as i32))
            }
            libc::SYS_io_uring_enter
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_rt_sigsuspend
            | libc::SYS_pause => (WaitReason::Poll, WaitedOn::Nothing),
            libc::SYS_flock => (WaitReason::Lock, descriptor),
            libc::SYS_fcntl if matches!(second as i32, libc::F_SETLKW | libc::F_OFD_SETLKW) => {
                (WaitReason::Lock, descriptor)
            }
            libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_msgrcv
            | libc::SYS_msgsnd
            | libc::SYS_mq_timedreceive
            | libc::SYS_mq_timedsend => (WaitReason::Condition, WaitedOn::Nothing),
            _ => (WaitReason::Unknown, WaitedOn::Nothing),
        }
    }
}

/// Flag of `io_uring_enter`.
const REGISTERED_RING: u64 = 1 << 4;

/// `futex_wait` of Linux 6.7; its first argument is the word, too.
const FUTEX_WAIT: i64 = 455;

/// A `timespec` or `timeval` in memory, ns: two words, the second in units of so many ns.
fn time_in_memory(read: impl Fn(u64, &mut [u8]) -> usize, address: u64, unit: u64) -> Option<u64> {
    let mut bytes = [0; 16];
    if address == 0 || read(address, &mut bytes) < bytes.len() {
        return None;
    }
    let (seconds, rest) = bytes.split_at(8);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let rest = word(rest).checked_mul(unit)?;
    word(seconds).checked_mul(1_000_000_000)?.checked_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocked(number: i64, arguments: [u64; 6]) -> BlockedCall {
        BlockedCall {
            number,
            arguments,
            stack_pointer: 0,
            instruction: 0,
        }
    }

    fn call(number: i64, arguments: [u64; 6]) -> (WaitReason, WaitedOn) {
        blocked(number, arguments).waits()
    }

    #[test]
    fn ended_thread_that_is_not_reaped_has_no_stack() {
        let ended = |text| BlockedCall::parse(text).map(|call| call.is_of_ended_thread());
        assert_eq!(ended("-1 0x0 0x0\n"), Some(true));
        // In a page fault.
        assert_eq!(ended("-1 0x7ffc00001000 0x401136\n"), Some(false));
        assert_eq!(ended("running\n"), None);
    }

    #[test]
    fn lines_of_proc_are_parsed() {
        let blocked =
            BlockedCall::parse("0 0x3 0x7f00 0x20000 0x1 0x2 0x0 0x7ffc 0x7f68\n").unwrap();
        assert_eq!(blocked.number, 0);
        assert_eq!(blocked.arguments, [3, 0x7f00, 0x20000, 1, 2, 0]);
        assert_eq!(
            (blocked.stack_pointer, blocked.instruction),
            (0x7ffc, 0x7f68)
        );
        let fault = BlockedCall::parse("-1 0x7ffc 0x7f68\n").unwrap();
        assert_eq!(fault.waits().0, WaitReason::PageFault);
        assert_eq!(fault.instruction, 0x7f68);
        for other in ["running\n", "", "0 0x3"] {
            assert_eq!(BlockedCall::parse(other), None, "{other}");
        }
    }

    #[test]
    fn words_that_processes_may_share_are_told_by_the_flag() {
        let shared = |number, operation| {
            let call = blocked(number, [0x1000, operation, 2, 0, 0, 0]);
            call.is_shared_futex()
        };
        assert!(shared(libc::SYS_futex, libc::FUTEX_WAIT as u64));
        assert!(!shared(
            libc::SYS_futex,
            (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64
        ));
        assert!(!shared(libc::SYS_read, 0));
    }

    #[test]
    fn time_limits_are_read() {
        let limit = |number, arguments| {
            let call = blocked(number, arguments);
            call.time_limit(|address, buffer| {
                // Three seconds and five.
                let words = [3_u64, 5].map(u64::to_le_bytes).concat();
                let there = if address == 0x1000 { buffer.len() } else { 0 };
                buffer[..there].copy_from_slice(&words[..there]);
                there
            })
        };
        let poll = |count, limit: i32| [9, count, limit as u64, 0, 0, 0];
        assert_eq!(limit(libc::SYS_poll, poll(1, 60)), Some(60_000_000));
        assert_eq!(limit(libc::SYS_poll, poll(1, -1)), None);
        assert_eq!(limit(libc::SYS_poll, poll(2, 60)), Some(60_000_000));
        assert_eq!(limit(libc::SYS_poll, poll(0, 60)), None, "a sleep");
        let epoll = |limit: i32| [9, 0x2000, 16, limit as u64, 0, 0];
        assert_eq!(limit(libc::SYS_epoll_wait, epoll(20)), Some(20_000_000));
        assert_eq!(limit(libc::SYS_epoll_wait, epoll(-1)), None);
        let timed = |address| [1, 1, address, 0, address, 0];
        assert_eq!(limit(libc::SYS_ppoll, timed(0x1000)), Some(3_000_000_005));
        assert_eq!(limit(libc::SYS_ppoll, timed(0x2000)), None);
        assert_eq!(limit(libc::SYS_select, timed(0x1000)), Some(3_000_005_000));
        assert_eq!(limit(libc::SYS_pselect6, timed(0)), None);
        assert_eq!(limit(libc::SYS_read, timed(0x1000)), None);
    }

    #[test]
    fn calls_are_told_apart() {
        assert_eq!(
            call(libc::SYS_poll, [9, 0, 100, 0, 0, 0]).0,
            WaitReason::Sleep
        );
        assert_eq!(
            call(libc::SYS_poll, [9, 1, 100, 0, 0, 0]).1,
            WaitedOn::Polled(9, 1)
        );
        assert_eq!(
            call(libc::SYS_epoll_wait, [4, 9, 100, 0, 0, 0]),
            (WaitReason::Poll, WaitedOn::Epoll(4))
        );
        assert_eq!(
            call(libc::SYS_waitid, [1, 77, 0, 0, 0, 0]).1,
            WaitedOn::Child(77)
        );
        assert_eq!(
            call(libc::SYS_fcntl, [5, libc::F_SETLKW as u64, 0, 0, 0, 0]),
            (WaitReason::Lock, WaitedOn::Descriptor(5))
        );
        assert_eq!(
            call(libc::SYS_fcntl, [5, libc::F_GETFL as u64, 0, 0, 0, 0]).0,
            WaitReason::Unknown
        );
    }

    #[test]
    fn limits_of_waits_for_a_futex_are_read() {
        let limit = |number, operation: i32, address| {
            let call = blocked(number, [0x2000, operation as u64, 0, address, 0, 0]);
            let read = |address, buffer: &mut [u8]| {
                buffer.copy_from_slice(&[0_u64, address].map(u64::to_le_bytes).concat());
                buffer.len()
            };
            call.futex_limit(read, |realtime| if realtime { 700 } else { 900 })
        };
        let until = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let of_day = until | libc::FUTEX_CLOCK_REALTIME;
        assert_eq!(limit(libc::SYS_futex, until, 1000), Some(100));
        assert_eq!(limit(libc::SYS_futex, of_day, 1000), Some(300));
        assert_eq!(limit(libc::SYS_futex, libc::FUTEX_WAIT, 1000), Some(1000));
        assert_eq!(limit(libc::SYS_futex, until, 0), None, "for ever");
        assert_eq!(limit(libc::SYS_futex, until, 800), None, "over");
        assert_eq!(limit(libc::SYS_futex, libc::FUTEX_LOCK_PI, 1000), None);
        assert_eq!(limit(libc::SYS_read, until, 1000), None);
    }

    #[test]
    fn times_of_sleeps_are_read() {
        let time = |number, arguments| {
            let call = blocked(number, arguments);
            call.sleep_time(|_, buffer| {
                buffer.copy_from_slice(&[0_u64, 4_000_000].map(u64::to_le_bytes).concat());
                buffer.len()
            })
        };
        let for_a_time = [1, 0, 0x1000, 0, 0, 0];
        let until_a_time = [1, libc::TIMER_ABSTIME as u64, 0x1000, 0, 0, 0];
        let of_clock = |arguments| time(libc::SYS_clock_nanosleep, arguments);
        assert_eq!(of_clock(for_a_time), Some(4_000_000));
        assert_eq!(of_clock(until_a_time), None);
        assert_eq!(
            time(libc::SYS_nanosleep, [0x1000, 0, 0, 0, 0, 0]),
            Some(4_000_000)
        );
        assert_eq!(time(libc::SYS_poll, [0x1000, 0, 4, 0, 0, 0]), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC*") {
            if let Some(blocked) = BlockedCall::parse(&text) {
                let _ = blocked.waits();
            }
        }
    }
}
