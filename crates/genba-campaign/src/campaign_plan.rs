//! The plan of a campaign, independent of its file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use genba_model::{CampaignAxis, Direction};
use serde::{Deserialize, Serialize};

/// A plan: what is varied, how it is measured, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignPlan {
    /// Name; that of the directory of its results.
    pub name: String,
    /// Directory of the sources, absolute.
    pub source: PathBuf,
    /// Command line to measure, with placeholders.
    pub command: String,
    /// Working directory of the command, with placeholders.
    pub directory: String,
    /// Revisions, the baseline first; at least one.
    pub revisions: Vec<RevisionPlan>,
    /// Build recipes, the baseline first; at least one.
    pub builds: Vec<BuildRecipe>,
    /// Options, the baseline first; at least one.
    pub options: Vec<OptionPlan>,
    /// Kinds of hosts; at least one.
    pub hosts: Vec<HostPlan>,
    /// Which of them are compared with one another.
    pub compare: CampaignAxis,
    /// Blocks of each group on each kind of host.
    pub repeats: u32,
    /// Runs of each variant in a block.
    pub runs: u32,
    /// How runs are made and judged.
    pub measure: MeasurePlan,
    /// Metrics that the target reports.
    pub metrics: Vec<MetricDefinition>,
    /// Expected time of a block, seconds.
    pub block_seconds: Option<f64>,
    /// Expected time of a build, seconds.
    pub build_seconds: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Attempts at a build or block that ends without a result.
    pub attempts: u32,
}

/// How runs are made and judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Primary metric.
    pub metric: String,
    /// Equivalence margin δ.
    pub delta: f64,
    /// Significance level α.
    pub alpha: f64,
    /// Runs of each variant in a block that are not measured.
    pub warmup: u32,
    /// Time-out of one run, seconds.
    pub timeout_seconds: Option<f64>,
    /// Shell: `none`, or a program with options; `sh` if `None`.
    pub shell: Option<String>,
    /// Shell line before each run, with placeholders.
    pub prepare: Option<String>,
    /// Whether variants must print what the baseline prints.
    pub check_output: bool,
}

/// A revision of the sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionPlan {
    /// Name, unique among revisions.
    pub name: String,
    /// Commit, branch or tag of the repository; without one, a copy of the tree as it is.
    pub commit: Option<String>,
    /// Another tree than the plan's, absolute.
    pub source: Option<PathBuf>,
    /// Patches applied to it in this order, absolute.
    pub patches: Vec<PathBuf>,
}

impl RevisionPlan {
    /// Whether it is the plan's own tree as it is.
    #[must_use]
    pub fn is_unchanged_source(&self) -> bool {
        self.commit.is_none() && self.source.is_none() && self.patches.is_empty()
    }
}

/// A build recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuildRecipe {
    /// Name, unique among builds; empty for the one of a plan without builds.
    pub name: String,
    /// Shell line, run in the tree; without one the tree is used as it is.
    pub command: Option<String>,
    /// Environment of the build.
    pub environment: BTreeMap<String, String>,
    /// Whether each kind of host makes its own, as `-march=native` needs.
    pub per_host: bool,
    /// Time-out, seconds.
    pub timeout_seconds: f64,
}

/// Options of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionPlan {
    /// Name, unique among options; empty for the one of a plan without options.
    pub name: String,
    /// Replaces `{arguments}`.
    pub arguments: String,
    /// Environment of the command.
    pub environment: BTreeMap<String, String>,
}

/// A kind of host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostPlan {
    /// Name, unique among hosts.
    pub name: String,
    /// Slurm: features that a node must have (`--constraint`), a CPU model say.
    pub constraint: Option<String>,
    /// Slurm: partition.
    pub partition: Option<String>,
    /// Slurm: these nodes alone (`--nodelist`).
    pub nodes: Option<String>,
    /// Slurm: further options of `sbatch`, each a word.
    pub sbatch: Vec<String>,
    /// Slurm: time limit of a build or block (`--time`).
    pub time: Option<String>,
}

/// A metric that the target reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricDefinition {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
    /// Regular expression that finds it in standard output.
    pub regex: Option<String>,
    /// JSON pointer that leads to it in standard output.
    pub json: Option<String>,
}

/// What a revision stands for now: a branch may point to another commit tomorrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionIdentity {
    /// Full hash of the commit; `None` for a tree as it is.
    pub commit: Option<String>,
    /// Hash of commit or tree, and of the patches.
    pub content: String,
}

/// A plan whose revisions are known: all that a worker needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedPlan {
    /// The plan.
    pub plan: CampaignPlan,
    /// Identities of its revisions, in their order.
    pub identities: Vec<RevisionIdentity>,
}
