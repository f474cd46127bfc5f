//! Events by perf's names: `cycles`, `cpu-clock:u`, `instructions:pp`.

use perf_event_open_sys::bindings as b;

use crate::error::ProfileError;

/// An event and where it may count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// perf's name without modifiers.
    pub name: &'static str,
    /// `PERF_TYPE_*`.
    pub kind: u32,
    /// `perf_event_attr.config`: the event within its type.
    pub config: u64,
    /// `:k` without `:u`.
    pub exclude_user: bool,
    /// `:u` without `:k`.
    pub exclude_kernel: bool,
    /// `precise_ip` that `:p` requests, 0…3; [`EventSpec::HIGHEST`] for `:P`.
    pub precise: u8,
}

struct Known {
    name: &'static str,
    kind: u32,
    config: u64,
}

const fn known(name: &'static str, kind: u32, config: u64) -> Known {
    Known { name, kind, config }
}

const HW: u32 = b::PERF_TYPE_HARDWARE;
const SW: u32 = b::PERF_TYPE_SOFTWARE;
const CACHE: u32 = b::PERF_TYPE_HW_CACHE;

const fn cache(cache: u32, op: u32, result: u32) -> u64 {
    (cache | op << 8 | result << 16) as u64
}

/// The first name of each event is the one that is printed.
static KNOWN: &[Known] = &[
    known("cycles", HW, b::PERF_COUNT_HW_CPU_CYCLES as u64),
    known("cpu-cycles", HW, b::PERF_COUNT_HW_CPU_CYCLES as u64),
    known("instructions", HW, b::PERF_COUNT_HW_INSTRUCTIONS as u64),
    known(
        "cache-references",
        HW,
        b::PERF_COUNT_HW_CACHE_REFERENCES as u64,
    ),
    known("cache-misses", HW, b::PERF_COUNT_HW_CACHE_MISSES as u64),
    known("branches", HW, b::PERF_COUNT_HW_BRANCH_INSTRUCTIONS as u64),
    known(
        "branch-instructions",
        HW,
        b::PERF_COUNT_HW_BRANCH_INSTRUCTIONS as u64,
    ),
    known("branch-misses", HW, b::PERF_COUNT_HW_BRANCH_MISSES as u64),
    known("bus-cycles", HW, b::PERF_COUNT_HW_BUS_CYCLES as u64),
    known(
        "stalled-cycles-frontend",
        HW,
        b::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND as u64,
    ),
    known(
        "stalled-cycles-backend",
        HW,
        b::PERF_COUNT_HW_STALLED_CYCLES_BACKEND as u64,
    ),
    known("ref-cycles", HW, b::PERF_COUNT_HW_REF_CPU_CYCLES as u64),
    known("cpu-clock", SW, b::PERF_COUNT_SW_CPU_CLOCK as u64),
    known("task-clock", SW, b::PERF_COUNT_SW_TASK_CLOCK as u64),
    known("page-faults", SW, b::PERF_COUNT_SW_PAGE_FAULTS as u64),
    known("faults", SW, b::PERF_COUNT_SW_PAGE_FAULTS as u64),
    known("minor-faults", SW, b::PERF_COUNT_SW_PAGE_FAULTS_MIN as u64),
    known("major-faults", SW, b::PERF_COUNT_SW_PAGE_FAULTS_MAJ as u64),
    known(
        "context-switches",
        SW,
        b::PERF_COUNT_SW_CONTEXT_SWITCHES as u64,
    ),
    known("cs", SW, b::PERF_COUNT_SW_CONTEXT_SWITCHES as u64),
    known("cpu-migrations", SW, b::PERF_COUNT_SW_CPU_MIGRATIONS as u64),
    known("migrations", SW, b::PERF_COUNT_SW_CPU_MIGRATIONS as u64),
    known(
        "alignment-faults",
        SW,
        b::PERF_COUNT_SW_ALIGNMENT_FAULTS as u64,
    ),
    known(
        "emulation-faults",
        SW,
        b::PERF_COUNT_SW_EMULATION_FAULTS as u64,
    ),
    known("L1-dcache-loads", CACHE, cache(0, 0, 0)),
    known("L1-dcache-load-misses", CACHE, cache(0, 0, 1)),
    known("L1-icache-loads", CACHE, cache(1, 0, 0)),
    known("L1-icache-load-misses", CACHE, cache(1, 0, 1)),
    known("LLC-loads", CACHE, cache(2, 0, 0)),
    known("LLC-load-misses", CACHE, cache(2, 0, 1)),
    known("dTLB-loads", CACHE, cache(3, 0, 0)),
    known("dTLB-load-misses", CACHE, cache(3, 0, 1)),
    known("iTLB-loads", CACHE, cache(4, 0, 0)),
    known("iTLB-load-misses", CACHE, cache(4, 0, 1)),
];

/// The printed name of an event, if it is one that genba knows.
#[must_use]
pub fn name_of(kind: u32, config: u64) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|k| k.kind == kind && k.config == config)
        .map(|k| k.name)
}

/// All names, separated by commas.
#[must_use]
pub fn known_names() -> String {
    let names: Vec<&str> = KNOWN.iter().map(|k| k.name).collect();
    names.join(", ")
}

impl EventSpec {
    /// `:P`: the highest precision that the machine supports.
    pub const HIGHEST: u8 = 255;

    /// Parses `NAME[:MODIFIERS]` with the modifiers `u`, `k`, `p` (up to three), `P` and `H`
    /// (ignored).
    ///
    /// # Errors
    /// [`ProfileError::UnknownEvent`] for anything else.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let unknown = || ProfileError::UnknownEvent(text.to_owned());
        let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
        let known = KNOWN.iter().find(|k| k.name == name).ok_or_else(unknown)?;
        let (mut user, mut kernel, mut precise) = (false, false, 0u8);
        for m in modifiers.chars() {
            match m {
                'u' => user = true,
                'k' => kernel = true,
                'p' if precise < 3 => precise += 1,
                'P' => precise = Self::HIGHEST,
                'H' => {}
                _ => return Err(unknown()),
            }
        }
        Ok(Self {
            name: name_of(known.kind, known.config).unwrap_or(known.name),
            kind: known.kind,
            config: known.config,
            exclude_user: kernel && !user,
            exclude_kernel: user && !kernel,
            precise,
        })
    }

    /// Whether a hardware counter counts the event.
    #[must_use]
    pub fn hardware(&self) -> bool {
        self.kind != SW
    }

    /// Whether its value is a time in nanoseconds.
    #[must_use]
    pub fn is_clock(&self) -> bool {
        is_clock(self.kind, self.config)
    }

    /// The name with its modifiers: `cycles:u`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let mut modifiers = String::new();
        if self.exclude_kernel {
            modifiers.push('u');
        }
        if self.exclude_user {
            modifiers.push('k');
        }
        match self.precise {
            Self::HIGHEST => modifiers.push('P'),
            n => modifiers.extend(std::iter::repeat_n('p', usize::from(n))),
        }
        if modifiers.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}:{modifiers}", self.name)
        }
    }
}

/// Whether this event is `cpu-clock` or `task-clock`.
#[must_use]
pub fn is_clock(kind: u32, config: u64) -> bool {
    kind == SW
        && (config == b::PERF_COUNT_SW_CPU_CLOCK as u64
            || config == b::PERF_COUNT_SW_TASK_CLOCK as u64)
}

/// Whether events of this `PERF_TYPE_*` count in hardware (cores, caches, raw and PMU types).
#[must_use]
pub fn is_hardware(kind: u32) -> bool {
    kind != SW && kind != b::PERF_TYPE_TRACEPOINT && kind != b::PERF_TYPE_BREAKPOINT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_modifiers_are_parsed() {
        let e = EventSpec::parse("cpu-cycles:upp").unwrap();
        assert_eq!(e.full_name(), "cycles:upp");
        assert!(e.exclude_kernel && !e.exclude_user && e.hardware());
        let both = EventSpec::parse("cpu-clock:uk").unwrap();
        assert_eq!(both.full_name(), "cpu-clock");
        assert!(both.is_clock());
        assert_eq!(
            EventSpec::parse("cycles:P").unwrap().precise,
            EventSpec::HIGHEST
        );
        for bad in ["", ":", "cycles:z", "cycles:pppp", "no-such"] {
            assert!(EventSpec::parse(bad).is_err(), "{bad}");
        }
    }
}
