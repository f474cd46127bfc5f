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
        evidence: vec![
            evidence(
                EvidenceSource::Counted,
                "two `div r64` of the same operands, 410.2 M times each",
            ),
            evidence(
                EvidenceSource::Measured,
                "5.1 ns = 18.2 cycles a piece; `div r64` on this host: 7 to 18",
            ),
            evidence(
                EvidenceSource::Model,
                "the loop's chain runs through both: 37 of its 39 cycles",
            ),
        ],
        fix: "Take quotient and remainder from one division: q = n / b; r = n - q * b.".into(),
        example: Some(Example {
            before: "p[--j] = digits[n % b];\nn /= b;".into(),
            after: "q = n / b;\np[--j] = digits[n - q * b];\nn = q;".into(),
        }),
        confirm: "genba try --patch FIX.diff --build make 7f3a".into(),
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
        function: "_int_malloc".into(),
        module: "/usr/lib/x86_64-linux-gnu/libc.so.6".into(),
        file: None,
        line: None,
        end_line: None,
        addresses: vec![0x9a000],
        called_from: Some(Box::new(site("rb_str_buf_new", 1204, 1204))),
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
        command: vec!["./tostr".into(), "300".into()],
        event: fixture::investigation().profile.expect("a profile").event,
        findings,
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
    if let (Some(one), Some(finding)) = (all.annotations.first(), all.findings.first_mut()) {
        finding.site.module.clone_from(&one.module);
        finding.site.addresses = vec![one.instructions[1].address];
    }
    all
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
    all
}
