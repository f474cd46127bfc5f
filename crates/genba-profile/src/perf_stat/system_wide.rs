//! Counting the events of all that runs on CPUs, as `perf stat -a` and `-C` do.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use genba_model::{Estimate, ExitKind, Stat};
use genba_run::{Cancel, CommandSpec, Launcher};
use rustix::event::{PollFd, PollFlags, poll};

use super::intervals::{self, Intervals};
use super::{counter_set, summarise};
use crate::attach::chosen_cpus;
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::permission;

/// Which CPUs are counted, and until when.
pub struct WatchedCpus<'a> {
    /// The CPUs; all that are online if `None`.
    pub cpus: Option<&'a [i32]>,
    /// Longest time; until `cancel` without it.
    pub timeout: Option<Duration>,
    /// A command that runs meanwhile and ends the counting with its end.
    pub command: Option<(&'a mut Launcher, &'a CommandSpec)>,
    /// Also at intervals.
    pub intervals: Option<Intervals<'a>>,
}

/// Counts `events` of all that runs on CPUs.
///
/// # Errors
/// When the user may not, there is no such CPU, or the command cannot be started.
pub fn of_cpus(
    what: WatchedCpus<'_>,
    events: &[EventSpec],
    cancel: &Cancel,
) -> Result<Stat, ProfileError> {
    let cpus = chosen_cpus(what.cpus)?;
    let began = Instant::now();
    let counters = counter_set::open_cpus(&cpus, events);
    if counters.is_forbidden() {
        return Err(ProfileError::SystemWide(permission::paranoid()));
    }
    let before = CpuTimes::of(&cpus);
    let run = intervals::during(&counters, what.intervals, || match what.command {
        Some((launcher, spec)) => launcher.run(spec, cancel).map(Some),
        None => {
            wait(what.timeout, cancel);
            Ok(None)
        }
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let readings = counters.read();
    let after = CpuTimes::of(&cpus);
    let per_second = rustix::param::clock_ticks_per_second().max(1) as f64;
    let spent =
        |after: u64, before: u64| Estimate::exact(after.saturating_sub(before) as f64 / per_second);
    let number = |cpu: &i32| cpu.to_string();
    let whose = match what.cpus {
        Some(cpus) => format!(
            "CPU {}",
            cpus.iter().map(number).collect::<Vec<_>>().join(",")
        ),
        None => format!("all {} CPUs", cpus.len()),
    };
    Ok(Stat {
        command: whose.split(' ').map(str::to_owned).collect(),
        runs: 1,
        counters: summarise(&[readings], seconds),
        wall: Estimate::exact(seconds),
        user: spent(after.user, before.user),
        system: spent(after.system, before.system),
        exit: run.map_or(ExitKind::Code(0), |finished| finished.record.exit),
        threads: Vec::new(),
        intervals: Vec::new(),
        topdown: None,
        notes: counters.notes,
    })
}

/// Returns when the time is up or `cancel` is triggered.
fn wait(timeout: Option<Duration>, cancel: &Cancel) {
    let began = Instant::now();
    while !cancel.is_triggered() {
        let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        let time = left.and_then(|left| left.try_into().ok());
        let mut fds = [PollFd::from_borrowed_fd(cancel.as_fd(), PollFlags::IN)];
        if !matches!(
            poll(&mut fds, time.as_ref()),
            Ok(_) | Err(rustix::io::Errno::INTR)
        ) {
            return;
        }
    }
}

/// Time of CPUs in user code and in the kernel, clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTimes {
    user: u64,
    system: u64,
}

impl CpuTimes {
    fn of(cpus: &[i32]) -> Self {
        Self::parse(
            &std::fs::read_to_string("/proc/stat").unwrap_or_default(),
            cpus,
        )
    }

    /// The fields user, nice, system, idle, iowait, irq and softirq of each `cpuN` (proc(5)).
    fn parse(text: &str, cpus: &[i32]) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let cpu = fields.next().and_then(|name| name.strip_prefix("cpu"));
            if !cpu
                .and_then(|cpu| cpu.parse().ok())
                .is_some_and(|cpu| cpus.contains(&cpu))
            {
                continue;
            }
            let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
            let of = |index: usize| ticks.get(index).copied().unwrap_or(0);
            all.user = all.user.saturating_add(of(0).saturating_add(of(1)));
            let kernel = of(2).saturating_add(of(5)).saturating_add(of(6));
            all.system = all.system.saturating_add(kernel);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_chosen_cpus_are_added() {
        let text =
            "cpu  9 9 9 9\ncpu0 10 1 5 100 7 2 3 0\ncpu1 20 0 6 1 1 0 0\ncpu10 1000 0 0\nintr 5\n";
        assert_eq!(
            CpuTimes::parse(text, &[0, 1]),
            CpuTimes {
                user: 31,
                system: 16
            }
        );
        assert_eq!(
            CpuTimes::parse(text, &[10]),
            CpuTimes {
                user: 1000,
                system: 0
            }
        );
        assert_eq!(CpuTimes::parse("", &[0]), CpuTimes::default());
    }
}
