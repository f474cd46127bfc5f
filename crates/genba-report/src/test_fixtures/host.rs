//! Documents about a host.

use genba_model::{
    Doctor, DoctorMetric, Estimate, Hazard, HostFingerprint, HostTable, HostTableEntry, VerdictName,
};

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

/// What `genba host table` measured.
pub fn table() -> HostTable {
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

/// What `genba host doctor` found.
pub fn doctor() -> Doctor {
    Doctor {
        host: table().host,
        command: "gzip -k words".to_owned(),
        seconds: 10.0,
        run_seconds: 0.2,
        metrics: vec![DoctorMetric {
            metric: "wall".to_owned(),
            visible: Some(0.01),
            scatter: 0.02,
            pairs: 25,
            verdict: VerdictName::Same,
        }],
        hazards: vec![Hazard {
            id: "steal".to_owned(),
            text: "the hypervisor took 3 % of the time".to_owned(),
            remedy: Some("use a host of your own".to_owned()),
        }],
        notes: vec!["user time is not measured".to_owned()],
    }
}
