//! The TOML of a plan as it is written; values that are checked later keep their place.

use std::collections::BTreeMap;

use genba_suite::MetricTable;
use serde::Deserialize;
use toml::Spanned;

/// A text and where it stands.
pub type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub campaign: Head,
    #[serde(default)]
    pub revision: Vec<Revision>,
    #[serde(default)]
    pub build: Vec<Build>,
    #[serde(default)]
    pub option: Vec<Options>,
    #[serde(default)]
    pub host: Vec<Host>,
    #[serde(default)]
    pub metric: Vec<MetricTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub name: Option<Text>,
    pub command: Text,
    pub source: Option<Text>,
    pub directory: Option<Text>,
    #[serde(default)]
    pub revisions: Vec<Text>,
    pub compare: Option<Spanned<genba_model::CampaignAxis>>,
    pub repeats: Option<Spanned<u32>>,
    pub runs: Option<Spanned<u32>>,
    pub metric: Option<Text>,
    pub delta: Option<Text>,
    pub alpha: Option<Text>,
    pub warmup: Option<Spanned<u32>>,
    pub timeout: Option<Text>,
    pub shell: Option<String>,
    pub prepare: Option<Text>,
    #[serde(default)]
    pub check_output: bool,
    pub block_time: Option<Text>,
    pub build_time: Option<Text>,
    pub seed: Option<u64>,
    pub attempts: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    pub name: Text,
    pub commit: Option<Text>,
    pub source: Option<Text>,
    pub patch: Option<Patches>,
}

/// One patch or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Patches {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    pub name: Text,
    pub command: Text,
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    #[serde(default)]
    pub per_host: bool,
    pub timeout: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub name: Text,
    #[serde(default)]
    pub arguments: String,
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub name: Text,
    pub constraint: Option<Text>,
    pub partition: Option<Text>,
    pub nodes: Option<Text>,
    #[serde(default)]
    pub sbatch: Vec<Text>,
    pub time: Option<Text>,
}
