//! An engine with fallbacks, for when it finds out during the run that it cannot count the target.

use std::ops::RangeInclusive;

use genba_model::{CountEngine, RawCounts};
use genba_run::{Cancel, Launcher, RunError};

use crate::{CountError, CountRequest, Engine};

/// The first engine counts. If it cannot or fails, the command is run again with the next engine that
/// can serve the request, and the counts have a note; after the last one, the error has the reasons of
/// all.
pub struct Fallback {
    first: Box<dyn Engine>,
    rest: Vec<Box<dyn Engine>>,
    /// Why engines that are preferred to the first were not even tried, a sentence each.
    pub(crate) passed_over: Vec<String>,
}

impl Fallback {
    /// Returns an engine with fallbacks, which are in the order of preference.
    #[must_use]
    pub fn new(first: Box<dyn Engine>, rest: Vec<Box<dyn Engine>>) -> Self {
        Self {
            first,
            rest,
            passed_over: Vec::new(),
        }
    }
}

impl Engine for Fallback {
    fn name(&self) -> &'static str {
        self.first.name()
    }

    fn describe(&self) -> Result<CountEngine, CountError> {
        self.first.describe()
    }

    fn usual_slowdown(&self) -> RangeInclusive<f64> {
        self.first.usual_slowdown()
    }

    fn check(&self, request: &CountRequest) -> Result<(), CountError> {
        self.first.check(request)
    }

    fn count(
        &self,
        request: &CountRequest,
        launcher: &mut Launcher,
        cancel: &Cancel,
    ) -> Result<RawCounts, CountError> {
        let mut errors = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        for engine in std::iter::once(&self.first).chain(&self.rest) {
            if let Err(error) = engine.check(request) {
                errors.push(error);
                continue;
            }
            if cancel.is_triggered() {
                break;
            }
            if !notes.is_empty() {
                notes.push(format!(
                    "the command was run again from the beginning with {}, so what it had written or \
                     sent before, it wrote and sent twice",
                    engine.name()
                ));
            }
            match engine.count(request, launcher, cancel) {
                Ok(mut raw) => {
                    raw.notes.splice(0..0, notes);
                    return Ok(raw);
                }
                Err(error @ (CountError::Unable { .. } | CountError::Failed { .. })) => {
                    notes.push(error.to_string());
                    errors.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        let error = CountError::of_all(request, &self.passed_over, errors);
        Err(error.unwrap_or(RunError::Cancelled.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_run::CommandSpec;

    struct Fake(&'static str, bool);

    impl Engine for Fake {
        fn name(&self) -> &'static str {
            self.0
        }

        fn describe(&self) -> Result<CountEngine, CountError> {
            Ok(CountEngine {
                name: self.0.to_owned(),
                version: String::new(),
                gaps: Vec::new(),
            })
        }

        fn check(&self, _: &CountRequest) -> Result<(), CountError> {
            Ok(())
        }

        fn count(
            &self,
            _: &CountRequest,
            _: &mut Launcher,
            _: &Cancel,
        ) -> Result<RawCounts, CountError> {
            if !self.1 {
                return Err(CountError::Unable {
                    engine: self.0.to_owned(),
                    target: "x".to_owned(),
                    reason: "of a reason".to_owned(),
                });
            }
            Ok(RawCounts {
                engine: self.describe()?,
                command: Vec::new(),
                cpu_seconds: 0.0,
                wall_seconds: 0.0,
                exit: 0,
                transfers: false,
                transfers_within: Vec::new(),
                processes: Vec::new(),
                notes: Vec::new(),
            })
        }
    }

    #[test]
    fn the_next_engine_counts_and_the_counts_have_a_note() {
        let request = CountRequest {
            spec: CommandSpec::direct(["x"]),
            transfers: crate::Transfers::None,
            children: false,
            observe: None,
            native_exit: None,
        };
        let mut launcher = Launcher::new().expect("a launcher");
        let cancel = Cancel::new().expect("a token");
        let fake = |name, can| Box::new(Fake(name, can)) as Box<dyn Engine>;
        let two = Fallback::new(fake("one", false), vec![fake("two", true)]);
        let counts = two
            .count(&request, &mut launcher, &cancel)
            .expect("the second counts");
        assert_eq!(counts.engine.name, "two");
        assert!(
            counts.notes[0].contains("of a reason"),
            "{:?}",
            counts.notes
        );
        assert!(counts.notes[1].contains("again from the beginning with two"));
        assert!(counts.notes[1].contains("twice"));
        let none = Fallback::new(fake("one", false), vec![fake("two", false)]);
        let error = none.count(&request, &mut launcher, &cancel);
        let error = error.expect_err("none can count").to_string();
        assert_eq!(
            error,
            "no engine could count x:\n  one cannot count x: of a reason\n  two cannot count x: of a \
             reason"
        );
    }
}
