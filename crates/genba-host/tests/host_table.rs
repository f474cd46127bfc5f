//! Tables measured here. What holds on any x86-64, however busy the machine is, is tested always;
//! what compares measured cycles only where somebody asked for it on an idle machine (`make bench`).
#![cfg(target_arch = "x86_64")]

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Duration;

use genba_host::{CalibrateError, CalibrateOptions, calibrate, cost_of, fingerprint};
use genba_model::{Estimate, HostTable, HostTableEntry};

/// One table for all tests; `None`, said aloud, where memory may not become executable.
fn table(test: &str) -> Option<&'static HostTable> {
    static TABLE: OnceLock<Result<HostTable, String>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let options = CalibrateOptions {
            budget: Duration::from_secs(4),
            cpu: None,
        };
        calibrate(fingerprint(false), &options, &mut |_| {
            ControlFlow::Continue(())
        })
        .map_err(|error| error.to_string())
    });
    match table {
        Ok(table) => Some(table),
        Err(error) => {
            genba_testing::skip(test, genba_testing::MACHINE, &error.to_string());
            None
        }
    }
}

/// The entry, unless this machine has none or it was disturbed.
fn entry(test: &str, form: &str) -> Option<&'static HostTableEntry> {
    let table = table(test)?;
    match table.entry(form) {
        None => {
            genba_testing::skip(
                test,
                genba_testing::MACHINE,
                &format!("no entry `{form}` on this machine"),
            );
            None
        }
        Some(entry) if entry.disturbed => {
            genba_testing::skip(
                test,
                genba_testing::MACHINE,
                &format!("`{form}` was disturbed"),
            );
            None
        }
        found => found,
    }
}

fn latency(test: &str, form: &str) -> Option<f64> {
    let estimate = entry(test, form)?.latency_cycles.expect("a latency");
    Some(estimate.value)
}

fn throughput(test: &str, form: &str) -> Option<f64> {
    let estimate = entry(test, form)?.reciprocal_throughput_cycles;
    Some(estimate.expect("a throughput").value)
}

/// Asserts a range of latencies.
fn within(test: &str, form: &str, low: f64, high: f64) {
    if let Some(found) = latency(test, form) {
        assert!((low..=high).contains(&found), "{form}: {found}");
    }
}

/// Asserts that the first is below the second.
fn below(less: (&str, Option<f64>), more: (&str, Option<f64>)) {
    if let (Some(a), Some(b)) = (less.1, more.1) {
        assert!(a < b, "{} {a}, {} {b}", less.0, more.0);
    }
}

#[test]
fn clock_is_plausible() {
    let Some(table) = table("clock_is_plausible") else {
        return;
    };
    let (low, high) = table.frequency_range_hz;
    for hertz in [low, table.frequency_hz, high] {
        assert!((0.5e9..8e9).contains(&hertz), "{hertz}");
    }
    assert!(low <= table.frequency_hz && table.frequency_hz <= high);
}

#[test]
fn values_are_ordered_and_forms_unique() {
    let Some(table) = table("values_are_ordered_and_forms_unique") else {
        return;
    };
    assert!(table.entries.len() > 60, "{}", table.entries.len());
    let mut seen = std::collections::BTreeSet::new();
    for entry in &table.entries {
        assert!(seen.insert(&entry.form), "{} is there twice", entry.form);
        assert!(!entry.group.is_empty());
        let figures = [
            entry.latency_cycles,
            entry.reciprocal_throughput_cycles,
            entry.seconds,
            entry.bytes_per_second,
        ];
        assert!(figures.iter().any(Option::is_some), "{entry:?}");
        for Estimate { value, low, high } in figures.into_iter().flatten() {
            assert!(0.0 <= low && low <= value && value <= high, "{entry:?}");
            assert!(high.is_finite(), "{entry:?}");
        }
    }
}

#[test]
#[ignore = "measured cycles of an idle machine: make bench"]
fn simple_instructions_take_one_cycle() {
    const TEST: &str = "simple_instructions_take_one_cycle";
    for form in ["add r64, r64", "and r64, r64", "xor r64, r64"] {
        within(TEST, form, 0.95, 1.1);
    }
    within(TEST, "imul r64, r64", 2.9, 5.1);
    within(TEST, "addsd xmm, xmm", 1.9, 6.2);
    within(TEST, "mulsd xmm, xmm", 2.9, 7.2);
    within(TEST, "popcnt r64, r64", 0.9, 4.2);
    within(TEST, "load [L1]", 2.9, 6.2);
    within(TEST, "mov r64, m64", 2.9, 6.2);
    if let Some(each) = throughput(TEST, "add r64, r64") {
        assert!((0.1..=0.6).contains(&each), "{each}");
    }
}

#[test]
#[ignore = "measured cycles of an idle machine: make bench"]
fn latency_grows_with_the_cache_level() {
    const TEST: &str = "latency_grows_with_the_cache_level";
    let levels = ["load [L1]", "load [L2]", "load [L3]", "load [memory]"];
    let found = levels.map(|form| (form, latency(TEST, form)));
    for (index, near) in found.iter().enumerate() {
        for far in &found[index + 1..] {
            below(*near, *far);
        }
    }
}

#[test]
#[ignore = "measured cycles of an idle machine: make bench"]
fn division_is_the_slowest_arithmetic() {
    const TEST: &str = "division_is_the_slowest_arithmetic";
    let of = |form: &'static str| (form, latency(TEST, form));
    let addition = of("add r64, r64");
    let multiplication = of("imul r64, r64");
    for form in [
        "div r32 [small]",
        "div r32 [large]",
        "div r64 [small]",
        "div r64 [large]",
        "idiv r64 [large]",
    ] {
        below(addition, of(form));
        below(multiplication, of(form));
        within(TEST, form, 4.0, 110.0);
    }
    below(of("mulsd xmm, xmm"), of("divsd xmm, xmm"));
    // More bits of the quotient never take less; where they take the same, figures scatter.
    let sizes = ["div r64 [small]", "div r64 [medium]", "div r64 [large]"];
    for pair in sizes.windows(2) {
        if let (Some(less), Some(more)) = (latency(TEST, pair[0]), latency(TEST, pair[1])) {
            assert!(less <= more * 1.05, "{pair:?}: {less} {more}");
        }
    }
}

#[test]
#[ignore = "measured cycles of an idle machine: make bench"]
fn latency_is_not_below_throughput() {
    let Some(table) = table("latency_is_not_below_throughput") else {
        return;
    };
    for entry in &table.entries {
        // Forms of one figure, moves that are renamed, and forms whose streams have helpers.
        let arithmetic = [
            "integer",
            "multiplication",
            "floating point",
            "vector integer",
        ]
        .contains(&entry.group.as_str())
            && !entry.form.starts_with("mov")
            && !entry.form.starts_with("xchg");
        let (Some(latency), Some(each)) =
            (entry.latency_cycles, entry.reciprocal_throughput_cycles)
        else {
            continue;
        };
        if arithmetic && !entry.disturbed {
            assert!(each.value <= latency.value * 1.1 + 0.1, "{entry:?}");
        }
    }
}

#[test]
#[ignore = "measured cycles of an idle machine: make bench"]
fn misprediction_costs_more_than_a_predicted_branch() {
    const TEST: &str = "misprediction_costs_more_than_a_predicted_branch";
    below(
        ("jcc [taken]", throughput(TEST, "jcc [taken]")),
        ("jcc [mispredicted]", latency(TEST, "jcc [mispredicted]")),
    );
    within(TEST, "jcc [mispredicted]", 5.0, 60.0);
    below(
        ("jmp [taken]", throughput(TEST, "jmp [taken]")),
        ("call + ret", throughput(TEST, "call + ret")),
    );
}

#[test]
#[ignore = "measured cycles of an idle machine: make bench"]
fn locks_and_the_kernel_cost_more_than_arithmetic() {
    const TEST: &str = "locks_and_the_kernel_cost_more_than_arithmetic";
    below(
        ("add r64, r64", latency(TEST, "add r64, r64")),
        ("lock add m64, r64", latency(TEST, "lock add m64, r64")),
    );
    let seconds = |form| {
        entry(TEST, form)
            .and_then(|it| it.seconds)
            .map(|it| it.value)
    };
    if let (Some(call), Some(table)) = (seconds("system call"), table(TEST)) {
        assert!(call * table.frequency_hz > 20.0, "{call}");
    }
    if let (Some(call), Some(fault)) = (seconds("system call"), seconds("page fault [minor]")) {
        assert!(call < fault, "{call} {fault}");
    }
}

#[test]
fn common_forms_have_costs_on_this_host() {
    let Some(table) = table("common_forms_have_costs_on_this_host") else {
        return;
    };
    for form in [
        "add r32, i",
        "sub r64, i",
        "cmp r32, r32",
        "test r8, i",
        "lea r64, m",
        "mov r64, m64",
        "mov m32, r32",
        "movzx r32, m8",
        "movsxd r64, r32",
        "imul r64, r64, i",
        "imul r32, m32",
        "div r64",
        "div r32",
        "idiv r32",
        "idiv m32",
        "shl r32, i",
        "sar r64, i",
        "shr r64, r8",
        "xor r32, r32",
        "cmovg r32, r32",
        "sete r8",
        "jne",
        "jmp",
        "call",
        "ret",
        "push r64",
        "pop r64",
        "addsd xmm, m64",
        "mulss xmm, xmm",
        "divsd xmm, xmm",
        "sqrtsd xmm, xmm",
        "ucomisd xmm, xmm",
        "cvtsi2sd xmm, r32",
        "cvttsd2si r32, xmm",
        "movsd xmm, m64",
        "movsd m64, xmm",
        "pxor xmm, xmm",
        "paddd xmm, m128",
        "pshufd xmm, xmm, i",
        "cdqe",
        "cdq",
        "lock cmpxchg m64, r64",
        "nop m",
        "vaddsd xmm, xmm, m64",
    ] {
        let cost = cost_of(table, form).unwrap_or_else(|| panic!("no cost of `{form}`"));
        assert!(
            cost.latency.is_some() || cost.throughput.is_some(),
            "{form}"
        );
        assert!(
            cost.entries.iter().all(|name| table.entry(name).is_some()),
            "{form}"
        );
    }
}

#[test]
fn watch_can_interrupt_the_measurement() {
    let mut calls = 0;
    let result = calibrate(
        fingerprint(false),
        &CalibrateOptions::default(),
        &mut |progress| {
            calls += 1;
            assert!(progress.measured <= progress.kernels);
            if calls > 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    match result {
        Err(CalibrateError::Memory(error)) => genba_testing::skip(
            "watch_can_interrupt_the_measurement",
            genba_testing::MACHINE,
            &error.to_string(),
        ),
        result => {
            assert!(
                matches!(result, Err(CalibrateError::Interrupted)),
                "{result:?}"
            );
            assert_eq!(calls, 4);
        }
    }
}

#[test]
fn missing_cpu_is_refused() {
    let options = CalibrateOptions {
        cpu: Some(100_000),
        ..CalibrateOptions::default()
    };
    let result = calibrate(fingerprint(false), &options, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(
        matches!(result, Err(CalibrateError::Cpu { cpu: 100_000 })),
        "{result:?}"
    );
}
