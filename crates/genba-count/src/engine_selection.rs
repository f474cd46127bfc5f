//! Which engine is taken.

use genba_model::CountEngine;

use crate::callgrind::Callgrind;
use crate::engine_fallback::Fallback;
use crate::native::Native;
use crate::qemu::Qemu;
use crate::{CountError, CountRequest, Engine};

/// All engines, the first choice first.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(Native), Box::new(Callgrind), Box::new(Qemu)]
}

/// Names of all engines, for messages.
#[must_use]
pub fn engine_names() -> String {
    let names: Vec<&str> = engines().iter().map(|engine| engine.name()).collect();
    names.join(", ")
}

/// An engine, and what there is to say about the choice.
pub struct Choice {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// What it is.
    pub description: CountEngine,
    /// Why engines that would have been taken before it were not, a sentence each.
    pub passed_over: Vec<String>,
}

/// The engine of this name, or the first that can serve the request.
///
/// # Errors
/// [`CountError::NoSuchEngine`]; what the engine asked for by name says, or, of several that
/// all cannot, what the first says.
pub fn choose(name: Option<&str>, request: &CountRequest) -> Result<Choice, CountError> {
    choose_of(engines(), name, request)
}

/// The same with engines of the caller's.
///
/// # Errors
/// As [`choose`].
pub fn choose_of(
    engines: Vec<Box<dyn Engine>>,
    name: Option<&str>,
    request: &CountRequest,
) -> Result<Choice, CountError> {
    let mut passed_over = Vec::new();
    let mut first_error = None;
    let mut engines = engines.into_iter();
    while let Some(engine) = engines.next() {
        if name.is_some_and(|name| name != engine.name()) {
            continue;
        }
        match (engine.check(request)).and_then(|()| engine.describe()) {
            Ok(description) => {
                // Asked for by name, it is that one or none.
                let engine = match name {
                    Some(_) => engine,
                    None => Box::new(Fallback::new(engine, engines.collect())),
                };
                return Ok(Choice {
                    engine,
                    description,
                    passed_over,
                });
            }
            Err(error) => {
                passed_over.push(error.to_string());
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(|| CountError::NoSuchEngine {
        name: name.unwrap_or_default().to_owned(),
    }))
}
