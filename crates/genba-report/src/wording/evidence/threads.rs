//! Facts about threads, locks and atomics.

use genba_model::ThreadFact;
use genba_units::format;

use super::{count, cycles, percent};

/// Share of the time in futexes from which it is named.
const MIN_FUTEX_SHARE: f64 = 0.02;

pub(super) fn sentence(fact: &ThreadFact) -> String {
    match fact {
        ThreadFact::SingleThread => "all samples are of one thread".to_owned(),
        ThreadFact::LockedOperations { form, executions } => format!(
            "`{form}` and other locked instructions are executed {} times here",
            count(*executions)
        ),
        ThreadFact::UncontendedLock {
            times,
            iterations,
            share,
            cycles: each,
        } => format!(
            "the loop, of {} iterations per entry, takes and releases one lock in every iteration, {} times: {} cycles each \
             time, as for an uncontended lock, {} of the time",
            count(iterations.round() as u64),
            count(*times),
            cycles(*each),
            percent(*share)
        ),
        ThreadFact::LockedTime {
            share,
            cycles: each,
        } => format!(
            "they take {} of the time, {} cycles per execution",
            percent(*share),
            cycles(*each)
        ),
        ThreadFact::LockedCost { form, cycles: each } => format!(
            "`{form}` takes {} cycles on this host without contention; the plain operation takes \
             one",
            cycles(*each)
        ),
        ThreadFact::LockTime {
            share,
            futex_share,
            threads,
        } => {
            let kernel = match *futex_share > MIN_FUTEX_SHARE {
                true => format!(" ({} in the kernel's futexes)", percent(*futex_share)),
                false => String::new(),
            };
            format!(
                "{threads} threads spend {} of the time in locks{kernel}",
                percent(*share)
            )
        }
        ThreadFact::SchedulerTime {
            share,
            thread_waits,
        } => format!(
            "the kernel's scheduler takes {} of the time; {} of the calls that may block wait for another thread, and the \
             same part of the scheduler's time is attributed to them",
            percent(*share),
            percent(*thread_waits)
        ),
        ThreadFact::LockAcquisitions { times } => {
            format!("locks are acquired {} times", count(*times))
        }
        ThreadFact::LockCost { seconds } => {
            format!("{} per acquisition and release", format::seconds(*seconds))
        }
        ThreadFact::OneCpu { ratio } => {
            format!("on one CPU the same work takes {ratio:.1} times less CPU time")
        }
        ThreadFact::SharedCacheLine {
            threads,
            distance_bytes,
            samples,
        } => format!(
            "{threads} threads write to one cache line of 64 bytes, {distance_bytes} bytes apart \
             (by the registers of {} samples)",
            count(u64::from(*samples))
        ),
        ThreadFact::ObservedSharedLine {
            threads,
            writers,
            distance_bytes,
            lines,
            accesses,
            bursts,
        } => {
            let lines = match *lines {
                1 => "a cache line of 64 bytes is".to_owned(),
                more => format!("{more} cache lines of 64 bytes are"),
            };
            format!(
                "{lines} used by {threads} threads in turn, of which {writers} write; their bytes \
                 are {distance_bytes} apart, and none is used by two threads ({} accesses in \
                 {bursts} bursts)",
                count(*accesses)
            )
        }
        ThreadFact::FixedStore { executions } => format!(
            "the store is executed {} times, at the same address in each iteration",
            count(*executions)
        ),
    }
}
