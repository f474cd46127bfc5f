//! Events by perf's names: `cycles`, `cpu-clock:u`, `instructions:pp`; raw ones (`r01c2`), those of a PMU in
//! sysfs (`cpu/event=0xc2/u`), tracepoints (`sched:sched_switch`).

use std::borrow::Cow;

use perf_event_open_sys::bindings as b;

use crate::error::ProfileError;
use crate::pmu_event::{self, Encoding};

/// An event and where it may count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// perf's name without modifiers.
    pub name: Cow<'static, str>,
    /// `PERF_TYPE_*`.
    pub kind: u32,
    /// `perf_event_attr.config`: the event within its type.
    pub config: u64,
    /// `config1` and `config2`.
    pub more_config: [u64; 2],
    /// `:k` without `:u`.
    pub exclude_user: bool,
    /// `:u` without `:k`.
    pub exclude_kernel: bool,
    /// `precise_ip` that `:p` requests, 0…3; [`EventSpec::HIGHEST`] for `:P`.
    pub precise: u8,
    /// Number of its group: events of one group are on the hardware at the same time, or none of them is.
    pub group: Option<u32>,
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
    known("dummy", SW, b::PERF_COUNT_SW_DUMMY as u64),
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

/// `did you mean `cycles`? ` where a known name resembles an unknown one, else nothing.
pub(crate) fn suggestion(unknown: &str) -> String {
    /// Jaro-Winkler similarity that names share which differ by a slip of the finger.
    const MIN_SIMILARITY: f64 = 0.85;
    let (name, modifiers) = unknown
        .split_once(':')
        .map_or((unknown, String::new()), |(name, more)| {
            (name, format!(":{more}"))
        });
    let lower = name.to_lowercase();
    let similarity = |known: &&str| strsim::jaro_winkler(&lower, &known.to_lowercase());
    let near = (KNOWN.iter().map(|known| known.name))
        .filter(|known| similarity(known) >= MIN_SIMILARITY)
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    near.map_or_else(String::new, |near| {
        format!("did you mean `{near}{modifiers}`? ")
    })
}

impl EventSpec {
    /// `:P`: the highest precision that the machine supports.
    pub const HIGHEST: u8 = 255;

    /// Parses `NAME[:MODIFIERS]`, `rHEX[:MODIFIERS]`, `PMU/TERMS/[MODIFIERS]` and `SYSTEM:TRACEPOINT` with the
    /// modifiers `u`, `k`, `p` (up to three), `P` and `H` (ignored).
    ///
    /// # Errors
    /// [`ProfileError::UnknownEvent`] for anything else, [`ProfileError::EventNotHere`] where the kernel's files
    /// do not have the PMU, the term or the tracepoint.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let unknown = || ProfileError::UnknownEvent(text.to_owned());
        let not_here = |why: String| ProfileError::EventNotHere {
            event: text.to_owned(),
            why,
        };
        if let Some((pmu, rest)) = text.split_once('/') {
            let (terms, modifiers) = rest.rsplit_once('/').ok_or_else(unknown)?;
            let modifiers = modifiers.strip_prefix(':').unwrap_or(modifiers);
            let encoding = pmu_event::of_pmu(pmu, terms).map_err(not_here)?;
            let name = format!("{pmu}/{terms}/").into();
            return Self::with(name, encoding, modifiers).ok_or_else(unknown);
        }
        let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
        if let Some(known) = KNOWN.iter().find(|k| k.name == name) {
            let encoding = Encoding {
                kind: known.kind,
                config: known.config,
                more: [0; 2],
            };
            let name = name_of(known.kind, known.config).unwrap_or(known.name);
            return Self::with(name.into(), encoding, modifiers).ok_or_else(unknown);
        }
        if let Some(config) = raw_config(name) {
            let encoding = Encoding {
                kind: b::PERF_TYPE_RAW,
                config,
                more: [0; 2],
            };
            return Self::with(name.to_owned().into(), encoding, modifiers).ok_or_else(unknown);
        }
        // A word before a colon that is not an event is the system of a tracepoint.
        let (tracepoint, modifiers) = modifiers.split_once(':').unwrap_or((modifiers, ""));
        if name.is_empty() || tracepoint.is_empty() {
            return Err(unknown());
        }
        let encoding = pmu_event::of_tracepoint(name, tracepoint).map_err(not_here)?;
        let name = format!("{name}:{tracepoint}").into();
        Self::with(name, encoding, modifiers).ok_or_else(unknown)
    }

    /// An event with modifiers; `None` where these are not known.
    fn with(name: Cow<'static, str>, encoding: Encoding, modifiers: &str) -> Option<Self> {
        let (mut user, mut kernel, mut precise) = (false, false, 0u8);
        for m in modifiers.chars() {
            match m {
                'u' => user = true,
                'k' => kernel = true,
                'p' if precise < 3 => precise += 1,
                'P' => precise = Self::HIGHEST,
                'H' => {}
                _ => return None,
            }
        }
        Some(Self {
            name,
            kind: encoding.kind,
            config: encoding.config,
            more_config: encoding.more,
            exclude_user: kernel && !user,
            exclude_kernel: user && !kernel,
            precise,
            group: None,
        })
    }

    /// Whether a hardware counter counts the event.
    #[must_use]
    pub fn hardware(&self) -> bool {
        is_hardware(self.kind)
    }

    /// Whether AMD's instruction-based sampling counts it, whose PMU refuses to exclude anything.
    #[must_use]
    pub fn is_ibs(&self) -> bool {
        self.name.starts_with("ibs_")
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
            self.name.clone().into_owned()
        } else if self.name.ends_with('/') {
            format!("{}{modifiers}", self.name)
        } else {
            format!("{}:{modifiers}", self.name)
        }
    }
}

/// The code of a raw event: `r` and hexadecimal digits.
fn raw_config(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    let hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal.then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Splits a list of events at the commas outside of `PMU/…/` and `{…}`.
pub(crate) fn split_list(text: &str) -> Vec<&str> {
    let (mut terms, mut group) = (false, false);
    text.split(|c| {
        terms ^= c == '/';
        group = if group { c != '}' } else { c == '{' };
        c == ',' && !terms && !group
    })
    .map(str::trim)
    .collect()
}

/// The events of a part of a list: one, or those of a group `{A,B}`, whose modifiers (`{A,B}:u`) are those of each.
///
/// # Errors
/// As [`EventSpec::parse`].
pub(crate) fn parse_group(text: &str, number: u32) -> Result<Vec<EventSpec>, ProfileError> {
    let unknown = || ProfileError::UnknownEvent(text.to_owned());
    let Some(inside) = text.strip_prefix('{') else {
        return Ok(vec![EventSpec::parse(text)?]);
    };
    let (names, modifiers) = inside.split_once('}').ok_or_else(unknown)?;
    let modifiers = match modifiers {
        "" => "",
        more => more.strip_prefix(':').ok_or_else(unknown)?,
    };
    let event = |name: &str| {
        let own = match (
            modifiers.is_empty(),
            name.ends_with('/'),
            name.contains(':'),
        ) {
            (true, ..) => name.to_owned(),
            (_, true, _) | (_, _, true) => format!("{name}{modifiers}"),
            _ => format!("{name}:{modifiers}"),
        };
        let group = Some(number);
        EventSpec::parse(&own).map(|event| EventSpec { group, ..event })
    };
    split_list(names).into_iter().map(event).collect()
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
    fn misspelt_names_have_a_suggestion() {
        assert_eq!(suggestion("cylces:u"), "did you mean `cycles:u`? ");
        assert_eq!(suggestion("branch-mises"), "did you mean `branch-misses`? ");
        assert_eq!(
            suggestion("L1-dcache-load-miss"),
            "did you mean `L1-dcache-load-misses`? "
        );
        assert_eq!(suggestion("energy"), "");
        assert_eq!(suggestion(""), "");
    }

    #[test]
    fn groups_have_their_events_and_modifiers() {
        assert_eq!(
            split_list("{cycles,instructions}:u, page-faults,cpu/a=1,b=2/"),
            ["{cycles,instructions}:u", "page-faults", "cpu/a=1,b=2/"]
        );
        let names = |text| -> Vec<String> {
            let events = parse_group(text, 3).unwrap();
            events.iter().map(EventSpec::full_name).collect()
        };
        assert_eq!(
            names("{cycles,instructions:k}:u"),
            ["cycles:u", "instructions"]
        );
        assert_eq!(names("{page-faults}"), ["page-faults"]);
        assert!(parse_group("{a,b", 0).is_err() && parse_group("{cycles}x", 0).is_err());
        let groups = |text| -> Vec<Option<u32>> {
            let events = parse_group(text, 3).unwrap();
            events.iter().map(|event| event.group).collect()
        };
        assert_eq!(groups("{cycles,branches}"), [Some(3), Some(3)]);
        assert_eq!(groups("cycles"), [None]);
    }

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
        let raw = EventSpec::parse("r01c2:up").unwrap();
        assert_eq!((raw.kind, raw.config), (b::PERF_TYPE_RAW, 0x1c2));
        assert!(raw.exclude_kernel && raw.hardware());
        assert_eq!(raw.full_name(), "r01c2:up");
        let list = split_list("cycles:u, cpu/event=0xc2,umask=1/u,r1");
        assert_eq!(list, ["cycles:u", "cpu/event=0xc2,umask=1/u", "r1"]);
        for (gone, about) in [("nopmu/event=1/", "no PMU"), ("nosys:none", "tracing")] {
            let error = EventSpec::parse(gone).unwrap_err().to_string();
            assert!(error.contains(about), "{error}");
        }
        for bad in [
            "r",
            "r12345678901234567",
            "rxyz",
            "cpu/event=1",
            "",
            ":",
            "cycles:z",
            "cycles:pppp",
            "no-such",
        ] {
            assert!(EventSpec::parse(bad).is_err(), "{bad}");
        }
    }
}
