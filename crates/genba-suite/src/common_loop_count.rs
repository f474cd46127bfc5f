//! Common loop count and metric of the snippets of one comparison. Pure.

use crate::Benchmark;
use crate::snippet::{PER_ITERATION, WITH_LOOP, metric};
use crate::snippet_trial::Tried;

/// Ratio of the loop counts of one benchmark above which each snippet gets its own.
const MAX_LOOP_COUNT_RATIO: u64 = 100;
/// Cost of a snippet relative to the empty loop below which ratios of net costs are noise.
const MIN_SHARE_OF_LOOP: f64 = 0.5;

/// Decides, for all variants of a benchmark together, how many iterations they make and which
/// metric decides.
pub fn settle(benchmark: &mut Benchmark, tried: &mut [(usize, Tried)], notes: &mut Vec<String>) {
    // The slowest snippet takes the time wanted; the fastest must take a part of it.
    let found = || {
        tried
            .iter()
            .filter(|(_, one)| !one.given)
            .map(|(_, one)| one.loop_count)
    };
    let (least, most) = (found().min().unwrap_or(1), found().max().unwrap_or(1));
    if most / least <= MAX_LOOP_COUNT_RATIO {
        for (_, one) in tried.iter_mut().filter(|(_, one)| !one.given) {
            one.loop_count = least;
        }
    }
    if tried
        .windows(2)
        .any(|pair| pair[0].1.loop_count != pair[1].1.loop_count)
    {
        notes.push(format!(
            "{}: the variants make different numbers of iterations: compare the costs of one, not \
             the times of whole runs",
            benchmark.name
        ));
    }
    let hidden = |one: &Tried| one.per_iteration < one.empty_loop * MIN_SHARE_OF_LOOP;
    if benchmark.metric.as_deref() == Some(PER_ITERATION)
        && let Some((index, _)) = tried.iter().find(|(_, one)| hidden(one))
    {
        notes.push(format!(
            "{}: {} costs little or nothing beside the empty loop, so that ratios of what is left \
             would be ratios of noise: judged with the loop in ({WITH_LOOP})",
            benchmark.name, benchmark.variants[*index].name
        ));
        benchmark.metric = Some(WITH_LOOP.to_owned());
        for variant in &mut benchmark.variants {
            variant.metrics.push(metric(WITH_LOOP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Variant, Work};

    fn settled(tried: &[(u64, bool, f64)]) -> (Benchmark, Vec<u64>, Vec<String>) {
        let variant = |index: usize| Variant::new(index.to_string(), Work::Direct(Vec::new()));
        let mut benchmark = Benchmark {
            name: "b".to_owned(),
            parameters: Default::default(),
            variants: (0..tried.len()).map(variant).collect(),
            metric: Some(PER_ITERATION.to_owned()),
            subtract: None,
        };
        let one = |&(loop_count, given, per_iteration): &(u64, bool, f64)| {
            Tried::new(loop_count, given, per_iteration, 1.0)
        };
        let mut tried: Vec<_> = tried.iter().map(one).enumerate().collect();
        let mut notes = Vec::new();
        settle(&mut benchmark, &mut tried, &mut notes);
        let counts = tried.iter().map(|(_, one)| one.loop_count).collect();
        (benchmark, counts, notes)
    }

    #[test]
    fn similar_snippets_share_one_loop_count() {
        let (benchmark, counts, notes) = settled(&[(1000, false, 2.0), (200, false, 9.0)]);
        assert_eq!(counts, [200, 200]);
        assert_eq!(benchmark.metric.as_deref(), Some(PER_ITERATION));
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn different_snippets_and_given_counts_keep_their_loop_counts() {
        let (_, counts, notes) = settled(&[(1_000_000, false, 2.0), (1, false, 9.0)]);
        assert_eq!(counts, [1_000_000, 1]);
        assert!(notes[0].contains("different numbers of iterations"));
        let (_, counts, notes) = settled(&[(5, true, 2.0), (1000, false, 9.0), (500, false, 9.0)]);
        assert_eq!(counts, [5, 500, 500]);
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn snippets_cheaper_than_the_loop_are_judged_with_the_loop() {
        for hidden in [0.1, 0.0, -0.2] {
            let (benchmark, _, notes) = settled(&[(10, false, 2.0), (10, false, hidden)]);
            assert_eq!(benchmark.metric.as_deref(), Some(WITH_LOOP));
            assert!(
                notes[0].contains("b: 1 costs little or nothing"),
                "{notes:?}"
            );
            assert_eq!(benchmark.variants[0].metrics[0].name, WITH_LOOP);
        }
    }

    #[test]
    fn benchmarks_without_snippets_are_unchanged() {
        let (benchmark, _, notes) = settled(&[]);
        assert_eq!(benchmark.metric.as_deref(), Some(PER_ITERATION));
        assert!(notes.is_empty());
    }
}
