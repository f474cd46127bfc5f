//! What differs between versions of CRuby in the objects that stacks are read from.
//!
//! Offsets are those of vm_core.h, iseq.h and include/ruby/internal/core/rstring.h on 64-bit machines, taken from a program that
//! was compiled with each version's own definitions (as the crate rbspy-ruby-structs has them). Bug-fix
//! releases do not change those of stacks.

/// The layout of a version.
#[derive(Debug, PartialEq, Eq)]
pub struct RubyLayout {
    /// `sizeof(rb_control_frame_t)`.
    pub frame_size: usize,
    /// `rb_iseq_constant_body.insns_info`: the entries, their number, and the table of ranks.
    pub entries: usize,
    /// `sizeof(struct iseq_insn_info_entry)`.
    pub entry_size: usize,
    /// Whether the first line of a method is an object; else it is an `int`.
    pub line_is_object: bool,
    /// Whether a string has its length outside its flags.
    pub string_has_length: bool,
    /// Whether each thread has its own `ruby_current_ec`; else the one with the lock has a global variable.
    pub context_per_thread: bool,
    /// Where threads, the GVL and mutexes are, if that is known.
    pub threads: Option<&'static ThreadLayout>,
}

/// Offsets in the main ractor, its threads and their native threads (vm_core.h, ractor_core.h and thread_pthread.h).
#[derive(Debug, PartialEq, Eq)]
pub struct ThreadLayout {
    /// `rb_ractor_t.threads.set`: the list of its threads.
    pub threads: u64,
    /// The GVL (`threads.gvl`, since 3.2 `threads.sched`) and its bytes.
    pub gvl: u64,
    /// See `gvl`.
    pub gvl_size: u64,
    /// The thread that has it.
    pub owner: u64,
    /// The list of those that wait for it.
    pub waiting: u64,
    /// `rb_thread_t`: a place in that list.
    pub node: usize,
    /// The Mutex that it waits for; the first of those that it holds; threads that wait for its end.
    pub locking: usize,
    /// See `locking`.
    pub keeping: usize,
    /// See `locking`.
    pub joined_by: usize,
    /// Where its native thread is; `None` where that is a part of it.
    pub native: Option<usize>,
    /// In the native thread (before 3.2 in the thread): its thread pointer.
    pub pointer: usize,
    /// Its number.
    pub tid: usize,
    /// The condition on which it waits for the GVL as well as in `sleep` or for a Mutex.
    pub condition: usize,
}

const THREADS_3_1: ThreadLayout = ThreadLayout {
    threads: 304,
    gvl: 336,
    gvl_size: 184,
    owner: 336,
    waiting: 384,
    node: 104,
    locking: 264,
    keeping: 272,
    joined_by: 280,
    native: None,
    pointer: 80,
    tid: 88,
    condition: 120,
};
const THREADS_3_2: ThreadLayout = ThreadLayout {
    node: 56,
    locking: 216,
    keeping: 224,
    joined_by: 232,
    native: Some(40),
    pointer: 8,
    tid: 16,
    condition: 32,
    ..THREADS_3_1
};
const THREADS_3_3: ThreadLayout = ThreadLayout {
    threads: 256,
    gvl: 288,
    gvl_size: 96,
    owner: 328,
    waiting: 344,
    node: 72,
    locking: 344,
    keeping: 352,
    joined_by: 360,
    native: Some(40),
    pointer: 16,
    tid: 24,
    condition: 40,
};
const THREADS_3_4: ThreadLayout = ThreadLayout {
    joined_by: 376,
    ..THREADS_3_3
};

const V2_7: RubyLayout = RubyLayout {
    frame_size: 56,
    entries: 120,
    entry_size: 8,
    line_is_object: true,
    string_has_length: false,
    context_per_thread: false,
    threads: None,
};
const V3_0: RubyLayout = RubyLayout {
    context_per_thread: true,
    ..V2_7
};
const V3_1: RubyLayout = RubyLayout {
    frame_size: 64,
    entry_size: 12,
    threads: Some(&THREADS_3_1),
    ..V3_0
};
const V3_2: RubyLayout = RubyLayout {
    entries: 112,
    line_is_object: false,
    string_has_length: true,
    threads: Some(&THREADS_3_2),
    ..V3_1
};
const V3_3: RubyLayout = RubyLayout {
    frame_size: 56,
    threads: Some(&THREADS_3_3),
    ..V3_2
};
const V3_4: RubyLayout = RubyLayout {
    threads: Some(&THREADS_3_4),
    ..V3_3
};
/// Bug-fix releases have moved what the GVL is found by.
const V4_0: RubyLayout = RubyLayout {
    threads: None,
    ..V3_3
};

impl RubyLayout {
    /// The layout of a version such as `3.1.2`.
    #[must_use]
    pub fn of(version: &str) -> Option<&'static Self> {
        let mut parts = version.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
            return None;
        };
        match (major, minor) {
            (2, 7) => Some(&V2_7),
            (3, 0) => Some(&V3_0),
            (3, 1) => Some(&V3_1),
            (3, 2) => Some(&V3_2),
            (3, 3) => Some(&V3_3),
            (3, 4) => Some(&V3_4),
            (4, 0) => Some(&V4_0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_minor_version() {
        assert_eq!(RubyLayout::of("3.1.2"), Some(&V3_1));
        assert_eq!(RubyLayout::of("3.4.10"), Some(&V3_4));
        for unknown in ["2.6.10", "3.10.0", "4.1.0", "", "3", "x.y"] {
            assert_eq!(RubyLayout::of(unknown), None, "{unknown}");
        }
    }
}
