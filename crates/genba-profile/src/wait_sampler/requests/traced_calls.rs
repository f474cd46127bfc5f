//! Which tracepoints of system calls are recorded: all at once, or those that a user may have.

use crate::event::EventSpec;

use super::{tracepoint_cache, tracepoint_search};

/// The calls that requests are made of, and those that servers wait in most, by number and name in tracefs. Where
/// there is no room for all, the first are recorded.
const LISTED: [(i64, &str); 23] = [
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_close, "close"),
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_poll, "poll"),
    (libc::SYS_sendfile, "sendfile64"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_select, "select"),
    (libc::SYS_pselect6, "pselect6"),
    (libc::SYS_epoll_pwait2, "epoll_pwait2"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
];
/// Calls without which requests cannot be told: the first so many of the list.
const NEEDED: usize = 14;

/// A tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedEvent {
    /// Its number, which its records begin with.
    pub id: u64,
    /// Whether it is the call's beginning; else its end.
    pub is_entry: bool,
}

/// The tracepoints that are recorded.
#[derive(Debug)]
pub struct TracedCalls {
    /// Beginning and end of each call, the most important first.
    pub events: Vec<[TracedEvent; 2]>,
    /// Whether they are of all calls. Else they are of those in the list, and open to every user: their records are
    /// made where a program enters the kernel, so they count as the program's.
    pub of_all_calls: bool,
}

impl TracedCalls {
    /// The two tracepoints that all calls have in common.
    ///
    /// # Errors
    /// Why their numbers are not known.
    pub fn all() -> Result<Self, String> {
        Ok(Self {
            events: vec![pair("raw_syscalls:sys_enter", "raw_syscalls:sys_exit")?],
            of_all_calls: true,
        })
    }

    /// The tracepoints of each listed call; their numbers are searched for where tracefs cannot be read.
    ///
    /// # Errors
    /// Why some that are needed were not found.
    pub fn listed() -> Result<Self, String> {
        let named = |(_, name): &(i64, &str)| {
            pair(
                &format!("syscalls:sys_enter_{name}"),
                &format!("syscalls:sys_exit_{name}"),
            )
        };
        let events: Result<Vec<_>, String> = LISTED.iter().map(named).collect();
        let events = match events {
            Ok(events) => events,
            Err(_) => searched()?,
        };
        Ok(Self {
            events,
            of_all_calls: false,
        })
    }

    /// Forgets calls until there are at most so many tracepoints. Whether those that are needed remain.
    #[must_use]
    pub fn limit(&mut self, most: usize) -> bool {
        self.events.truncate(most / 2);
        self.events.len() >= if self.of_all_calls { 1 } else { NEEDED }
    }
}

fn pair(entry: &str, exit: &str) -> Result<[TracedEvent; 2], String> {
    let event = |name, is_entry| {
        let event = EventSpec::parse(name).map_err(|error| error.to_string())?;
        Ok::<_, String>(TracedEvent {
            id: event.config,
            is_entry,
        })
    };
    Ok([event(entry, true)?, event(exit, false)?])
}

fn searched() -> Result<Vec<[TracedEvent; 2]>, String> {
    let numbers: [i64; LISTED.len()] = LISTED.map(|(number, _)| number);
    let found = match tracepoint_cache::load(&numbers) {
        Some(found) => found,
        None => {
            let found = tracepoint_search::find(&numbers)?;
            // What is needed is in every kernel: a search that ended before it would never be made again.
            if numbers[..NEEDED]
                .iter()
                .all(|number| found.contains_key(number))
            {
                tracepoint_cache::store(&numbers, &found);
            }
            found
        }
    };
    let events = |(at, number): (usize, &i64)| match found.get(number) {
        Some((entry, exit)) => Some(Ok(
            [(*entry, true), (*exit, false)].map(|(id, is_entry)| TracedEvent { id, is_entry })
        )),
        None if at < NEEDED => Some(Err(format!(
            "this kernel has no tracepoint of {} that its users may read",
            LISTED[at].1
        ))),
        None => None,
    };
    numbers.iter().enumerate().filter_map(events).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_are_needed_are_not_left_out() {
        let calls = |count: u64, of_all_calls| TracedCalls {
            events: (0..count)
                .map(|id| [(id + 1, true), (id, false)])
                .map(|pair| pair.map(|(id, is_entry)| TracedEvent { id, is_entry }))
                .collect(),
            of_all_calls,
        };
        let mut listed = calls(23, false);
        assert!(listed.limit(100) && listed.events.len() == 23);
        assert!(listed.limit(31) && listed.events.len() == 15);
        assert!(!listed.limit(27));
        assert!(calls(1, true).limit(2));
        assert!(!calls(1, true).limit(1));
    }
}
