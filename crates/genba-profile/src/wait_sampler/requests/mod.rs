//! What a server's requests waited for, one by one: every system call of its threads is recorded.
//!
//! **A request** begins when a thread reads from a connection that was accepted, and ends with the last
//! write to it before the next read. What the writing thread did in between, on a CPU or blocked, is its
//! parts: they add up to its time. Snapshots are far too rare for that, so the kernel's tracepoints
//! `raw_syscalls:sys_enter` and `sys_exit` are recorded, with the switches of threads. They need root or
//! `CAP_PERFMON`, and tracefs. Users have the tracepoints `syscalls:*`, two for each call: those of the calls that
//! requests are made of are recorded, and what a thread waits for in another call is what snapshots see.
//!
//! Hardware breakpoints behind the `syscall` instructions of the C library would do without tracepoints, and were
//! tried: a hit took 13 µs in a virtual machine, as much as redis takes for a request, and there are four of them.
//!
//! **Not seen**: how long a request lay in the socket's buffer before it was read or `epoll` told of it;
//! requests by io_uring; several requests that are under way on one connection at a time (HTTP/2).

mod accepted_sockets;
mod call_kinds;
mod call_trace;
mod kept_requests;
mod request_log;
mod traced_calls;
mod tracepoint_cache;
mod tracepoint_search;
mod unused_calls;

pub use kept_requests::{PartKind, SeenPart, SeenRequest, SeenRequests};

pub(super) use accepted_sockets::AcceptedSockets;
pub(super) use call_trace::CallTrace;
pub(super) use request_log::{CallEvent, CallRecord, RequestLog};
