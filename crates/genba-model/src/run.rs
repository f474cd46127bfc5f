//! One execution of a workload and what it cost.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// CPU time in user mode, seconds.
    pub user: f64,
    /// CPU time in the kernel, seconds.
    pub system: f64,
}

impl CpuTime {
    /// User and system together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

/// How a run ended: `{"code": 0}`, `{"signal": {…}}`, `"timed_out"`, `"cancelled"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitKind {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// Signal number.
        signal: i32,
        /// Whether it dumped core.
        core: bool,
    },
    /// It ran longer than its time-out and was ended.
    TimedOut,
    /// The user (Ctrl-C) or the caller ended it.
    Cancelled,
}

impl ExitKind {
    /// Whether it exited with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// How a build or another helper failed, as the end of a sentence: `failed with exit code 2`; `None` if
    /// it did not.
    #[must_use]
    pub fn failure(self) -> Option<String> {
        match self {
            Self::Code(0) => None,
            Self::Code(code) => Some(format!("failed with exit code {code}")),
            Self::Signal { signal, .. } => Some(format!("was killed by signal {signal}")),
            Self::TimedOut => Some("timed out".to_owned()),
            Self::Cancelled => Some("was cancelled".to_owned()),
        }
    }
}

/// What one run cost.
///
/// `target` is the process that the command became, with all its threads; `children` is every
/// other process that it started or left behind (compilers that a JIT starts, daemons). The
/// kernel's accounts of the two together are exact to a microsecond; the division between target
/// and children is exact for the sum of user and system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Wall time from just before `execve` to the target's end, monotonic clock, seconds.
    pub wall_seconds: f64,
    /// The target's own CPU time.
    pub target: CpuTime,
    /// CPU time of the processes that it started.
    #[serde(alias = "beside")]
    pub children: CpuTime,
    /// Number of children that outlived the target (orphans); those that the target itself waited
    /// for are in the times but cannot be counted.
    pub orphans: u32,
    /// Peak resident set of the largest single process among target and waited-for children, bytes.
    pub max_rss_bytes: u64,
    /// Page faults served without I/O, target and waited-for children.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Context switches because the process waited.
    pub voluntary_switches: u64,
    /// Context switches because its time slice ended or another task had priority.
    pub involuntary_switches: u64,
    /// How the run ended.
    pub exit: ExitKind,
    /// Bytes written to standard output, if they were captured or counted.
    pub stdout_bytes: Option<u64>,
    /// Bytes that the reading calls of target and waited-for children returned, of files and pipes, not of
    /// `recv`; `None` where the kernel keeps no account of them, or a process outlived the target.
    #[serde(default)]
    pub read_bytes: Option<u64>,
}

impl RunRecord {
    /// CPU time of target and children together.
    #[must_use]
    pub fn cpu(&self) -> CpuTime {
        CpuTime {
            user: self.target.user + self.children.user,
            system: self.target.system + self.children.system,
        }
    }

    /// The value of a metric of this run.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Wall => self.wall_seconds,
            Metric::User => self.cpu().user,
            Metric::System => self.cpu().system,
            Metric::Cpu => self.cpu().total(),
            Metric::TargetCpu => self.target.total(),
            Metric::ChildrenCpu => self.children.total(),
            Metric::MaxRss => self.max_rss_bytes as f64,
            Metric::MinorFaults => self.minor_faults as f64,
            Metric::MajorFaults => self.major_faults as f64,
            Metric::VoluntarySwitches => self.voluntary_switches as f64,
            Metric::InvoluntarySwitches => self.involuntary_switches as f64,
        }
    }
}

/// A metric that every run yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Wall time.
    Wall,
    /// User CPU time of the whole process tree.
    User,
    /// System CPU time of the whole process tree.
    System,
    /// User and system together.
    Cpu,
    /// User and system time of the target alone.
    TargetCpu,
    /// User and system time of its children: compilers that a JIT started.
    #[serde(alias = "beside_cpu")]
    ChildrenCpu,
    /// Peak resident set.
    MaxRss,
    /// Minor page faults.
    MinorFaults,
    /// Major page faults.
    MajorFaults,
    /// Voluntary context switches.
    VoluntarySwitches,
    /// Involuntary context switches.
    InvoluntarySwitches,
}

impl Metric {
    /// All of them, in the order of output.
    pub const ALL: [Self; 11] = [
        Self::Wall,
        Self::User,
        Self::System,
        Self::Cpu,
        Self::TargetCpu,
        Self::ChildrenCpu,
        Self::MaxRss,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
    ];

    /// Name in JSON and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::User => "user",
            Self::System => "system",
            Self::Cpu => "cpu",
            Self::TargetCpu => "target_cpu",
            Self::ChildrenCpu => "children_cpu",
            Self::MaxRss => "max_rss",
            Self::MinorFaults => "minor_faults",
            Self::MajorFaults => "major_faults",
            Self::VoluntarySwitches => "voluntary_switches",
            Self::InvoluntarySwitches => "involuntary_switches",
        }
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Wall
            | Self::User
            | Self::System
            | Self::Cpu
            | Self::TargetCpu
            | Self::ChildrenCpu => Unit::Seconds,
            Self::MaxRss => Unit::Bytes,
            _ => Unit::Count,
        }
    }
}
