//! Computes the entries of the table from the measured kernels. Pure.

use std::collections::BTreeMap;

use genba_model::{Estimate, HostTableEntry};

use super::repetition_statistics::Settled;

/// How the time of a kernel becomes an entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
    /// Latency of the form, after subtracting these other forms of the chain.
    Latency(Vec<&'static str>),
    /// Latency of the form and of another one together, without those of these other forms:
    /// how the rest divides between the two cannot be seen, each has at least one cycle.
    RoundTrip(&'static str, Vec<&'static str>),
    /// Reciprocal throughput: cycles per independent instance.
    Throughput,
    /// Penalty of a mispredicted branch: twice the difference of this loop to the named one, since
    /// every second branch is mispredicted.
    Mispredict(&'static str),
    /// No entry: used by another kernel.
    Helper,
    /// Seconds per execution.
    Seconds,
    /// Bandwidth: this many bytes per execution.
    Bytes(f64),
}

/// A kernel with its measurement.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) form: &'static str,
    pub(crate) group: &'static str,
    pub(crate) detail: Option<String>,
    pub(crate) rule: Rule,
    pub(crate) settled: Option<Settled>,
}

/// The entries in the order of the kernels; forms without a measurement are omitted.
pub(crate) fn entries(figures: &[Figure]) -> Vec<HostTableEntry> {
    let mut entries: Vec<HostTableEntry> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    // Forms that only a round trip names are printed where the trip is.
    for figure in figures {
        if figure.settled.is_none() || figure.rule == Rule::Helper {
            continue;
        }
        let other = match &figure.rule {
            Rule::RoundTrip(other, _) => Some(*other),
            _ => None,
        };
        for form in [Some(figure.form), other].into_iter().flatten() {
            let place = *places.entry(form).or_insert_with(|| {
                entries.push(HostTableEntry {
                    form: form.to_owned(),
                    group: figure.group.to_owned(),
                    ..HostTableEntry::default()
                });
                entries.len() - 1
            });
            let entry = &mut entries[place];
            if entry.detail.is_none() {
                entry.detail.clone_from(&figure.detail);
            }
        }
    }
    for figure in figures {
        if let Some(settled) = &figure.settled {
            apply(figure, settled, figures, &mut entries, &places);
        }
    }
    // Differences of other latencies come last, when those are known.
    for figure in figures {
        if let Some(settled) = &figure.settled {
            subtract(figure, settled, &mut entries, &places);
        }
    }
    entries.retain(|entry| {
        entry.latency_cycles.is_some()
            || entry.reciprocal_throughput_cycles.is_some()
            || entry.seconds.is_some()
            || entry.bytes_per_second.is_some()
    });
    entries
}

type Places<'a> = BTreeMap<&'a str, usize>;

fn apply(
    figure: &Figure,
    settled: &Settled,
    figures: &[Figure],
    entries: &mut [HostTableEntry],
    places: &Places<'_>,
) {
    let Some(&place) = places.get(figure.form) else {
        return;
    };
    let entry = &mut entries[place];
    match &figure.rule {
        Rule::Latency(minus) if minus.is_empty() => {
            entry.latency_cycles = Some(settled.cycles);
        }
        Rule::Throughput => entry.reciprocal_throughput_cycles = Some(settled.cycles),
        Rule::Seconds => entry.seconds = Some(settled.seconds),
        Rule::Bytes(bytes) => {
            let Estimate { value, low, high } = settled.seconds;
            if low > 0.0 {
                entry.bytes_per_second = Some(Estimate {
                    value: bytes / value,
                    low: bytes / high,
                    high: bytes / low,
                });
            }
        }
        Rule::Mispredict(other) => {
            let Some(right) = figures
                .iter()
                .find(|it| it.form == *other)
                .and_then(|it| it.settled)
            else {
                return;
            };
            entry.disturbed |= right.disturbed;
            entry.latency_cycles =
                Some(difference(settled.cycles, &[right.cycles], 0.0).scaled(2.0));
        }
        Rule::RoundTrip(other, minus) if minus.is_empty() => {
            round_trip(settled, entries, places, figure.form, other);
            return;
        }
        Rule::Latency(_) | Rule::RoundTrip(..) | Rule::Helper => return,
    }
    entry.disturbed |= settled.disturbed;
}

fn subtract(
    figure: &Figure,
    settled: &Settled,
    entries: &mut [HostTableEntry],
    places: &Places<'_>,
) {
    let minus = match &figure.rule {
        Rule::Latency(minus) | Rule::RoundTrip(_, minus) if !minus.is_empty() => minus,
        _ => return,
    };
    let known: Option<Vec<(Estimate, bool)>> = minus
        .iter()
        .map(|form| {
            let entry = &entries[*places.get(form)?];
            Some((entry.latency_cycles?, entry.disturbed))
        })
        .collect();
    let Some(known) = known else { return };
    let latencies: Vec<Estimate> = known.iter().map(|(latency, _)| *latency).collect();
    let rest = Settled {
        cycles: difference(settled.cycles, &latencies, 0.0),
        disturbed: settled.disturbed || known.iter().any(|(_, disturbed)| *disturbed),
        ..*settled
    };
    if let Rule::RoundTrip(other, _) = &figure.rule {
        round_trip(&rest, entries, places, figure.form, other);
    } else if let Some(&place) = places.get(figure.form) {
        entries[place].latency_cycles = Some(rest.cycles);
        entries[place].disturbed |= rest.disturbed;
    }
}

/// Gives both forms of a trip what the other leaves of it.
fn round_trip(
    settled: &Settled,
    entries: &mut [HostTableEntry],
    places: &Places<'_>,
    form: &str,
    other: &str,
) {
    const MIN_CYCLES: f64 = 1.0;
    let trip = settled.cycles;
    let half = Estimate {
        value: trip.value / 2.0,
        low: MIN_CYCLES.min(trip.low / 2.0),
        high: (trip.high - MIN_CYCLES).max(trip.high / 2.0),
    };
    for form in [form, other] {
        let Some(&place) = places.get(form) else {
            continue;
        };
        let entry = &mut entries[place];
        entry.disturbed |= settled.disturbed;
        // A form in several trips is in the narrowest of the intervals.
        let narrower = entry
            .latency_cycles
            .is_none_or(|known| half.high - half.low < known.high - known.low);
        if narrower {
            entry.latency_cycles = Some(half);
        }
    }
}

/// A sum of intervals taken off an interval; nothing falls under `least`.
fn difference(all: Estimate, parts: &[Estimate], least: f64) -> Estimate {
    let sum = |pick: fn(&Estimate) -> f64| parts.iter().map(pick).sum::<f64>();
    Estimate {
        value: (all.value - sum(|part| part.value)).max(least),
        low: (all.low - sum(|part| part.high)).max(least),
        high: (all.high - sum(|part| part.low)).max(least),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figure(form: &'static str, rule: Rule, cycles: f64) -> Figure {
        Figure {
            form,
            group: "test",
            detail: None,
            rule,
            settled: Some(Settled {
                cycles: Estimate::exact(cycles),
                seconds: Estimate::exact(cycles * 1e-9),
                disturbed: false,
            }),
        }
    }

    fn latency(entries: &[HostTableEntry], form: &str) -> Estimate {
        let entry = entries.iter().find(|entry| entry.form == form);
        entry.and_then(|entry| entry.latency_cycles).expect(form)
    }

    #[test]
    fn latencies_of_other_forms_are_subtracted() {
        let found = entries(&[
            figure("div", Rule::Latency(vec!["and", "or"]), 20.0),
            figure("div", Rule::Throughput, 7.0),
            figure("and", Rule::Latency(vec![]), 1.0),
            figure("or", Rule::Latency(vec![]), 1.0),
        ]);
        assert_eq!(latency(&found, "div"), Estimate::exact(18.0));
        assert_eq!(
            found[0].reciprocal_throughput_cycles,
            Some(Estimate::exact(7.0))
        );
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn forms_measured_together_have_an_interval() {
        let found = entries(&[
            figure("to", Rule::RoundTrip("back", vec![]), 6.0),
            figure("shuffle", Rule::Latency(vec!["to"]), 8.0),
        ]);
        assert_eq!(latency(&found, "to"), latency(&found, "back"));
        let to = latency(&found, "to");
        assert_eq!((to.low, to.value, to.high), (1.0, 3.0, 5.0));
        let shuffle = latency(&found, "shuffle");
        assert_eq!((shuffle.low, shuffle.value, shuffle.high), (3.0, 5.0, 7.0));
    }

    #[test]
    fn form_in_two_chains_has_the_narrower_interval() {
        let found = entries(&[
            figure("test", Rule::RoundTrip("set", vec![]), 4.0),
            figure("cmp", Rule::RoundTrip("set", vec![]), 2.0),
        ]);
        assert_eq!(latency(&found, "set"), Estimate::exact(1.0));
    }

    #[test]
    fn entry_that_needs_an_unknown_latency_is_omitted() {
        let mut and = figure("and", Rule::Latency(vec![]), 1.0);
        and.settled = None;
        let found = entries(&[figure("div", Rule::Latency(vec!["and"]), 20.0), and]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn disturbance_marks_dependent_entries() {
        let mut right = figure("right", Rule::Helper, 2.0);
        right.settled = right.settled.map(|settled| Settled {
            disturbed: true,
            ..settled
        });
        let found = entries(&[right, figure("wrong", Rule::Mispredict("right"), 10.0)]);
        assert_eq!(latency(&found, "wrong"), Estimate::exact(16.0));
        assert!(found[0].disturbed);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn bandwidth_is_the_reverse_of_time() {
        let mut copy = figure("copy", Rule::Bytes(1e6), 0.0);
        copy.settled = Some(Settled {
            cycles: Estimate::exact(0.0),
            seconds: Estimate {
                value: 1e-3,
                low: 0.5e-3,
                high: 2e-3,
            },
            disturbed: false,
        });
        let found = entries(&[copy]);
        let rate = found[0].bytes_per_second.expect("bandwidth");
        assert_eq!((rate.low, rate.value, rate.high), (0.5e9, 1e9, 2e9));
    }

    proptest! {
        #[test]
        fn intervals_stay_ordered(
            all in (0.1..100.0, 0.0..10.0, 0.0..10.0),
            part in (0.1..100.0, 0.0..10.0, 0.0..10.0),
        ) {
            let estimate = |(low, up, more): (f64, f64, f64)| Estimate {
                low,
                value: low + up,
                high: low + up + more,
            };
            let rest = difference(estimate(all), &[estimate(part)], 0.0);
            prop_assert!(0.0 <= rest.low && rest.low <= rest.value && rest.value <= rest.high);
        }
    }
}
