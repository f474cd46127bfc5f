//! The commits between two revisions of a repository.

use std::path::Path;

use crate::BuildError;
use crate::git_checkout::{git, rev_parse, root, run, text};

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Full hash.
    pub hash: String,
    /// Abbreviated hash.
    pub short: String,
    /// Date, author and subject in one line.
    pub detail: String,
}

/// The commit `good` and all after it up to `bad`, oldest first: along the first parents of merges,
/// or, with `ancestry_path`, all that descend from `good`. Reads the repository that contains
/// `repository` and does not write to it.
///
/// # Errors
/// No repository, a revision that does not exist, `good` is not an ancestor of `bad`, or git fails.
pub fn commits_between(
    repository: &Path,
    good: &str,
    bad: &str,
    ancestry_path: bool,
) -> Result<Vec<Commit>, BuildError> {
    root(repository)?;
    let read = |words: &[&str], action: &str| {
        let mut command = git(repository);
        // git does not even refresh the index.
        command.env("GIT_OPTIONAL_LOCKS", "0").args(words);
        run(&mut command, action, repository).map(|output| text(&output.stdout))
    };
    let (first, last) = (rev_parse(repository, good)?, rev_parse(repository, bad)?);
    match read(
        &["merge-base", "--is-ancestor", &first, &last],
        "merge-base",
    ) {
        Err(BuildError::Git { .. }) => {
            return Err(BuildError::NotAnAncestor {
                good: good.to_owned(),
                bad: bad.to_owned(),
            });
        }
        other => other?,
    };
    let path = match ancestry_path {
        true => "--ancestry-path",
        false => "--first-parent",
    };
    let range = format!("{first}..{last}");
    let log = [
        "log",
        "--reverse",
        "--topo-order",
        "--date=short",
        "--format=%H%x00%h%x00%ad%x00%an%x00%s",
    ];
    let oldest = read(&[&log[..], &["-1", &first]].concat(), "log")?;
    let rest = read(&[&log[..], &[path, &range]].concat(), "log")?;
    let lines = oldest.lines().chain(rest.lines());
    let commits: Vec<Commit> = lines.filter_map(commit).collect();
    if commits.len() < 2 {
        return Err(BuildError::NoCommits {
            good: good.to_owned(),
            bad: bad.to_owned(),
        });
    }
    Ok(commits)
}

/// The commit of a line of `git log`.
fn commit(line: &str) -> Option<Commit> {
    let mut parts = line.splitn(5, '\0');
    let mut next = || parts.next().map(str::to_owned);
    let (hash, short, date) = (next()?, next()?, next()?);
    let (author, subject) = (next()?, next().unwrap_or_default());
    Some(Commit {
        hash,
        short,
        detail: format!("{date} {author}: {subject}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_may_be_empty_and_lines_of_something_else_are_skipped() {
        let found = commit("aa11\0aa\x002024-05-06\0Ada\0Shorter loop").expect("a commit");
        assert_eq!(found.short, "aa");
        assert_eq!(found.detail, "2024-05-06 Ada: Shorter loop");
        assert!(commit("aa11\0aa\x002024-05-06\0Ada\0").is_some());
        assert!(commit("warning: something").is_none());
    }

    #[test]
    fn commits_are_listed_from_the_good_one_to_the_bad_one() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let run_git = |words: &[&str]| {
            let mut command = git(place.path());
            command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
            run(command.args(words), words[0], place.path())
        };
        if let Err(BuildError::Missing { .. }) = run_git(&["init", "-q", "."]) {
            genba_testing::skip(
                "commits_are_listed_from_the_good_one_to_the_bad_one",
                "git",
                "git is not installed",
            );
            return;
        }
        for subject in ["one", "two", "three"] {
            run_git(&["commit", "-q", "--allow-empty", "-m", subject]).expect("a commit");
        }
        let list = commits_between(place.path(), "HEAD~2", "HEAD", false).expect("a history");
        let subjects: Vec<&str> = list
            .iter()
            .filter_map(|commit| commit.detail.rsplit(": ").next())
            .collect();
        assert_eq!(subjects, ["one", "two", "three"]);
        let wrong = |good: &str, bad: &str| commits_between(place.path(), good, bad, true);
        assert!(matches!(
            wrong("HEAD", "HEAD~1"),
            Err(BuildError::NotAnAncestor { .. })
        ));
        assert!(matches!(
            wrong("HEAD", "HEAD"),
            Err(BuildError::NoCommits { .. })
        ));
        assert!(matches!(
            wrong("nothing", "HEAD"),
            Err(BuildError::Git { .. })
        ));
    }
}
