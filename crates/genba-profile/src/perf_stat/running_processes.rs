//! Counting the events of processes that run already, for some time.

use std::time::Instant;

use genba_model::{Estimate, ExitKind, Stat, StatThread};
use genba_run::Cancel;

use super::counter_set::{self, CounterSet};
use super::intervals::{self, Intervals};
use super::summarise;
use crate::attach::Attach;
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::sampler::initial_records::threads;
use crate::wait_sampler::process_tree;

/// How running processes are counted.
#[derive(Default)]
pub struct Watched<'a> {
    /// Also each thread by itself; one that starts meanwhile counts for the thread that started it.
    pub per_thread: bool,
    /// Also at intervals.
    pub intervals: Option<Intervals<'a>>,
}

/// Counts `events` of running processes and of those that they started or start, until the end that
/// `what` says.
///
/// # Errors
/// When there is no such process, or the command cannot be started. Events that cannot be counted are
/// not an error.
pub fn of_processes(
    what: Attach<'_>,
    events: &[EventSpec],
    watched: Watched<'_>,
    cancel: &Cancel,
) -> Result<Stat, ProfileError> {
    // First of all, so that no number can be reused by another process unnoticed.
    let ends = what.open_processes()?;
    let pids = what.pids;
    let processes: Vec<i32> = (process_tree::trees(pids).into_iter())
        .map(|(pid, _)| pid)
        .collect();
    let tasks: Vec<i32> = processes.iter().flat_map(|&pid| threads(pid)).collect();
    let by_thread: Vec<(i32, String, CounterSet)> = (tasks.iter())
        .filter(|_| watched.per_thread)
        .map(|&tid| {
            (
                tid,
                thread_name(tid),
                counter_set::open_running(&[tid], events),
            )
        })
        .collect();
    let counters = counter_set::open_running(&tasks, events);
    let before: Vec<CpuTicks> = processes.iter().map(|&pid| CpuTicks::of(pid)).collect();
    let began = Instant::now();
    let run = intervals::during(&counters, watched.intervals, || {
        what.wait(ends, cancel, &|| false)
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let readings = counters.read();
    let threads = (by_thread.into_iter())
        .map(|(tid, name, counters)| StatThread {
            tid,
            name,
            counters: summarise(&[counters.read()], seconds),
        })
        .collect();
    let mut spent = CpuTicks::default();
    for (&pid, before) in processes.iter().zip(&before) {
        let after = CpuTicks::of(pid);
        spent.user += after.user.saturating_sub(before.user);
        spent.system += after.system.saturating_sub(before.system);
    }
    run?;
    let mut notes = counters.notes;
    match processes.len() - pids.len().min(processes.len()) {
        0 => {}
        1 => notes.push("1 process that was started before is counted as well".to_owned()),
        more => notes.push(format!(
            "{more} processes that were started before are counted as well"
        )),
    }
    let per_second = rustix::param::clock_ticks_per_second().max(1) as f64;
    let of_ticks = |ticks: u64| Estimate::exact(ticks as f64 / per_second);
    Ok(Stat {
        command: std::iter::once("process".to_owned())
            .chain(pids.iter().map(ToString::to_string))
            .collect(),
        runs: 1,
        counters: summarise(&[readings], seconds),
        wall: Estimate::exact(seconds),
        user: of_ticks(spent.user),
        system: of_ticks(spent.system),
        exit: ExitKind::Code(0),
        threads,
        intervals: Vec::new(),
        topdown: None,
        notes,
    })
}

/// The name of a thread; empty if it has ended.
fn thread_name(tid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// CPU time of a process with the children that it has waited for, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTicks {
    user: u64,
    system: u64,
}

impl CpuTicks {
    /// Of a process; zero if it has ended.
    fn of(pid: i32) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Self::parse(&text).unwrap_or_default()
    }

    /// Fields 14 to 17 of `/proc/PID/stat` (proc(5)); the name before them may have any character.
    fn parse(text: &str) -> Option<Self> {
        let (_, after_name) = text.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace().skip(11);
        let mut next = || fields.next()?.parse::<u64>().ok();
        let (user, system, children_user, children_system) = (next()?, next()?, next()?, next()?);
        Some(Self {
            user: user.saturating_add(children_user),
            system: system.saturating_add(children_system),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_ticks_are_read_behind_a_name_with_brackets() {
        let line = "7 (a) b) R 1 7 7 0 -1 4194304 100 0 0 0 12 3 4 1 20 0 1 0 100 1 2";
        let ticks = CpuTicks {
            user: 16,
            system: 4,
        };
        assert_eq!(CpuTicks::parse(line), Some(ticks));
        assert_eq!(CpuTicks::parse("7 (a"), None);
        assert_eq!(CpuTicks::parse(""), None);
    }
}
