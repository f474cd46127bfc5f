//! A server's requests, one by one: part of the document of `genba wait --requests`.

use serde::{Deserialize, Serialize};

use crate::{WaitPlace, WaitReason};

/// The requests of the connections that a server accepted. A request lasts from being read (or from the
/// moment at which `epoll` and its like told of it) to the last write of its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// Requests that were answered.
    pub count: u64,
    /// Connections that had one.
    pub connections: u64,
    /// Records of system calls that the kernel had no room for, or of more threads than are followed: requests of that
    /// time are wrong or missing.
    pub lost_records: u64,
    /// Median time, seconds.
    pub median: f64,
    /// Nine of ten are faster, seconds.
    pub p90: f64,
    /// 99 of 100 are faster, seconds.
    pub p99: f64,
    /// The longest, seconds.
    pub longest: f64,
    /// How many of the slowest `parts` is about: one in a hundred, but at least ten and at most a thousand.
    pub slow: u64,
    /// The shortest of these, seconds.
    pub slow_from: f64,
    /// How many of the faster half `parts` compares them with.
    pub fast: u64,
    /// What the serving threads did meanwhile, the largest difference first.
    pub parts: Vec<RequestPart>,
    /// The slowest requests, slowest first.
    pub slowest: Vec<SlowRequest>,
}

/// What serving threads did in requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestPart {
    /// What they did; `running` is on a CPU.
    pub state: WaitReason,
    /// Whether that was for other requests, which this one had to wait for.
    pub others: bool,
    /// The system call; none in code of their own.
    pub call: Option<String>,
    /// Mean time of it in a slow request, seconds.
    pub slow_seconds: f64,
    /// The same in a request of the faster half.
    pub fast_seconds: f64,
    /// Slow requests that have it.
    pub slow_requests: u64,
    /// Where snapshots saw threads in it, in slow requests and most often.
    pub place: Option<WaitPlace>,
    /// The lock, file, pipe, process.
    pub object: Option<String>,
}

/// A request that took long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// When it was read, seconds after the start of the whole.
    pub at: f64,
    /// Its time, seconds.
    pub seconds: f64,
    /// Thread id of the thread that answered.
    pub tid: i32,
    /// Whether another thread had read it.
    pub handed_over: bool,
    /// What took most of its time.
    pub most: RequestPart,
}
