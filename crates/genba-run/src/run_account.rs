//! Converts the launcher's figures to the account of a run. Pure.

use genba_model::{CpuTime, ExitKind, RunRecord};

use crate::OutputInfo;
use crate::protocol::{Reply, reason};

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Times, memory, faults and exit of the run.
    pub record: RunRecord,
    /// Captured standard output.
    pub stdout: OutputInfo,
    /// Captured standard error.
    pub stderr: OutputInfo,
    /// Process id of the target.
    pub pid: i32,
    /// CLOCK_MONOTONIC just before `execve`, nanoseconds.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC at the target's end, nanoseconds.
    pub end_ns: u64,
    /// Processes still alive when the target exited by itself; they are ended unless the spec lets
    /// them run. 0 if the run was ended.
    pub left_behind: u32,
    /// Processes that survived SIGKILL for ten seconds: of another user (`sudo` in the command), or
    /// stuck in the kernel. The user must be told.
    pub survivors: u32,
}

impl Finished {
    /// What the user must be told of the processes that the target left behind, if it left any.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let processes = |count: u32| match count {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        match (self.survivors, self.left_behind) {
            (0, 0) => None,
            (0, left) => Some(format!(
                "{} outlived the command and {} ended with it",
                processes(left),
                if left == 1 { "was" } else { "were" }
            )),
            (survivors, _) => Some(format!(
                "{} of the command could not be ended (of another user, or stuck in the kernel) and may \
                 still run",
                processes(survivors)
            )),
        }
    }
}

// `siginfo_t::si_code` of SIGCHLD.
const CLD_EXITED: u64 = 1;
const CLD_DUMPED: u64 = 3;

/// Smaller differences are rounding to microseconds and clock accounting, not a process, which
/// costs far more.
const ROUNDING_US: u64 = 20;

pub fn finished(reply: &Reply, stdout: OutputInfo, stderr: OutputInfo) -> Finished {
    let (target, waited) = divide(reply);
    let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let record = RunRecord {
        wall_seconds: reply.end.saturating_sub(reply.start) as f64 / 1e9,
        target: seconds(target),
        children: seconds((waited.0 + reply.orphan_user, waited.1 + reply.orphan_system)),
        orphans: count(reply.orphans),
        max_rss_bytes: reply.max_rss.saturating_mul(1024),
        minor_faults: reply.minor_faults,
        major_faults: reply.major_faults,
        voluntary_switches: reply.voluntary,
        involuntary_switches: reply.involuntary,
        exit: exit(reply),
        stdout_bytes: stdout.bytes,
        // What outlived the target is not in its account.
        read_bytes: (reply.read_known != 0 && reply.orphans == 0 && reply.left == 0)
            .then_some(reply.read_bytes),
    };
    Finished {
        record,
        stdout,
        stderr,
        pid: reply.pid as i32,
        start_ns: reply.start,
        end_ns: reply.end,
        left_behind: count(reply.left),
        survivors: count(reply.survivors),
    }
}

fn seconds((user, system): (u64, u64)) -> CpuTime {
    CpuTime {
        user: user as f64 / 1e6,
        system: system as f64 / 1e6,
    }
}

fn exit(reply: &Reply) -> ExitKind {
    match reply.reason {
        reason::TIMEOUT => return ExitKind::TimedOut,
        reason::ASKED => return ExitKind::Cancelled,
        _ => {}
    }
    let status = reply.status as i32;
    if reply.code == CLD_EXITED {
        ExitKind::Code(status)
    } else {
        ExitKind::Signal {
            signal: status,
            core: reply.code == CLD_DUMPED,
        }
    }
}

/// User and system time in microseconds of the target itself and of the children that it waited
/// for, which `rusage` has only together.
///
/// The target's own sum is its scheduler clock, exact to the nanosecond. That sum is divided as
/// the kernel itself does in `getrusage` (`cputime_adjust`, kernel/sched/cputime.c): in the
/// proportion of user and system ticks.
fn divide(reply: &Reply) -> ((u64, u64), (u64, u64)) {
    let (user, system) = (reply.user, reply.system);
    let own = reply.own_sched / 1000;
    if reply.own_known == 0 || own + ROUNDING_US >= user + system {
        return ((user, system), (0, 0));
    }
    let ticks_system = reply.own_prof.saturating_sub(reply.own_virt);
    let own_user = if ticks_system == 0 {
        own
    } else {
        let share = u128::from(own) * u128::from(reply.own_virt) / u128::from(reply.own_prof);
        share as u64
    };
    // Neither part can be larger than what target and children have together.
    let own_user = own_user.clamp(own.saturating_sub(system), user.min(own));
    let own_system = own - own_user;
    (
        (own_user, own_system),
        (user - own_user, system.saturating_sub(own_system)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_children_everything_is_the_targets() {
        let reply = Reply {
            user: 700,
            system: 300,
            own_known: 1,
            own_sched: 1_001_500,
            ..Reply::default()
        };
        assert_eq!(divide(&reply), ((700, 300), (0, 0)));
    }

    #[test]
    fn children_are_told_apart_in_the_kernels_proportion() {
        let reply = Reply {
            user: 900_000,
            system: 100_000,
            own_known: 1,
            own_sched: 400_000_000,
            own_virt: 300_000_000,
            own_prof: 320_000_000,
            ..Reply::default()
        };
        assert_eq!(divide(&reply), ((375_000, 25_000), (525_000, 75_000)));
    }

    #[test]
    fn exits() {
        let exit_of = |code, status, why| {
            exit(&Reply {
                code,
                status,
                reason: why,
                ..Reply::default()
            })
        };
        assert_eq!(exit_of(1, 7, reason::NONE), ExitKind::Code(7));
        assert_eq!(
            exit_of(2, 9, reason::NONE),
            ExitKind::Signal {
                signal: 9,
                core: false
            }
        );
        assert_eq!(
            exit_of(3, 11, reason::NONE),
            ExitKind::Signal {
                signal: 11,
                core: true
            }
        );
        assert_eq!(exit_of(1, 0, reason::TIMEOUT), ExitKind::TimedOut);
        assert_eq!(exit_of(2, 15, reason::ASKED), ExitKind::Cancelled);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_invented(
            user in 0u64..1 << 40, system in 0u64..1 << 40,
            own in 0u64..1 << 50, virt in 0u64..1 << 50, more in 0u64..1 << 50,
        ) {
            let reply = Reply {
                user, system, own_known: 1, own_sched: own, own_virt: virt,
                own_prof: virt + more, ..Reply::default()
            };
            let (target, waited) = divide(&reply);
            prop_assert_eq!(target.0 + waited.0, user);
            prop_assert_eq!(target.1 + waited.1, system);
        }
    }
}
