//! The directory of a campaign: plans, builds, blocks, submissions. It may be shared by machines.
//!
//! Nothing in it is ever changed: a file appears complete, under a name that follows from its content's
//! key, and the first one to appear stays. So any number of workers may make the same block, on any
//! machine, killed at any moment, and it is there once. That holds on network file systems too, where
//! locks of databases do not: a hard link is made or is not.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::CampaignError;
use crate::campaign_plan::ResolvedPlan;
use crate::content_key::content_key;
use crate::stored_results::{BlockResult, BuildResult};

/// Bytes of a stored file at most.
const MAX_STORED_BYTES: u64 = 256 << 20;

/// The directory of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignDirectory {
    path: PathBuf,
}

impl CampaignDirectory {
    /// The directory at this path, made if it is not there.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn at(path: &Path) -> Result<Self, CampaignError> {
        for name in ["plans", "builds", "blocks", "submissions", "logs", "new"] {
            let part = path.join(name);
            fs::create_dir_all(&part).map_err(CampaignError::file("make the directory", &part))?;
        }
        let path = path
            .canonicalize()
            .map_err(CampaignError::file("use", path))?;
        Ok(Self { path })
    }

    /// Its path, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock of the one genba that schedules; it is free again when the file is dropped.
    ///
    /// # Errors
    /// Another one has it.
    pub fn lock(&self) -> Result<File, CampaignError> {
        let path = self.path.join("scheduler.lock");
        let file = File::create(&path).map_err(CampaignError::file("write", &path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            CampaignError::Busy {
                path: self.path.clone(),
            }
        })?;
        Ok(file)
    }

    /// Stores a plan; returns its key.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn put_plan(&self, plan: &ResolvedPlan) -> Result<String, CampaignError> {
        let key = content_key(plan);
        self.put(&self.plan_path(&key), plan)?;
        Ok(key)
    }

    /// The plan with this key.
    ///
    /// # Errors
    /// It is not there, or damaged.
    pub fn plan(&self, key: &str) -> Result<ResolvedPlan, CampaignError> {
        read(&self.plan_path(key))
    }

    fn plan_path(&self, key: &str) -> PathBuf {
        self.path.join("plans").join(format!("{key}.json"))
    }

    /// Keys of all stored blocks, also of earlier plans.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn block_keys(&self) -> Result<BTreeSet<String>, CampaignError> {
        let path = self.path.join("blocks");
        let entries = fs::read_dir(&path).map_err(CampaignError::file("read", &path))?;
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        Ok((entries.flatten().filter_map(name))
            .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
            .collect())
    }

    fn block_path(&self, key: &str) -> PathBuf {
        self.path.join("blocks").join(format!("{key}.json"))
    }

    /// The result of a block.
    ///
    /// # Errors
    /// It is not there, or damaged.
    pub fn block(&self, key: &str) -> Result<BlockResult, CampaignError> {
        read(&self.block_path(key))
    }

    /// Whether a block is stored.
    #[must_use]
    pub fn has_block(&self, key: &str) -> bool {
        self.block_path(key).exists()
    }

    /// Stores the result of a block, unless there is one; returns whether it was stored.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn put_block(&self, result: &BlockResult) -> Result<bool, CampaignError> {
        self.put(&self.block_path(&result.key), result)
    }

    /// The directory of the attempts at a build.
    #[must_use]
    pub fn build_path(&self, key: &str) -> PathBuf {
        self.path.join("builds").join(key)
    }

    /// The result of a build; `None` if there is none.
    ///
    /// # Errors
    /// It is damaged.
    pub fn build(&self, key: &str) -> Result<Option<BuildResult>, CampaignError> {
        let path = self.build_path(key).join("built.json");
        match path.exists() {
            true => read(&path).map(Some),
            false => Ok(None),
        }
    }

    /// Stores the result of a build, unless there is one; returns whether it was stored.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn put_build(&self, result: &BuildResult) -> Result<bool, CampaignError> {
        self.put(&self.build_path(&result.key).join("built.json"), result)
    }

    /// Forgets the results of these builds and blocks, so that they are made again.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn forget<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Result<(), CampaignError> {
        for key in keys {
            let paths = [
                self.block_path(key),
                self.build_path(key).join("built.json"),
            ];
            for path in paths.iter().filter(|path| path.exists()) {
                fs::remove_file(path).map_err(CampaignError::file("remove", path))?;
            }
        }
        Ok(())
    }

    /// Writes a file that appears complete or not at all, unless it is there; returns whether it was
    /// written.
    fn put(&self, path: &Path, content: &impl Serialize) -> Result<bool, CampaignError> {
        if path.exists() {
            return Ok(false);
        }
        let place = self.path.join("new");
        let mut file = tempfile::NamedTempFile::new_in(&place)
            .map_err(CampaignError::file("write in", &place))?;
        let text = serde_json::to_vec(content).map_err(|error| CampaignError::File {
            what: "write",
            path: path.to_owned(),
            source: error.into(),
        })?;
        (file
            .write_all(&text)
            .and_then(|()| file.as_file().sync_all()))
        .map_err(CampaignError::file("write", path))?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(CampaignError::file("write", path)(error.error)),
        }
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    use std::io::Read as _;
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_STORED_BYTES).read_to_end(&mut text))
        .map_err(CampaignError::file("read", path))?;
    serde_json::from_slice(&text).map_err(|error| CampaignError::Damaged {
        path: path.to_owned(),
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_plans::block_result;

    #[test]
    fn first_result_of_a_block_stays() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = CampaignDirectory::at(&place.path().join("c")).expect("made");
        assert!(
            directory
                .put_block(&block_result("k", "one"))
                .expect("stored")
        );
        assert!(
            !directory
                .put_block(&block_result("k", "two"))
                .expect("refused")
        );
        assert_eq!(directory.block("k").expect("there").node, "one");
        assert_eq!(directory.block_keys().expect("read").len(), 1);
        directory.forget(["k"]).expect("removed");
        assert!(!directory.has_block("k"));
    }

    #[test]
    fn many_writers_of_one_block_store_it_once() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = CampaignDirectory::at(place.path()).expect("made");
        let stored: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..16)
                .map(|number| {
                    let directory = directory.clone();
                    scope.spawn(move || {
                        let result = block_result("k", &number.to_string());
                        usize::from(directory.put_block(&result).expect("stored or refused"))
                    })
                })
                .collect();
            writers
                .into_iter()
                .map(|writer| writer.join().expect("ended"))
                .sum()
        });
        assert_eq!(stored, 1);
    }

    #[test]
    fn second_scheduler_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = CampaignDirectory::at(place.path()).expect("made");
        let held = directory.lock().expect("free");
        assert!(matches!(directory.lock(), Err(CampaignError::Busy { .. })));
        drop(held);
        directory.lock().expect("free again");
    }

    #[test]
    fn damaged_result_is_an_error_that_names_the_file() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = CampaignDirectory::at(place.path()).expect("made");
        fs::write(place.path().join("blocks/k.json"), "{").expect("written");
        let error = directory.block("k").unwrap_err().to_string();
        assert!(error.contains("blocks/k.json"), "{error}");
    }
}
