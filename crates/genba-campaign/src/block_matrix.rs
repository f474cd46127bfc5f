//! The matrix of a plan: variants in groups, builds that they need, blocks with their keys and order.
//! Pure.

use std::collections::BTreeMap;
use std::path::Path;

use genba_experiment::random_schedule::Schedule;
use genba_model::CampaignAxis;
use serde::Serialize;

use crate::campaign_plan::{
    CampaignPlan, HostPlan, MeasurePlan, MetricDefinition, OptionPlan, ResolvedPlan,
};
use crate::content_key::content_key;

/// Variants of a plan at most: revisions × builds × options.
pub const MAX_CELLS: usize = 2_000;
/// Kinds of hosts of a plan at most.
pub const MAX_HOSTS: usize = 100;
/// Blocks of a plan at most.
pub const MAX_BLOCKS: usize = 100_000;

/// One revision, built in one way, run with one set of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Name as a variant: that of the compared axis.
    pub name: String,
    /// Index of its revision.
    pub revision: usize,
    /// Index of its build.
    pub build: usize,
    /// Index of its option.
    pub option: usize,
}

/// Variants that are compared with one another, the baseline first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they share: names of revision, build and option where the plan has several; may be empty.
    pub name: String,
    /// The variants.
    pub cells: Vec<Cell>,
}

/// A build that cells need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildTask {
    /// Hash of all that the build depends on; names its result.
    pub key: String,
    /// Index of the revision.
    pub revision: usize,
    /// Index of the build recipe.
    pub build: usize,
    /// Index of the kind of host that makes it.
    pub host: usize,
}

/// Runs that stay together on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Hash of all that the block depends on; names its result.
    pub key: String,
    /// Index of the kind of host.
    pub host: usize,
    /// Index of the group.
    pub group: usize,
    /// Number among the blocks of this group on this host, from 0.
    pub repeat: u32,
}

/// Where the tree of a cell is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The plan's source directory itself: nothing is checked out, patched or built.
    AsItIs,
    /// The build with this key.
    Built(String),
}

/// Everything that a plan comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The groups.
    pub groups: Vec<Group>,
    /// The builds, each once.
    pub builds: Vec<BuildTask>,
    /// The blocks in the order in which they are submitted: one repeat after another, in random order
    /// within each, so that a slow hour hits all groups alike.
    pub blocks: Vec<Block>,
}

/// All cells of a plan, group by group.
pub(crate) fn cells_of(plan: &CampaignPlan) -> Vec<Cell> {
    groups(plan)
        .into_iter()
        .flat_map(|group| group.cells)
        .collect()
}

/// The groups of a plan.
#[must_use]
pub fn groups(plan: &CampaignPlan) -> Vec<Group> {
    let counts = [plan.revisions.len(), plan.builds.len(), plan.options.len()];
    let axis = match plan.compare {
        CampaignAxis::Revisions => 0,
        CampaignAxis::Builds => 1,
        CampaignAxis::Options => 2,
    };
    let name = |axis: usize, index: usize| match axis {
        0 => plan.revisions[index].name.as_str(),
        1 => plan.builds[index].name.as_str(),
        _ => plan.options[index].name.as_str(),
    };
    let others: Vec<usize> = (0..3).filter(|other| *other != axis).collect();
    let mut groups = Vec::new();
    for first in 0..counts[others[0]] {
        for second in 0..counts[others[1]] {
            let shared = [(others[0], first), (others[1], second)];
            let names: Vec<&str> = (shared.iter())
                .filter(|(other, _)| counts[*other] > 1)
                .map(|(other, index)| name(*other, *index))
                .collect();
            let cells = (0..counts[axis]).map(|along| {
                let mut place = [0; 3];
                place[axis] = along;
                for (other, index) in shared {
                    place[other] = index;
                }
                let label = name(axis, along);
                Cell {
                    name: if label.is_empty() { "command" } else { label }.to_owned(),
                    revision: place[0],
                    build: place[1],
                    option: place[2],
                }
            });
            groups.push(Group {
                name: names.join(", "),
                cells: cells.collect(),
            });
        }
    }
    groups
}

impl Cell {
    /// What the placeholders of templates stand for.
    #[must_use]
    pub fn variables(&self, plan: &CampaignPlan, tree: &Path) -> BTreeMap<String, String> {
        let option = &plan.options[self.option];
        [
            ("tree", tree.to_string_lossy().into_owned()),
            ("revision", plan.revisions[self.revision].name.clone()),
            ("build", plan.builds[self.build].name.clone()),
            ("option", option.name.clone()),
            ("arguments", option.arguments.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// What the key of a block covers.
#[derive(Serialize)]
struct BlockContent<'a> {
    host: HostContent<'a>,
    command: &'a str,
    directory: &'a str,
    runs: u32,
    measure: &'a MeasurePlan,
    metrics: &'a [MetricDefinition],
    variants: Vec<VariantContent<'a>>,
    repeat: u32,
}

/// What decides which nodes a kind of host has; the time limit does not.
type HostContent<'a> = (
    &'a str,
    &'a Option<String>,
    &'a Option<String>,
    &'a Option<String>,
    &'a [String],
);

fn host_content(host: &HostPlan) -> HostContent<'_> {
    (
        &host.name,
        &host.constraint,
        &host.partition,
        &host.nodes,
        &host.sbatch,
    )
}

#[derive(Serialize)]
struct VariantContent<'a> {
    name: &'a str,
    tree: String,
    option: &'a OptionPlan,
}

impl ResolvedPlan {
    /// The tree of a cell on a kind of host.
    #[must_use]
    pub fn tree(&self, cell: &Cell, host: usize) -> Tree {
        let revision = &self.plan.revisions[cell.revision];
        let recipe = &self.plan.builds[cell.build];
        let as_it_is = revision.is_unchanged_source() && recipe.command.is_none();
        if as_it_is {
            return Tree::AsItIs;
        }
        Tree::Built(self.build_key(cell.revision, cell.build, host))
    }

    fn build_key(&self, revision: usize, build: usize, host: usize) -> String {
        let recipe = &self.plan.builds[build];
        let host = recipe
            .per_host
            .then(|| host_content(&self.plan.hosts[host]));
        let content = &self.identities[revision].content;
        content_key(&(content, &recipe.command, &recipe.environment, host))
    }

    /// Groups, builds and blocks.
    #[must_use]
    pub fn matrix(&self) -> Matrix {
        let plan = &self.plan;
        let groups = groups(plan);
        let mut builds: Vec<BuildTask> = Vec::new();
        let mut keys = Vec::new();
        for host in 0..plan.hosts.len() {
            for (index, group) in groups.iter().enumerate() {
                let mut variants = Vec::new();
                for cell in &group.cells {
                    let tree = match self.tree(cell, host) {
                        Tree::AsItIs => self.identities[cell.revision].content.clone(),
                        Tree::Built(key) => {
                            if builds.iter().all(|known| known.key != key) {
                                builds.push(BuildTask {
                                    key: key.clone(),
                                    revision: cell.revision,
                                    build: cell.build,
                                    host,
                                });
                            }
                            key
                        }
                    };
                    variants.push(VariantContent {
                        name: &cell.name,
                        tree,
                        option: &plan.options[cell.option],
                    });
                }
                let mut content = BlockContent {
                    host: host_content(&plan.hosts[host]),
                    command: &plan.command,
                    directory: &plan.directory,
                    runs: plan.runs,
                    measure: &plan.measure,
                    metrics: &plan.metrics,
                    variants,
                    repeat: 0,
                };
                for repeat in 0..plan.repeats {
                    content.repeat = repeat;
                    keys.push(Block {
                        key: content_key(&content),
                        host,
                        group: index,
                        repeat,
                    });
                }
            }
        }
        Matrix {
            groups,
            builds,
            blocks: in_random_order(keys, plan),
        }
    }
}

/// One repeat after another, in random order within each.
fn in_random_order(mut blocks: Vec<Block>, plan: &CampaignPlan) -> Vec<Block> {
    blocks.sort_by_key(|block| block.repeat);
    let mut schedule = Schedule::new(plan.seed);
    let mut ordered = Vec::with_capacity(blocks.len());
    for repeat in 0..plan.repeats {
        let start = ordered.len();
        let end = start
            + blocks[start..]
                .iter()
                .take_while(|one| one.repeat == repeat)
                .count();
        let places: Vec<usize> = (start..end).collect();
        let shuffled = schedule.block(&places);
        ordered.extend(shuffled.into_iter().map(|place| blocks[place].clone()));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_plans::{plan, resolved};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn compared_axis_is_within_groups_and_the_others_between_them() {
        let plan = plan(
            "[campaign]\ncommand = \"{tree}/p {arguments}\"\nrevisions = [\"a\", \"b\", \"c\"]\n\
             [[build]]\nname = \"O2\"\ncommand = \"make\"\n[[build]]\nname = \"O3\"\ncommand = \"make O3\"\n",
        );
        let all = groups(&plan);
        let names: Vec<&str> = all.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["O2", "O3"]);
        let variants: Vec<&str> = all[1].cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(variants, ["a", "b", "c"]);
        let matrix = resolved(plan).matrix();
        assert_eq!((matrix.builds.len(), matrix.blocks.len()), (6, 20));
    }

    #[test]
    fn builds_are_shared_by_hosts_unless_the_recipe_is_per_host() {
        let text = |per_host: bool| {
            format!(
                "[campaign]\ncommand = \"{{tree}}/p\"\nrevisions = [\"a\"]\n[[build]]\nname = \"n\"\n\
                 command = \"make\"\nper_host = {per_host}\n[[host]]\nname = \"x\"\n[[host]]\nname = \"y\"\n"
            )
        };
        assert_eq!(resolved(plan(&text(false))).matrix().builds.len(), 1);
        assert_eq!(resolved(plan(&text(true))).matrix().builds.len(), 2);
    }

    #[test]
    fn more_repeats_keep_the_keys_of_earlier_blocks() {
        let keys = |repeats: u32| -> BTreeSet<String> {
            let text = format!("[campaign]\ncommand = \"true\"\nrepeats = {repeats}\n");
            let blocks = resolved(plan(&text)).matrix().blocks;
            blocks.into_iter().map(|block| block.key).collect()
        };
        assert!(keys(5).is_subset(&keys(9)));
        assert_eq!(keys(9).len(), 9);
    }

    #[test]
    fn key_changes_with_the_command_and_with_the_commit() {
        let first = |resolved: ResolvedPlan| {
            let mut blocks = resolved.matrix().blocks;
            blocks.sort_by_key(|block| block.repeat);
            blocks.remove(0).key
        };
        let text = "[campaign]\ncommand = \"true\"\nrevisions = [\"main\"]\n";
        let one = first(resolved(plan(text)));
        assert_ne!(one, first(resolved(plan(&text.replace("true", "false")))));
        let mut moved = resolved(plan(text));
        moved.identities[0].content = "another commit".to_owned();
        assert_ne!(one, first(moved));
    }

    proptest! {
        #[test]
        fn every_block_is_there_once_and_repeats_are_in_order(
            revisions in 1usize..4, options in 1usize..4, hosts in 1usize..4, repeats in 1u32..6, seed: u32,
        ) {
            let mut text = format!(
                "[campaign]\ncommand = \"{{tree}}/p\"\nrepeats = {repeats}\nseed = {seed}\nrevisions = {:?}\n",
                (0..revisions).map(|n| format!("r{n}")).collect::<Vec<_>>()
            );
            for number in 0..options {
                text += &format!("[[option]]\nname = \"o{number}\"\n");
            }
            for number in 0..hosts {
                text += &format!("[[host]]\nname = \"h{number}\"\n");
            }
            let plan = plan(&text);
            let matrix = resolved(plan.clone()).matrix();
            let cells: usize = matrix.groups.iter().map(|group| group.cells.len()).sum();
            prop_assert_eq!(cells, revisions * options);
            let expected = matrix.groups.len() * hosts * repeats as usize;
            let keys: BTreeSet<&str> = matrix.blocks.iter().map(|block| block.key.as_str()).collect();
            prop_assert_eq!((matrix.blocks.len(), keys.len()), (expected, expected));
            prop_assert!(matrix.blocks.is_sorted_by_key(|block| block.repeat));
            prop_assert_eq!(&resolved(plan).matrix(), &matrix);
        }
    }
}
