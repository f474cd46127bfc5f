//! Engine selection: the engine that users ask for, or the first that can serve the request.

use genba_model::CountEngine;

use crate::callgrind::Callgrind;
use crate::engine_fallback::Fallback;
use crate::native::Native;
use crate::{CountError, CountRequest, Engine};

/// Returns all engines in the order of preference.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(Native), Box::new(Callgrind)]
}

/// Returns the names of all engines, for messages.
#[must_use]
pub fn engine_names() -> String {
    let names: Vec<&str> = engines().iter().map(|engine| engine.name()).collect();
    names.join(", ")
}

/// A selected engine.
pub struct Choice {
    /// The engine; it falls back to the following ones unless it was requested by name.
    pub engine: Box<dyn Engine>,
    /// Its name, version and gaps.
    pub description: CountEngine,
    /// Why engines that are preferred to it cannot serve the request, a sentence each.
    pub passed_over: Vec<String>,
}

/// Selects the engine of this name, or the first that can serve the request.
///
/// # Errors
/// [`CountError::NoSuchEngine`]; the error of the requested engine; if no engine can serve the
/// request, the errors of all.
pub fn choose(name: Option<&str>, request: &CountRequest) -> Result<Choice, CountError> {
    let mut passed_over = Vec::new();
    let mut errors = Vec::new();
    let mut engines = engines().into_iter();
    while let Some(engine) = engines.next() {
        if name.is_some_and(|name| name != engine.name()) {
            continue;
        }
        match (engine.check(request)).and_then(|()| engine.describe()) {
            Ok(description) => {
                // An engine requested by name has no fallback.
                let engine = match name {
                    Some(_) => engine,
                    None => {
                        let mut fallback = Fallback::new(engine, engines.collect());
                        fallback.passed_over.clone_from(&passed_over);
                        Box::new(fallback)
                    }
                };
                return Ok(Choice {
                    engine,
                    description,
                    passed_over,
                });
            }
            // It cannot be started, by whichever engine.
            Err(error @ CountError::Run(_)) => return Err(error),
            Err(error) => {
                passed_over.push(error.to_string());
                errors.push(error);
            }
        }
    }
    Err(
        CountError::of_all(request, &[], errors).unwrap_or_else(|| CountError::NoSuchEngine {
            name: name.unwrap_or_default().to_owned(),
        }),
    )
}
