use genba_model::HostFingerprint;

use super::*;
use crate::safe_text::display_width;

fn estimate(value: f64, low: f64, high: f64) -> Option<Estimate> {
    Some(Estimate { value, low, high })
}

fn entry(form: &str, group: &str) -> HostTableEntry {
    HostTableEntry {
        form: form.to_owned(),
        group: group.to_owned(),
        ..HostTableEntry::default()
    }
}

fn table() -> HostTable {
    HostTable {
        host: HostFingerprint {
            id: "0123456789ab".to_owned(),
            cpu: "AMD EPYC\u{1b}[31m".to_owned(),
            microarchitecture: "Zen 5".to_owned(),
            cpus: 2,
            memory_bytes: 1 << 34,
            kernel: "6.1".to_owned(),
            os: "Debian".to_owned(),
            virtualisation: Some("kvm".to_owned()),
            hardware_counters: true,
        },
        measured: "2026-01-02T03:04:05Z".to_owned(),
        frequency_hz: 4.03e9,
        frequency_range_hz: (3.9e9, 4.1e9),
        seconds: 0.854,
        entries: vec![
            HostTableEntry {
                latency_cycles: estimate(1.0, 0.999, 1.001),
                reciprocal_throughput_cycles: estimate(0.19, 0.19, 0.191),
                ..entry("add r64, r64", "integer")
            },
            HostTableEntry {
                latency_cycles: estimate(15.99, 15.96, 16.01),
                reciprocal_throughput_cycles: estimate(9.2, 9.19, 9.21),
                detail: Some("0xfffffffffffffffe / 3: a quotient of 63 bits".to_owned()),
                ..entry("div r64 [large]", "division")
            },
            HostTableEntry {
                latency_cycles: estimate(1467.0, 1424.0, 1667.0),
                disturbed: true,
                ..entry("load [memory]", "memory")
            },
            HostTableEntry {
                latency_cycles: estimate(4.48, 1.0, 7.98),
                ..entry("movq xmm, r64", "conversions")
            },
            HostTableEntry {
                seconds: estimate(41.0e-9, 40.9e-9, 41.2e-9),
                detail: Some("getppid".to_owned()),
                ..entry("system call", "system")
            },
            HostTableEntry {
                bytes_per_second: estimate(1.7e10, 1.6e10, 1.75e10),
                ..entry("memcpy [memory]", "bandwidth")
            },
        ],
        notes: vec!["other processes kept 1.4 of 2 CPUs busy meanwhile".to_owned()],
    }
}

fn screen(width: usize) -> String {
    host_table(
        &table(),
        Screen {
            width,
            colour: false,
        },
    )
}

#[test]
fn table_shows_ranges_units_and_disturbed_entries() {
    insta::assert_snapshot!("host_table", screen(120));
}

#[test]
fn lines_fit_the_screen_and_are_sanitised() {
    for width in [60, 80, 120] {
        let text = screen(width);
        assert!(!text.contains('\u{1b}'));
        for line in text.lines() {
            assert!(display_width(line) <= width, "{width}: {line}");
        }
    }
}
