//! A synthetic investigation.

use genba_model::{
    CpuTime, Estimate, ExitKind, Hazard, HostFingerprint, Investigation, Metric, MetricSummary,
    NoiseFloor, RunRecord, RunSummary, Workload,
};

use super::{annotation, around, counted_annotation, profile, stat};

const WALLS: [f64; 11] = [
    1.801, 1.806, 1.809, 1.811, 1.812, 1.812, 1.813, 1.816, 1.821, 1.829, 1.858,
];

fn run(wall: f64) -> RunRecord {
    RunRecord {
        wall_seconds: wall,
        target: CpuTime {
            user: wall * 0.988,
            system: 0.012,
        },
        children: CpuTime::default(),
        orphans: 0,
        max_rss_bytes: 12_400_000,
        minor_faults: 1288,
        major_faults: 0,
        voluntary_switches: 3,
        involuntary_switches: 12,
        exit: ExitKind::Code(0),
        stdout_bytes: Some(90_000),
        read_bytes: None,
    }
}

pub fn investigation() -> Investigation {
    let metric = |metric: Metric, median: Estimate, min: f64, max: f64| MetricSummary {
        metric,
        unit: metric.unit(),
        median,
        min,
        max,
    };
    Investigation {
        case: "7f3a".into(),
        genba: "0.1.0".into(),
        started: "2026-11-21T20:15:04.123Z".into(),
        workload: Workload {
            command: vec!["./tostr".into(), "300".into()],
            shell: None,
            directory: "/home/a/ruby".into(),
            name: None,
        },
        host: HostFingerprint {
            id: "9c41".into(),
            cpu: "AMD EPYC 9B45 128-Core Processor".into(),
            microarchitecture: "Zen 5".into(),
            cpus: 2,
            memory_bytes: 8_300_000_000,
            kernel: "6.18.5".into(),
            os: "Debian GNU/Linux 12 (bookworm)".into(),
            virtualisation: Some("kvm".into()),
            hardware_counters: false,
        },
        hazards: vec![Hazard {
            id: "one-cpu".into(),
            text: "the hypervisor took 3 % of the CPU time (steal)".into(),
            remedy: None,
        }],
        attached: None,
        runs: RunSummary {
            runs: WALLS.iter().map(|&w| run(w)).collect(),
            metrics: vec![
                metric(Metric::Wall, around(1.812, 0.006), 1.801, 1.858),
                metric(Metric::User, around(1.79, 0.004), 1.78, 1.83),
                metric(Metric::System, around(0.012, 0.08), 0.010, 0.014),
                metric(Metric::MaxRss, around(12.4e6, 0.002), 12.3e6, 12.5e6),
                metric(Metric::MinorFaults, Estimate::exact(1288.0), 1287.0, 1290.0),
            ],
            outliers: vec![10],
        },
        noise_floor: vec![
            NoiseFloor {
                metric: Metric::Wall,
                share: 0.009,
            },
            NoiseFloor {
                metric: Metric::User,
                share: 0.003,
            },
        ],
        stat: Some(stat()),
        profile: Some(profile()),
        findings: Vec::new(),
        places: Vec::new(),
        input_bytes: None,
        script: None,
        observed: Some(super::observed_place()),
        waits: None,
        annotations: vec![annotation(), counted_annotation()],
        notes: vec![],
    }
}
