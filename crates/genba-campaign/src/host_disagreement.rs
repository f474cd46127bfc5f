//! Where kinds of hosts, or nodes of one kind, disagree about an effect. Pure.

use std::collections::BTreeSet;

use genba_model::{Comparison, ComparisonReport, HostDisagreement, HostEffect};

/// With fewer pairs the interval is the range of the ratios, and no test can reach 5 %.
const MIN_PAIRS: u32 = 6;

/// The variants whose ratios in the primary metric have intervals that do not overlap, and differ by more
/// than δ. Two 95 % intervals of one truth do so in less than 1 % of cases.
#[must_use]
pub fn disagreements(group: &str, hosts: &[(String, &ComparisonReport)]) -> Vec<HostDisagreement> {
    let deciding = |report: &'_ ComparisonReport| -> Vec<Comparison> {
        let usable = |one: &&Comparison| {
            let ratio = &one.ratio;
            one.metric == report.metric
                && one.pairs >= MIN_PAIRS
                && [ratio.low, ratio.value, ratio.high]
                    .iter()
                    .all(|end| end.is_finite() && *end > 0.0)
        };
        report.comparisons.iter().filter(usable).cloned().collect()
    };
    let all: Vec<(&String, Vec<Comparison>)> = (hosts.iter())
        .map(|(host, report)| (host, deciding(report)))
        .collect();
    let variants: BTreeSet<(&str, &str)> = (all.iter())
        .flat_map(|(_, list)| {
            list.iter()
                .map(|one| (one.variant.as_str(), one.baseline.as_str()))
        })
        .collect();
    let mut found = Vec::new();
    for (variant, baseline) in variants {
        let effects: Vec<(&String, &Comparison)> = (all.iter())
            .filter_map(|(host, list)| {
                let one =
                    (list.iter()).find(|one| one.variant == variant && one.baseline == baseline)?;
                Some((*host, one))
            })
            .collect();
        // The smallest upper end and the largest lower end: if any two are apart, these are.
        let smaller = effects
            .iter()
            .min_by(|a, b| a.1.ratio.high.total_cmp(&b.1.ratio.high));
        let larger = effects
            .iter()
            .max_by(|a, b| a.1.ratio.low.total_cmp(&b.1.ratio.low));
        let (Some(smaller), Some(larger)) = (smaller, larger) else {
            continue;
        };
        let apart = smaller.1.ratio.high < larger.1.ratio.low
            && larger.1.ratio.value / smaller.1.ratio.value > 1.0 + smaller.1.delta;
        if apart {
            let effect = |(host, one): &(&String, &Comparison)| HostEffect {
                host: (*host).clone(),
                ratio: one.ratio,
                verdict: one.verdict,
            };
            found.push(HostDisagreement {
                group: group.to_owned(),
                variant: variant.to_owned(),
                baseline: baseline.to_owned(),
                smaller: effect(smaller),
                larger: effect(larger),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::{Estimate, VerdictName};

    fn report(ratio: (f64, f64, f64), pairs: u32) -> ComparisonReport {
        let (low, value, high) = ratio;
        ComparisonReport {
            case: None,
            genba: String::new(),
            started: String::new(),
            host: crate::test_plans::fingerprint("0123456789ab"),
            hazards: Vec::new(),
            metric: "wall".to_owned(),
            seed: 1,
            blocks: pairs,
            elapsed_seconds: 1.0,
            budget_seconds: None,
            variants: Vec::new(),
            comparisons: vec![Comparison {
                baseline: "a".to_owned(),
                variant: "b".to_owned(),
                metric: "wall".to_owned(),
                ratio: Estimate { value, low, high },
                verdict: VerdictName::Undecided,
                delta: 0.01,
                alpha: 0.05,
                pairs,
                more_pairs: None,
                corrected: None,
                cross_check: None,
            }],
            iterations: Vec::new(),
            ranks: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn found(reports: &[ComparisonReport]) -> Vec<HostDisagreement> {
        let hosts: Vec<_> = (reports.iter().enumerate())
            .map(|(number, report)| (format!("host {number}"), report))
            .collect();
        disagreements("", &hosts)
    }

    #[test]
    fn intervals_apart_are_a_disagreement_and_overlapping_ones_are_not() {
        let slower = report((1.08, 1.10, 1.12), 20);
        let faster = report((0.88, 0.90, 0.92), 20);
        let near = report((1.05, 1.07, 1.09), 20);
        let list = found(&[slower.clone(), near.clone(), faster.clone()]);
        assert_eq!(list.len(), 1);
        assert_eq!(
            (list[0].smaller.host.as_str(), list[0].larger.host.as_str()),
            ("host 2", "host 0")
        );
        assert!(found(&[slower.clone(), near]).is_empty());
        assert!(found(&[slower]).is_empty());
    }

    #[test]
    fn few_pairs_and_differences_below_the_margin_are_not_reported() {
        assert!(found(&[report((1.0, 1.0, 1.0), 3), report((1.2, 1.2, 1.2), 3)]).is_empty());
        assert!(
            found(&[
                report((1.0, 1.0001, 1.0002), 50),
                report((1.004, 1.005, 1.006), 50)
            ])
            .is_empty()
        );
    }
}
