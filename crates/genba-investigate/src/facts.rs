//! What an explanation was made of beside samples and counts: kept in the case, so that it can be
//! explained anew.

use genba_explain::causes::RunFacts;
use genba_explain::causes::frame::Tried;
use serde::{Deserialize, Serialize};

/// Kind of the case's document.
pub const FACTS: &str = "facts";

/// What is known beside samples and counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Of the repeated runs.
    pub runs: RunFacts,
    /// What runs of their own said.
    pub tried: Tried,
    /// Gains below this are not told.
    pub least_gain: f64,
}
