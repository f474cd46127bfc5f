//! What the revisions of a plan stand for now: hashes of commits, trees, patches and programs.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use genba_build::{TreeState, rev_parse};

use crate::CampaignError;
use crate::block_matrix::cells_of;
use crate::campaign_plan::{CampaignPlan, ResolvedPlan, RevisionIdentity, RevisionPlan};
use crate::content_key::content_key;

/// Looks the revisions up. `plan_file` may lie in the tree, and its changes are not changes of the
/// program.
///
/// # Errors
/// No such revision, no repository, a patch or tree that cannot be read.
pub fn resolve(plan: CampaignPlan, plan_file: &Path) -> Result<ResolvedPlan, CampaignError> {
    let plan_file =
        std::path::absolute(plan_file).map_err(CampaignError::file("use", plan_file))?;
    let identities = (0..plan.revisions.len())
        .map(|index| identity(&plan, index, &plan_file))
        .collect::<Result<_, _>>()?;
    Ok(ResolvedPlan { plan, identities })
}

fn identity(
    plan: &CampaignPlan,
    index: usize,
    plan_file: &Path,
) -> Result<RevisionIdentity, CampaignError> {
    let revision = &plan.revisions[index];
    let source = revision.source.as_ref().unwrap_or(&plan.source);
    let is_built = plan.builds.iter().any(|build| build.command.is_some());
    let commit = match &revision.commit {
        Some(name) => Some(rev_parse(source, name)?),
        None => None,
    };
    let tree = match &commit {
        Some(hash) => hash.clone(),
        None if revision.is_unchanged_source() && !is_built => executables(plan, index),
        None => tree_listing(source, plan_file)?,
    };
    let content = content_key(&(tree, patches(revision)?));
    Ok(RevisionIdentity { commit, content })
}

fn patches(revision: &RevisionPlan) -> Result<Vec<String>, CampaignError> {
    let read = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).map_err(CampaignError::file("read the patch", path))?;
        Ok(content_key(&String::from_utf8_lossy(&bytes)))
    };
    revision.patches.iter().map(read).collect()
}

fn tree_listing(source: &Path, plan_file: &Path) -> Result<String, CampaignError> {
    if !source.is_dir() {
        return Err(genba_build::BuildError::NoTree {
            path: source.to_owned(),
        }
        .into());
    }
    let own = plan_file
        .strip_prefix(source)
        .map(|below| format!("{below:?} "));
    let listing = TreeState::of(source).listing(source);
    Ok(match own {
        Ok(own) => listing
            .lines()
            .filter(|line| !line.starts_with(&own))
            .collect::<Vec<_>>()
            .join("\n"),
        Err(_) => listing,
    })
}

/// Size and time of the programs that commands name by a path. A program that is built anew under the
/// same name is another program.
fn executables(plan: &CampaignPlan, revision: usize) -> String {
    let mut found = BTreeSet::new();
    for cell in cells_of(plan)
        .iter()
        .filter(|cell| cell.revision == revision)
    {
        let variables = cell.variables(plan, &plan.source);
        let line = genba_suite::expand(&plan.command, &variables);
        let directory = genba_suite::expand(&plan.directory, &variables);
        let (Ok(line), Ok(directory)) = (line, directory) else {
            continue;
        };
        let words = genba_run::split_words(&line).unwrap_or_default();
        for word in words.iter().filter(|word| word.contains('/')) {
            let path = Path::new(&directory).join(word);
            if let Ok(about) = path.metadata()
                && about.is_file()
                && about.permissions().mode() & 0o111 != 0
            {
                found.insert(format!(
                    "{} {} {}.{:09}",
                    path.display(),
                    about.size(),
                    about.mtime(),
                    about.mtime_nsec()
                ));
            }
        }
    }
    found.into_iter().collect::<Vec<_>>().join("\n")
}
