//! Synthetic findings, realistic and hostile.

use genba_model::*;

use crate::test_fixtures as fixture;
use crate::test_fixtures::ATTACKS;
use crate::test_fixtures::counts;

fn site(function: &str, line: u32, end: u32) -> FindingSite {
    FindingSite {
        function: function.into(),
        module: "/home/user/tostr/tostr".into(),
        file: Some("/home/user/tostr/bignum.c".into()),
        line: Some(line),
        end_line: Some(end),
        addresses: vec![0x1245],
        called_from: None,
        inside: None,
    }
}

fn gain(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, low, high }
}

fn source(line: u32, text: &str) -> SourceLine {
    SourceLine {
        file: "/home/user/tostr/bignum.c".into(),
        line,
        text: text.into(),
    }
}

fn evidence(source: EvidenceSource, text: &str) -> Evidence {
    Evidence {
        text: text.into(),
        source,
    }
}

fn division() -> Finding {
    Finding {
        cause: "duplicate-division".into(),
        site: site("big2str_2bdigits", 4569, 4570),
        share: gain(0.31, 0.3, 0.32),
        executions: Some(410_200_000),
        cost_seconds: None,
        cost_cycles: Some(Estimate::exact(18.2)),
        predicted_speedup: gain(1.34, 1.28, 1.41),
        modelled_speedup: None,
        evidence: vec![
            evidence(
                EvidenceSource::Counted,
                "two `div r64` of the same operands, 410.2 M times each",
            ),
            evidence(
                EvidenceSource::Measured,
                "5.1 ns = 18.2 cycles each; `div r64` on this host: 7 to 18",
            ),
            evidence(
                EvidenceSource::Model,
                "the loop's chain runs through both: 37 of its 39 cycles",
            ),
        ],
        fix: "Take quotient and remainder from one division: q = n / b; r = n - q * b.".into(),
        change: None,
        example: Some(Example {
            before: "p[--j] = digits[n % b];\nn /= b;".into(),
            after: "q = n / b;\np[--j] = digits[n - q * b];\nn = q;".into(),
        }),
        confirm: "genba try --patch FIX.diff --build make 7f3a".into(),
        proven: None,
        source: vec![
            source(4569, "\t    p[--j] = ruby_digitmap[num % b2s->base];"),
            source(4570, "\t    num /= b2s->base;"),
        ],
    }
}

fn in_a_library() -> Finding {
    let mut one = division();
    one.cause = "malloc-churn".into();
    one.site = FindingSite {
        inside: Some(Box::new(FindingSite {
            function: "_int_malloc".into(),
            module: "/usr/lib/x86_64-linux-gnu/libc.so.6".into(),
            file: None,
            line: None,
            end_line: None,
            addresses: vec![0x9a000],
            called_from: None,
            inside: None,
        })),
        ..site("rb_str_buf_new", 1204, 1204)
    };
    one.predicted_speedup = gain(1.12, 1.05, 1.2);
    one.evidence.truncate(2);
    one.example = None;
    one.source = vec![source(1204, "    return malloc(capa);")];
    one
}

fn note() -> Finding {
    let mut one = in_a_library();
    one.cause = "no-symbols".into();
    one.site.called_from = None;
    one.predicted_speedup = Estimate::exact(1.0);
    one.source.clear();
    one
}

pub fn findings() -> Vec<Finding> {
    vec![division(), in_a_library(), note()]
}

pub fn explanation(findings: Vec<Finding>) -> Explanation {
    Explanation {
        case: Some("7f3a".to_owned()),
        command: vec!["./tostr".into(), "300".into()],
        event: fixture::investigation().profile.expect("a profile").event,
        findings,
        places: places(),
        waits: None,
        input_bytes: Some(160_000),
        min_gain: 0.03,
        noise_floor: vec![NoiseFloor {
            metric: Metric::User,
            share: 0.03,
        }],
        notes: vec!["executions were not counted in one process".into()],
    }
}

/// A synthetic investigation with counts and findings.
pub fn investigation() -> Investigation {
    let mut all = counts::investigation();
    all.findings = findings();
    all.places = places();
    if let (Some(one), Some(finding)) = (all.annotations.first(), all.findings.first_mut()) {
        finding.site.module.clone_from(&one.module);
        finding.site.addresses = vec![one.instructions[1].address];
    }
    all
}

/// Three places of different kinds.
pub fn places() -> Vec<TimePlace> {
    let caller = |line, calls: f64, share, through: &[&str]| PlaceCaller {
        site: site("main", line, line),
        calls,
        share,
        caller_calls: Some(1),
        through: through.iter().map(|&name| name.to_owned()).collect(),
    };
    let mut function = site("big2str", 4601, 4601);
    function.addresses = vec![0x1300];
    let of_loop = TimePlace {
        kind: TimePlaceKind::Loop,
        site: site("big2str_2bdigits", 4569, 4569),
        share: gain(0.62, 0.61, 0.63),
        executions: Some(410_200_000),
        cost_seconds: Some(gain(5.1e-9, 5.0e-9, 5.2e-9)),
        cost_cycles: Some(gain(18.2, 18.0, 18.4)),
        entries: Some(40_000),
        idle_iterations: None,
        calls: Some(40_000),
        recursive_calls: Some(39_000),
        callers: vec![
            caller(4612, 39_000.0, 0.975, &[]),
            caller(4640, 1_000.0, 0.025, &["qsort"]),
        ],
        bound: Some(LoopBound::Unexplained),
        bound_cycles: Some(Estimate::exact(9.0)),
        spent_in: Vec::new(),
        executions_per_input_byte: Some(2563.75),
        finding: Some(1),
        source: vec![source(
            4569,
            "\t    p[--j] = ruby_digitmap[num % b2s->base];",
        )],
    };
    let of_line = TimePlace {
        kind: TimePlaceKind::LibraryCall,
        site: function,
        share: gain(0.21, 0.2, 0.22),
        executions: Some(1_000_000),
        cost_seconds: Some(gain(71e-9, 70e-9, 72e-9)),
        cost_cycles: Some(gain(254.0, 250.0, 258.0)),
        entries: None,
        idle_iterations: None,
        calls: Some(1),
        recursive_calls: None,
        callers: Vec::new(),
        bound: None,
        bound_cycles: None,
        spent_in: vec![PlaceFunction {
            function: "_int_malloc".into(),
            module: "/lib/libc.so.6".into(),
            share: 0.15,
            calls: Some(1_000_000.0),
        }],
        executions_per_input_byte: Some(6.25),
        finding: None,
        source: Vec::new(),
    };
    let of_kernel = TimePlace {
        kind: TimePlaceKind::Kernel,
        site: FindingSite {
            function: "the kernel".into(),
            module: "[kernel]".into(),
            file: None,
            line: None,
            end_line: None,
            addresses: Vec::new(),
            called_from: None,
            inside: None,
        },
        share: gain(0.05, 0.04, 0.06),
        executions: None,
        cost_seconds: None,
        cost_cycles: None,
        callers: vec![caller(4700, 700_000.0, 0.99, &["lseek"])],
        spent_in: vec![PlaceFunction {
            function: "system call".into(),
            module: "[kernel]".into(),
            share: 0.04,
            calls: None,
        }],
        executions_per_input_byte: None,
        ..of_line.clone()
    };
    let part = |function: &str, share, calls| PlaceFunction {
        function: function.into(),
        module: site("", 0, 0).module,
        share,
        calls,
    };
    let with_callees = TimePlace {
        kind: TimePlaceKind::WithCallees,
        site: site("rb_str_format", 512, 512),
        share: gain(0.14, 0.13, 0.15),
        executions: Some(60_000),
        calls: Some(60_000),
        cost_seconds: Some(gain(1.1e-6, 1.0e-6, 1.2e-6)),
        cost_cycles: Some(gain(4057.0, 4000.0, 4100.0)),
        callers: vec![caller(910, 60_000.0, 1.0, &[])],
        spent_in: vec![
            part("rb_enc_check", 0.06, Some(60_000.0)),
            part("rb_str_format", 0.04, None),
        ],
        executions_per_input_byte: None,
        ..of_line.clone()
    };
    vec![of_loop, of_line, of_kernel, with_callees]
}

/// Places in which every text is an attack and numbers are NaN or infinite.
pub fn hostile_places() -> Vec<TimePlace> {
    let mut list = Vec::new();
    for attack in ATTACKS {
        for mut place in places() {
            place.site.function = (*attack).to_owned();
            place.share = gain(f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
            place.cost_cycles = Some(gain(f64::INFINITY, 0.0, f64::NAN));
            place.executions_per_input_byte = Some(f64::NAN);
            for caller in &mut place.callers {
                caller.site.file = Some((*attack).to_owned());
                caller.through.push((*attack).to_owned());
                caller.calls = f64::INFINITY;
            }
            for one in &mut place.spent_in {
                one.function = (*attack).to_owned();
            }
            for line in &mut place.source {
                line.text = (*attack).to_owned();
            }
            list.push(place);
        }
    }
    list
}

/// Many findings in which every text is an attack and numbers are NaN or infinite.
pub fn hostile() -> Vec<Finding> {
    let huge = "<b>A".repeat(100_000);
    let mut list = Vec::new();
    for (i, attack) in ATTACKS.iter().cycle().take(40).enumerate() {
        let attack = (*attack).to_owned();
        let mut one = division();
        one.cause.clone_from(&attack);
        one.site.function = if i == 0 { huge.clone() } else { attack.clone() };
        one.site.file = Some(attack.clone());
        one.site.module.clone_from(&attack);
        one.site.called_from = Some(Box::new(one.site.clone()));
        one.evidence = vec![evidence(EvidenceSource::Simulated, &attack); 50];
        one.evidence[0].text.clone_from(&huge);
        one.fix.clone_from(&attack);
        one.confirm.clone_from(&attack);
        one.example = Some(Example {
            before: attack.clone(),
            after: huge.clone(),
        });
        one.source = vec![source(u32::MAX, &attack); 100];
        one.source[1].text.clone_from(&huge);
        one.predicted_speedup = gain(f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
        list.push(one);
    }
    list
}

/// The hostile investigation with hostile findings.
pub fn hostile_investigation() -> Investigation {
    let mut all = counts::hostile_investigation();
    all.findings = hostile();
    all.places = hostile_places();
    all
}
