//! Keeps the blocks of a campaign in the history.

use std::collections::BTreeMap;

use genba_campaign::{BlockComparison, CampaignPlan, ResolvedPlan, StoredCampaign};
use genba_history::{
    History, Recorded, Recording, RecordingContext, Revision, VariantOrigin, recording,
};

use crate::compare;
use crate::exit_code::Failure;
use crate::output::Output;

/// Stores every block that was measured; returns the note for the user. A block's key is that of its
/// recording, so that the next session adds what is new.
pub fn keep(option: &str, all: StoredCampaign<'_>, output: &Output) -> Result<String, Failure> {
    let location = compare::location(option)?;
    let _line = compare::waiting_line(&location, output);
    let mut history = History::open(&location)?;
    let (revisions, project) = revisions(all.resolved)?;
    let (mut new, mut known) = (0_u64, 0_u64);
    for block in genba_campaign::block_comparisons(all)? {
        let Some(one) = of_block(&block, &all.resolved.plan, &revisions, &project) else {
            continue;
        };
        match history.record(&one)? {
            Recorded::New => new += 1,
            Recorded::AlreadyThere => known += 1,
        }
    }
    Ok(format!(
        "{} recorded in {}, {known} were there: genba history show",
        genba_units::format::plural(new, "block"),
        history.display()
    ))
}

/// The commit of each revision of the plan, and the name of the project.
fn revisions(resolved: &ResolvedPlan) -> Result<(Vec<Option<Revision>>, String), Failure> {
    let plan = &resolved.plan;
    let (_, project) = compare::revision_at(&plan.source, None)?;
    let of = |(index, identity): (usize, &genba_campaign::RevisionIdentity)| {
        let revision = &plan.revisions[index];
        let source = revision.source.as_ref().unwrap_or(&plan.source);
        match &identity.commit {
            // A patched commit is none of the branch's.
            Some(hash) if revision.patches.is_empty() => {
                Ok(compare::revision_at(source, Some(hash))?.0)
            }
            _ => Ok(None),
        }
    };
    let found: Result<Vec<_>, Failure> = resolved.identities.iter().enumerate().map(of).collect();
    Ok((found?, project))
}

fn of_block(
    block: &BlockComparison<'_>,
    plan: &CampaignPlan,
    revisions: &[Option<Revision>],
    project: &str,
) -> Option<Recording> {
    let origins = block.group.cells.iter().map(|cell| {
        let revision = revisions[cell.revision].clone();
        let (build, option) = (&plan.builds[cell.build], &plan.options[cell.option]);
        let named = match revision {
            Some(_) => "",
            None => plan.revisions[cell.revision].name.as_str(),
        };
        let parts = [named, build.name.as_str(), option.name.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let origin = VariantOrigin {
            benchmark: None,
            series: parts.join(", "),
            revision,
            recipe: build.command.clone(),
        };
        (cell.name.clone(), origin)
    });
    let context = RecordingContext {
        project: project.to_owned(),
        environment: BTreeMap::from([("node".to_owned(), block.node.to_owned())]),
        origins: origins.collect(),
        key: Some(format!("campaign {}", block.key)),
        ..RecordingContext::default()
    };
    let reports = [(Some(plan.name.clone()), block.report.clone())];
    recording(&reports, &context).filter(|one| !one.measurements.is_empty())
}
