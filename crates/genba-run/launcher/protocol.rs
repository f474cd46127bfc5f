//! The protocol between genba and its launcher. Both compile this file.
//!
//! A request is a header of [`HEADER`] bytes and a body, sent with its file descriptors by one
//! `sendmsg` on a stream socket; a reply is a [`Reply`] of [`REPLY`] bytes. Integers are
//! little-endian. Every length is checked by the side that reads.

/// First word of every message; its last byte is the protocol's version.
pub const MAGIC: u32 = u32::from_le_bytes(*b"gnb\x01");
/// Size of a request's header.
pub const HEADER: usize = 16;
/// Largest body: more than any argument list that Linux accepts.
pub const MAX_BODY: usize = 16 << 20;
/// Most descriptors with one request: three streams and an extra one.
pub const MAX_FDS: usize = 4;
/// Size of the fixed part of a start request.
pub const START: usize = 56;
/// Largest CPU mask in bytes (8192 CPUs, as many as Linux can be built for).
pub const MAX_MASK: usize = 1024;
/// Words of a reply.
pub const REPLY_WORDS: usize = 28;
/// Size of a reply.
pub const REPLY: usize = REPLY_WORDS * 8;

/// Kinds of requests.
pub mod request {
    /// No body. One descriptor: genba's stdin.
    pub const HELLO: u32 = 1;
    /// Body: [`super::Start`], CPU mask, strings.
    pub const START: u32 = 2;
    /// Release the gated child to `execve`. No body.
    pub const RELEASE: u32 = 3;
    /// End the run. Body: grace period in nanoseconds (u64).
    pub const END: u32 = 4;
}

/// Kinds of replies.
pub mod reply {
    /// The launcher is ready.
    pub const READY: u64 = 1;
    /// The child exists: waiting before `execve`, or past it.
    pub const STARTED: u64 = 2;
    /// The child could not become the target; stage and errno have the reason.
    pub const FAILED: u64 = 3;
    /// The run is over and its tree has ended (or was left, if requested).
    pub const ENDED: u64 = 4;
}

/// Flags of a start request.
pub mod flag {
    /// Wait for a release just before `execve`.
    pub const GATED: u32 = 1;
    /// Stay in genba's process group, which owns the terminal.
    pub const FOREGROUND: u32 = 2;
    /// Leave children running after the target's end.
    pub const KEEP: u32 = 4;
    /// Send [`super::reply::STARTED`] once the target runs (a gated start always does).
    pub const ANNOUNCE: u32 = 8;
}

/// Where one of the three standard streams goes.
pub mod stream {
    /// `/dev/null`.
    pub const NULL: u8 = 0;
    /// genba's own.
    pub const INHERIT: u8 = 1;
    /// The next descriptor that came with the request.
    pub const PASSED: u8 = 2;
}

/// Steps of the child on its way to the target, for messages.
pub mod stage {
    /// `clone`.
    pub const CLONE: u64 = 1;
    /// `setpgid`.
    pub const GROUP: u64 = 2;
    /// `dup3` of a stream.
    pub const STREAM: u64 = 3;
    /// `dup3` of the extra descriptor.
    pub const EXTRA: u64 = 4;
    /// `sched_setaffinity`.
    pub const AFFINITY: u64 = 5;
    /// `chdir`.
    pub const DIRECTORY: u64 = 6;
    /// `execve`.
    pub const EXEC: u64 = 7;
    /// Memory for the request.
    pub const MEMORY: u64 = 8;
    /// The child was killed before it got as far as `execve`.
    pub const KILLED: u64 = 9;
}

/// Why a run was ended.
pub mod reason {
    /// The target ended by itself.
    pub const NONE: u64 = 0;
    /// It timed out.
    pub const TIMEOUT: u64 = 1;
    /// genba requested it.
    pub const ASKED: u64 = 2;
}

/// A request's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// One of [`request`].
    pub kind: u32,
    /// Bytes of body that follow.
    pub body: u32,
    /// Descriptors that came with it.
    pub fds: u32,
}

impl Header {
    /// As bytes.
    pub fn encode(self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        put32(&mut out, 0, MAGIC);
        put32(&mut out, 4, self.kind);
        put32(&mut out, 8, self.body);
        put32(&mut out, 12, self.fds);
        out
    }

    /// From bytes; `None` unless magic and lengths are right.
    pub fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let header = Self {
            kind: get32(bytes, 4)?,
            body: get32(bytes, 8)?,
            fds: get32(bytes, 12)?,
        };
        let right = get32(bytes, 0)? == MAGIC
            && header.body as usize <= MAX_BODY
            && header.fds as usize <= MAX_FDS;
        right.then_some(header)
    }
}

/// The fixed part of a start request. After it: `mask` bytes of CPU mask, then strings, each
/// ended by a zero byte: program, directory (empty: the launcher's), `argc` arguments, `envc`
/// variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Of [`flag`].
    pub flags: u32,
    /// Number of arguments, the zeroth included.
    pub argc: u32,
    /// Number of environment variables.
    pub envc: u32,
    /// Of [`stream`], for stdin, stdout, stderr.
    pub streams: [u8; 3],
    /// Whether the last descriptor goes to the target as `extra_number`.
    pub extra: bool,
    /// Nanoseconds that the target may run; 0: as long as it likes.
    pub timeout: u64,
    /// Nanoseconds between SIGTERM and SIGKILL.
    pub grace: u64,
    /// Number of the extra descriptor in the target.
    pub extra_number: u32,
    /// Bytes of CPU mask; 0: leave it alone.
    pub mask: u32,
    /// genba's process group, for [`flag::FOREGROUND`].
    pub group: u32,
}

impl Start {
    /// As bytes.
    pub fn encode(&self) -> [u8; START] {
        let mut out = [0; START];
        put32(&mut out, 0, self.flags);
        put32(&mut out, 4, self.argc);
        put32(&mut out, 8, self.envc);
        let [a, b, c] = self.streams;
        put32(
            &mut out,
            12,
            u32::from_le_bytes([a, b, c, u8::from(self.extra)]),
        );
        put64(&mut out, 16, self.timeout);
        put64(&mut out, 24, self.grace);
        put32(&mut out, 32, self.extra_number);
        put32(&mut out, 36, self.mask);
        put32(&mut out, 40, self.group);
        out
    }

    /// From the beginning of a body; `None` if that is too short or contradicts itself.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let [a, b, c, extra] = get32(body, 12)?.to_le_bytes();
        let start = Self {
            flags: get32(body, 0)?,
            argc: get32(body, 4)?,
            envc: get32(body, 8)?,
            streams: [a, b, c],
            extra: extra != 0,
            timeout: get64(body, 16)?,
            grace: get64(body, 24)?,
            extra_number: get32(body, 32)?,
            mask: get32(body, 36)?,
            group: get32(body, 40)?,
        };
        let strings = (start.argc as usize)
            .checked_add(start.envc as usize)?
            .checked_add(2)?;
        let right = body.len() >= START
            && start.mask as usize <= MAX_MASK
            && start.argc >= 1
            && (start.streams.iter()).all(|&s| s <= stream::PASSED)
            // Each string has at least its zero byte.
            && strings <= (body.len() - START).checked_sub(start.mask as usize)?;
        right.then_some(start)
    }

    /// Number of descriptors that must come with the request.
    pub fn fds(&self) -> u32 {
        let passed = (self.streams.iter()).filter(|&&s| s == stream::PASSED);
        passed.count() as u32 + u32::from(self.extra)
    }
}

/// A reply of the launcher. Times of clocks in nanoseconds, of `rusage` in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// One of [`reply`].
    pub kind: u64,
    /// The target's process id (the launcher's own in [`reply::READY`]).
    pub pid: u64,
    /// One of [`stage`], where it failed.
    pub stage: u64,
    /// errno of the failure.
    pub errno: u64,
    /// CLOCK_MONOTONIC just before `execve`.
    pub start: u64,
    /// CLOCK_MONOTONIC when the launcher saw the target's end.
    pub end: u64,
    /// `si_code` of the target's end: CLD_EXITED, CLD_KILLED, CLD_DUMPED.
    pub code: u64,
    /// Its exit code or signal.
    pub status: u64,
    /// One of [`reason`].
    pub reason: u64,
    /// `ru_utime` of target and waited-for children.
    pub user: u64,
    /// `ru_stime` of target and waited-for children.
    pub system: u64,
    /// `ru_maxrss`, KiB.
    pub max_rss: u64,
    /// `ru_minflt`.
    pub minor_faults: u64,
    /// `ru_majflt`.
    pub major_faults: u64,
    /// `ru_nvcsw`.
    pub voluntary: u64,
    /// `ru_nivcsw`.
    pub involuntary: u64,
    /// Whether the three clocks below were read.
    pub own_known: u64,
    /// The target's own scheduler clock: its exact CPU time, all threads, no children.
    pub own_sched: u64,
    /// Its own user time as sampled by the timer tick, unscaled.
    pub own_virt: u64,
    /// Its own user and system time as sampled by the timer tick, unscaled.
    pub own_prof: u64,
    /// Children that the launcher reaped.
    pub orphans: u64,
    /// `ru_utime` of those.
    pub orphan_user: u64,
    /// `ru_stime` of those.
    pub orphan_system: u64,
    /// Processes that were still alive at the target's own end.
    pub left: u64,
    /// Processes that could not be ended (another user's, or stuck in the kernel).
    pub survivors: u64,
    /// Whether the account below was read.
    pub read_known: u64,
    /// Bytes that the reading calls of target and waited-for children returned.
    pub read_bytes: u64,
}

impl Reply {
    fn words(&self) -> [u64; REPLY_WORDS] {
        [
            u64::from(MAGIC),
            self.kind,
            self.pid,
            self.stage,
            self.errno,
            self.start,
            self.end,
            self.code,
            self.status,
            self.reason,
            self.user,
            self.system,
            self.max_rss,
            self.minor_faults,
            self.major_faults,
            self.voluntary,
            self.involuntary,
            self.own_known,
            self.own_sched,
            self.own_virt,
            self.own_prof,
            self.orphans,
            self.orphan_user,
            self.orphan_system,
            self.left,
            self.survivors,
            self.read_known,
            self.read_bytes,
        ]
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; REPLY] {
        let mut out = [0; REPLY];
        for (index, word) in self.words().into_iter().enumerate() {
            put64(&mut out, index * 8, word);
        }
        out
    }

    /// Decodes a reply; `None` if it is invalid.
    pub fn decode(bytes: &[u8; REPLY]) -> Option<Self> {
        let word = |index: usize| get64(bytes, index * 8);
        if word(0)? != u64::from(MAGIC) || !(reply::READY..=reply::ENDED).contains(&word(1)?) {
            return None;
        }
        Some(Self {
            kind: word(1)?,
            pid: word(2)?,
            stage: word(3)?,
            errno: word(4)?,
            start: word(5)?,
            end: word(6)?,
            code: word(7)?,
            status: word(8)?,
            reason: word(9)?,
            user: word(10)?,
            system: word(11)?,
            max_rss: word(12)?,
            minor_faults: word(13)?,
            major_faults: word(14)?,
            voluntary: word(15)?,
            involuntary: word(16)?,
            own_known: word(17)?,
            own_sched: word(18)?,
            own_virt: word(19)?,
            own_prof: word(20)?,
            orphans: word(21)?,
            orphan_user: word(22)?,
            orphan_system: word(23)?,
            left: word(24)?,
            survivors: word(25)?,
            read_known: word(26)?,
            read_bytes: word(27)?,
        })
    }
}

fn put32(out: &mut [u8], at: usize, value: u32) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

fn put64(out: &mut [u8], at: usize, value: u64) {
    if let Some(place) = out.get_mut(at..at + 8) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// The little-endian u32 at `at`.
pub fn get32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

/// The little-endian u64 at `at`.
pub fn get64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}
