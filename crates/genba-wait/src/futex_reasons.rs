//! What a futex stands for, by the library functions between the kernel and the user's code.

use genba_model::WaitReason;
use genba_profile::wait_sampler::SeenWait;

use crate::stacks::NamedFrame;

/// Parts of names of functions that wait, with what they wait for. The first that fits counts: names
/// of conditions often hold the name of the lock as well.
const NAMES: [(&str, WaitReason); 26] = [
    ("pthread_cond", WaitReason::Condition),
    ("pthread_barrier", WaitReason::Condition),
    ("barrier", WaitReason::Condition),
    ("Condvar", WaitReason::Condition),
    ("condvar", WaitReason::Condition),
    ("condition_variable", WaitReason::Condition),
    ("sem_wait", WaitReason::Condition),
    ("sem_timedwait", WaitReason::Condition),
    ("sem_clockwait", WaitReason::Condition),
    ("new_sem_wait", WaitReason::Condition),
    ("semaphore", WaitReason::Condition),
    ("thread::park", WaitReason::Condition),
    ("Parker", WaitReason::Condition),
    ("pthread_join", WaitReason::Join),
    ("pthread_clockjoin", WaitReason::Join),
    ("pthread_timedjoin", WaitReason::Join),
    ("pthread_mutex", WaitReason::Lock),
    ("lll_lock_wait", WaitReason::Lock),
    ("lll_mutex_lock", WaitReason::Lock),
    ("pthread_rwlock", WaitReason::Lock),
    ("lock_contended", WaitReason::Lock),
    ("lock_slow", WaitReason::Lock),
    ("lock_exclusive_slow", WaitReason::Lock),
    ("lock_shared_slow", WaitReason::Lock),
    ("read_contended", WaitReason::Lock),
    ("write_contended", WaitReason::Lock),
];

/// The function of CPython that takes a lock of a script (Python/thread_pthread.h).
const PYTHON_LOCK: &str = "PyThread_acquire_lock_timed";

/// What a wait is for, more exactly than its system call tells.
pub fn refine(wait: &SeenWait, stack: &[NamedFrame]) -> WaitReason {
    if !matches!(wait.reason, WaitReason::Condition | WaitReason::Lock)
        || wait.call != libc::SYS_futex
    {
        return wait.reason;
    }
    if let Some(script) = stack.iter().find(|frame| frame.script)
        && stack
            .iter()
            .any(|frame| frame.place.function == PYTHON_LOCK)
    {
        // The language's own conditions, queues and joins are made of such locks.
        return match (script.own, script.place.function.as_str()) {
            (true, _) => WaitReason::Lock,
            (false, name) if name.ends_with("_wait_for_tstate_lock") => WaitReason::Join,
            _ => WaitReason::Condition,
        };
    }
    // From the kernel outward up to the user's code: the outermost library function says what the
    // user asked for (a condition's wait ends by taking its lock).
    let library: Vec<&NamedFrame> = stack.iter().take_while(|frame| !frame.own).collect();
    let named = library.iter().rev().find_map(|frame| {
        let name = frame.place.function.as_str();
        let found = NAMES.iter().find(|(part, _)| name.contains(part))?;
        Some(found.1)
    });
    if let Some(named) = named {
        // Behind a condition its lock is taken again: whoever holds that is known.
        let relocks = wait.reason == WaitReason::Lock && named == WaitReason::Condition;
        return if relocks { wait.reason } else { named };
    }
    // A lock of the user's own, by the function that asks the kernel.
    let own = stack.iter().find(|frame| frame.own);
    let locks = own.is_some_and(|frame| {
        let name = frame.place.function.to_ascii_lowercase();
        name.contains("lock") && !name.contains("unlock")
    });
    if locks { WaitReason::Lock } else { wait.reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::WaitPlace;
    use genba_profile::wait_sampler::WaitObject;

    fn stack(names: &[(&str, bool)]) -> Vec<NamedFrame> {
        names
            .iter()
            .map(|(name, own)| NamedFrame {
                place: WaitPlace {
                    function: (*name).to_owned(),
                    file: None,
                    line: None,
                },
                own: *own,
                kernel: false,
                script: false,
            })
            .collect()
    }

    fn refined(reason: WaitReason, names: &[(&str, bool)]) -> WaitReason {
        let wait = SeenWait {
            reason,
            call: libc::SYS_futex,
            object: WaitObject::Futex(8, None),
            limited: false,
            stack: (1, 1),
        };
        refine(&wait, &stack(names))
    }

    #[test]
    fn library_functions_tell_what_a_futex_is() {
        let condition = refined(
            WaitReason::Condition,
            &[
                ("__futex_abstimed_wait_common", false),
                ("pthread_cond_wait@@GLIBC_2.3.2", false),
                ("take_job", true),
            ],
        );
        assert_eq!(condition, WaitReason::Condition);
        let lock = refined(
            WaitReason::Condition,
            &[
                ("syscall", false),
                ("std::sys::sync::mutex::futex::Mutex::lock_contended", false),
                ("ledger::add", true),
            ],
        );
        assert_eq!(lock, WaitReason::Lock);
        let barrier = refined(
            WaitReason::Condition,
            &[
                ("futex_wait", false),
                ("pthread_barrier_wait", false),
                ("step", true),
            ],
        );
        assert_eq!(barrier, WaitReason::Condition);
        // The names of callers do not count.
        let own = refined(
            WaitReason::Condition,
            &[
                ("syscall", false),
                ("wait_for_turn", true),
                ("lock_all", true),
            ],
        );
        assert_eq!(own, WaitReason::Condition);
        let own_lock = refined(
            WaitReason::Condition,
            &[("syscall", false), ("spin_lock", true)],
        );
        assert_eq!(own_lock, WaitReason::Lock);
    }

    #[test]
    fn locks_of_a_python_script_are_told_from_what_its_library_makes_of_them() {
        let python = |script: (&str, bool)| {
            let mut frames = stack(&[
                ("sem_clockwait", false),
                ("PyThread_acquire_lock_timed", false),
                script,
                ("main", true),
            ]);
            frames[2].script = true;
            let wait = SeenWait {
                reason: WaitReason::Condition,
                call: libc::SYS_futex,
                object: WaitObject::Futex(8, None),
                limited: false,
                stack: (1, 1),
            };
            refine(&wait, &frames)
        };
        assert_eq!(python(("step", true)), WaitReason::Lock);
        assert_eq!(python(("Condition.wait", false)), WaitReason::Condition);
        let join = "Thread._wait_for_tstate_lock";
        assert_eq!(python((join, false)), WaitReason::Join);
    }

    #[test]
    fn a_lock_behind_a_condition_is_a_lock() {
        let relock = refined(
            WaitReason::Lock,
            &[
                ("__lll_lock_wait", false),
                ("pthread_cond_wait", false),
                ("take_job", true),
            ],
        );
        assert_eq!(relock, WaitReason::Lock);
    }
}
