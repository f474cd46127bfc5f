//! How much of the time in some states falls into that of others, by the timelines of the threads.

use genba_profile::wait_sampler::{StateIndex, ThreadIndex};

use crate::view::View;

/// Share of the time in states `of` in which a thread is in one of those `beside`, of 0 to 1.
pub fn share_beside(
    view: &View<'_>,
    of: impl Fn(StateIndex) -> bool,
    beside: impl Fn(ThreadIndex, StateIndex) -> bool,
) -> f64 {
    let threads = || (0u32..).zip(&view.recording.threads);
    let spans: Vec<(u64, u64)> = threads()
        .flat_map(|(_, thread)| &thread.timeline)
        .filter(|span| of(span.2))
        .map(|span| (span.0, span.1))
        .collect();
    let beside = &beside;
    let others = threads().flat_map(|(index, thread)| {
        let spans = thread.timeline.iter();
        spans.filter(move |span| beside(index, span.2))
    });
    let others = united(others.map(|span| (span.0, span.1)).collect());
    let all: u64 = spans.iter().map(|span| span.1 - span.0).sum();
    let within: u64 = spans.iter().map(|span| time_within(*span, &others)).sum();
    within as f64 / all.max(1) as f64
}

/// The same times, sorted, as spans that do not overlap.
fn united(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    spans.dedup_by(|next, one| {
        let overlap = next.0 <= one.1;
        if overlap {
            one.1 = one.1.max(next.1);
        }
        overlap
    });
    spans
}

/// How much of a span is in spans that are sorted and do not overlap.
fn time_within(span: (u64, u64), others: &[(u64, u64)]) -> u64 {
    let first = others.partition_point(|other| other.1 <= span.0);
    let meet = others[first..].iter().take_while(|other| other.0 < span.1);
    meet.map(|other| other.1.min(span.1) - other.0.max(span.0))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_overlapping_spans_counts_once() {
        let others = united(vec![(50, 60), (10, 20), (15, 30), (80, 90)]);
        assert_eq!(others, [(10, 30), (50, 60), (80, 90)]);
        assert_eq!(time_within((0, 100), &others), 40);
        assert_eq!(time_within((25, 55), &others), 10);
        assert_eq!(time_within((30, 50), &others), 0);
        assert_eq!(time_within((0, 100), &[]), 0);
    }
}
