//! The commit that a working tree is at.

use std::path::Path;

use genba_model::Revision;

use crate::BuildError;
use crate::git_checkout::{git, rev_parse, root, run, text};

/// A commit and the project that it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadRevision {
    /// The commit, and the state of the tree around it.
    pub revision: Revision,
    /// Name of the project: the last part of the remote's path, else of the tree's.
    pub project: String,
}

/// The commit that the repository around `place` is at, or the one that `reference` names; `None`
/// outside a repository. Does not write to the repository.
///
/// # Errors
/// `reference` does not exist, or git fails.
pub fn head_revision(
    place: &Path,
    reference: Option<&str>,
) -> Result<Option<HeadRevision>, BuildError> {
    let root = match root(place) {
        Ok(root) => root,
        Err(BuildError::NoRepository { .. } | BuildError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let hash = match rev_parse(place, reference.unwrap_or("HEAD")) {
        Ok(hash) => hash,
        // A repository without a commit.
        Err(_) if reference.is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let read = |words: &[&str]| {
        let mut command = git(place);
        command.env("GIT_OPTIONAL_LOCKS", "0").args(words);
        run(&mut command, words[0], place).map(|output| text(&output.stdout))
    };
    let log = read(&["log", "-1", "--format=%P%x00%ct%x00%s", &hash])?;
    let mut parts = log.splitn(3, '\0');
    let mut next = || parts.next().unwrap_or_default();
    let (parents, committed, subject) = (next(), next(), next());
    let shallow = read(&["rev-parse", "--is-shallow-repository"])? == "true";
    let position = match shallow {
        true => None,
        false => read(&["rev-list", "--count", "--first-parent", &hash])?
            .parse()
            .ok(),
    };
    let remote = read(&["config", "--get", "remote.origin.url"]).unwrap_or_default();
    let folder = root.to_string_lossy();
    let name = |path: &str| {
        let path = path.trim_end_matches('/').trim_end_matches(".git");
        path.rsplit(['/', ':'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let revision = Revision {
        commit: hash,
        parent: parents
            .split(' ')
            .next()
            .filter(|one| !one.is_empty())
            .map(str::to_owned),
        position,
        committed: committed.parse().unwrap_or_default(),
        subject: subject.to_owned(),
        branch: match reference {
            None => read(&["symbolic-ref", "--quiet", "--short", "HEAD"]).unwrap_or_default(),
            Some(_) => String::new(),
        },
        dirty: reference.is_none()
            && !read(&["status", "--porcelain", "--untracked-files=no"])?.is_empty(),
    };
    Ok(Some(HeadRevision {
        revision,
        project: match remote.is_empty() {
            true => name(&folder),
            false => name(&remote),
        },
    }))
}

/// The root of the repository around `place`; `None` outside a repository.
#[must_use]
pub fn repository_root(place: &Path) -> Option<std::path::PathBuf> {
    root(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_branch_and_changes_of_a_tree_are_read() {
        let place = tempfile::tempdir().expect("a directory");
        if !genba_testing::has("commit_branch_and_changes_of_a_tree_are_read", "git") {
            return;
        }
        let folder = place.path().join("project");
        std::fs::create_dir(&folder).expect("made");
        assert_eq!(head_revision(&folder, None).expect("no repository"), None);
        let script = "git init -q -b trunk . && git config user.email a@b && git config user.name n && \
            echo 1 > f && git add f && git commit -qm one && echo 2 > f && git commit -qam 'two $(x)'";
        let shell = |script: &str| {
            let mut command = std::process::Command::new("sh");
            command.current_dir(&folder).args(["-c", script]);
            assert!(command.status().expect("sh").success());
        };
        shell(script);
        let at = |reference: Option<&str>| {
            let head = head_revision(&folder, reference).expect("read");
            let head = head.expect("a commit");
            (head.revision, head.project)
        };
        let (head, project) = at(None);
        assert_eq!((head.position, head.branch.as_str()), (Some(2), "trunk"));
        assert_eq!((head.subject.as_str(), head.dirty), ("two $(x)", false));
        assert_eq!(project, "project");
        let (first, _) = at(Some("HEAD~1"));
        assert_eq!(head.parent, Some(first.commit));
        assert_eq!(first.parent, None);
        assert!(head_revision(&folder, Some("none")).is_err());
        shell(
            "echo 3 > f; git remote add origin git@example.org:a/b.git; git checkout -q --detach",
        );
        let (head, project) = at(None);
        assert_eq!(
            (head.dirty, head.branch.as_str(), project.as_str()),
            (true, "", "b")
        );
    }
}
