//! Campaigns: blocks of runs over revisions, builds, options, hosts and repeats.
//!
//! **Scope.** A [plan](CampaignPlan) is [read](load_plan) from TOML or made of the options of a
//! [sweep](sweep_plan) or of [named variants](try_plan), its revisions are [looked up](resolve), and it [comes to](ResolvedPlan::matrix) builds and blocks. A *block* is some
//! interleaved runs of all variants of a *group*, which stay together on one node; variants of a group
//! differ along one axis and are compared with its first. A [`Scheduler`] runs workers that
//! [build](make_build) and [measure](measure_block): one after another [here](LocalScheduler), or many
//! by [Slurm](SlurmScheduler). [`campaign_report`] judges each group on each kind of host by the same
//! statistics as `genba bench`.
//!
//! **What must hold.** Every block is there exactly once, whoever is killed: results are files named by
//! the hash of everything that they depend on, the first one stays ([`CampaignDirectory`]). Results of
//! different kinds of hosts are never pooled.
//!
//! **Not here.** Text for users (genba-report), the statistics.

mod block_matrix;
mod block_variants;
mod block_worker;
mod build_worker;
mod campaign_directory;
mod campaign_plan;
mod campaign_report;
mod content_key;
mod dry_run;
mod error;
mod experiment_plan;
mod host_disagreement;
mod local_scheduler;
mod plan_document;
mod plan_file;
mod plan_tables;
mod resolve_revisions;
mod run_campaign;
mod scheduler;
mod slurm_scheduler;
mod slurm_text;
mod stored_results;
mod sweep_plan;
mod task_board;
#[cfg(test)]
mod test_plans;
mod try_plan;

pub use block_matrix::{Block, BuildTask, Cell, Group, Matrix, Tree};
pub use block_worker::{MakeRunner, measure_block};
pub use build_worker::make_build;
pub use campaign_directory::CampaignDirectory;
pub use campaign_plan::{CampaignPlan, ResolvedPlan, RevisionIdentity};
pub use campaign_report::{
    BlockComparison, StoredCampaign, block_comparisons, campaign_report, nothing_compared,
};
pub use dry_run::dry_run;
pub use error::CampaignError;
pub use experiment_plan::ExperimentOptions;
pub use local_scheduler::LocalScheduler;
pub use plan_file::{load_plan, parse_plan};
pub use resolve_revisions::resolve;
pub use run_campaign::{CampaignRun, check, forget_failed, run_campaign, run_task, stored};
pub use scheduler::{CampaignObserver, CampaignProgress, Scheduler};
pub use slurm_scheduler::SlurmScheduler;
pub use stored_results::{BlockResult, BuildResult};
pub use sweep_plan::sweep_plan;
pub use task_board::{Counts, Task};
pub use try_plan::{BuiltTree, try_plan};
