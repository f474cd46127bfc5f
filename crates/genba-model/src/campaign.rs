//! A campaign: blocks of runs over revisions, builds, options and hosts; the documents of
//! `genba campaign`.

use serde::{Deserialize, Serialize};

use crate::{ComparisonReport, Estimate, VerdictName};

/// Which axis of a campaign holds the variants that are compared with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CampaignAxis {
    /// The revisions, once for each build and option.
    Revisions,
    /// The builds, once for each revision and option.
    Builds,
    /// The options, once for each revision and build.
    Options,
}

/// A revision of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignRevision {
    /// Name in the plan.
    pub name: String,
    /// Full hash of the commit; `None` for a tree that is taken as it is.
    pub commit: Option<String>,
}

/// A build of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignBuild {
    /// Name of the revision.
    pub revision: String,
    /// Name of the build recipe; empty if the plan has none.
    pub build: String,
    /// Kind of host that it was made for; `None` if all hosts share it.
    pub host: Option<String>,
    /// Time that it took, seconds; `None` if it was not made.
    pub seconds: Option<f64>,
    /// Why it failed, or is missing.
    pub failure: Option<String>,
}

/// How many blocks there are, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignBlocks {
    /// Blocks of the plan.
    pub planned: u64,
    /// Blocks whose runs are stored.
    pub measured: u64,
    /// Blocks in which no variant could be run.
    pub failed: u64,
    /// Blocks without a result.
    pub missing: u64,
    /// Attempts of this session that ended without a result and were made again: killed jobs, failed nodes.
    pub repeated: u64,
}

/// Variants compared on one kind of host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignResult {
    /// The build, option or revision that all variants share; empty if there is only one.
    pub group: String,
    /// Kind of host: its name in the plan. Followed by the id of the fingerprint if hosts of this
    /// name differ.
    pub host: String,
    /// Names of the nodes that measured.
    pub nodes: Vec<String>,
    /// Blocks measured; each has one or more runs of every variant.
    pub blocks: u64,
    /// The comparison, of this host alone.
    pub report: ComparisonReport,
}

/// Effect of a variant on one kind of host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostEffect {
    /// Kind of host.
    pub host: String,
    /// Variant ÷ baseline.
    pub ratio: Estimate,
    /// Verdict.
    pub verdict: VerdictName,
}

/// A variant whose effect differs between two kinds of hosts by more than δ: their intervals do not
/// overlap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostDisagreement {
    /// The group of the variant.
    pub group: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of its baseline.
    pub baseline: String,
    /// The host on which the ratio is smaller.
    pub smaller: HostEffect,
    /// The host on which it is larger.
    pub larger: HostEffect,
}

/// Result of `genba campaign`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// Name of the campaign.
    pub name: String,
    /// Directory with its results.
    pub directory: String,
    /// Version of genba.
    pub genba: String,
    /// Start of its first block, RFC 3339; empty while there is none.
    pub started: String,
    /// Scheduler: `local` or `slurm`.
    pub scheduler: String,
    /// The axis that holds the compared variants.
    pub compare: CampaignAxis,
    /// The primary metric.
    pub metric: String,
    /// Seed of the order of blocks and runs.
    pub seed: u64,
    /// The revisions, the baseline first.
    pub revisions: Vec<CampaignRevision>,
    /// The builds.
    pub builds: Vec<CampaignBuild>,
    /// How many blocks there are.
    pub blocks: CampaignBlocks,
    /// Time of all measured blocks together, seconds.
    pub block_seconds: f64,
    /// The comparisons, each of one group on one kind of host.
    pub results: Vec<CampaignResult>,
    /// Where kinds of hosts disagree.
    pub disagreements: Vec<HostDisagreement>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Notes on the result, a sentence each.
    pub notes: Vec<String>,
}

/// A block that a campaign would measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedBlock {
    /// Key, which stays the same as long as nothing that the block measures changes.
    pub key: String,
    /// Kind of host.
    pub host: String,
    /// Group.
    pub group: String,
    /// Number among the blocks of this group on this host, from 1.
    pub repeat: u32,
    /// Names of the variants, each of which is run once or more.
    pub variants: Vec<String>,
    /// Whether its result is stored.
    pub done: bool,
}

/// Result of `genba campaign --dry-run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignDryRun {
    /// Name of the campaign.
    pub name: String,
    /// Scheduler: `local` or `slurm`.
    pub scheduler: String,
    /// Builds still to be made.
    pub builds: u64,
    /// The blocks, in the order in which they are submitted.
    pub blocks: Vec<PlannedBlock>,
    /// Runs of each variant in a block.
    pub runs: u32,
    /// Expected time of a block, seconds; `None` if nothing is known of it.
    pub block_seconds: Option<f64>,
    /// Where that comes from: `plan` or `blocks` (the median of measured ones).
    pub source: Option<String>,
    /// Expected time on nodes of all builds and blocks that are left, seconds.
    pub node_seconds: Option<f64>,
}
