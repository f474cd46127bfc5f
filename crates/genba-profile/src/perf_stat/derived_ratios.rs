//! The derived ratios that `perf stat` prints, in its terms.

use genba_model::{Counter, CounterNote, CounterState};

/// Event name without modifiers.
fn base(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

fn value(counters: &[Counter], name: &str) -> Option<f64> {
    counters
        .iter()
        .find(|c| base(&c.event) == name && c.state == CounterState::Counted)
        .and_then(|c| c.value)
        .map(|v| v.value)
}

/// The ratio that perf prints next to a counter; `None` where a value for it is missing.
/// `task-clock` is in ms as in the counters; shares are 0…1.
#[must_use]
pub fn derived_ratio(counter: &Counter, all: &[Counter], wall_seconds: f64) -> Option<CounterNote> {
    if counter.state != CounterState::Counted {
        return None;
    }
    let own = counter.value?.value;
    let seconds = value(all, "task-clock").map(|ms| ms / 1e3);
    let of = |name: &str, text: &str| (value(all, name).map(|all| own / all), text.to_owned());
    let per_second = |scale: f64, text: &str| (seconds.map(|s| own / s / scale), text.to_owned());
    let (value, text) = match base(&counter.event) {
        "task-clock" | "cpu-clock" => (Some(own / 1e3 / wall_seconds), "CPUs utilized".to_owned()),
        "context-switches" | "cpu-migrations" | "page-faults" | "minor-faults" | "major-faults" => {
            per_second(1.0, "/sec")
        }
        "cycles" => per_second(1e9, "GHz"),
        "stalled-cycles-frontend" => of("cycles", "frontend cycles idle"),
        "stalled-cycles-backend" => of("cycles", "backend cycles idle"),
        "instructions" => of("cycles", "insn per cycle"),
        "branch-misses" => of("branches", "of all branches"),
        "L1-dcache-load-misses" => of("L1-dcache-loads", "of all L1-dcache accesses"),
        "L1-icache-load-misses" => of("L1-icache-loads", "of all L1-icache accesses"),
        "LLC-load-misses" => of("LLC-loads", "of all LL-cache accesses"),
        "dTLB-load-misses" => of("dTLB-loads", "of all dTLB cache accesses"),
        "iTLB-load-misses" => of("iTLB-loads", "of all iTLB cache accesses"),
        "cache-misses" => of("cache-references", "of all cache refs"),
        _ => per_second(1e6, "M/sec"),
    };
    let value = value.filter(|v| v.is_finite())?;
    Some(CounterNote { value, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::Estimate;

    fn counter(event: &str, value: f64) -> Counter {
        Counter {
            event: event.to_owned(),
            state: CounterState::Counted,
            value: Some(Estimate::exact(value)),
            unit: String::new(),
            running_share: 1.0,
            note: None,
        }
    }

    #[test]
    fn ratios_are_those_of_perf_stat() {
        let all = [
            counter("task-clock:u", 2000.0),
            counter("cycles:u", 8e9),
            counter("instructions:u", 16e9),
            counter("branches:u", 1e9),
            counter("branch-misses:u", 1e7),
            counter("page-faults:u", 100.0),
        ];
        let ratio = |i: usize| {
            derived_ratio(&all[i], &all, 4.0)
                .map(|n| (n.value, n.text))
                .unwrap()
        };
        assert_eq!(ratio(0), (0.5, "CPUs utilized".to_owned()));
        assert_eq!(ratio(1), (4.0, "GHz".to_owned()));
        assert_eq!(ratio(2), (2.0, "insn per cycle".to_owned()));
        assert_eq!(ratio(3), (500.0, "M/sec".to_owned()));
        assert_eq!(ratio(4), (0.01, "of all branches".to_owned()));
        assert_eq!(ratio(5), (50.0, "/sec".to_owned()));
    }

    #[test]
    fn there_is_no_ratio_without_denominator_or_of_zero() {
        let lone = [counter("branch-misses", 5.0), counter("branches", 0.0)];
        assert_eq!(derived_ratio(&lone[0], &lone[..1], 1.0), None);
        assert_eq!(derived_ratio(&lone[0], &lone, 1.0), None);
    }
}
