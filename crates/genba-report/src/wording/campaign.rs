//! Sentences of a campaign: how far it is, verdicts on each kind of host, where hosts disagree.

use std::collections::BTreeMap;

use genba_model::{
    Campaign, CampaignBuild, CampaignDryRun, CampaignResult, Comparison, HostDisagreement,
    HostEffect, VerdictName,
};
use genba_units::format;

use super::{metrics, verdicts};

/// Returns how many blocks there are: `38 of 40 blocks measured, 1 failed, 1 missing`.
pub(crate) fn blocks(all: &Campaign) -> String {
    let blocks = &all.blocks;
    let mut parts = vec![format!(
        "{} of {} measured",
        blocks.measured,
        format::plural(blocks.planned, "block")
    )];
    let mut part = |count: u64, what: &str| {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    };
    part(blocks.failed, "failed");
    part(blocks.missing, "missing");
    if blocks.repeated > 0 {
        parts.push(format!(
            "{} that ended without a result",
            format::plural(blocks.repeated, "attempt")
        ));
    }
    parts.join(", ")
}

/// Returns how a campaign is resumed, if blocks are missing.
pub(crate) fn resume(all: &Campaign) -> Option<String> {
    (all.blocks.missing > 0).then(|| {
        let why = if all.interrupted {
            "interrupted"
        } else {
            "incomplete"
        };
        format!("{why}: run the same command again to measure the missing blocks")
    })
}

/// Returns the comparisons in the deciding metric of a result.
pub(crate) fn deciding(result: &CampaignResult) -> Vec<&Comparison> {
    verdicts::deciding(&result.report)
}

/// Returns the effect of a comparison in a few words.
pub(crate) fn effect(result: &CampaignResult, one: &Comparison) -> String {
    verdicts::short(&result.report, one)
}

/// Returns what is known of a variant on a host: `+12 % on server (+10 % … +14 %)`.
fn on_host(host: &HostEffect) -> String {
    let change = match host.verdict {
        VerdictName::Same => "equivalent".to_owned(),
        _ => verdicts::signed(host.ratio.value - 1.0),
    };
    format!(
        "{change} on {} ({})",
        host.host,
        verdicts::range(&host.ratio)
    )
}

/// Returns a disagreement as a sentence without a full stop.
pub(crate) fn disagreement(all: &Campaign, one: &HostDisagreement) -> String {
    let group = match one.group.as_str() {
        "" => String::new(),
        group => format!("{group}: "),
    };
    format!(
        "{group}{} compared with {} in {}: {}, {}",
        one.variant,
        one.baseline,
        metrics::phrase(&all.metric),
        on_host(&one.smaller),
        on_host(&one.larger),
    )
}

/// Returns remarks on single comparisons, each once with the number of results that it is about.
pub(crate) fn of_results(all: &Campaign) -> Vec<String> {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for result in &all.results {
        for note in verdicts::remarks(&result.report) {
            let place = match result.group.as_str() {
                "" => result.host.clone(),
                group => format!("{group} on {}", result.host),
            };
            seen.entry(note).or_default().push(place);
        }
    }
    let total = all.results.len();
    (seen.into_iter())
        .map(|(note, places)| match places.len() {
            _ if total == 1 => note,
            count if count == total => format!("all results: {note}"),
            1 => format!("{}: {note}", places[0]),
            count => format!("{count} of {total} results: {note}"),
        })
        .collect()
}

/// Returns why a build is missing.
pub(crate) fn failed_build(build: &CampaignBuild) -> Option<String> {
    let why = build.failure.as_ref()?;
    let names: Vec<&str> = [build.revision.as_str(), build.build.as_str()]
        .into_iter()
        .chain(build.host.as_deref())
        .filter(|name| !name.is_empty())
        .collect();
    Some(format!("build of {}: {why}", names.join(", ")))
}

/// Returns the cost of a dry run: `about 4 min on nodes: 2 builds, 38 blocks of 6 s (as in the plan)`.
pub(crate) fn cost(plan: &CampaignDryRun) -> String {
    let left = plan.blocks.iter().filter(|block| !block.done).count() as u64;
    let builds = match plan.builds {
        0 => String::new(),
        builds => format!("{}, ", format::plural(builds, "build")),
    };
    let blocks = format::plural(left, "block");
    let each = match (plan.block_seconds, plan.source.as_deref()) {
        (Some(seconds), Some("plan")) => {
            format!(" of {} (block_time of the plan)", format::duration(seconds))
        }
        (Some(seconds), _) => format!(
            " of {} (median of measured ones)",
            format::duration(seconds)
        ),
        (None, _) => String::new(),
    };
    match plan.node_seconds {
        Some(seconds) => {
            format!(
                "{builds}{blocks}{each}: about {} of one node",
                format::rough_duration(seconds)
            )
        }
        None => format!(
            "{builds}{blocks}{each}: time unknown until a block is measured; for a plan file, block_time and \
             build_time in it or --trial give one"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::campaign as fixture;

    #[test]
    fn sentences_of_a_campaign() {
        let all = fixture::campaign();
        assert_eq!(
            blocks(&all),
            "17 of 20 blocks measured, 1 failed, 2 missing, 3 attempts that ended without a result"
        );
        assert_eq!(
            disagreement(&all, &all.disagreements[0]),
            "O2: after compared with before in wall time: −27 % on server (−29 % … −25 %), equivalent on \
             laptop (−2 % … +2 %)"
        );
        assert_eq!(
            failed_build(&all.builds[0]).as_deref(),
            Some("build of main, O2, server: build failed with exit code 2: no rule")
        );
        assert!(resume(&all).is_some_and(|text| text.starts_with("interrupted: ")));
        assert_eq!(
            cost(&fixture::dry_run()),
            "2 builds, 1 block of 30 s (block_time of the plan): about 90 s of one node"
        );
    }
}
