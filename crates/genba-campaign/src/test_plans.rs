//! Plans for tests.

use std::path::Path;

use genba_model::HostFingerprint;

use crate::campaign_plan::{CampaignPlan, ResolvedPlan, RevisionIdentity};
use crate::stored_results::BlockResult;

/// The plan of a text.
pub(crate) fn plan(text: &str) -> CampaignPlan {
    crate::parse_plan(text, "plan.toml", "plan", Path::new("/work"))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The plan with made-up commits.
pub(crate) fn resolved(plan: CampaignPlan) -> ResolvedPlan {
    let identities = (plan.revisions.iter())
        .map(|revision| RevisionIdentity {
            commit: revision.commit.clone(),
            content: format!("commit of {}", revision.name),
        })
        .collect();
    ResolvedPlan { plan, identities }
}

/// A made-up result without runs.
pub(crate) fn block_result(key: &str, node: &str) -> BlockResult {
    BlockResult {
        key: key.to_owned(),
        node: node.to_owned(),
        fingerprint: fingerprint("0123456789ab"),
        started: "2026-01-01T00:00:00Z".to_owned(),
        seconds: 2.0,
        genba: "0.1.0".to_owned(),
        runs: Vec::new(),
        excluded: Vec::new(),
        failure: None,
        notes: Vec::new(),
    }
}

/// A made-up host.
pub(crate) fn fingerprint(id: &str) -> HostFingerprint {
    HostFingerprint {
        id: id.to_owned(),
        cpu: "CPU".to_owned(),
        microarchitecture: String::new(),
        cpus: 2,
        memory_bytes: 1 << 30,
        kernel: "6.1".to_owned(),
        os: "Linux".to_owned(),
        virtualisation: None,
        hardware_counters: false,
    }
}
