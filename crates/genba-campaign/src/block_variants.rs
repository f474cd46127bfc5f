//! The measurement plan of a group on a kind of host. Pure.

use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_experiment::{ExperimentError, MetricPlan, Plan, Stop, VariantPlan};
use genba_model::Metric;
use genba_run::{CommandSpec, Shell};

use crate::block_matrix::{Cell, Group, Tree};
use crate::campaign_plan::{CampaignPlan, MetricDefinition, ResolvedPlan};

/// The measurement of a group: its variants in their order, for `blocks` interleaved runs of each.
/// `tree_of` says where the tree of a build is.
///
/// # Errors
/// A command that cannot be split into words, an unknown metric.
pub fn measurement_plan(
    resolved: &ResolvedPlan,
    group: &Group,
    host: usize,
    blocks: u32,
    seed: u64,
    tree_of: &dyn Fn(&str) -> PathBuf,
) -> Result<Plan, ExperimentError> {
    let campaign = &resolved.plan;
    let measure = &campaign.measure;
    let variants = group.cells.iter().map(|cell| {
        let tree = match resolved.tree(cell, host) {
            Tree::AsItIs => campaign.source.clone(),
            Tree::Built(key) => tree_of(&key),
        };
        variant(campaign, cell, &tree)
    });
    let mut plan = Plan::new(variants.collect::<Result<_, _>>()?);
    plan.metrics = (campaign.metrics.iter())
        .map(metric)
        .collect::<Result<_, _>>()?;
    plan.primary.clone_from(&measure.metric);
    let own = plan
        .metrics
        .iter()
        .any(|metric| metric.name == plan.primary);
    if !own
        && !Metric::ALL
            .iter()
            .any(|metric| metric.name() == plan.primary)
    {
        plan.counters.push(plan.primary.clone());
    }
    plan.stop = Stop::Blocks(blocks);
    plan.warmup = measure.warmup;
    plan.delta = measure.delta;
    plan.alpha = measure.alpha;
    plan.check_output = measure.check_output;
    plan.seed = seed;
    plan.check()?;
    Ok(plan)
}

fn variant(
    campaign: &CampaignPlan,
    cell: &Cell,
    tree: &Path,
) -> Result<VariantPlan, ExperimentError> {
    let variables = cell.variables(campaign, tree);
    let fill = |template: &str| {
        genba_suite::expand(template, &variables).map_err(|what| ExperimentError::Plan { what })
    };
    let shell = match &campaign.measure.shell {
        Some(text) => Shell::parse(text)?,
        None => Shell::default(),
    };
    let line = fill(&campaign.command)?;
    let mut spec = CommandSpec::from_line(&line, &shell)?;
    let directory = PathBuf::from(fill(&campaign.directory)?);
    let surround = |spec: &mut CommandSpec| {
        spec.directory = Some(directory.clone());
        for (name, value) in &campaign.options[cell.option].environment {
            spec.environment.set(name, value);
        }
    };
    surround(&mut spec);
    spec.timeout = campaign
        .measure
        .timeout_seconds
        .map(Duration::from_secs_f64);
    let mut variant = VariantPlan::new(&cell.name, &line, spec);
    if let Some(prepare) = &campaign.measure.prepare {
        let mut spec = CommandSpec::shell(&fill(prepare)?);
        surround(&mut spec);
        variant.prepare = vec![spec];
    }
    Ok(variant)
}

/// A metric of the target.
pub(crate) fn metric(metric: &MetricDefinition) -> Result<MetricPlan, ExperimentError> {
    let (name, unit, direction) = (&metric.name, &metric.unit, Some(metric.direction));
    match (&metric.regex, &metric.json) {
        (Some(text), _) => MetricPlan::regex(name, unit, direction, text),
        (None, Some(text)) => MetricPlan::json(name, unit, direction, text),
        (None, None) => Ok(MetricPlan::channel(name, unit, direction)),
    }
}
