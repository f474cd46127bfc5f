//! The document of a campaign from its stored results. Pure.

use std::collections::{BTreeMap, BTreeSet};

use genba_experiment::{ExperimentError, ReportContext, StoredSession, report, stored_measurement};
use genba_model::{
    Campaign, CampaignAxis, CampaignBlocks, CampaignBuild, CampaignResult, CampaignRevision,
    ComparisonReport, HostDisagreement,
};

use crate::block_matrix::{Group, Matrix};
use crate::block_variants::measurement_plan;
use crate::campaign_plan::{CampaignPlan, ResolvedPlan};
use crate::host_disagreement::disagreements;
use crate::run_campaign::CampaignRun;
use crate::stored_results::{BlockResult, BuildResult};

/// Notes of blocks that are repeated in the document at most.
const MAX_BLOCK_NOTES: usize = 12;

/// What a document is made of.
#[derive(Clone, Copy, Debug)]
pub struct StoredCampaign<'a> {
    /// The plan.
    pub resolved: &'a ResolvedPlan,
    /// Its matrix.
    pub matrix: &'a Matrix,
    /// Stored builds by key.
    pub builds: &'a BTreeMap<String, BuildResult>,
    /// Stored blocks by key.
    pub blocks: &'a BTreeMap<String, BlockResult>,
}

/// The document of a campaign.
///
/// # Errors
/// A plan that has passed its check has none.
pub fn campaign_report(
    all: StoredCampaign<'_>,
    directory: &str,
    scheduler: &str,
    session: &CampaignRun,
) -> Result<Campaign, ExperimentError> {
    let plan = &all.resolved.plan;
    let mut results = Vec::new();
    let mut found = Vec::new();
    for (index, group) in all.matrix.groups.iter().enumerate() {
        let mut of_group: Vec<CampaignResult> = Vec::new();
        for host in 0..plan.hosts.len() {
            let (list, among_nodes) = results_on(all, index, group, host)?;
            of_group.extend(list);
            found.extend(among_nodes);
        }
        let hosts: Vec<(String, &ComparisonReport)> = (of_group.iter())
            .map(|result| (result.host.clone(), &result.report))
            .collect();
        found.extend(disagreements(&group.name, &hosts));
        results.extend(of_group);
    }
    let measured: Vec<&BlockResult> = all.blocks.values().collect();
    let failed = measured
        .iter()
        .filter(|block| block.failure.is_some())
        .count() as u64;
    let planned = all.matrix.blocks.len() as u64;
    Ok(Campaign {
        name: plan.name.clone(),
        directory: directory.to_owned(),
        genba: env!("CARGO_PKG_VERSION").to_owned(),
        started: (measured.iter().map(|block| block.started.clone()).min()).unwrap_or_default(),
        scheduler: scheduler.to_owned(),
        compare: plan.compare,
        metric: plan.measure.metric.clone(),
        seed: plan.seed,
        revisions: (plan.revisions.iter().zip(&all.resolved.identities))
            .map(|(revision, identity)| CampaignRevision {
                name: revision.name.clone(),
                commit: identity.commit.clone(),
            })
            .collect(),
        builds: builds(all),
        blocks: CampaignBlocks {
            planned,
            measured: measured.len() as u64 - failed,
            failed,
            missing: planned - measured.len() as u64,
            repeated: session.lost,
        },
        block_seconds: measured.iter().map(|block| block.seconds).sum(),
        notes: notes(all, &results, session),
        results,
        disagreements: found,
        interrupted: session.interrupted,
    })
}

fn builds(all: StoredCampaign<'_>) -> Vec<CampaignBuild> {
    let plan = &all.resolved.plan;
    (all.matrix.builds.iter())
        .map(|task| {
            let result = all.builds.get(&task.key);
            let recipe = &plan.builds[task.build];
            CampaignBuild {
                revision: plan.revisions[task.revision].name.clone(),
                build: recipe.name.clone(),
                host: recipe.per_host.then(|| plan.hosts[task.host].name.clone()),
                seconds: result.map(|result| result.seconds),
                failure: match result {
                    Some(result) => result.failure.clone(),
                    None => Some("not made yet".to_owned()),
                },
            }
        })
        .collect()
}

/// The results of a group on a kind of host, one for each fingerprint, and where its nodes disagree.
fn results_on(
    all: StoredCampaign<'_>,
    index: usize,
    group: &Group,
    host: usize,
) -> Result<(Vec<CampaignResult>, Vec<HostDisagreement>), ExperimentError> {
    let name = &all.resolved.plan.hosts[host].name;
    let mut planned = 0;
    let mut by_fingerprint: BTreeMap<&str, Vec<&BlockResult>> = BTreeMap::new();
    let mut blocks: Vec<_> = (all.matrix.blocks.iter())
        .filter(|block| block.group == index && block.host == host)
        .collect();
    blocks.sort_by_key(|block| block.repeat);
    for block in blocks {
        planned += 1;
        if let Some(result) = all.blocks.get(&block.key) {
            by_fingerprint
                .entry(&result.fingerprint.id)
                .or_default()
                .push(result);
        }
    }
    let several = by_fingerprint.len() > 1;
    let mut results = Vec::new();
    let mut found = Vec::new();
    for (id, blocks) in by_fingerprint {
        let host_name = match several {
            true => format!("{name} ({id})"),
            false => name.clone(),
        };
        let complete = blocks.len() == planned;
        let report = judge(all, group, host, &blocks, complete)?;
        let nodes: BTreeSet<&str> = blocks.iter().map(|block| block.node.as_str()).collect();
        if nodes.len() > 1 {
            let of_nodes = (nodes.iter())
                .map(|node| {
                    let list: Vec<_> = blocks
                        .iter()
                        .copied()
                        .filter(|block| block.node == *node)
                        .collect();
                    Ok((
                        format!("{host_name}, node {node}"),
                        judge(all, group, host, &list, false)?,
                    ))
                })
                .collect::<Result<Vec<_>, ExperimentError>>()?;
            let of_nodes: Vec<_> = of_nodes
                .iter()
                .map(|(node, report)| (node.clone(), report))
                .collect();
            found.extend(disagreements(&group.name, &of_nodes));
        }
        results.push(CampaignResult {
            group: group.name.clone(),
            host: host_name,
            nodes: nodes.into_iter().map(str::to_owned).collect(),
            blocks: blocks.len() as u64,
            report,
        });
    }
    Ok((results, found))
}

/// A stored block as a comparison of its own, for the history.
#[derive(Clone, Debug)]
pub struct BlockComparison<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its group, whose cells say what the variants are.
    pub group: &'a Group,
    /// Node that measured it.
    pub node: &'a str,
    /// Its runs, compared.
    pub report: ComparisonReport,
}

/// The stored blocks in which something was measured.
///
/// # Errors
/// A plan that has passed its check has none.
pub fn block_comparisons(
    all: StoredCampaign<'_>,
) -> Result<Vec<BlockComparison<'_>>, ExperimentError> {
    let stored = (all.matrix.blocks.iter())
        .filter_map(|block| Some((block, all.blocks.get(&block.key)?)))
        .filter(|(_, result)| result.failure.is_none());
    stored
        .map(|(block, result)| {
            let group = &all.matrix.groups[block.group];
            Ok(BlockComparison {
                key: &result.key,
                group,
                node: &result.node,
                report: judge(all, group, block.host, &[result], true)?,
            })
        })
        .collect()
}

/// The runs of blocks that count: not those of blocks that failed. If all failed, so did their variants.
fn sessions_of(group: &Group, blocks: &[&BlockResult]) -> Vec<StoredSession> {
    let measured = blocks.iter().filter(|block| block.failure.is_none());
    let sessions: Vec<StoredSession> = measured
        .map(|block| StoredSession {
            entries: block.runs.clone(),
            excluded: block.excluded.clone(),
        })
        .collect();
    if !sessions.is_empty() {
        return sessions;
    }
    let failed = blocks.iter().map(|block| {
        let reason = block.failure.clone().unwrap_or_default();
        let named = |name: &str| block.excluded.iter().any(|(one, _)| one == name);
        let others = (group.cells.iter())
            .filter(|cell| !named(&cell.name))
            .map(|cell| (cell.name.clone(), reason_of(&cell.name, &reason)));
        StoredSession {
            entries: Vec::new(),
            excluded: block.excluded.iter().cloned().chain(others).collect(),
        }
    });
    failed.collect()
}

/// The part of a block's reasons (`a: x; b: y`) that is about one variant; all of them where none names it.
fn reason_of(variant: &str, reasons: &str) -> String {
    let mut parts = reasons.split("; ");
    let own = parts.find_map(|part| part.strip_prefix(variant)?.strip_prefix(": "));
    own.unwrap_or(reasons).to_owned()
}

/// Judges blocks of one group and one fingerprint as `genba bench` does.
fn judge(
    all: StoredCampaign<'_>,
    group: &Group,
    host: usize,
    blocks: &[&BlockResult],
    complete: bool,
) -> Result<ComparisonReport, ExperimentError> {
    let campaign = &all.resolved.plan;
    let tree_of = |key: &str| {
        let build = all.builds.get(key);
        build.map(|build| build.tree.clone()).unwrap_or_default()
    };
    let runs = campaign.runs.saturating_mul(campaign.repeats);
    let plan = measurement_plan(all.resolved, group, host, runs, campaign.seed, &tree_of)?;
    let sessions = sessions_of(group, blocks).into_iter();
    let measurement = stored_measurement(&plan, sessions, complete);
    let context = ReportContext {
        case: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: blocks
            .iter()
            .map(|block| block.started.clone())
            .min()
            .unwrap_or_default(),
        host: blocks[0].fingerprint.clone(),
        hazards: Vec::new(),
    };
    let mut document = report(&plan, &measurement, context);
    document.elapsed_seconds = blocks.iter().map(|block| block.seconds).sum();
    for hazard in &mut document.hazards {
        let key = match hazard.id.as_str() {
            "first-run" => "warmup = 3 in the plan lets three runs of each variant go first",
            "page-cache" => {
                "to measure with a cold cache: prepare = \"sync; echo 3 | sudo tee /proc/sys/vm/drop_caches\" in the plan"
            }
            _ => continue,
        };
        hazard.remedy = Some(key.to_owned());
    }
    Ok(document)
}

/// What to say of a plan whose groups have one variant each.
#[must_use]
pub fn nothing_compared(plan: &CampaignPlan, matrix: &Matrix) -> Option<String> {
    let axis = match plan.compare {
        CampaignAxis::Revisions => "revision",
        CampaignAxis::Builds => "build",
        CampaignAxis::Options => "option",
    };
    let alone = matrix.groups.iter().all(|group| group.cells.len() == 1);
    alone.then(|| {
        format!(
            "nothing is compared: what is to be compared are {axis}s, and the plan has one {axis}"
        )
    })
}

fn notes(
    all: StoredCampaign<'_>,
    results: &[CampaignResult],
    session: &CampaignRun,
) -> Vec<String> {
    let plan = &all.resolved.plan;
    let mut notes: Vec<String> = nothing_compared(plan, all.matrix).into_iter().collect();
    let mut by_id: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (block, result) in
        (all.matrix.blocks.iter()).filter_map(|block| Some((block, all.blocks.get(&block.key)?)))
    {
        let hosts = by_id.entry(&result.fingerprint.id).or_default();
        hosts.insert(&plan.hosts[block.host].name);
    }
    for (id, hosts) in by_id.iter().filter(|(_, hosts)| hosts.len() > 1) {
        let hosts: Vec<&str> = hosts.iter().copied().collect();
        notes.push(format!(
            "{} are the same kind of machine (fingerprint {id}): a difference between them is not one of \
             hardware",
            hosts.join(" and ")
        ));
    }
    let declared: BTreeSet<&str> = plan.hosts.iter().map(|host| host.name.as_str()).collect();
    let split: BTreeSet<&str> = (results.iter())
        .filter(|result| !declared.contains(result.host.as_str()))
        .filter_map(|result| result.host.rsplit_once(" (").map(|(name, _)| name))
        .collect();
    for name in split {
        notes.push(format!(
            "nodes of {name} have different fingerprints: their runs are not pooled; narrow the \
             constraint of the host"
        ));
    }
    let versions: BTreeSet<&str> = all
        .blocks
        .values()
        .map(|block| block.genba.as_str())
        .collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        notes.push(format!(
            "blocks were measured by genba {}",
            versions.join(" and ")
        ));
    }
    let mut of_blocks: BTreeMap<&str, u64> = BTreeMap::new();
    for block in all.blocks.values() {
        let failure = block.failure.iter().map(String::as_str);
        for note in block.notes.iter().map(String::as_str).chain(failure) {
            *of_blocks.entry(note).or_default() += 1;
        }
    }
    let more = of_blocks.len().saturating_sub(MAX_BLOCK_NOTES);
    for (note, count) in of_blocks.into_iter().take(MAX_BLOCK_NOTES) {
        notes.push(match count {
            1 => format!("1 block: {note}"),
            count => format!("{count} blocks: {note}"),
        });
    }
    if more > 0 {
        notes.push(format!("{more} more notes of blocks are in their files"));
    }
    // What is repeated would hide the rest.
    let remarks: BTreeSet<&String> = session.remarks.iter().collect();
    notes.extend(remarks.into_iter().take(MAX_BLOCK_NOTES).cloned());
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_plans::block_result;

    fn group() -> Group {
        let cell = |name: &str| crate::block_matrix::Cell {
            name: name.to_owned(),
            revision: 0,
            build: 0,
            option: 0,
        };
        Group {
            name: String::new(),
            cells: vec![cell("old"), cell("new")],
        }
    }

    fn failed(reasons: &str) -> BlockResult {
        BlockResult {
            failure: Some(reasons.to_owned()),
            ..block_result("k", "node")
        }
    }

    #[test]
    fn plan_with_one_variant_says_that_nothing_is_compared() {
        let said = |more: &str| {
            let text = format!("[campaign]\ncommand = \"{{tree}}/p\"\n{more}\n");
            let resolved = crate::test_plans::resolved(crate::test_plans::plan(&text));
            nothing_compared(&resolved.plan, &resolved.matrix())
        };
        assert_eq!(said("revisions = [\"a\", \"b\"]"), None);
        let builds = said("revisions = [\"a\", \"b\"]\ncompare = \"builds\"");
        assert!(builds.is_some_and(|note| note.ends_with("one build")));
        assert!(said("").is_some());
    }

    #[test]
    fn failed_blocks_do_not_count_where_others_were_measured() {
        let (bad, good) = (failed("old: x; new: y"), block_result("l", "node"));
        let sessions = sessions_of(&group(), &[&bad, &good]);
        assert_eq!(sessions.len(), 1);
        assert!(sessions[0].excluded.is_empty());
    }

    #[test]
    fn variants_of_failed_blocks_alone_are_excluded_each_with_its_reason() {
        let bad = failed("old: not found; new: exited with code 1");
        let sessions = sessions_of(&group(), &[&bad]);
        let reasons: Vec<(&str, &str)> = (sessions[0].excluded.iter())
            .map(|(name, why)| (name.as_str(), why.as_str()))
            .collect();
        assert_eq!(
            reasons,
            [("old", "not found"), ("new", "exited with code 1")]
        );
    }
}
