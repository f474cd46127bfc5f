//! The table of a metric in a TOML file, the same in suites and in plans of campaigns.

use genba_model::Direction;
use serde::Deserialize;
use toml::Spanned;

/// One `[[metric]]`, or one element of `metrics`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricTable {
    /// Name.
    pub name: Spanned<String>,
    /// Where it stands in the output: the first group of this regular expression.
    pub regex: Option<Spanned<String>>,
    /// Where it stands in the output: this JSON pointer.
    pub json: Option<Spanned<String>>,
    /// Unit; empty if it has none.
    #[serde(default)]
    pub unit: String,
    #[serde(default)]
    better: Better,
}

/// Which values are better.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Better {
    #[default]
    Less,
    More,
}

impl MetricTable {
    /// Which values are better; smaller ones unless the file says otherwise.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self.better {
            Better::Less => Direction::LessIsBetter,
            Better::More => Direction::MoreIsBetter,
        }
    }
}
