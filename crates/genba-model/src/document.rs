//! The envelope that every `--json` document carries.

use serde::{Deserialize, Serialize};

/// Name and version of the schema of every document.
pub const SCHEMA: &str = "genba/1";

/// `{"schema":"genba/1","kind":…, …}`: a body with its envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document<T> {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What the body is: `profile`, `annotation`, `stat`, `investigation`, …
    pub kind: String,
    /// The body, its fields beside `schema` and `kind`.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Document<T> {
    /// Wraps a body.
    pub fn new(kind: &str, body: T) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            kind: kind.to_owned(),
            body,
        }
    }
}
