//! Which thread ended a wait, where that is known, in bounded memory. Pure.

use genba_model::WaitReason;

use super::wait_recording::{SeenWakeUp, ThreadIndex};
use super::waited_for::{Enders, WaitedFor};

/// Most ends of waits that are kept: those after the longest waits.
const MAX_WAKE_UPS: usize = 2_000;

/// Ends of waits with the thread that brought each about.
#[derive(Debug, Default)]
pub struct WakeUpLog {
    all: Vec<SeenWakeUp>,
}

impl WakeUpLog {
    /// Adds one.
    pub fn add(&mut self, one: SeenWakeUp) {
        self.all.push(one);
        if self.all.len() >= 2 * MAX_WAKE_UPS {
            self.bound();
        }
    }

    /// Those after the longest waits.
    pub fn finish(mut self) -> Vec<SeenWakeUp> {
        self.bound();
        self.all
    }

    fn bound(&mut self) {
        self.all
            .sort_by_key(|one| (std::cmp::Reverse(one.waited), one.at));
        self.all.truncate(MAX_WAKE_UPS);
    }
}

/// The thread that ends a wait, if there is only one that can: the owner that a lock names, the thread or
/// child that is joined, the only thread of the only process at the other end of a pipe or socket.
/// A condition may be signalled by any thread, and a poll or a sleep may end by the clock.
pub fn known_waker(
    wait: &WaitedFor,
    index_of: &dyn Fn(i32) -> Option<ThreadIndex>,
    threads_of: &dyn Fn(i32) -> Vec<ThreadIndex>,
) -> Option<ThreadIndex> {
    match (&wait.enders, wait.reason) {
        (Enders::Thread(tid), WaitReason::Lock | WaitReason::Join | WaitReason::Child) => {
            index_of(*tid)
        }
        (Enders::Processes(pids), WaitReason::Pipe | WaitReason::Socket) => match pids[..] {
            [pid] => match threads_of(pid)[..] {
                [thread] => Some(thread),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::waited_for::Named;
    use super::*;

    fn waker(reason: WaitReason, enders: Enders) -> Option<ThreadIndex> {
        let wait = WaitedFor {
            reason,
            object: Named::Nothing,
            enders,
        };
        let index_of = |tid: i32| (tid < 100).then_some(tid as ThreadIndex);
        // Process 7 has one thread, process 8 two.
        let threads_of = |pid: i32| (0..pid as ThreadIndex - 6).collect();
        known_waker(&wait, &index_of, &threads_of)
    }

    #[test]
    fn waker_is_known_only_where_no_other_thread_can_end_the_wait() {
        assert_eq!(waker(WaitReason::Lock, Enders::Thread(5)), Some(5));
        assert_eq!(waker(WaitReason::Join, Enders::Thread(5)), Some(5));
        assert_eq!(waker(WaitReason::Pipe, Enders::Processes(vec![7])), Some(0));
        // Near misses: an owner that is not watched, several threads or processes, a condition, a
        // lock without an owner, a poll that may time out.
        assert_eq!(waker(WaitReason::Lock, Enders::Thread(500)), None);
        assert_eq!(waker(WaitReason::Pipe, Enders::Processes(vec![8])), None);
        assert_eq!(waker(WaitReason::Pipe, Enders::Processes(vec![7, 7])), None);
        assert_eq!(waker(WaitReason::Condition, Enders::OthersInProcess), None);
        assert_eq!(waker(WaitReason::Lock, Enders::OthersInProcess), None);
        assert_eq!(waker(WaitReason::Poll, Enders::Processes(vec![7])), None);
        assert_eq!(waker(WaitReason::Child, Enders::Children), None);
    }

    #[test]
    fn wake_ups_after_the_longest_waits_are_kept() {
        let mut log = WakeUpLog::default();
        let count = 5 * MAX_WAKE_UPS as u64;
        for at in 0..count {
            log.add(SeenWakeUp {
                at,
                // In no order.
                waited: at * 7919 % count,
                waker: 0,
                woken: 1,
            });
            assert!(log.all.len() < 2 * MAX_WAKE_UPS);
        }
        let kept = log.finish();
        assert_eq!(kept.len(), MAX_WAKE_UPS);
        let least = count - MAX_WAKE_UPS as u64;
        assert!(kept.iter().all(|one| one.waited >= least));
    }
}
