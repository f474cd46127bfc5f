//! Synthetic comparisons, realistic and hostile.

use std::collections::BTreeMap;

use genba_model::*;

/// Returns a reproducible number in 0…1.
fn noise(seed: u64, index: u64) -> f64 {
    let mut x = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(index.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    x ^= x >> 29;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 32;
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

fn metric(centre: f64, spread: f64, runs: u32, seed: u64, unit: &str) -> VariantMetric {
    let values: Vec<f64> = (0..u64::from(runs))
        .map(|i| {
            let (a, b) = (noise(seed, i), noise(seed + 1, i));
            centre * (1.0 + spread * (a + b - 0.7) + if a > 0.97 { 4.0 * spread } else { 0.0 })
        })
        .collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let n = f64::from(runs);
    let half = centre * spread / n.sqrt();
    let median = sorted[sorted.len() / 2];
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    VariantMetric {
        median: Estimate {
            value: median,
            low: median - half,
            high: median + half,
        },
        midmean: None,
        mean,
        stddev: (runs > 1).then(|| (square / (n - 1.0)).sqrt()),
        min: sorted[0],
        max: sorted[sorted.len() - 1],
        unit: unit.to_owned(),
        direction: Direction::LessIsBetter,
        values: values.into_iter().map(Some).collect(),
    }
}

pub fn variant(name: &str, command: &str, wall: f64, runs: u32, seed: u64) -> Variant {
    let metrics = [
        ("wall", metric(wall, 0.03, runs, seed, "seconds")),
        (
            "user",
            metric(wall * 0.985, 0.01, runs, seed + 50, "seconds"),
        ),
        (
            "system",
            metric(wall * 0.008, 0.2, runs, seed + 60, "seconds"),
        ),
        (
            "max_rss",
            metric(12_400_000.0, 0.002, runs, seed + 70, "bytes"),
        ),
    ];
    Variant {
        name: name.to_owned(),
        command: command.to_owned(),
        parameters: BTreeMap::new(),
        runs,
        exit_codes: vec![Some(0); runs as usize],
        metrics: metrics.map(|(n, m)| (n.to_owned(), m)).into(),
        excluded: None,
    }
}

fn comparison(
    variant: &str,
    metric: &str,
    (value, low, high): (f64, f64, f64),
    verdict: VerdictName,
    pairs: u32,
) -> Comparison {
    Comparison {
        baseline: "before".to_owned(),
        variant: variant.to_owned(),
        metric: metric.to_owned(),
        ratio: Estimate { value, low, high },
        verdict,
        delta: 0.01,
        alpha: 0.05,
        pairs,
        more_pairs: None,
        corrected: None,
        cross_check: Some(true),
    }
}

fn report(variants: Vec<Variant>, comparisons: Vec<Comparison>) -> ComparisonReport {
    ComparisonReport {
        case: Some("7f3a".to_owned()),
        genba: "0.3.0".to_owned(),
        started: "2026-11-21T20:15:00Z".to_owned(),
        host: HostFingerprint {
            id: "a1b2c3d4".to_owned(),
            cpu: "AMD EPYC 9B45".to_owned(),
            microarchitecture: "Zen 5".to_owned(),
            cpus: 2,
            memory_bytes: 8 << 30,
            kernel: "6.18.0".to_owned(),
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            virtualisation: Some("kvm".to_owned()),
            hardware_counters: false,
        },
        hazards: vec![],
        metric: "wall".to_owned(),
        seed: 42,
        blocks: comparisons.iter().map(|c| c.pairs).max().unwrap_or(3),
        elapsed_seconds: 59.2,
        budget_seconds: Some(120.0),
        variants,
        comparisons,
        iterations: vec![],
        ranks: vec![],
        notes: vec![],
    }
}

/// Two variants, one of them faster.
pub fn faster() -> ComparisonReport {
    use VerdictName::{Faster, Same};
    let mut all = report(
        vec![
            variant("before", "./old", 2.486, 14, 1),
            variant("after", "./new", 1.812, 14, 100),
        ],
        vec![
            comparison("after", "wall", (0.7299, 0.7194, 0.7407), Faster, 14),
            comparison("after", "user", (0.7300, 0.7250, 0.7350), Faster, 14),
            comparison("after", "system", (0.99, 0.82, 1.19), Same, 14),
            comparison("after", "max_rss", (1.0, 0.996, 1.005), Same, 14),
        ],
    );
    all.notes = vec![
        "output identical".to_owned(),
        "one run of 28 was disturbed (steal time 12 %): kept, weighs little".to_owned(),
    ];
    all
}

/// Two equivalent variants.
pub fn same() -> ComparisonReport {
    let mut all = report(
        vec![
            variant("before", "gzip -9 FILE", 0.0231, 57, 1),
            variant("after", "gzip -9 -n FILE", 0.02312, 57, 200),
        ],
        vec![
            comparison(
                "after",
                "wall",
                (1.001, 0.997, 1.005),
                VerdictName::Same,
                57,
            ),
            comparison("after", "user", (1.0, 0.999, 1.001), VerdictName::Same, 57),
        ],
    );
    all.elapsed_seconds = 3.1;
    all.budget_seconds = None;
    all
}

/// Two variants without a verdict.
pub fn undecided() -> ComparisonReport {
    let mut all = report(
        vec![
            variant("before", "./serve --once", 0.2, 400, 3),
            variant("after", "./serve --once --cache", 0.1995, 400, 300),
        ],
        vec![
            comparison(
                "after",
                "wall",
                (0.9965, 0.989, 1.004),
                VerdictName::Undecided,
                400,
            ),
            comparison(
                "after",
                "user",
                (0.97, 0.961, 0.979),
                VerdictName::Faster,
                400,
            ),
        ],
    );
    all.comparisons[0].delta = 0.005;
    all.comparisons[0].more_pairs = Some(913);
    all.elapsed_seconds = 105.0;
    all.hazards = vec![Hazard {
        id: "busy".to_owned(),
        text: "1.7 of 2 CPUs are busy with other processes".to_owned(),
        remedy: Some("stop them, or measure user time: --metric user".to_owned()),
    }];
    all
}

/// Seven ranked variants, one of them excluded, with a metric reported by the target and costs per
/// iteration.
pub fn many() -> ComparisonReport {
    use VerdictName::{Faster, Slower, Undecided};
    let names = ["before", "bzip2", "gzip", "lz4", "xz", "zstd", "brotli"];
    let walls = [1.0, 0.71, 0.42, 0.11, 3.9, 0.113, 0.5];
    let mut variants: Vec<Variant> = names
        .iter()
        .zip(walls)
        .enumerate()
        .map(|(i, (name, wall))| {
            let command = format!("./compress --with {name} corpus.tar");
            variant(name, &command, wall, 40, 1000 * i as u64)
        })
        .collect();
    for v in &mut variants {
        v.parameters = [("codec".to_owned(), v.name.clone())].into();
        let mut rate = metric(120.0 / v.metrics["wall"].mean, 0.02, 40, 7, "MB/s");
        rate.direction = Direction::MoreIsBetter;
        v.metrics.insert("throughput".to_owned(), rate);
    }
    variants[6].excluded = Some("it failed in the warm-up: exit code 127".to_owned());
    let mut comparisons = Vec::new();
    for (name, ratio, verdict) in [
        ("bzip2", 0.71, Faster),
        ("gzip", 0.42, Faster),
        ("lz4", 0.11, Faster),
        ("xz", 3.9, Slower),
        ("zstd", 0.113, Faster),
    ] {
        let around = (ratio, ratio * 0.99, ratio * 1.012);
        comparisons.push(comparison(name, "wall", around, verdict, 40));
        let around = (1.0 / ratio, 0.98 / ratio, 1.02 / ratio);
        comparisons.push(comparison(name, "throughput", around, verdict, 40));
    }
    comparisons.push(comparison(
        "xz",
        "max_rss",
        (1.01, 0.95, 1.08),
        Undecided,
        40,
    ));
    comparisons[0].cross_check = Some(false);
    comparisons[6].corrected = Some(Correction {
        method: "e-BH".to_owned(),
        holds: false,
    });
    let mut all = report(variants, comparisons);
    let groups: [&[&str]; 5] = [
        &["lz4", "zstd"],
        &["gzip"],
        &["bzip2"],
        &["before"],
        &["xz"],
    ];
    all.ranks = groups
        .iter()
        .map(|group| group.iter().map(|&s| s.to_owned()).collect())
        .collect();
    all.iterations = [
        ("lz4", 1.1e-7, 0.02),
        ("zstd", 1.13e-7, 0.03),
        ("gzip", 4.2e-7, 0.2),
    ]
    .into_iter()
    .map(|(name, cost, relative)| IterationCost {
        variant: name.to_owned(),
        metric: "wall".to_owned(),
        unit: "seconds".to_owned(),
        iterations: 1e6,
        subtracted: (name != "gzip").then(|| "before".to_owned()),
        cost: Estimate {
            value: cost,
            low: cost * (1.0 - relative),
            high: cost * (1.0 + relative),
        },
    })
    .collect();
    all
}

/// The same with attacks as names and texts, and numbers that are NaN or infinite.
pub fn hostile() -> ComparisonReport {
    const EVIL: &str = "<script>alert(1)</script>\x1b[31m\u{202e}\"'`|=cmd()\n**x** @all ";
    let mut all = many();
    for (i, v) in all.variants.iter_mut().enumerate() {
        let old = std::mem::replace(&mut v.name, format!("{EVIL}{i}"));
        v.command = format!("{EVIL}{}", "x".repeat(9000));
        v.parameters = [(EVIL.to_owned(), EVIL.to_owned())].into();
        for c in all.comparisons.iter_mut().filter(|c| c.variant == old) {
            c.variant.clone_from(&v.name);
            c.baseline = EVIL.to_owned();
        }
        for group in &mut all.ranks {
            for name in group.iter_mut().filter(|name| **name == old) {
                name.clone_from(&v.name);
            }
        }
        let odd = v.metrics.get("user").cloned();
        if let Some(mut m) = odd {
            m.unit = EVIL.to_owned();
            v.metrics.insert(EVIL.to_owned(), m);
        }
    }
    all.variants[6].excluded = Some(EVIL.to_owned());
    if let Some(m) = all.variants[1].metrics.get_mut("wall") {
        m.values = vec![
            None,
            Some(f64::NAN),
            Some(f64::INFINITY),
            Some(0.0),
            Some(-1.0),
        ];
        m.median.value = f64::NAN;
        m.mean = f64::INFINITY;
    }
    if let Some(m) = all.variants[2].metrics.get_mut("wall") {
        m.values.clear();
    }
    all.comparisons[0].ratio.low = 0.0;
    all.comparisons[2].ratio.high = f64::INFINITY;
    all.comparisons[4].ratio.value = f64::NAN;
    all.comparisons[5].metric = EVIL.to_owned();
    all.iterations[0].variant = EVIL.to_owned();
    all.iterations[0].unit = EVIL.to_owned();
    all.iterations[1].cost.value = f64::NAN;
    all.iterations[1].subtracted = Some(EVIL.to_owned());
    all.hazards = vec![Hazard {
        id: EVIL.to_owned(),
        text: EVIL.to_owned(),
        remedy: Some(EVIL.to_owned()),
    }];
    all.notes = vec![EVIL.repeat(200)];
    all.host.cpu = EVIL.to_owned();
    all.genba = EVIL.to_owned();
    all.case = Some(EVIL.to_owned());
    all.started = EVIL.to_owned();
    all.blocks = 0;
    all.elapsed_seconds = f64::NAN;
    all.budget_seconds = Some(f64::INFINITY);
    all
}

/// One variant with one run.
pub fn alone() -> ComparisonReport {
    let mut all = report(vec![variant("true", "true", 0.0007, 1, 5)], vec![]);
    all.blocks = 1;
    all
}
