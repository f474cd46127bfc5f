//! Revisions of a git repository, and patches.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::BuildError;

/// Clones the repository that contains `from`, sharing its objects, and checks out `reference` at
/// `to`. Returns the path of `from` relative to the root of the repository.
///
/// `git worktree` is not used: it writes into the user's `.git`, and a SIGKILL leaves that behind.
///
/// # Errors
/// No repository, no such revision, git fails.
pub fn checkout(from: &Path, reference: &str, to: &Path) -> Result<PathBuf, BuildError> {
    let root = root(from)?;
    // Resolved in the original: the clone does not have its branches.
    let commit = rev_parse(from, reference)?;
    let below = (from.canonicalize())
        .ok()
        .and_then(|from| Some(from.strip_prefix(&root).ok()?.to_owned()))
        .unwrap_or_default();
    let mut clone = git(&root);
    clone.args(["clone", "--quiet", "--shared", "--no-checkout", "--"]);
    run(clone.arg(&root).arg(to), "clone", &root)?;
    let mut check = git(to);
    check.args(["checkout", "--quiet", "--detach", &commit]);
    run(&mut check, "checkout", to)?;
    Ok(below)
}

/// The full hash of a commit.
///
/// # Errors
/// No such revision, or git fails.
pub fn rev_parse(place: &Path, reference: &str) -> Result<String, BuildError> {
    let mut command = git(place);
    command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
    command.arg(format!("{reference}^{{commit}}"));
    let output = run(&mut command, "rev-parse", place).map_err(|error| match error {
        BuildError::Git { place, message, .. } if message.is_empty() => BuildError::Git {
            action: "rev-parse".to_owned(),
            place,
            message: format!("unknown revision {reference:?}"),
        },
        other => other,
    })?;
    Ok(text(&output.stdout))
}

pub(crate) fn root(place: &Path) -> Result<PathBuf, BuildError> {
    let mut command = git(place);
    command.args(["rev-parse", "--show-toplevel"]);
    let output = run(&mut command, "rev-parse", place).map_err(|error| match error {
        BuildError::Git { place, .. } => BuildError::NoRepository { path: place },
        other => other,
    })?;
    let root = PathBuf::from(text(&output.stdout));
    root.canonicalize().map_err(BuildError::file("use", &root))
}

/// Applies a patch at the root of a tree with `git apply`, or else with `patch`, at `-p1` or `-p0`.
///
/// # Errors
/// The patch does not apply, or leaves the tree.
pub fn apply_patch(tree: &Path, patch: &Path) -> Result<(), BuildError> {
    let patch = (patch.canonicalize()).map_err(BuildError::file("read", patch))?;
    let mut said = Vec::new();
    for strip in ["-p1", "-p0"] {
        let mut apply = git(tree);
        // The tree may lie inside another repository, whose index must not be used.
        apply
            .env("GIT_DIR", "/nonexistent")
            .env("GIT_CEILING_DIRECTORIES", "/");
        apply.args(["apply", "--whitespace=nowarn", strip]);
        match output(apply.arg(&patch)) {
            Ok(done) if done.status.success() => return Ok(()),
            Ok(done) => said.push(text(&done.stderr)),
            Err(BuildError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        // `patch` accepts moved lines.
        let mut fuzzy = Command::new("patch");
        fuzzy
            .current_dir(tree)
            .args(["--batch", "--forward", "--silent"]);
        fuzzy.args([strip, "--dry-run", "-i"]).arg(&patch);
        if output(&mut fuzzy).is_ok_and(|done| done.status.success()) {
            let mut real = Command::new("patch");
            real.current_dir(tree)
                .args(["--batch", "--forward", "--silent"]);
            real.args(["--no-backup-if-mismatch", strip, "-i"])
                .arg(&patch);
            if output(&mut real)?.status.success() {
                return Ok(());
            }
        }
    }
    Err(BuildError::Patch {
        patch,
        message: said.into_iter().next().unwrap_or_default(),
    })
}

/// git without the hooks of the repository and without prompts.
pub(crate) fn git(place: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(place);
    command.args([
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "advice.detachedHead=false",
    ]);
    command.env("GIT_TERMINAL_PROMPT", "0");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn run(command: &mut Command, action: &str, place: &Path) -> Result<Output, BuildError> {
    let done = output(command)?;
    if done.status.success() {
        return Ok(done);
    }
    Err(BuildError::Git {
        action: action.to_owned(),
        place: place.to_owned(),
        message: text(&done.stderr),
    })
}

fn output(command: &mut Command) -> Result<Output, BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    command.output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => BuildError::Missing {
            package: program.clone(),
            program,
        },
        _ => BuildError::File {
            what: "run",
            path: program.into(),
            source,
        },
    })
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository(place: &Path) {
        let commands = "git init -q . && git config user.email a@b && git config user.name n && \
             mkdir sub && echo one > sub/f && git add . && git commit -qm one && git tag first && \
             echo two > sub/f && git commit -qam two && git branch old first";
        let done = Command::new("sh")
            .current_dir(place)
            .args(["-c", commands])
            .status();
        assert!(done.expect("sh").success());
    }

    #[test]
    fn checkout_of_a_revision_leaves_the_repository_unchanged() {
        let place = tempfile::tempdir().expect("a directory");
        let from = place.path().join("repo");
        fs::create_dir(&from).expect("made");
        repository(&from);
        let before = crate::TreeState::of(&from);
        for (number, reference) in ["first", "old", "HEAD~1"].into_iter().enumerate() {
            let to = place.path().join(format!("to{number}"));
            let below = checkout(&from.join("sub"), reference, &to).expect("checked out");
            assert_eq!(below, Path::new("sub"));
            assert_eq!(
                fs::read_to_string(to.join("sub/f")).expect("there"),
                "one\n"
            );
        }
        assert_eq!(before.changed(&from), None);
        let error = checkout(&from, "--upload-pack=x", &place.path().join("n")).unwrap_err();
        assert!(error.to_string().contains("unknown revision"), "{error}");
        assert!(matches!(
            checkout(place.path(), "HEAD", &place.path().join("n")),
            Err(BuildError::NoRepository { .. })
        ));
    }

    #[test]
    fn patches_with_and_without_prefix_are_applied_and_others_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let tree = place.path().join("tree");
        fs::create_dir(&tree).expect("made");
        let patch = place.path().join("fix.diff");
        for (head, strip) in [("--- a/f\n+++ b/f\n", 1), ("--- f\n+++ f\n", 0)] {
            fs::write(tree.join("f"), "one\n").expect("written");
            fs::write(&patch, format!("{head}@@ -1 +1 @@\n-one\n+two\n")).expect("written");
            apply_patch(&tree, &patch).unwrap_or_else(|error| panic!("-p{strip}: {error}"));
            assert_eq!(fs::read_to_string(tree.join("f")).expect("there"), "two\n");
        }
        let error = apply_patch(&tree, &patch).unwrap_err();
        assert!(error.to_string().contains("cannot be applied"), "{error}");
    }
}
