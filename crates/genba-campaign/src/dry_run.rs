//! What a campaign would do, and what that costs. Pure.

use genba_model::{CampaignDryRun, PlannedBlock};

use crate::campaign_report::StoredCampaign;

/// The blocks of a plan, where they run, and the expected time.
#[must_use]
pub fn dry_run(all: StoredCampaign<'_>, scheduler: &str) -> CampaignDryRun {
    let plan = &all.resolved.plan;
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    // What failed took another time than what will be measured.
    let complete =
        (all.blocks.values()).filter(|block| block.failure.is_none() && block.excluded.is_empty());
    let measured = median(complete.map(|block| block.seconds).collect());
    let (block_seconds, source) = match (measured, plan.block_seconds) {
        (Some(seconds), _) => (Some(seconds), Some("blocks".to_owned())),
        (None, Some(seconds)) => (Some(seconds), Some("plan".to_owned())),
        (None, None) => (None, None),
    };
    let made = (all.builds.values()).filter(|build| build.failure.is_none());
    let built = median(made.map(|build| build.seconds).collect());
    let build_seconds = built.or(plan.build_seconds);
    let builds = (all.matrix.builds.iter())
        .filter(|task| !all.builds.contains_key(&task.key))
        .count() as u64;
    let blocks: Vec<PlannedBlock> = (all.matrix.blocks.iter())
        .map(|block| {
            let group = &all.matrix.groups[block.group];
            PlannedBlock {
                key: block.key.clone(),
                host: plan.hosts[block.host].name.clone(),
                group: group.name.clone(),
                repeat: block.repeat + 1,
                variants: group.cells.iter().map(|cell| cell.name.clone()).collect(),
                done: all.blocks.contains_key(&block.key),
            }
        })
        .collect();
    let left = blocks.iter().filter(|block| !block.done).count() as f64;
    let of_builds = match builds {
        0 => Some(0.0),
        builds => build_seconds.map(|each| each * builds as f64),
    };
    let of_blocks = if left > 0.0 {
        block_seconds.map(|each| each * left)
    } else {
        Some(0.0)
    };
    CampaignDryRun {
        name: plan.name.clone(),
        scheduler: scheduler.to_owned(),
        builds,
        blocks,
        runs: plan.runs,
        block_seconds,
        source,
        node_seconds: of_blocks
            .zip(of_builds)
            .map(|(blocks, builds)| blocks + builds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored_results::BlockResult;
    use crate::test_plans::{block_result, plan, resolved};
    use std::collections::BTreeMap;

    #[test]
    fn blocks_that_failed_do_not_count_for_the_expected_time() {
        let resolved = resolved(plan("[campaign]\ncommand = \"true\"\nrepeats = 5\n"));
        let matrix = resolved.matrix();
        let keys = matrix.blocks.iter().map(|block| block.key.clone());
        let mut blocks: BTreeMap<String, BlockResult> = (keys.take(3))
            .map(|key| (key.clone(), block_result(&key, "node")))
            .collect();
        for block in blocks.values_mut().take(2) {
            block.seconds = 1e-4;
            block.failure = Some("no build".to_owned());
        }
        let all = StoredCampaign {
            resolved: &resolved,
            matrix: &matrix,
            builds: &BTreeMap::new(),
            blocks: &blocks,
        };
        let found = dry_run(all, "local");
        assert_eq!(found.block_seconds, Some(2.0));
        assert_eq!(found.node_seconds, Some(4.0));
    }
}
