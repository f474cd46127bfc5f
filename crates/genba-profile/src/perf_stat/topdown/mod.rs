//! Top-down analysis: which share of the pipeline's issue slots retired, and what the others were lost to.
//!
//! The method is A. Yasin's, "A Top-Down Method for Performance Analysis and Counters Architecture", ISPASS 2014. Each slot
//! of each cycle either takes an op that retires (retiring) or one that does not (bad speculation), or is empty because
//! no op came (frontend bound) or because none could be taken (backend bound).
//!
//! [`Method::of`] says how this processor counts that, [`Method::events`] what to count, and [`Method::topdown`] turns the
//! counts into shares. The encodings of events are those of Linux, `tools/perf/pmu-events/arch/x86`.

mod formulas;

use genba_model::{Counter, CounterState, Topdown};

use crate::error::ProfileError;
use crate::event::EventSpec;

/// The processor, as `/proc/cpuinfo` names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// `AuthenticAMD`, `GenuineIntel`, …
    pub vendor: String,
    /// Family; 0 if it is not known.
    pub family: u32,
    /// Model; 0 if it is not known.
    pub model: u32,
    /// Name of the microarchitecture; empty if it is not known.
    pub microarchitecture: String,
}

/// What the kernel says of the processor's counters.
#[derive(Clone, Copy)]
pub struct KernelFacts<'a> {
    /// Whether there is a PMU `cpu`.
    pub pmu: bool,
    /// Whether that PMU has an event of this name.
    pub has_event: &'a dyn Fn(&str) -> bool,
    /// Whether two threads of execution share a core now.
    pub smt: bool,
}

/// How a processor counts its issue slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Intel since Ice Lake: the register `PERF_METRICS`, whose parts are events of the kernel.
    IntelMetrics {
        /// Whether it has those of level 2 (since Sapphire Rapids).
        level2: bool,
    },
    /// Intel from Sandy Bridge to Comet Lake: four slots each cycle, by four events.
    IntelSlots {
        /// Terms of `INT_MISC.RECOVERY_CYCLES`.
        recovery: &'static str,
        /// Whether the events of level 2 are Skylake's.
        level2: bool,
        /// Whether two threads share a core.
        smt: bool,
    },
    /// AMD since Zen 4: dispatch slots.
    Amd {
        /// Slots each cycle.
        width: u32,
        /// Terms of the event for restarts of the pipeline other than by mispredictions.
        restarts: &'static str,
    },
}

/// Why there is no top-down analysis here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTopdown {
    /// The kernel has no counters of the processor: often a virtual machine without them.
    NoPmu,
    /// Processors of several kinds of cores: counts of both cannot be told apart in one run.
    Hybrid,
    /// Neither its formulas are known nor does the kernel have its events.
    UnknownProcessor,
}

/// An event of a method: its documented name, and the terms of the PMU `cpu`.
type Needed = (&'static str, &'static str);

/// Skylake's models (Linux, `arch/x86/include/asm/intel-family.h`): also Kaby, Coffee, Comet and Cascade Lake.
const SKYLAKE: [u32; 7] = [0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6];
/// Sandy Bridge, Ivy Bridge, Haswell and Broadwell.
const BEFORE_SKYLAKE: [u32; 12] = [
    0x2a, 0x2d, 0x3a, 0x3e, 0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56,
];

impl Method {
    /// The method of this processor under this kernel.
    ///
    /// # Errors
    /// What is missing.
    pub fn of(cpu: &Processor, kernel: KernelFacts<'_>) -> Result<Self, NoTopdown> {
        if !kernel.pmu {
            return Err(NoTopdown::NoPmu);
        }
        let has = kernel.has_event;
        let metrics = [
            "slots",
            "topdown-retiring",
            "topdown-bad-spec",
            "topdown-fe-bound",
            "topdown-be-bound",
        ];
        let level2 = [
            "topdown-heavy-ops",
            "topdown-br-mispredict",
            "topdown-fetch-lat",
            "topdown-mem-bound",
        ];
        let all = |names: &[&str]| names.iter().all(|name| has(name));
        match (cpu.vendor.as_str(), cpu.family) {
            ("GenuineIntel", _) if all(&metrics) => Ok(Self::IntelMetrics {
                level2: all(&level2),
            }),
            ("GenuineIntel", 6) if SKYLAKE.contains(&cpu.model) => Ok(Self::IntelSlots {
                recovery: "event=0x0d,umask=0x01",
                level2: true,
                smt: kernel.smt,
            }),
            ("GenuineIntel", 6) if BEFORE_SKYLAKE.contains(&cpu.model) => Ok(Self::IntelSlots {
                recovery: "event=0x0d,umask=0x03,cmask=1",
                level2: false,
                smt: kernel.smt,
            }),
            ("AuthenticAMD", 0x19) if is_zen4(cpu.model) => Ok(Self::Amd {
                width: 6,
                restarts: "event=0x96",
            }),
            ("AuthenticAMD", 0x1a) if is_zen5(cpu.model) => Ok(Self::Amd {
                width: 8,
                restarts: "event=0x9f,umask=0x01",
            }),
            _ => Err(NoTopdown::UnknownProcessor),
        }
    }

    /// The events to count.
    ///
    /// # Errors
    /// When the kernel's description of the PMU lacks a term.
    pub fn events(self) -> Result<Vec<EventSpec>, ProfileError> {
        // Parts of PERF_METRICS are only counted in the group of the slots; others are multiplexed one by one, so that
        // a counter that somebody else uses (the NMI watchdog) does not keep all of them off.
        let group = matches!(self, Self::IntelMetrics { .. }).then_some(0);
        let event = |(name, terms): Needed| {
            let spec = EventSpec::parse(&format!("cpu/{terms}/"))?;
            Ok(EventSpec {
                name: name.into(),
                group,
                ..spec
            })
        };
        self.needed().into_iter().map(event).collect()
    }

    fn needed(self) -> Vec<Needed> {
        match self {
            Self::IntelMetrics { level2 } => formulas::metrics_events(level2),
            Self::IntelSlots {
                recovery,
                level2,
                smt,
            } => formulas::slots_events(recovery, level2, smt),
            Self::Amd { width, restarts } => formulas::amd_events(width, restarts),
        }
    }

    /// The shares that follow from counts by the events' names; `None` where a count of level 1 is missing. Without
    /// one of level 2 a category is not divided.
    #[must_use]
    pub fn topdown(self, count: &dyn Fn(&str) -> Option<f64>) -> Option<Topdown> {
        match self {
            Self::IntelMetrics { .. } => formulas::metrics(count),
            Self::IntelSlots { smt, .. } => formulas::slots(count, smt),
            Self::Amd { width, .. } => formulas::amd(count, width),
        }
    }
}

/// The shares that follow from counters of [`Method::events`].
///
/// # Errors
/// The names of the events that were not counted, where one of level 1 is among them.
pub fn of_counters(method: Method, counters: &[Counter]) -> Result<Topdown, Vec<String>> {
    let counted = |counter: &Counter| counter.state == CounterState::Counted;
    let count = |name: &str| {
        let named = |counter: &&Counter| counter.event.split(':').next() == Some(name);
        let found = counters.iter().find(named).filter(|one| counted(one))?;
        Some(found.value?.value)
    };
    method.topdown(&count).ok_or_else(|| {
        let missing = counters.iter().filter(|one| !counted(one));
        missing.map(|one| one.event.clone()).collect()
    })
}

/// Why there is no top-down analysis on this processor, and what to do instead.
#[must_use]
pub fn refusal(why: NoTopdown, cpu: &Processor) -> String {
    let name = match cpu.microarchitecture.as_str() {
        "" => String::new(),
        name => format!(", {name}"),
    };
    let found = format!(
        "{}, family {:#x}, model {:#x}{name}",
        cpu.vendor, cpu.family, cpu.model
    );
    let why = match why {
        NoTopdown::NoPmu => format!(
            "the kernel shows no hardware counters of this processor ({found}): there is no \
             /sys/bus/event_source/devices/cpu; in a virtual machine the host must pass them on"
        ),
        NoTopdown::Hybrid => format!(
            "this processor ({found}) has cores of two kinds, whose issue slots cannot be added up"
        ),
        NoTopdown::UnknownProcessor => format!(
            "no formulas for this processor ({found}): they are known for Intel from Sandy Bridge to Comet Lake and \
             where the kernel has the event topdown-retiring, and for AMD Zen 4 and Zen 5"
        ),
    };
    format!("{why}\n  what bounds loops is modelled without counters by: genba explain -- COMMAND")
}

/// Zen 4 of family 19h (Linux, `arch/x86/kernel/cpu/amd.c`).
fn is_zen4(model: u32) -> bool {
    matches!(model, 0x10..=0x1f | 0x60..=0xaf)
}

/// Zen 5 of family 1Ah.
fn is_zen5(model: u32) -> bool {
    matches!(model, 0x00..=0x2f | 0x40..=0x4f | 0x60..=0x7f)
}

/// The method of this machine, whose processor is `cpu`.
///
/// # Errors
/// What is missing.
pub fn method_here(cpu: &Processor) -> Result<Method, NoTopdown> {
    let devices = std::path::Path::new("/sys/bus/event_source/devices");
    if devices.join("cpu_core").is_dir() {
        return Err(NoTopdown::Hybrid);
    }
    let smt = std::fs::read_to_string("/sys/devices/system/cpu/smt/active");
    let facts = KernelFacts {
        pmu: devices.join("cpu").is_dir(),
        has_event: &|name| devices.join("cpu/events").join(name).is_file(),
        smt: smt.is_ok_and(|text| text.trim() == "1"),
    };
    Method::of(cpu, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: u32, model: u32) -> Processor {
        Processor {
            vendor: vendor.to_owned(),
            family,
            model,
            microarchitecture: String::new(),
        }
    }

    fn of(cpu: &Processor, events: &[&str]) -> Result<Method, NoTopdown> {
        let facts = KernelFacts {
            pmu: true,
            has_event: &|name| events.contains(&name),
            smt: false,
        };
        Method::of(cpu, facts)
    }

    const LEVEL_1: [&str; 5] = [
        "slots",
        "topdown-retiring",
        "topdown-bad-spec",
        "topdown-fe-bound",
        "topdown-be-bound",
    ];

    #[test]
    fn method_follows_from_processor_and_kernel() {
        let ice_lake = cpu("GenuineIntel", 6, 0x6a);
        let metrics = |level2| Ok(Method::IntelMetrics { level2 });
        assert_eq!(of(&ice_lake, &LEVEL_1), metrics(false));
        let level2 = [
            "topdown-heavy-ops",
            "topdown-br-mispredict",
            "topdown-fetch-lat",
            "topdown-mem-bound",
        ];
        let both: Vec<&str> = LEVEL_1.iter().chain(&level2).copied().collect();
        assert_eq!(of(&cpu("GenuineIntel", 6, 0x8f), &both), metrics(true));
        // Without the kernel's events nothing is guessed.
        assert_eq!(of(&ice_lake, &[]), Err(NoTopdown::UnknownProcessor));
        let skylake = of(&cpu("GenuineIntel", 6, 0x55), &[]);
        assert!(matches!(
            skylake,
            Ok(Method::IntelSlots { level2: true, .. })
        ));
        let haswell = of(&cpu("GenuineIntel", 6, 0x3c), &[]);
        assert!(matches!(
            haswell,
            Ok(Method::IntelSlots { level2: false, .. })
        ));
        let width = |model: &Processor| match of(model, &[]) {
            Ok(Method::Amd { width, .. }) => width,
            _ => 0,
        };
        assert_eq!(width(&cpu("AuthenticAMD", 0x19, 0x61)), 6);
        assert_eq!(width(&cpu("AuthenticAMD", 0x1a, 0x44)), 8);
        // Zen 3 counts no slots.
        assert_eq!(width(&cpu("AuthenticAMD", 0x19, 0x21)), 0);
        let none = KernelFacts {
            pmu: false,
            has_event: &|_| false,
            smt: false,
        };
        assert_eq!(Method::of(&ice_lake, none), Err(NoTopdown::NoPmu));
    }

    #[test]
    fn refusal_names_what_was_found_and_what_to_use() {
        let mut here = cpu("GenuineIntel", 6, 0xcf);
        here.microarchitecture = "Emerald Rapids".to_owned();
        for why in [
            NoTopdown::NoPmu,
            NoTopdown::Hybrid,
            NoTopdown::UnknownProcessor,
        ] {
            let text = refusal(why, &here);
            for part in [
                "GenuineIntel, family 0x6, model 0xcf, Emerald Rapids",
                "genba explain",
            ] {
                assert!(text.contains(part), "{text}");
            }
        }
    }

    #[test]
    fn missing_counts_are_named() {
        let counter = |event: &str, state| Counter {
            event: event.to_owned(),
            state,
            value: (state == CounterState::Counted).then(|| genba_model::Estimate::exact(1000.0)),
            unit: String::new(),
            running_share: 1.0,
            note: None,
        };
        let mut all: Vec<Counter> = [
            "slots",
            "topdown-retiring",
            "topdown-bad-spec",
            "topdown-fe-bound",
        ]
        .map(|name| counter(&format!("{name}:u"), CounterState::Counted))
        .into();
        let method = Method::IntelMetrics { level2: false };
        all.push(counter("topdown-be-bound:u", CounterState::NotCounted));
        assert_eq!(
            of_counters(method, &all),
            Err(vec!["topdown-be-bound:u".to_owned()])
        );
        all[4] = counter("topdown-be-bound:u", CounterState::Counted);
        let found = of_counters(method, &all).expect("all counted");
        assert_eq!(found.categories.len(), 4);
    }

    #[test]
    fn every_event_that_a_formula_reads_is_counted() {
        let methods = [
            Method::IntelMetrics { level2: true },
            Method::IntelSlots {
                recovery: "event=0x0d,umask=0x01",
                level2: true,
                smt: true,
            },
            Method::Amd {
                width: 6,
                restarts: "event=0x96",
            },
        ];
        for method in methods {
            let names: Vec<&str> = method.needed().iter().map(|event| event.0).collect();
            let asked = std::cell::RefCell::new(Vec::new());
            let all = method.topdown(&|name| {
                asked.borrow_mut().push(name.to_owned());
                Some(1000.0)
            });
            let asked = asked.into_inner();
            assert!(all.is_some(), "{method:?}");
            for name in &asked {
                assert!(
                    names.contains(&name.as_str()),
                    "{method:?} does not count {name}"
                );
            }
            for name in names {
                assert!(
                    asked.iter().any(|one| one == name),
                    "{method:?}: {name} for nothing"
                );
            }
        }
    }
}
