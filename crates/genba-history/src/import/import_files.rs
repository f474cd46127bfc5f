//! Finds and reads the files that are imported.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{Recording, recording_of_text};

use super::{ImportError, Imported, MAX_BYTES, criterion, parse};

/// Most files of a directory.
const MAX_FILES: usize = 100_000;
/// Deepest directory that is searched.
const MAX_DEPTH: usize = 12;

/// The files that a path means: itself, or Criterion's `new/sample.json` below a directory, in the
/// order of their paths.
#[must_use]
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    match path.is_dir() {
        true => add_samples(path, MAX_DEPTH, &mut found),
        false => found.push(path.to_owned()),
    }
    found
}

fn add_samples(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if found.len() == MAX_FILES {
            return;
        }
        if path.ends_with("new/sample.json") {
            found.push(path);
        } else if depth > 0 && path.is_dir() && !path.is_symlink() {
            add_samples(&path, depth - 1, found);
        }
    }
}

/// What a file contains.
#[derive(Clone, Debug, PartialEq)]
pub enum FileContent {
    /// A recording of genba's that could not be stored.
    Recording(Box<Recording>),
    /// Results of another program, and the file's bytes.
    Results(Imported, Vec<u8>),
}

/// What a file contains.
///
/// # Errors
/// The file cannot be read, has none of the formats, or no results.
pub fn read_file(path: &Path) -> Result<FileContent, ImportError> {
    let bytes = bytes_of(path).map_err(|error| ImportError::Unreadable(error.to_string()))?;
    if let Some(recording) = recording_of_text(&bytes) {
        return Ok(FileContent::Recording(Box::new(recording)));
    }
    let imported = parse(&bytes, &criterion_name(path))?;
    Ok(FileContent::Results(imported, bytes))
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The benchmark's name of a Criterion file: from `benchmark.json` beside it, else the directory.
fn criterion_name(path: &Path) -> String {
    let named = bytes_of(&path.with_file_name("benchmark.json"))
        .ok()
        .and_then(|bytes| criterion::benchmark_name(&bytes));
    let folder = path.ancestors().nth(2).and_then(Path::file_name);
    named.unwrap_or_else(|| folder.unwrap_or_default().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criterions_samples_of_a_directory_have_their_benchmarks_names() {
        let place = tempfile::tempdir().expect("a directory");
        let sample = r#"{"iters":[1.0,2.0],"times":[5.0,10.0]}"#;
        for (name, part, text) in [
            ("b", "new/sample.json", sample),
            ("b", "base/sample.json", sample),
            ("a", "new/sample.json", sample),
            ("a", "new/benchmark.json", r#"{"full_id":"group/a"}"#),
        ] {
            let path = place.path().join(name).join(part);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let names: Vec<String> = (files_of(place.path()).iter())
            .map(|path| match read_file(path).expect("read") {
                FileContent::Results(imported, _) => imported.benchmarks[0].name.clone(),
                FileContent::Recording(other) => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["group/a", "b"], "the last result alone, in order");
        let missing = place.path().join("none.json");
        assert_eq!(files_of(&missing), std::slice::from_ref(&missing));
        assert!(matches!(
            read_file(&missing),
            Err(ImportError::Unreadable(_))
        ));
    }
}
