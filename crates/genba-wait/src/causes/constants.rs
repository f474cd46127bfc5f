//! Constants of the detectors of waiting, each with its source.
//!
//! What a fix saves is a part of the time that waits for the cause: the likely part and the least one; at most it is all of
//! it. These parts are chosen. What holds the intervals against measured fixes is
//! [`GAIN_BEYOND_WAITS`](super::GAIN_BEYOND_WAITS) and `corpus/check --wait --measure`.

/// Likely and least part of a time that a fix saves.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedPart {
    pub likely: f64,
    pub least: f64,
}

const fn part(likely: f64, least: f64) -> SavedPart {
    SavedPart { likely, least }
}

// Locks.

/// Of the time on the critical path with a lock. A shorter section, or a lock for each part of the data, takes most of the
/// waiting away.
pub(super) const SAVED_OF_LOCKS: SavedPart = part(0.9, 0.5);
/// Part of the time of waits for a lock from which on its holders wait themselves. Chosen.
pub(super) const MOST_OF_HOLDS: f64 = 0.5;
/// Time of a lock on the critical path for each time that somebody waits for it, from which on the path says what holders do.
/// Chosen.
pub(super) const MIN_PART_ON_PATH: f64 = 0.1;
/// Least part that is saved of the wall time that goes if those who wait for a lock work side by side: what they do then may
/// be in each other's way elsewhere. Chosen.
pub(super) const SAVED_SIDE_BY_SIDE: f64 = 0.25;

// Input and output.

/// Waits from which on something is done again and again. Chosen.
pub(super) const MANY_WAITS: f64 = 10.0;
/// The same of sleeps with a good part of the wall time on the critical path: who looks three times looks again and again.
/// Chosen.
pub(super) const FEW_SLEEPS: f64 = 3.0;
/// That part. Chosen.
pub(super) const MIN_SHARE_OF_FEW_SLEEPS: f64 = 0.25;
/// Of waits for the disk: records that are forced together wait once for tens of them.
pub(super) const SAVED_OF_FORCED_WRITES: SavedPart = part(0.95, 0.7);
/// Of waits for pages of files: reading ahead hides most of them.
pub(super) const SAVED_OF_PAGE_FAULTS: SavedPart = part(0.8, 0.4);
/// Of sleeps while nobody works, if the awaited wakes the sleeper up.
pub(super) const SAVED_OF_SLEEPS: SavedPart = part(0.9, 0.4);
/// Share of sleeps before which the thread hardly ran, from which on it looks in vain, however much it does when it finds
/// something. Chosen: most of them.
pub(super) const MIN_WORKLESS_SLEEPS: f64 = 0.5;
/// Share of the time of sleeps in which another thread passes a time as well, and ends before them, from which on that is what
/// is looked for. Chosen: most of it.
pub(super) const MAX_BESIDE_OTHERS: f64 = 0.5;
/// Share of the time of sleeps in which another thread waits for a lock of the sleeper's, from which on they are not
/// polling. Chosen: most of it.
pub(super) const MAX_UNDER_LOCK: f64 = 0.5;

/// Waits in turns from which on their own cost counts. Chosen.
pub(super) const MANY_TURNS: f64 = 200.0;
/// Longest average wait that is mostly switching between threads, ns. Chosen.
pub(super) const SHORT_TURN_NS: f64 = 2e6;
/// Waits of those at the other end ÷ waits here, from which on it is a turn. Chosen: "about as often".
pub(super) const MIN_WAITS_OF_OTHER_END: f64 = 0.5;
/// Share of the time in which one works alone that the second of two has who take turns. Chosen.
pub(super) const MIN_SHARE_OF_SECOND: f64 = 0.15;
/// Of what turns cost.
pub(super) const SAVED_OF_TURNS: SavedPart = part(0.9, 0.4);
/// Share of a time that is the kernel's where the kernel is not sampled. Chosen.
pub(super) const UNKNOWN_KERNEL_SHARE: f64 = 0.5;

/// Share of a place's waits, by time, that must end by their time limits. Chosen: most of it.
pub(crate) const MIN_SHARE_EXPIRED: f64 = 0.5;
/// Waits for a condition that others end ÷ those that end by their time limit, from which on they are not a timer's. Chosen.
pub(super) const MIN_ENDED_BY_OTHERS: f64 = 0.2;
/// Waits for descriptors without a time limit ÷ those with one, from which on the limit is a timer of an event loop. Chosen.
pub(super) const MIN_WAITS_WITHOUT_LIMIT: f64 = 0.2;
/// Average waits of two ends for each other that are delayed acknowledgements, ns: Linux delays one by 40 ms at least
/// (`TCP_DELACK_MIN`), and a look is some ms late.
pub(super) const DELAYED_ACKNOWLEDGEMENT_NS: std::ops::Range<f64> = 35e6..60e6;
/// Part of such waits in which nobody is on a CPU. Chosen: nearly all of it.
pub(super) const MIN_SHARE_IDLE: f64 = 0.8;
/// Of waits that end by a time limit or an acknowledgement, where what is awaited comes at once.
pub(super) const SAVED_OF_STALLS: SavedPart = part(0.95, 0.4);

/// Reads or writes from which on their number counts. Chosen.
pub(super) const MANY_CALLS: f64 = 1000.0;
/// Bytes of a read or write from which on a call is not small: the usual size of buffers that are
/// large (`cp`, `cat` use 128 KiB).
pub(super) const LARGE_BYTES: f64 = 65_536.0;
/// What a read or write costs beside the copy, ns: entering and leaving the kernel. Likely, least, most; chosen.
pub(super) const CALL_NS: (f64, f64, f64) = (700.0, 200.0, 1500.0);
/// What copying a byte costs, ns: 10 GB/s. Chosen.
pub(super) const COPY_NS: f64 = 0.1;
/// Waits ÷ calls from which on most calls wait for a device.
pub(super) const MIN_WAITING_CALLS: f64 = 0.5;
/// Of the waits of small reads and writes, with a buffer.
pub(super) const SAVED_OF_SMALL_CALLS: SavedPart = part(0.85, 0.5);
/// Least part of the kernel's overhead of a call that a buffer saves. Chosen.
pub(super) const MIN_SAVED_OVERHEAD: f64 = 0.6;

// Parallelism.

/// Share of the wall time that a thread must have been on a CPU to count as one that works. Chosen.
pub(super) const MIN_SHARE_OF_WORKER: f64 = 0.02;
/// Share of a function's samples that one thread has if it is that thread's own. Chosen.
pub(super) const MIN_SHARE_OF_OWN_FUNCTION: f64 = 0.9;
/// Samples from which on a place is no chance. Chosen.
pub(super) const MIN_SAMPLES: u64 = 5;
/// Share of a thread's time in functions of another one from which on they do the same kind of work. Chosen: most of it.
pub(super) const MIN_SHARE_OF_SAME_WORK: f64 = 0.5;
/// Threads that are compared with all others. Chosen: more are of pools, whose threads begin in one function.
pub(super) const MAX_COMPARED_WORKERS: usize = 64;
/// Of the time that an even division would save: pieces are seldom of one size.
pub(super) const SAVED_OF_UNEVEN_WORK: SavedPart = part(0.8, 0.35);
/// Part of the waits of work alone from which on the turns that threads take are why it is alone. Chosen: most of it.
pub(super) const MIN_TURNS_OF_WORK_ALONE: f64 = 0.5;

/// Life of a process below which most of it is its start and end, ns: loading, linking and
/// clearing up take about a millisecond.
pub(super) const SHORT_LIFE_NS: f64 = 10e6;
/// Time of all lives ÷ time in which any of them lived, from which on they overlap. Chosen.
pub(super) const MIN_OVERLAP_OF_LIVES: f64 = 1.3;
/// Of the waits for short-lived children, if one process does their work.
pub(super) const SAVED_OF_STARTS: SavedPart = part(0.9, 0.4);
/// Of what children side by side would save.
pub(super) const SAVED_OF_CHILDREN_IN_TURN: SavedPart = part(0.9, 0.3);

/// Direct and indirect cost of a switch, ns (Li, Ding, Shen, "Quantifying the cost of context
/// switch", ExpCS 2007: a few µs, more with caches to fill again). Likely, least, most.
pub(super) const SWITCH_NS: (f64, f64, f64) = (5_000.0, 1_000.0, 30_000.0);
/// Ready threads for each CPU from which on there are too many. Chosen.
pub(super) const MANY_READY_THREADS: f64 = 1.5;
/// Of the time that the quota takes.
pub(super) const SAVED_OF_QUOTA: SavedPart = part(0.9, 0.5);
