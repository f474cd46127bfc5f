//! Presets for running a program differently, ordered by what is known of the workload.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::try_variants::{RunChange, RunSlot, VariantChange};

/// What is known of the workload before variants are tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadFacts {
    /// Wall time of a run, seconds.
    pub wall: f64,
    /// CPU time in user mode, seconds.
    pub user: f64,
    /// CPU time in the kernel, seconds.
    pub system: f64,
    /// Minor page faults.
    pub faults: f64,
    /// Causes found by `explain`, the largest gain first.
    pub causes: Vec<String>,
    /// CPUs that may be used.
    pub cpus: Vec<usize>,
}

/// Allocators: preset name, library, Debian package.
const ALLOCATORS: [(&str, &str, &str); 3] = [
    ("jemalloc", "libjemalloc.so.2", "libjemalloc2"),
    ("mimalloc", "libmimalloc.so.2", "libmimalloc2.0"),
    (
        "tcmalloc",
        "libtcmalloc_minimal.so.4",
        "libtcmalloc-minimal4",
    ),
];

/// Directories that are searched for libraries.
const LIBRARY_DIRECTORIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/lib64",
];

fn library(name: &str) -> Option<PathBuf> {
    let mut places = LIBRARY_DIRECTORIES
        .iter()
        .map(|place| Path::new(place).join(name));
    places.find(|path| path.exists())
}

/// The run presets; those that are unavailable here have the reason.
#[must_use]
pub fn run_presets(facts: &WorkloadFacts) -> Vec<VariantChange> {
    let mut all = Vec::new();
    // A program with many page faults allocates much memory.
    let faulty = facts.faults > 2_000.0 * facts.wall.max(0.01);
    let kernel = facts.system > 0.15 * (facts.user + facts.system);
    let memory = if faulty || kernel { 20 } else { 0 };
    for (name, file, package) in ALLOCATORS {
        let run = RunChange {
            slots: vec![RunSlot::Allocator],
            preload: library(file).into_iter().collect(),
            ..RunChange::default()
        };
        let mut change = VariantChange::run(name, run, 65 + memory);
        if change.run.preload.is_empty() {
            change.unavailable = Some(format!(
                "{file} is not installed; install it with: apt-get install {package}"
            ));
        }
        all.push(change);
    }
    let tunable = |name: &str, slot: u8, values: &[&str], priority: u8| {
        let run = RunChange {
            slots: vec![RunSlot::Tunable(slot)],
            tunables: values
                .iter()
                .map(|value| format!("glibc.malloc.{value}"))
                .collect(),
            ..RunChange::default()
        };
        VariantChange::run(name, run, priority)
    };
    all.push(tunable(
        "keep freed memory",
        0,
        &[
            "mmap_threshold=33554432",
            "trim_threshold=1073741824",
            "top_pad=16777216",
        ],
        50 + memory,
    ));
    all.push(tunable(
        "huge pages for malloc",
        1,
        &["hugetlb=1"],
        45 + memory,
    ));
    all.push(tunable("larger thread cache", 2, &["tcache_count=127"], 30));
    if facts.user > 1.2 * facts.wall {
        all.push(tunable("one malloc arena", 3, &["arena_max=1"], 25));
    }
    let set = |name: &str, slot, variable: &str, value: &str, priority| {
        let run = RunChange {
            slots: vec![slot],
            environment: BTreeMap::from([(variable.to_owned(), value.to_owned())]),
            ..RunChange::default()
        };
        VariantChange::run(name, run, priority)
    };
    // Binding costs or saves microseconds, which is visible only in short runs.
    let short = facts.wall < 0.05;
    all.push(set(
        "bind symbols at start",
        RunSlot::Binding,
        "LD_BIND_NOW",
        "1",
        if short { 35 } else { 12 },
    ));
    let mut locale = set("locale C", RunSlot::Locale, "LC_ALL", "C", 35);
    if let Some(why) = plain_locale() {
        locale.unavailable = Some(why);
    }
    all.push(locale);
    all.push(buffering());
    if let Some(cpu) = facts.cpus.last() {
        let run = RunChange {
            slots: vec![RunSlot::Placement],
            cpus: Some(vec![*cpu]),
            ..RunChange::default()
        };
        let mut change = VariantChange::run(&format!("pinned to CPU {cpu}"), run, 20);
        if facts.cpus.len() < 2 {
            change.unavailable = Some("this machine has one CPU".to_owned());
        } else if facts.user > 1.2 * facts.wall {
            change.unavailable = Some("the program uses more than one CPU".to_owned());
        }
        all.push(change);
    }
    let presets_for_causes = presets_for_causes(&facts.causes);
    for change in &mut all {
        change.priority = priority_with_causes(&presets_for_causes, &change.name, change.priority);
    }
    all
}

/// Priority of the preset that the finding with the largest gain suggests; one less for each
/// further finding.
const SUGGESTED_PRIORITY: u8 = 94;
/// Lowest priority of a suggested preset.
const MIN_SUGGESTED_PRIORITY: u8 = 88;

/// Priority of a preset, given the presets that findings suggest, the best first.
#[must_use]
pub fn priority_with_causes(presets_for_causes: &[&str], name: &str, usual: u8) -> u8 {
    match presets_for_causes.iter().position(|one| *one == name) {
        None => usual,
        Some(builder) => {
            let less = u8::try_from(builder).unwrap_or(u8::MAX);
            usual.max(
                SUGGESTED_PRIORITY
                    .saturating_sub(less)
                    .max(MIN_SUGGESTED_PRIORITY),
            )
        }
    }
}

/// Note on the presets that findings suggest; `None` without findings.
#[must_use]
pub fn describe_causes(causes: &[String]) -> Option<String> {
    if causes.is_empty() {
        return None;
    }
    let (mut first, mut without) = (Vec::new(), Vec::new());
    for cause in causes {
        match presets_for_causes(std::slice::from_ref(cause)) {
            names if names.is_empty() => without.push(cause.as_str()),
            names => first.push(format!("{cause} ({})", names.join(", "))),
        }
    }
    let mut parts = Vec::new();
    if !first.is_empty() {
        parts.push(format!(
            "tried first because of findings: {}",
            first.join("; ")
        ));
    }
    if !without.is_empty() {
        parts.push(format!(
            "no preset is for what explain finds: {}",
            without.join(", ")
        ));
    }
    Some(parts.join("; "))
}

/// The reason if the locale is C already.
fn plain_locale() -> Option<String> {
    let set = ["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    match set.as_deref() {
        None | Some("C" | "POSIX" | "C.UTF-8" | "C.utf8") => {
            Some("the locale is already C".to_owned())
        }
        Some(_) => None,
    }
}

fn buffering() -> VariantChange {
    let places = [
        "/usr/libexec/coreutils/libstdbuf.so",
        "/usr/lib/coreutils/libstdbuf.so",
    ];
    let library = places.iter().map(PathBuf::from).find(|path| path.exists());
    let run = RunChange {
        slots: vec![RunSlot::Buffering],
        environment: BTreeMap::from([("_STDBUF_O".to_owned(), "1048576".to_owned())]),
        preload: library.into_iter().collect(),
        ..RunChange::default()
    };
    let mut change = VariantChange::run("1 MB of output buffer", run, 22);
    if change.run.preload.is_empty() {
        change.unavailable = Some(
            "libstdbuf.so is not installed; install it with: apt-get install coreutils".to_owned(),
        );
    }
    change
}

/// Names of the presets that causes suggest, in their order.
#[must_use]
pub fn presets_for_causes(causes: &[String]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for cause in causes {
        let of: &[&str] = match cause.as_str() {
            "tiny-callee-not-inlined" => &["LTO", "PGO", "-fno-plt", "-fno-semantic-interposition"],
            "indirect-call-one-target" | "unpredictable-branch" => &["PGO"],
            "malloc-churn" | "realloc-growth" => &["jemalloc", "mimalloc", "tcmalloc"],
            "first-touch" => &["keep freed memory", "huge pages for malloc"],
            "cache-miss" | "pointer-chase" | "strided-access" => &["huge pages for malloc"],
            "missed-vectorisation" | "bytewise-copy" => &["-O3", "-march=native"],
            "unoptimised-build" => &["-O3"],
            "excess-syscalls" => &["1 MB of output buffer"],
            _ => &[],
        };
        names.extend(
            of.iter()
                .filter(|name| !names.contains(*name))
                .copied()
                .collect::<Vec<_>>(),
        );
    }
    names
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn preset_names_are_unique_and_suggested_ones_come_first() {
        let mut facts = WorkloadFacts {
            wall: 1.0,
            user: 2.0,
            cpus: vec![0, 1],
            ..WorkloadFacts::default()
        };
        let all = run_presets(&facts);
        let names: std::collections::BTreeSet<&str> =
            all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(names.contains("one malloc arena"));
        let pinned = all
            .iter()
            .find(|one| one.name.starts_with("pinned"))
            .unwrap();
        assert!(pinned.unavailable.is_some());
        facts.causes = vec!["first-touch".to_owned()];
        let best = run_presets(&facts)
            .into_iter()
            .max_by_key(|one| one.priority)
            .unwrap();
        assert!(best.name == "huge pages for malloc" || best.name == "keep freed memory");
    }

    #[test]
    fn note_tells_causes_with_presets_from_those_without() {
        let note = |causes: &[&str]| {
            let causes: Vec<String> = causes.iter().map(|one| (*one).to_owned()).collect();
            describe_causes(&causes).unwrap_or_default()
        };
        assert_eq!(note(&[]), "");
        assert_eq!(
            note(&["integer-latency-chain"]),
            "no preset is for what explain finds: integer-latency-chain"
        );
        let both = note(&["first-touch", "integer-latency-chain"]);
        assert!(both.starts_with("tried first because of findings: first-touch ("));
        assert!(both.ends_with("; no preset is for what explain finds: integer-latency-chain"));
    }
}
