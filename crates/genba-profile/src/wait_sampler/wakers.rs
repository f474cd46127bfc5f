//! Which threads could end each wait of a snapshot.

use std::collections::HashMap;

use super::snapshots::ThreadNow;
use super::wait_recording::ThreadIndex;
use super::waited_for::{Enders, Named, WaitedFor};
use genba_model::WaitReason;

/// Threads among which one of unknown identity is looked for.
const MAX_CANDIDATES: usize = 8;

/// A thread in a snapshot, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The thread.
    pub index: ThreadIndex,
    /// Its process.
    pub pid: i32,
    /// Whether it is the first of its process.
    pub first: bool,
    /// What it waits for; `None` on a CPU or runnable.
    pub waits: Option<&'a WaitedFor>,
    /// The other end of the pipe or socket that it waits for.
    pub other_end: Option<&'a str>,
    /// The pipe or socket for which it was last seen waiting.
    pub served: Option<&'a str>,
    /// The address of the lock without an owner's name for which it was last seen waiting, and when it no longer was.
    pub took: Option<(u64, u64)>,
}

impl<'a> Candidate<'a> {
    /// The pipe or socket with whose data it is at work: it had waited for it, and now does something else.
    fn at_work_for(&self) -> Option<&'a str> {
        self.served.filter(|served| {
            let object = self.waits.map(|wait| &wait.object);
            !matches!(object, Some(Named::Descriptor(name)) if name == served)
        })
    }
}

/// The threads of a process that could wake others.
#[derive(Default)]
struct OfProcess<'a> {
    running: Vec<ThreadIndex>,
    /// Blocked, but not until another thread of the process does something.
    elsewhere: Vec<(ThreadIndex, &'a Named)>,
}

/// Fills in `waits_for` of each thread of a snapshot. `snapshot` and `threads` are in the same order.
pub fn fill_in(
    snapshot: &mut [ThreadNow],
    threads: &[Candidate<'_>],
    index_of: &dyn Fn(i32) -> Option<ThreadIndex>,
    parent_of: &dyn Fn(i32) -> i32,
) {
    let mut processes: HashMap<i32, OfProcess<'_>> = HashMap::new();
    let known: HashMap<ThreadIndex, ThreadIndex> = threads
        .iter()
        .filter_map(|thread| match thread.waits?.enders {
            Enders::Thread(tid) => Some((thread.index, index_of(tid)?)),
            _ => None,
        })
        .collect();
    let mut children: HashMap<i32, Vec<ThreadIndex>> = HashMap::new();
    for thread in threads {
        let process = processes.entry(thread.pid).or_default();
        match thread.waits {
            None => process.running.push(thread.index),
            Some(wait) if !matches!(wait.reason, WaitReason::Condition | WaitReason::Join) => {
                process.elsewhere.push((thread.index, &wait.object));
            }
            Some(_) => {}
        }
        if thread.first {
            let found = children.entry(parent_of(thread.pid)).or_default();
            if found.len() < MAX_CANDIDATES {
                found.push(thread.index);
            }
        }
    }
    let mut at_work: HashMap<(i32, &str), Vec<ThreadIndex>> = HashMap::new();
    for thread in threads {
        if let Some(served) = thread.at_work_for() {
            let key = (thread.pid, served);
            at_work.entry(key).or_default().push(thread.index);
        }
    }
    let mut sizes: HashMap<i32, usize> = HashMap::new();
    for thread in threads {
        *sizes.entry(thread.pid).or_default() += 1;
    }
    let takers = last_takers(threads);
    let running: Vec<_> = threads.iter().filter(|one| one.waits.is_none()).collect();
    let is_in_files = |one: &&Candidate<'_>| {
        one.waits.is_some_and(|wait| {
            matches!(
                wait.reason,
                WaitReason::File | WaitReason::Fsync | WaitReason::PageFault
            )
        })
    };
    let in_files: Vec<_> = threads.iter().filter(is_in_files).collect();
    for (one, thread) in snapshot.iter_mut().zip(threads) {
        let Some(found) = thread.waits else {
            continue;
        };
        let other_processes = || {
            let of = |group: &[&Candidate<'_>]| -> Vec<ThreadIndex> {
                let others = group.iter().filter(|one| one.pid != thread.pid);
                others.map(|one| one.index).take(MAX_CANDIDATES).collect()
            };
            match of(&running) {
                none if none.is_empty() => of(&in_files),
                some => some,
            }
        };
        let could_wake = |pid: i32| {
            let process = processes.get(&pid);
            process.map_or_else(Vec::new, |process| {
                process.could_wake(thread.index, &found.object, &known)
            })
        };
        one.waits_for = match &found.enders {
            Enders::OthersInProcess if let Some(holder) = holder_of(thread, &takers) => {
                vec![holder]
            }
            Enders::Nobody => Vec::new(),
            Enders::Thread(tid) => index_of(*tid).into_iter().collect(),
            // Alone in its process, it waits on memory that processes share.
            Enders::OthersInProcess if sizes[&thread.pid] == 1 => other_processes(),
            Enders::OthersInProcess => could_wake(thread.pid),
            Enders::OtherProcesses => other_processes(),
            Enders::Children => children.get(&thread.pid).cloned().unwrap_or_default(),
            Enders::Processes(pids) => {
                // Who waited for what is written here answers it, not another thread that happens to be there.
                let answers = pids
                    .iter()
                    .filter_map(|pid| at_work.get(&(*pid, thread.other_end?)));
                let answers: Vec<ThreadIndex> = (answers.flatten().copied())
                    .filter(|index| *index != thread.index)
                    .take(MAX_CANDIDATES)
                    .collect();
                if !answers.is_empty() {
                    one.waits_for = answers;
                    continue;
                }
                let found = pids.iter().flat_map(|pid| could_wake(*pid));
                let found: Vec<ThreadIndex> = found.take(MAX_CANDIDATES).collect();
                // Only itself has the other end: it is woken by a signal, as `make -j` is when a child ends.
                match found.is_empty() && pids == &[thread.pid] {
                    true => children.get(&thread.pid).cloned().unwrap_or_default(),
                    false => found,
                }
            }
        };
    }
}

/// By process and address of a lock that does not say whose it is: who took it last.
fn last_takers<'a>(threads: &'a [Candidate<'a>]) -> HashMap<(i32, u64), &'a Candidate<'a>> {
    let mut takers: HashMap<(i32, u64), &Candidate<'_>> = HashMap::new();
    for one in threads {
        let Some((lock, at)) = one.took else {
            continue;
        };
        let last = takers.entry((one.pid, lock)).or_insert(one);
        if last.took.is_some_and(|took| took.1 < at) {
            *last = one;
        }
    }
    takers
}

/// Who took the lock last for which a thread waits, and does something else since: while others wait it is held.
fn holder_of(
    waiting: &Candidate<'_>,
    takers: &HashMap<(i32, u64), &Candidate<'_>>,
) -> Option<ThreadIndex> {
    let wait = waiting
        .waits
        .filter(|wait| wait.reason == WaitReason::Lock)?;
    let Named::Futex(lock) = wait.object else {
        return None;
    };
    let last = takers.get(&(waiting.pid, lock))?;
    let waits_again = last.waits.is_some_and(|one| one.object == wait.object);
    (!waits_again && last.index != waiting.index).then_some(last.index)
}

impl OfProcess<'_> {
    /// The threads that could wake one that waits on `object`: those that run; else those that are
    /// blocked, but not on the same thing, and not until another of them, or the waiting one itself,
    /// does something. `known`: threads that wait for one that is known.
    fn could_wake(
        &self,
        waiting: ThreadIndex,
        object: &Named,
        known: &HashMap<ThreadIndex, ThreadIndex>,
    ) -> Vec<ThreadIndex> {
        if !self.running.is_empty() {
            return self.running.clone();
        }
        self.elsewhere
            .iter()
            .filter(|(index, on)| *on != object && !waits_for(*index, waiting, known))
            .map(|(index, _)| *index)
            .take(MAX_CANDIDATES)
            .collect()
    }
}

/// Whether `one` is `other`, or goes on only after it did something: by waits for threads that are known.
fn waits_for(
    one: ThreadIndex,
    other: ThreadIndex,
    known: &HashMap<ThreadIndex, ThreadIndex>,
) -> bool {
    // Threads that have locked up one another wait in a circle.
    let chain = std::iter::successors(Some(one), |thread| known.get(thread).copied());
    chain.take(known.len() + 1).any(|thread| thread == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(reason: WaitReason, object: Named, enders: Enders) -> WaitedFor {
        WaitedFor {
            reason,
            object,
            enders,
        }
    }

    fn filled(threads: &[(i32, Option<WaitedFor>)]) -> Vec<Vec<ThreadIndex>> {
        let candidates: Vec<Candidate<'_>> = (0..)
            .zip(threads)
            .map(|(index, (pid, waits))| Candidate {
                index,
                pid: *pid,
                first: threads[..index as usize]
                    .iter()
                    .all(|before| before.0 != *pid),
                waits: waits.as_ref(),
                other_end: None,
                served: None,
                took: None,
            })
            .collect();
        ends_of_waits(&candidates)
    }

    /// Process 1 has started all others.
    fn ends_of_waits(candidates: &[Candidate<'_>]) -> Vec<Vec<ThreadIndex>> {
        let mut snapshot: Vec<ThreadNow> = candidates
            .iter()
            .map(|one| ThreadNow {
                thread: one.index,
                state: 0,
                waits: one.waits.is_some(),
                for_threads: false,
                for_turn: false,
                in_io: false,
                new: false,
                waits_for: Vec::new(),
            })
            .collect();
        let index_of = |tid: i32| u32::try_from(tid).ok();
        fill_in(&mut snapshot, candidates, &index_of, &|pid| {
            i32::from(pid != 1)
        });
        snapshot.into_iter().map(|one| one.waits_for).collect()
    }

    #[test]
    fn who_runs_wakes_and_else_who_waits_elsewhere() {
        let condition = || {
            wait(
                WaitReason::Condition,
                Named::Futex(8),
                Enders::OthersInProcess,
            )
        };
        let sleep = || wait(WaitReason::Sleep, Named::Nothing, Enders::Nobody);
        let all = filled(&[
            (1, Some(condition())),
            (1, Some(condition())),
            (1, Some(sleep())),
            (1, None),
        ]);
        assert_eq!(all, [vec![3], vec![3], vec![], vec![]]);
        let none_runs = filled(&[
            (1, Some(condition())),
            (1, Some(condition())),
            (1, Some(sleep())),
            // Another process runs, but this is a wait within one.
            (2, None),
        ]);
        assert_eq!(none_runs, [vec![2], vec![2], vec![], vec![]]);
    }

    #[test]
    fn who_waits_for_a_thread_does_not_wake_it() {
        let condition = || {
            wait(
                WaitReason::Condition,
                Named::Futex(8),
                Enders::OthersInProcess,
            )
        };
        let lock =
            |word, holder| wait(WaitReason::Lock, Named::Futex(word), Enders::Thread(holder));
        let read = || wait(WaitReason::Pipe, Named::Nothing, Enders::Nobody);
        // The holder of a lock waits on a condition; the two others want its lock, or one of theirs.
        let all = filled(&[
            (1, Some(condition())),
            (1, Some(lock(16, 0))),
            (1, Some(lock(24, 1))),
        ]);
        assert_eq!(all, [vec![], vec![0], vec![1]]);
        let with_a_reader = filled(&[
            (1, Some(condition())),
            (1, Some(lock(16, 0))),
            (1, Some(read())),
        ]);
        assert_eq!(with_a_reader[0], [2]);
        // Locked up: nobody ends it, and neither does the look for who would.
        let circle = filled(&[
            (1, Some(condition())),
            (1, Some(lock(16, 2))),
            (1, Some(lock(24, 1))),
        ]);
        assert_eq!(circle[0], [1, 2]);
    }

    #[test]
    fn processes_wake_one_another_by_signals_and_shared_words() {
        let signal = || {
            wait(
                WaitReason::Condition,
                Named::Nothing,
                Enders::OtherProcesses,
            )
        };
        let word = || {
            wait(
                WaitReason::Condition,
                Named::Futex(8),
                Enders::OthersInProcess,
            )
        };
        let fsync = || wait(WaitReason::Fsync, Named::Nothing, Enders::Nobody);
        let idle = || wait(WaitReason::Poll, Named::Nothing, Enders::Nobody);
        let all = filled(&[
            (1, Some(idle())),
            (2, Some(signal())),
            (3, Some(word())),
            (4, Some(fsync())),
        ]);
        assert_eq!(all, [vec![], vec![3], vec![3], vec![]]);
        let one_runs = filled(&[(2, Some(signal())), (3, None), (4, Some(fsync()))]);
        assert_eq!(one_runs[0], [1]);
    }

    #[test]
    fn who_waited_for_the_other_end_answers() {
        let socket = |name: &str, pid| {
            let object = Named::Descriptor(name.to_owned());
            wait(WaitReason::Socket, object, Enders::Processes(vec![pid]))
        };
        let sleep = wait(WaitReason::Sleep, Named::Nothing, Enders::Nobody);
        let (asks, idle) = (socket("socket:[1]", 2), socket("socket:[4]", 1));
        let candidate = |index, pid, waits, other_end, served| Candidate {
            index,
            pid,
            first: false,
            waits,
            other_end,
            served,
            took: None,
        };
        // The second process has a thread for each of two connections, and another that runs.
        let asked = |waits| {
            let threads = [
                candidate(0, 1, Some(&asks), Some("socket:[2]"), Some("socket:[1]")),
                candidate(1, 2, None, None, None),
                candidate(2, 2, Some(&idle), Some("socket:[3]"), Some("socket:[4]")),
                candidate(3, 2, Some(waits), None, Some("socket:[2]")),
            ];
            ends_of_waits(&threads).swap_remove(0)
        };
        assert_eq!(asked(&sleep), [3]);
        // It waits for the next request itself: somebody else has this one.
        assert_eq!(asked(&socket("socket:[2]", 1)), [1]);
    }

    #[test]
    fn who_took_a_lock_last_holds_it() {
        let lock = || {
            let object = Named::Futex(0x1000);
            wait(WaitReason::Lock, object, Enders::OthersInProcess)
        };
        let reads = wait(WaitReason::File, Named::Nothing, Enders::Nobody);
        let waits = [Some(lock()), Some(reads), None, Some(lock())];
        let holder = |took: [Option<(u64, u64)>; 4]| {
            let threads: Vec<Candidate<'_>> = (0u32..)
                .zip(waits.iter().zip(took))
                .map(|(index, (waits, took))| Candidate {
                    index,
                    pid: 1,
                    first: index == 0,
                    waits: waits.as_ref(),
                    other_end: None,
                    served: None,
                    took,
                })
                .collect();
            ends_of_waits(&threads).swap_remove(0)
        };
        assert_eq!(
            holder([None, Some((0x1000, 7)), Some((0x1000, 5)), None]),
            [1]
        );
        // Another lock, or one that it waits for again: who runs may hold it.
        assert_eq!(
            holder([None, Some((0x2000, 7)), None, Some((0x1000, 9))]),
            [2]
        );
        assert_eq!(holder([None; 4]), [2]);
    }

    #[test]
    fn children_end_the_wait_for_them() {
        let any = || wait(WaitReason::Child, Named::Child(0), Enders::Children);
        let all = filled(&[(1, Some(any())), (2, None), (3, None), (3, None)]);
        assert_eq!(all[0], [1, 2]);
        // A pipe of its own, into which it writes when a child has ended.
        let own = || wait(WaitReason::Pipe, Named::Nothing, Enders::Processes(vec![1]));
        let all = filled(&[(1, Some(own())), (2, None), (3, None), (3, None)]);
        assert_eq!(all[0], [1, 2]);
    }
}
