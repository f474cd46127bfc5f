//! How much may be kept beside one recording, whatever its targets generate.

use std::path::Path;

/// What may be kept beside a recording, all of its runs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Bytes of all files.
    pub bytes: u64,
    /// Files.
    pub files: usize,
}

impl ArtifactLimits {
    /// A JIT that compiles every method of a large program into a library of its own stays far
    /// below.
    pub const USUAL: Self = Self {
        bytes: 512 << 20,
        files: 8192,
    };
}

/// What is left of it.
#[derive(Debug)]
pub struct ArtifactBudget {
    limits: ArtifactLimits,
    bytes: u64,
    files: usize,
    refused: u64,
}

impl ArtifactBudget {
    /// The room in a directory, which may hold what earlier runs of the same recording left.
    pub fn of(directory: &Path, limits: ArtifactLimits) -> Self {
        let mut budget = Self {
            limits,
            bytes: limits.bytes,
            files: limits.files,
            refused: 0,
        };
        let there = std::fs::read_dir(directory).into_iter().flatten().flatten();
        for size in there.filter_map(|entry| Some(entry.metadata().ok()?.len())) {
            budget.bytes = budget.bytes.saturating_sub(size);
            budget.files = budget.files.saturating_sub(1);
        }
        budget
    }

    /// Whether a file may be read at all, and how much of it: what is cut short is never kept.
    pub fn bytes(&self) -> u64 {
        if self.files == 0 { 0 } else { self.bytes }
    }

    /// Takes room for a file; refused, it is counted.
    pub fn take(&mut self, size: u64) -> bool {
        if self.files == 0 || size > self.bytes {
            self.refused += 1;
            return false;
        }
        self.files -= 1;
        self.bytes -= size;
        true
    }

    /// What must be said if something found no room.
    pub fn remark(&self, directory: &Path) -> Option<String> {
        (self.refused > 0).then(|| {
            format!(
                "{} files of generated code were not kept: {} holds at most {} files and {} MiB \
                 of them; what is not there has no names and no annotation later",
                self.refused,
                directory.display(),
                self.limits.files,
                self.limits.bytes >> 20
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: ArtifactLimits = ArtifactLimits {
        bytes: 2 << 20,
        files: 3,
    };

    #[test]
    fn bytes_and_files_are_bounded_over_all_runs_and_it_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let mut budget = ArtifactBudget::of(directory.path(), SMALL);
        assert!(budget.take(1 << 20));
        assert_eq!(budget.remark(directory.path()), None);
        assert!(!budget.take(2 << 20), "more bytes than are left");
        assert!(budget.take(0) && budget.take(5));
        assert!(!budget.take(1), "more files than there may be");
        assert_eq!(budget.bytes(), 0);
        let said = budget.remark(directory.path()).unwrap();
        assert!(
            said.starts_with("2 files") && said.contains("3 files and 2 MiB"),
            "{said}"
        );

        // The next run of the same recording begins with what this one left.
        std::fs::write(directory.path().join("files"), "").unwrap();
        std::fs::write(directory.path().join("jit-1.so"), vec![0; 2 << 20]).unwrap();
        let mut next = ArtifactBudget::of(directory.path(), SMALL);
        assert!(!next.take(1) && next.take(0) && !next.take(0));
    }

    #[test]
    fn a_directory_that_is_not_there_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let budget = ArtifactBudget::of(&directory.path().join("none"), SMALL);
        assert_eq!(budget.bytes(), SMALL.bytes);
    }
}
