//! The locks of language runtimes under which only one thread runs scripts at a time.

use genba_model::WaitReason;

use crate::stacks::NamedFrame;

/// Functions that wait for such a lock, with its name: CPython's `take_gil` (Python/ceval_gil.c) and
/// what calls it where that has no symbol; Ruby's `gvl_acquire` (thread_pthread.c up to 3.2) and
/// `thread_sched_to_running` (from 3.3 on).
const WAITING: [(&str, &str); 7] = [
    ("take_gil", "the GIL"),
    ("PyEval_RestoreThread", "the GIL"),
    ("PyEval_AcquireThread", "the GIL"),
    ("PyEval_AcquireLock", "the GIL"),
    ("gvl_acquire", "the GVL"),
    ("thread_sched_to_running", "the GVL"),
    ("thread_sched_wait_running_turn", "the GVL"),
];
/// Since 3.3 a thread of Ruby that waits for anything ends where it would wait for its turn: these say that it waits for
/// something else first.
const FOR_OTHER_REASONS: [&str; 3] = [
    "native_sleep",
    "thread_sched_to_waiting_until_wakeup",
    "thread_sched_wait_events",
];
/// Frames between the kernel and these functions: the C library's, and wrappers of conditions.
const MAX_BETWEEN: usize = 6;

/// The name of the lock if this stack waits for one. `reason` is what the kernel's call tells: a wait
/// for anything but a word in memory (a file, a socket) has let go of the lock before.
pub fn runtime_lock(reason: WaitReason, stack: &[NamedFrame]) -> Option<&'static str> {
    if !matches!(reason, WaitReason::Condition | WaitReason::Lock) {
        return None;
    }
    let user = stack.iter().filter(|frame| !frame.kernel);
    let names: Vec<&str> = user
        .take(MAX_BETWEEN + 2)
        .map(|frame| base_name(&frame.place.function))
        .collect();
    if names.iter().any(|name| FOR_OTHER_REASONS.contains(name)) {
        return None;
    }
    names.iter().take(MAX_BETWEEN).find_map(|name| {
        let found = WAITING.iter().find(|(waits, _)| is_variant(name, waits))?;
        Some(found.1)
    })
}

/// Without what compilers append to parts and copies of functions: `take_gil.lto_priv.0`.
fn base_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The function itself or the part of it that its file keeps apart (`gvl_acquire_common`).
fn is_variant(name: &str, waits: &str) -> bool {
    name.strip_prefix(waits)
        .is_some_and(|rest| rest.is_empty() || rest == "_common")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::frames;

    fn lock(reason: WaitReason, names: &[&str]) -> Option<&'static str> {
        runtime_lock(reason, &frames(names))
    }

    #[test]
    fn locks_of_runtimes_are_named() {
        let python = [
            "__futex_abstimed_wait_common",
            "pthread_cond_timedwait",
            "PyCOND_TIMEDWAIT",
            "take_gil.lto_priv.0",
            "PyEval_RestoreThread",
        ];
        assert_eq!(lock(WaitReason::Condition, &python), Some("the GIL"));
        // A stripped interpreter has only the functions that others may call.
        let stripped = ["pthread_cond_timedwait", "PyEval_RestoreThread"];
        assert_eq!(lock(WaitReason::Condition, &stripped), Some("the GIL"));
        let ruby = ["pthread_cond_wait", "gvl_acquire_common", "gvl_acquire"];
        assert_eq!(lock(WaitReason::Condition, &ruby), Some("the GVL"));
        let newer = ["pthread_cond_wait", "thread_sched_to_running_common.isra.0"];
        assert_eq!(lock(WaitReason::Condition, &newer), Some("the GVL"));
    }

    #[test]
    fn other_waits_of_runtimes_are_not_for_their_lock() {
        // A lock of the script, waited for without the GIL.
        let script = [
            "sem_clockwait",
            "PyThread_acquire_lock_timed",
            "acquire_timed",
        ];
        assert_eq!(lock(WaitReason::Condition, &script), None);
        // A read on the way into the interpreter.
        let read = ["read", "PyEval_RestoreThread"];
        assert_eq!(lock(WaitReason::Pipe, &read), None);
        // The name far below what waits.
        let far = ["futex", "a", "b", "c", "d", "e", "take_gil"];
        assert_eq!(lock(WaitReason::Condition, &far), None);
        // A wait on a queue of Ruby 3.3.
        let queue = [
            "pthread_cond_wait",
            "thread_sched_wait_running_turn",
            "thread_sched_to_waiting_until_wakeup",
            "native_sleep",
            "sleep_forever",
        ];
        assert_eq!(lock(WaitReason::Condition, &queue), None);
        let user = ["pthread_cond_wait", "take_gilded_coins"];
        assert_eq!(lock(WaitReason::Condition, &user), None);
    }
}
