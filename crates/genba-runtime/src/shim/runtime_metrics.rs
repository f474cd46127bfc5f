//! The metrics that shims report, any of which can decide a comparison.

/// Reporter of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reporter {
    /// The shims of Ruby and Python, or one of them.
    Runtime,
    /// The same, where a run makes a known number of iterations.
    Iterations,
    /// The program that sends requests.
    Requests,
}

/// A metric that a shim reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Name in `--metric`.
    pub name: &'static str,
    /// Unit, as the shim writes it.
    pub unit: &'static str,
    /// Its reporter.
    pub by: Reporter,
    /// Whether more of it is better.
    pub more: bool,
}

const fn less(name: &'static str, unit: &'static str, by: Reporter) -> Reported {
    Reported {
        name,
        unit,
        by,
        more: false,
    }
}

const fn more(name: &'static str, unit: &'static str, by: Reporter) -> Reported {
    Reported {
        name,
        unit,
        by,
        more: true,
    }
}

use Reporter::{Iterations, Requests, Runtime};

/// All numbers that the shims report, those of Python and Ruby together: which of them there are
/// depends on the runtime, its version and its options.
pub const REPORTED: &[Reported] = &[
    less("gc_runs", "count", Runtime),
    less("gc_minor", "count", Runtime),
    less("gc_major", "count", Runtime),
    less("gc_time", "seconds", Runtime),
    less("allocated_objects", "count", Runtime),
    less("freed_objects", "count", Runtime),
    less("heap_pages", "count", Runtime),
    less("live_objects", "count", Runtime),
    less("live_blocks", "count", Runtime),
    less("gc_collected", "count", Runtime),
    more("jit_methods", "count", Runtime),
    less("allocated_objects_per_iteration", "count", Iterations),
    less("gc_time_per_iteration", "seconds", Iterations),
    less(super::PER_REQUEST, "seconds", Requests),
    less("per_request_cpu", "seconds", Requests),
    less("per_request_user", "seconds", Requests),
    less("per_request_system", "seconds", Requests),
    less("allocated_objects_per_request", "count", Requests),
    less("gc_time_per_request", "seconds", Requests),
    less("gc_runs_in_requests", "count", Requests),
    more("requests_per_second", "requests/s", Requests),
];

/// The metric of this name.
#[must_use]
pub fn reported(name: &str) -> Option<Reported> {
    REPORTED.iter().find(|one| one.name == name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{PYTHON, REQUESTS, RUBY};
    use super::*;

    /// Names and units in a shim's text, where they are written `["name", value, "unit"]` or
    /// `"name %d unit"`.
    fn written(text: &str) -> BTreeSet<(String, String)> {
        let ruby = regex(r#"\["([a-z_]+)", .*, "([a-z/]+)"\]"#);
        let python = regex(r#""([a-z_]+) %[dr] ([a-z]+)""#);
        [ruby, python]
            .iter()
            .flat_map(|form| form.captures_iter(text))
            .map(|found| (found[1].to_owned(), found[2].to_owned()))
            .collect()
    }

    fn regex(form: &str) -> regex::Regex {
        regex::Regex::new(form).unwrap()
    }

    #[test]
    fn every_metric_that_a_shim_writes_is_listed_with_its_unit() {
        let of = |by: &[Reporter]| -> BTreeSet<(String, String)> {
            let those = REPORTED.iter().filter(|one| by.contains(&one.by));
            those
                .map(|one| (one.name.to_owned(), one.unit.to_owned()))
                .collect()
        };
        let mut runtimes = written(RUBY);
        assert!(runtimes.len() > 8, "{runtimes:?}");
        runtimes.extend(written(PYTHON));
        assert_eq!(runtimes, of(&[Runtime, Iterations]));
        assert_eq!(written(REQUESTS), of(&[Requests]));
    }

    #[test]
    fn metric_is_found_by_its_name() {
        let cpu = reported("per_request_cpu").map(|one| (one.unit, one.by, one.more));
        assert_eq!(cpu, Some(("seconds", Requests, false)));
        assert_eq!(reported("wall"), None);
    }
}
