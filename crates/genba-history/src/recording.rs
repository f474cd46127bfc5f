//! What is stored: a recording and its measurements.

use std::collections::BTreeMap;

use genba_model::{Direction, HostFingerprint, Revision};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Longest text that is stored, bytes. Commit subjects and environment values are cut there;
/// longer names are refused.
pub const MAX_TEXT_BYTES: usize = 1000;

/// Most values of one measurement.
pub const MAX_VALUES: usize = 1_000_000;

/// The measurements of one job on one host. Stored in one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Identity of the recording, chosen by the writer. A key that is stored already is not
    /// stored again.
    pub key: String,
    /// Name of the project: projects that share a store have series of their own.
    pub project: String,
    /// Time of the measurement, RFC 3339 in UTC.
    pub started: String,
    /// Version of genba, or the program that the values were imported from.
    pub tool: String,
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// What of the environment affects speed and is not in the fingerprint: microcode, governor,
    /// compiler version, changed variables.
    pub environment: BTreeMap<String, String>,
    /// What was measured. Value `i` of each measurement belongs to block `i`: values of one
    /// block were measured next to each other, in random order, and are compared as pairs.
    pub measurements: Vec<Measurement>,
}

/// The values of one metric of one variant at one commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Options and build flavour that make it a series of its own ("gcc -O2, jit"); may be empty.
    pub variant: String,
    /// Name of the metric: `wall`, `instructions`, or the target's own.
    pub metric: String,
    /// `seconds`, `bytes`, `count`, or the target's own unit.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
    /// Whether it is what is followed over commits, or the anchor build.
    pub role: Role,
    /// The commit; `None` outside a repository.
    pub revision: Option<Revision>,
    /// Identity of the binary that ran.
    pub build: Build,
    /// The value of each block; `None` where the block has none.
    pub values: Vec<Option<f64>>,
}

/// Purpose of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Followed over commits.
    #[default]
    Measured,
    /// A fixed old build, measured in the same blocks: it changes with the host, not the code.
    Anchor,
}

impl Role {
    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Measured => 0,
            Self::Anchor => 1,
        }
    }
}

/// Identity of what ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Build id of the executable, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Command that built it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// Command line that was measured.
    #[serde(default)]
    pub command: String,
}

impl Recording {
    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<()> {
        let fail = |text: String| Err(Error::Recording(text));
        let mut names = vec![
            ("key", &self.key),
            ("project", &self.project),
            ("host", &self.host.id),
        ];
        for one in &self.measurements {
            names.extend([
                ("benchmark", &one.benchmark),
                ("variant", &one.variant),
                ("metric", &one.metric),
                ("unit", &one.unit),
            ]);
            if let Some(revision) = &one.revision {
                names.extend([("commit", &revision.commit), ("branch", &revision.branch)]);
            }
            if one.values.len() > MAX_VALUES {
                return fail(format!(
                    "{} values of one measurement; the limit is {MAX_VALUES}",
                    one.values.len()
                ));
            }
        }
        for (what, text) in names {
            if text.len() > MAX_TEXT_BYTES {
                return fail(format!(
                    "the {what} has {} bytes; the limit is {MAX_TEXT_BYTES}",
                    text.len()
                ));
            }
        }
        if self.key.is_empty() {
            return fail("the key is empty".to_owned());
        }
        if self.measurements.is_empty() {
            return fail("no measurements".to_owned());
        }
        Ok(())
    }
}
