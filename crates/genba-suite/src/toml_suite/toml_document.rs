//! The TOML document as it is written. Texts that are filled in later keep their place.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::MetricTable;
use crate::snippet::Language;

/// A text and where it stands.
pub type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub suite: Head,
    #[serde(default)]
    pub parameters: BTreeMap<String, Spanned<Vec<Value>>>,
    #[serde(default)]
    pub build: Vec<Build>,
    #[serde(default)]
    pub system: Vec<System>,
    #[serde(default)]
    pub operation: Vec<Operation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub name: Text,
    pub directory: Option<Text>,
    pub budget: Option<Text>,
    pub shell: Option<String>,
    pub metric: Option<Text>,
    pub delta: Option<Text>,
    pub alpha: Option<Text>,
    pub runs: Option<u32>,
    pub warmup: Option<u32>,
    pub timeout: Option<Text>,
    #[serde(default)]
    pub check_output: bool,
    #[serde(default)]
    pub compare: Compare,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What stands against what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// The systems, once per operation.
    #[default]
    Systems,
    /// The operations, once per system.
    Operations,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    pub command: Text,
    pub directory: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: Text,
    #[serde(default)]
    pub variables: BTreeMap<String, Value>,
    #[serde(default)]
    pub environment: BTreeMap<String, Text>,
    pub interpreter: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub name: Text,
    pub command: Option<Text>,
    pub snippet: Option<Snippet>,
    pub directory: Option<Text>,
    pub stdin: Option<Text>,
    #[serde(default)]
    pub environment: BTreeMap<String, Text>,
    pub setup: Option<Text>,
    pub prepare: Option<Text>,
    pub conclude: Option<Text>,
    pub cleanup: Option<Text>,
    pub per_iteration: Option<Spanned<Value>>,
    #[serde(default)]
    pub metrics: Vec<MetricTable>,
    pub metric: Option<Text>,
    pub subtract: Option<Text>,
    pub only_for: Option<Vec<Text>>,
    #[serde(default)]
    pub skip_for: Vec<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snippet {
    pub language: Language,
    pub script: Text,
    pub prelude: Option<Text>,
    pub teardown: Option<Text>,
    pub loop_count: Option<Spanned<u64>>,
    pub required_version: Option<Text>,
}

/// A number or a text, kept as it is written in commands.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}
