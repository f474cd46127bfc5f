//! Limits on the artifacts saved with one recording, whatever its targets generate.

use std::path::Path;

/// Limits on the artifacts of all runs of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Bytes of all files.
    pub bytes: u64,
    /// Number of files.
    pub files: usize,
}

impl ArtifactLimits {
    /// The default: far more than a JIT needs that compiles every method of a large program into a
    /// library of its own.
    pub const DEFAULT: Self = Self {
        bytes: 512 << 20,
        files: 8192,
    };
}

/// What may still be saved within the limits.
#[derive(Debug)]
pub struct ArtifactBudget {
    limits: ArtifactLimits,
    bytes: u64,
    files: usize,
    refused: u64,
}

impl ArtifactBudget {
    /// The budget for a directory, which may contain artifacts of earlier runs of the recording.
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

    /// Bytes that may still be saved; 0 if no more files may. Truncated files are never saved.
    pub fn bytes(&self) -> u64 {
        if self.files == 0 { 0 } else { self.bytes }
    }

    /// Accounts for a file of this size. Returns false, and counts the refusal, if it does not fit.
    pub fn take(&mut self, size: u64) -> bool {
        if self.files == 0 || size > self.bytes {
            self.refused += 1;
            return false;
        }
        self.files -= 1;
        self.bytes -= size;
        true
    }

    /// A note for the user if files were refused.
    pub fn note(&self, directory: &Path) -> Option<String> {
        (self.refused > 0).then(|| {
            format!(
                "{} files of generated code were not saved: {} may have {} files and {} MiB at most. \
                 Code in them has no names and cannot be annotated.",
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
    fn bytes_and_files_are_bounded_over_all_runs_with_a_note() {
        let directory = tempfile::tempdir().unwrap();
        let mut budget = ArtifactBudget::of(directory.path(), SMALL);
        assert!(budget.take(1 << 20));
        assert_eq!(budget.note(directory.path()), None);
        assert!(!budget.take(2 << 20), "more bytes than are left");
        assert!(budget.take(0) && budget.take(5));
        assert!(!budget.take(1), "more files than there may be");
        assert_eq!(budget.bytes(), 0);
        let note = budget.note(directory.path()).unwrap();
        assert!(
            note.starts_with("2 files") && note.contains("3 files and 2 MiB"),
            "{note}"
        );

        // The next run of the same recording begins with what this one left.
        std::fs::write(directory.path().join("files"), "").unwrap();
        std::fs::write(directory.path().join("jit-1.so"), vec![0; 2 << 20]).unwrap();
        let mut next = ArtifactBudget::of(directory.path(), SMALL);
        assert!(!next.take(1) && next.take(0) && !next.take(0));
    }

    #[test]
    fn missing_directory_uses_no_budget() {
        let directory = tempfile::tempdir().unwrap();
        let budget = ArtifactBudget::of(&directory.path().join("none"), SMALL);
        assert_eq!(budget.bytes(), SMALL.bytes);
    }
}
