//! Built checkouts that are kept for the next time, by commit and build recipe.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::BuildError;
use crate::git_checkout::{checkout, rev_parse, root};
use crate::remove_tree::remove_tree;

/// Built checkouts that are kept; the least recently used ones are removed.
const MAX_CHECKOUTS: usize = 8;

/// A built checkout. It is not removed by others as long as this lives.
#[derive(Debug)]
pub struct CachedCheckout {
    /// The directory in it that corresponds to the one that was asked from.
    pub path: PathBuf,
    /// Full hash of its commit.
    pub commit: String,
    /// Whether it was built before.
    pub cached: bool,
    _lock: File,
}

/// The checkout of `reference` of the repository around `from` in the directory `cache`, built by
/// `build` if it is not built yet. Others that want the same one wait.
///
/// # Errors
/// No such revision, the cache cannot be written to, or `build` fails: then nothing is kept.
pub fn cached_checkout<E: From<BuildError>>(
    cache: &Path,
    from: &Path,
    reference: &str,
    recipe: &str,
    build: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<CachedCheckout, E> {
    let commit = rev_parse(from, reference)?;
    let repository = root(from)?;
    let key = format!(
        "{commit}-{:016x}",
        hash(&[&repository.to_string_lossy(), recipe])
    );
    fs::create_dir_all(cache).map_err(BuildError::file("make", cache))?;
    let lock_path = cache.join(format!("{key}.lock"));
    let lock = File::create(&lock_path).map_err(BuildError::file("write", &lock_path))?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|error| BuildError::file("lock", &lock_path)(error.into()))?;
    let tree = cache.join(&key);
    let complete = cache.join(format!("{key}.complete"));
    let below = (from.canonicalize().ok())
        .and_then(|from| Some(from.strip_prefix(&repository).ok()?.to_owned()))
        .unwrap_or_default();
    let path = tree.join(&below);
    let cached = complete.exists();
    if !cached {
        remove_tree(&tree).map_err(BuildError::file("remove", &tree))?;
        checkout(from, &commit, &tree)?;
        if let Err(error) = build(&path) {
            let _ = remove_tree(&tree);
            let _ = fs::remove_file(&lock_path);
            return Err(error);
        }
    }
    // Its time says when it was used last.
    fs::write(&complete, recipe).map_err(BuildError::file("write", &complete))?;
    remove_oldest(cache, &key);
    Ok(CachedCheckout {
        path,
        commit,
        cached,
        _lock: lock,
    })
}

/// Removes what was not used for longest, but nothing that another process has locked.
fn remove_oldest(cache: &Path, own: &str) {
    let Ok(entries) = fs::read_dir(cache) else {
        return;
    };
    let mut all: Vec<_> = (entries.flatten())
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let key = name.strip_suffix(".complete")?.to_owned();
            Some((entry.metadata().ok()?.modified().ok()?, key))
        })
        .filter(|(_, key)| key != own)
        .collect();
    all.sort();
    let surplus = (all.len() + 1).saturating_sub(MAX_CHECKOUTS);
    for (_, key) in all.into_iter().take(surplus) {
        let lock_path = cache.join(format!("{key}.lock"));
        let Ok(lock) = File::create(&lock_path) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(cache.join(format!("{key}.complete")));
            let _ = remove_tree(&cache.join(&key));
            let _ = fs::remove_file(lock_path);
        }
    }
}

/// FNV-1a over texts, each ended by a byte that none contains.
fn hash(texts: &[&str]) -> u64 {
    (texts.iter())
        .flat_map(|text| text.bytes().chain([0xff]))
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_built_once_for_a_commit_and_recipe() {
        let place = tempfile::tempdir().expect("a directory");
        if !genba_testing::has("a_checkout_is_built_once_for_a_commit_and_recipe", "git") {
            return;
        }
        let repository = place.path().join("repo");
        let script = "git init -q repo && cd repo && git config user.email a@b && git config user.name n && \
            mkdir sub && echo 1 > sub/f && git add . && git commit -qm one && git tag one && \
            echo 2 > sub/f && git commit -qam two";
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(place.path()).args(["-c", script]);
        assert!(shell.status().expect("sh").success());
        let cache = place.path().join("cache");
        let make = |reference: &str, recipe: &str, fails: bool| {
            cached_checkout(&cache, &repository.join("sub"), reference, recipe, |path| {
                fs::write(path.join("built"), recipe).expect("written");
                match fails {
                    true => Err(BuildError::NoTree {
                        path: path.to_owned(),
                    }),
                    false => Ok(()),
                }
            })
        };
        assert!(make("one", "make", true).is_err());
        let first = make("one", "make", false).expect("built");
        assert!(!first.cached);
        assert_eq!(
            fs::read_to_string(first.path.join("f")).expect("there"),
            "1\n"
        );
        let path = first.path.clone();
        drop(first);
        let again = make("HEAD~1", "make", false).expect("cached");
        assert!(again.cached && again.path == path);
        assert!(!make("one", "make -O3", false).expect("built").cached);
        assert!(!make("HEAD", "make", false).expect("built").cached);
        for number in 0..12 {
            make("HEAD", &format!("recipe {number}"), false).expect("built");
        }
        let kept = fs::read_dir(&cache).expect("read").flatten();
        let kept = kept.filter(|one| one.path().is_dir()).count();
        // The first is still in use.
        assert!(
            (MAX_CHECKOUTS..=MAX_CHECKOUTS + 1).contains(&kept),
            "{kept}"
        );
        assert!(again.path.exists());
    }
}
