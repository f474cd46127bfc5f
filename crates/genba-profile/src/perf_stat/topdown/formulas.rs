//! The published formulas of top-down analysis, from counts to shares.
//!
//! Sources: Yasin 2014 and Linux, `tools/perf/pmu-events/arch/x86`: `skylake/skl-metrics.json`,
//! `sapphirerapids/spr-metrics.json`, `amdzen4/pipeline.json`, `amdzen5/pipeline.json`; of the kernel's `topdown-*` events
//! `tools/perf/Documentation/topdown.txt`.

use genba_model::{Topdown, TopdownCategory, TopdownPart};

use super::Needed;

type Count<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// A category of level 1 with what it is divided into.
fn category(name: &str, share: f64, parts: Option<[(&str, f64); 2]>) -> TopdownCategory {
    // Counts that were multiplexed are extrapolated one by one, so that a small difference may be below zero.
    let at_least_zero = |share: f64| {
        if share.is_finite() {
            share.max(0.0)
        } else {
            0.0
        }
    };
    let part = |(name, share): (&str, f64)| TopdownPart {
        name: name.to_owned(),
        share: at_least_zero(share),
    };
    TopdownCategory {
        name: name.to_owned(),
        share: at_least_zero(share),
        parts: parts.into_iter().flatten().map(part).collect(),
    }
}

/// A share divided: the first part, and the rest.
fn divided<'a>(
    all: f64,
    first: &'a str,
    part: Option<f64>,
    rest: &'a str,
) -> Option<[(&'a str, f64); 2]> {
    let part = part?;
    Some([(first, part), (rest, all - part)])
}

/// The quotient; `None` where the divisor is not above zero.
fn ratio(part: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| part / all)
}

pub(super) fn metrics_events(level2: bool) -> Vec<Needed> {
    let mut events = vec![
        ("slots", "slots"),
        ("topdown-retiring", "topdown-retiring"),
        ("topdown-bad-spec", "topdown-bad-spec"),
        ("topdown-fe-bound", "topdown-fe-bound"),
        ("topdown-be-bound", "topdown-be-bound"),
    ];
    if level2 {
        events.extend([
            ("topdown-heavy-ops", "topdown-heavy-ops"),
            ("topdown-br-mispredict", "topdown-br-mispredict"),
            ("topdown-fetch-lat", "topdown-fetch-lat"),
            ("topdown-mem-bound", "topdown-mem-bound"),
        ]);
    }
    events
}

/// Intel's `PERF_METRICS`: the kernel gives each part in slots.
pub(super) fn metrics(count: Count<'_>) -> Option<Topdown> {
    let parts = (
        count("topdown-retiring")?,
        count("topdown-bad-spec")?,
        count("topdown-fe-bound")?,
        count("topdown-be-bound")?,
    );
    let all = parts.0 + parts.1 + parts.2 + parts.3;
    let of = |part: f64| ratio(part, all);
    let level2 = |name: &str| of(count(name)?);
    let (retiring, bad, frontend, backend) =
        (of(parts.0)?, of(parts.1)?, of(parts.2)?, of(parts.3)?);
    let heavy = level2("topdown-heavy-ops");
    let mispredicted = level2("topdown-br-mispredict");
    let latency = level2("topdown-fetch-lat");
    let memory = level2("topdown-mem-bound");
    // Counted because its group does not run without it.
    let slots = count("slots")?;
    Some(Topdown {
        method: "Intel PERF_METRICS".to_owned(),
        slots,
        categories: intel_categories(
            [retiring, bad, frontend, backend],
            [heavy, mispredicted, latency, memory],
        ),
    })
}

/// The categories of level 1, each with the first of the two parts that it is divided into.
fn intel_categories(
    [retiring, bad, frontend, backend]: [f64; 4],
    [heavy, mispredicted, latency, memory]: [Option<f64>; 4],
) -> Vec<TopdownCategory> {
    let of = |name, all, first, part, rest| category(name, all, divided(all, first, part, rest));
    vec![
        of(
            "retiring",
            retiring,
            "heavy operations",
            heavy,
            "light operations",
        ),
        of(
            "bad speculation",
            bad,
            "branch mispredictions",
            mispredicted,
            "machine clears",
        ),
        of(
            "frontend bound",
            frontend,
            "fetch latency",
            latency,
            "fetch bandwidth",
        ),
        of("backend bound", backend, "memory", memory, "core"),
    ]
}

/// Issue slots each cycle of Intel's cores from Sandy Bridge to Comet Lake.
const INTEL_WIDTH: f64 = 4.0;

pub(super) fn slots_events(recovery: &'static str, level2: bool, smt: bool) -> Vec<Needed> {
    let mut events = vec![
        ("CPU_CLK_UNHALTED.THREAD", "event=0x3c"),
        ("IDQ_UOPS_NOT_DELIVERED.CORE", "event=0x9c,umask=0x01"),
        ("UOPS_ISSUED.ANY", "event=0x0e,umask=0x01"),
        ("UOPS_RETIRED.RETIRE_SLOTS", "event=0xc2,umask=0x02"),
        ("INT_MISC.RECOVERY_CYCLES", recovery),
    ];
    if smt {
        events.extend([
            (
                "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE",
                "event=0x3c,umask=0x02",
            ),
            ("CPU_CLK_UNHALTED.REF_XCLK", "event=0x3c,umask=0x01"),
        ]);
    }
    if level2 {
        events.extend([
            (
                "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
                "event=0x9c,umask=0x01,cmask=4",
            ),
            ("BR_MISP_RETIRED.ALL_BRANCHES", "event=0xc5"),
            (
                "MACHINE_CLEARS.COUNT",
                "event=0xc3,umask=0x01,cmask=1,edge=1",
            ),
            (
                "CYCLE_ACTIVITY.STALLS_MEM_ANY",
                "event=0xa3,umask=0x14,cmask=20",
            ),
            (
                "CYCLE_ACTIVITY.STALLS_TOTAL",
                "event=0xa3,umask=0x04,cmask=4",
            ),
            ("EXE_ACTIVITY.BOUND_ON_STORES", "event=0xa6,umask=0x40"),
            ("EXE_ACTIVITY.1_PORTS_UTIL", "event=0xa6,umask=0x02"),
            ("EXE_ACTIVITY.2_PORTS_UTIL", "event=0xa6,umask=0x04"),
            ("UOPS_RETIRED.MACRO_FUSED", "event=0xc2,umask=0x04"),
            ("INST_RETIRED.ANY", "event=0xc0"),
        ]);
    }
    events
}

/// Intel by events. Where two threads share a core, a thread has the slots of the cycles that it alone was active
/// in, and half of the others'.
pub(super) fn slots(count: Count<'_>, smt: bool) -> Option<Topdown> {
    let cycles = count("CPU_CLK_UNHALTED.THREAD")?;
    let core_cycles = if smt {
        let alone = ratio(
            count("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE")?,
            count("CPU_CLK_UNHALTED.REF_XCLK")?,
        )?;
        cycles / 2.0 * (1.0 + alone)
    } else {
        cycles
    };
    let slots = INTEL_WIDTH * core_cycles;
    let of = |part: f64| ratio(part, slots);
    let frontend = of(count("IDQ_UOPS_NOT_DELIVERED.CORE")?)?;
    let retired = count("UOPS_RETIRED.RETIRE_SLOTS")?;
    let retiring = of(retired)?;
    // With two threads the published formula has half of what both need, which only whole CPUs can be counted for; this
    // thread's own is taken.
    let recovery = INTEL_WIDTH * count("INT_MISC.RECOVERY_CYCLES")?;
    let bad = of(count("UOPS_ISSUED.ANY")? - retired + recovery)?.max(0.0);
    let backend = (1.0 - frontend - retiring - bad).max(0.0);

    let heavy = (count("UOPS_RETIRED.MACRO_FUSED").zip(count("INST_RETIRED.ANY")))
        .and_then(|(fused, instructions)| of(retired + fused - instructions));
    let mispredicted = (count("BR_MISP_RETIRED.ALL_BRANCHES").zip(count("MACHINE_CLEARS.COUNT")))
        .map(|(branches, clears)| bad * ratio(branches, branches + clears).unwrap_or(0.0));
    let latency = count("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE")
        .and_then(|empty| of(INTEL_WIDTH * empty.min(cycles)));
    let memory = memory_bound(count, retiring, backend);
    Some(Topdown {
        method: "Intel, events of the issue slots".to_owned(),
        slots,
        categories: intel_categories(
            [retiring, bad, frontend, backend],
            [heavy, mispredicted, latency, memory],
        ),
    })
}

/// The part of `backend` that waits for memory (Skylake's `tma_memory_bound`).
fn memory_bound(count: Count<'_>, retiring: f64, backend: f64) -> Option<f64> {
    let stores = count("EXE_ACTIVITY.BOUND_ON_STORES")?;
    let memory = count("CYCLE_ACTIVITY.STALLS_MEM_ANY")? + stores;
    let few_ports =
        count("EXE_ACTIVITY.1_PORTS_UTIL")? + retiring * count("EXE_ACTIVITY.2_PORTS_UTIL")?;
    let all = count("CYCLE_ACTIVITY.STALLS_TOTAL")? + few_ports + stores;
    Some(backend * ratio(memory, all).unwrap_or(0.0).min(1.0))
}

pub(super) fn amd_events(width: u32, restarts: &'static str) -> Vec<Needed> {
    let no_ops_in_a_cycle = match width {
        8 => "event=0x1a0,umask=0x01,cmask=0x8",
        _ => "event=0x1a0,umask=0x01,cmask=0x6",
    };
    vec![
        ("ls_not_halted_cyc", "event=0x76"),
        (
            "de_no_dispatch_per_slot.no_ops_from_frontend",
            "event=0x1a0,umask=0x01",
        ),
        (
            "de_no_dispatch_per_slot.backend_stalls",
            "event=0x1a0,umask=0x1e",
        ),
        (
            "de_no_dispatch_per_slot.smt_contention",
            "event=0x1a0,umask=0x60",
        ),
        ("de_src_op_disp.all", "event=0xaa,umask=0x07"),
        ("ex_ret_ops", "event=0xc1"),
        (NO_OPS_CYCLES, no_ops_in_a_cycle),
        ("ex_ret_brn_misp", "event=0xc3"),
        ("restarts", restarts),
        ("ex_no_retire.load_not_complete", "event=0xd6,umask=0xa2"),
        ("ex_no_retire.not_complete", "event=0xd6,umask=0x02"),
        ("ex_ret_ucode_ops", "event=0x1c2"),
    ]
}

/// Cycles in which the frontend supplied nothing: the event of empty slots with a threshold of all slots of a cycle.
const NO_OPS_CYCLES: &str = "de_no_dispatch_per_slot.no_ops_from_frontend,cmask=width";

/// AMD's pipeline utilisation, with so many dispatch slots a cycle.
pub(super) fn amd(count: Count<'_>, width: u32) -> Option<Topdown> {
    let width = f64::from(width);
    let slots = width * count("ls_not_halted_cyc")?;
    let of = |part: f64| ratio(part, slots);
    let frontend = of(count("de_no_dispatch_per_slot.no_ops_from_frontend")?)?;
    let backend = of(count("de_no_dispatch_per_slot.backend_stalls")?)?;
    let contention = of(count("de_no_dispatch_per_slot.smt_contention")?)?;
    let retired = count("ex_ret_ops")?;
    let retiring = of(retired)?;
    let bad = of(count("de_src_op_disp.all")? - retired)?.max(0.0);

    let microcode =
        count("ex_ret_ucode_ops").map(|ops| retiring * ratio(ops, retired).unwrap_or(0.0));
    let mispredicted = (count("ex_ret_brn_misp").zip(count("restarts")))
        .map(|(branches, restarts)| bad * ratio(branches, branches + restarts).unwrap_or(0.0));
    let latency = count(NO_OPS_CYCLES).and_then(|cycles| of(width * cycles));
    let memory = (count("ex_no_retire.load_not_complete").zip(count("ex_no_retire.not_complete")))
        .map(|(loads, all)| backend * ratio(loads, all).unwrap_or(0.0));
    Some(Topdown {
        method: "AMD pipeline utilisation".to_owned(),
        slots,
        categories: vec![
            category(
                "retiring",
                retiring,
                divided(retiring, "microcode", microcode, "fastpath"),
            ),
            category(
                "bad speculation",
                bad,
                divided(
                    bad,
                    "branch mispredictions",
                    mispredicted,
                    "pipeline restarts",
                ),
            ),
            category(
                "frontend bound",
                frontend,
                divided(frontend, "latency", latency, "bandwidth"),
            ),
            category(
                "backend bound",
                backend,
                divided(backend, "memory", memory, "core"),
            ),
            category("SMT contention", contention, None),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts<'a>(all: &'a [(&'a str, f64)]) -> impl Fn(&str) -> Option<f64> + 'a {
        |name| all.iter().find(|one| one.0 == name).map(|one| one.1)
    }

    /// The shares in percent, level 1 with level 2, rounded.
    fn percent(found: &Topdown) -> Vec<(String, i64, Vec<i64>)> {
        let round = |share: f64| (share * 100.0).round() as i64;
        let row = |one: &TopdownCategory| {
            let parts = one.parts.iter().map(|part| round(part.share)).collect();
            (one.name.clone(), round(one.share), parts)
        };
        found.categories.iter().map(row).collect()
    }

    fn expect(found: Option<Topdown>, rows: &[(&str, i64, &[i64])]) {
        let found = percent(&found.expect("counted"));
        let rows: Vec<_> = (rows.iter())
            .map(|&(name, share, parts)| (name.to_owned(), share, parts.to_vec()))
            .collect();
        assert_eq!(found, rows);
    }

    #[test]
    fn amd_slots_are_six_or_eight_a_cycle() {
        // 1,000 cycles of 6 slots: 2,400 retired, 600 dispatched in vain, 900 without ops, 1,800 stalled, 300 of the other
        // thread.
        let all = [
            ("ls_not_halted_cyc", 1000.0),
            ("ex_ret_ops", 2400.0),
            ("de_src_op_disp.all", 3000.0),
            ("de_no_dispatch_per_slot.no_ops_from_frontend", 900.0),
            ("de_no_dispatch_per_slot.backend_stalls", 1800.0),
            ("de_no_dispatch_per_slot.smt_contention", 300.0),
            (NO_OPS_CYCLES, 100.0),
            ("ex_ret_brn_misp", 9.0),
            ("restarts", 1.0),
            ("ex_no_retire.load_not_complete", 200.0),
            ("ex_no_retire.not_complete", 300.0),
            ("ex_ret_ucode_ops", 240.0),
        ];
        expect(
            amd(&counts(&all), 6),
            &[
                ("retiring", 40, &[4, 36]),
                ("bad speculation", 10, &[9, 1]),
                ("frontend bound", 15, &[10, 5]),
                ("backend bound", 30, &[20, 10]),
                ("SMT contention", 5, &[]),
            ],
        );
        // Without the events of level 2.
        expect(
            amd(&counts(&all[..6]), 8),
            &[
                ("retiring", 30, &[]),
                ("bad speculation", 8, &[]),
                ("frontend bound", 11, &[]),
                ("backend bound", 23, &[]),
                ("SMT contention", 4, &[]),
            ],
        );
        assert_eq!(amd(&counts(&all[1..]), 6), None);
    }

    #[test]
    fn intel_slots_are_four_a_cycle() {
        // 1,000 cycles: 4,000 slots; 2,000 retired, 2,200 issued and 50 cycles of recovery, 600 not delivered.
        let all = [
            ("CPU_CLK_UNHALTED.THREAD", 1000.0),
            ("IDQ_UOPS_NOT_DELIVERED.CORE", 600.0),
            ("UOPS_ISSUED.ANY", 2200.0),
            ("UOPS_RETIRED.RETIRE_SLOTS", 2000.0),
            ("INT_MISC.RECOVERY_CYCLES", 50.0),
            ("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 100.0),
            ("BR_MISP_RETIRED.ALL_BRANCHES", 9.0),
            ("MACHINE_CLEARS.COUNT", 1.0),
            ("CYCLE_ACTIVITY.STALLS_MEM_ANY", 200.0),
            ("CYCLE_ACTIVITY.STALLS_TOTAL", 250.0),
            ("EXE_ACTIVITY.BOUND_ON_STORES", 40.0),
            ("EXE_ACTIVITY.1_PORTS_UTIL", 60.0),
            ("EXE_ACTIVITY.2_PORTS_UTIL", 100.0),
            ("UOPS_RETIRED.MACRO_FUSED", 200.0),
            ("INST_RETIRED.ANY", 1800.0),
            ("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 0.0),
            ("CPU_CLK_UNHALTED.REF_XCLK", 100.0),
        ];
        // Memory: 240 of 250 + 60 + 0.5 × 100 + 40 cycles.
        expect(
            slots(&counts(&all), false),
            &[
                ("retiring", 50, &[10, 40]),
                ("bad speculation", 10, &[9, 1]),
                ("frontend bound", 15, &[10, 5]),
                ("backend bound", 25, &[15, 10]),
            ],
        );
        // The other thread was active all the time: half of the slots.
        let shared = slots(&counts(&all), true).expect("counted");
        assert_eq!(shared.slots, 2000.0);
        let level1 = slots(&counts(&all[..5]), false).expect("counted");
        assert!(level1.categories.iter().all(|one| one.parts.is_empty()));
        assert_eq!(slots(&counts(&all[..5]), true), None);
    }

    #[test]
    fn intel_metrics_are_shares_of_their_sum() {
        let all = [
            ("slots", 10_000.0),
            ("topdown-retiring", 4000.0),
            ("topdown-bad-spec", 1000.0),
            ("topdown-fe-bound", 1500.0),
            ("topdown-be-bound", 3500.0),
            ("topdown-heavy-ops", 500.0),
            ("topdown-br-mispredict", 900.0),
            ("topdown-fetch-lat", 1000.0),
            ("topdown-mem-bound", 3000.0),
        ];
        expect(
            metrics(&counts(&all)),
            &[
                ("retiring", 40, &[5, 35]),
                ("bad speculation", 10, &[9, 1]),
                ("frontend bound", 15, &[10, 5]),
                ("backend bound", 35, &[30, 5]),
            ],
        );
        assert_eq!(metrics(&counts(&all[..4])), None);
    }

    #[test]
    fn counts_that_contradict_each_other_give_no_negative_share() {
        let all = [
            ("ls_not_halted_cyc", 1000.0),
            ("ex_ret_ops", 2400.0),
            ("de_src_op_disp.all", 2300.0),
            ("de_no_dispatch_per_slot.no_ops_from_frontend", 900.0),
            ("de_no_dispatch_per_slot.backend_stalls", 1800.0),
            ("de_no_dispatch_per_slot.smt_contention", 0.0),
            (NO_OPS_CYCLES, 400.0),
        ];
        let found = amd(&counts(&all), 6).expect("counted");
        for one in &found.categories {
            assert!(one.share >= 0.0, "{one:?}");
            assert!(one.parts.iter().all(|part| part.share >= 0.0), "{one:?}");
        }
        let idle = [("ls_not_halted_cyc", 0.0)];
        assert_eq!(amd(&counts(&idle), 6), None);
    }
}
