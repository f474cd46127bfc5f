//! Saving raw counts to a file and reading them: one JSON document of the kind `raw-counts`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use genba_model::{RawCounts, SCHEMA};
use serde::{Deserialize, Serialize};

/// Largest file that is read, bytes: some ten million instructions.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

const KIND: &str = "raw-counts";

/// The document. The counts are a field of their own: if they were flattened, serde would read them
/// into a tree of values several times as large as the file.
#[derive(Serialize, Deserialize)]
struct Envelope<C> {
    schema: String,
    kind: String,
    counts: C,
}

/// Why saved counts cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// `read` or `write`.
        verb: &'static str,
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is something else, or damaged.
    #[error("{} holds no counts: {reason}; `genba count -o FILE -- COMMAND` makes such a file", path.display())]
    NoCounts {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads saved counts.
///
/// # Errors
/// If the file cannot be read, is larger than [`MAX_FILE_BYTES`], or is something else.
pub fn read(path: &Path) -> Result<RawCounts, FileError> {
    let no_counts = |reason: String| FileError::NoCounts {
        path: path.to_owned(),
        reason,
    };
    let file = File::open(path).map_err(|source| FileError::Io {
        verb: "read",
        path: path.to_owned(),
        source,
    })?;
    let mut limited = BufReader::new(file).take(MAX_FILE_BYTES + 1);
    let document: Envelope<RawCounts> = match serde_json::from_reader(&mut limited) {
        Ok(document) => document,
        Err(_) if limited.limit() == 0 => {
            return Err(no_counts(format!("it is over {} MB", MAX_FILE_BYTES >> 20)));
        }
        Err(error) => return Err(no_counts(error.to_string())),
    };
    if document.schema != SCHEMA || document.kind != KIND {
        return Err(no_counts(format!(
            "it is a {} of {}",
            document.kind, document.schema
        )));
    }
    Ok(document.counts)
}

/// Saves counts to a temporary file and renames it, so that a partial file is never found.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, counts: &RawCounts) -> Result<(), FileError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let beside = PathBuf::from(name);
    let written = File::create(&beside).and_then(|file| {
        let mut out = BufWriter::new(file);
        let envelope = Envelope {
            schema: SCHEMA.to_owned(),
            kind: KIND.to_owned(),
            counts,
        };
        serde_json::to_writer(&mut out, &envelope)?;
        out.write_all(b"\n")?;
        out.into_inner()?.sync_data()
    });
    written
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| {
            // Nobody needs the temporary file.
            let _ = std::fs::remove_file(&beside);
            FileError::Io {
                verb: "write",
                path: path.to_owned(),
                source,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::{CountEngine, CountedModule, ProcessCounts};

    fn counts() -> RawCounts {
        RawCounts {
            engine: CountEngine {
                name: "test".to_owned(),
                version: "1".to_owned(),
                gaps: vec!["none".to_owned()],
            },
            command: vec!["true".to_owned()],
            cpu_seconds: 0.5,
            wall_seconds: 0.6,
            exit: 0,
            transfers: false,
            transfers_within: Vec::new(),
            processes: vec![ProcessCounts {
                pid: 1,
                command: Vec::new(),
                cut_short: None,
                modules: vec![CountedModule {
                    path: "/bin/true".to_owned(),
                    build_id: None,
                    instructions: vec![(0x10, u64::MAX).into()],
                }],
                transfers: Vec::new(),
                notes: Vec::new(),
                generated: Vec::new(),
                observation: None,
            }],
            notes: Vec::new(),
        }
    }

    #[test]
    fn saved_counts_are_read_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("counts.json");
        write(&path, &counts()).expect("written");
        assert_eq!(read(&path).expect("read"), counts());
        let files = std::fs::read_dir(directory.path()).expect("a directory");
        assert_eq!(files.count(), 1, "nothing beside it");
    }

    #[test]
    fn other_and_truncated_files_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("counts.json");
        write(&path, &counts()).expect("written");
        let whole = std::fs::read(&path).expect("read");
        for cut in 0..whole.len() - 1 {
            std::fs::write(&path, &whole[..cut]).expect("written");
            assert!(matches!(read(&path), Err(FileError::NoCounts { .. })));
        }
        let other = String::from_utf8(whole)
            .expect("text")
            .replace(KIND, "profile");
        std::fs::write(&path, other).expect("written");
        let error = read(&path).expect_err("another kind").to_string();
        assert!(error.contains("profile"), "{error}");
    }
}
