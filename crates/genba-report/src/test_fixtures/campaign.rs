//! Synthetic campaigns.

use genba_model::{
    Campaign, CampaignAxis, CampaignBlocks, CampaignBuild, CampaignDryRun, CampaignResult,
    CampaignRevision, Estimate, HostDisagreement, HostEffect, PlannedBlock, VerdictName,
};

use super::comparison;

/// Two hosts that disagree, a build that failed, blocks that are missing.
pub fn campaign() -> Campaign {
    let result = |host: &str, report| CampaignResult {
        group: "O2".to_owned(),
        host: host.to_owned(),
        nodes: vec![format!("{host}1"), format!("{host}2")],
        blocks: 10,
        report,
    };
    let effect = |host: &str, value: f64, verdict| HostEffect {
        host: host.to_owned(),
        ratio: Estimate {
            value,
            low: value - 0.02,
            high: value + 0.02,
        },
        verdict,
    };
    Campaign {
        name: "nightly".to_owned(),
        directory: "/shared/.genba/campaigns/nightly".to_owned(),
        genba: "0.1.0".to_owned(),
        started: "2026-11-25T10:00:00Z".to_owned(),
        scheduler: "slurm".to_owned(),
        compare: CampaignAxis::Revisions,
        metric: "wall".to_owned(),
        seed: 7,
        revisions: vec![CampaignRevision {
            name: "main".to_owned(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        }],
        builds: vec![CampaignBuild {
            revision: "main".to_owned(),
            build: "O2".to_owned(),
            host: Some("server".to_owned()),
            seconds: Some(12.0),
            failure: Some("build failed with exit code 2: no rule".to_owned()),
        }],
        blocks: CampaignBlocks {
            planned: 20,
            measured: 17,
            failed: 1,
            missing: 2,
            repeated: 3,
        },
        block_seconds: 340.0,
        results: vec![
            result("server", comparison::faster()),
            result("laptop", comparison::same()),
        ],
        disagreements: vec![HostDisagreement {
            group: "O2".to_owned(),
            variant: "after".to_owned(),
            baseline: "before".to_owned(),
            smaller: effect("server", 0.73, VerdictName::Faster),
            larger: effect("laptop", 1.0, VerdictName::Same),
        }],
        interrupted: true,
        notes: vec!["1 block: a note".to_owned()],
    }
}

/// Two blocks, one of them stored.
pub fn dry_run() -> CampaignDryRun {
    let block = |repeat, done| PlannedBlock {
        key: "0123456789abcdef01234567".to_owned(),
        host: "server".to_owned(),
        group: "O2".to_owned(),
        repeat,
        variants: vec!["before".to_owned(), "after".to_owned()],
        done,
    };
    CampaignDryRun {
        name: "nightly".to_owned(),
        scheduler: "slurm".to_owned(),
        builds: 2,
        blocks: vec![block(1, true), block(2, false)],
        runs: 3,
        block_seconds: Some(30.0),
        source: Some("plan".to_owned()),
        node_seconds: Some(90.0),
    }
}
