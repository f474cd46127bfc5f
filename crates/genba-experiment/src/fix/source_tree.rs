//! The C and C++ files of a source tree, and where a file that debug information names lies among them.

use std::fs;
use std::path::{Path, PathBuf};

use genba_fix::{Dialect, SourceFile, Sources};

/// Most files of a tree that are read.
const MAX_FILES: usize = 20_000;
/// Most bytes of a tree that are read.
const MAX_BYTES: u64 = 256 << 20;
/// Deepest directory that is looked into.
const MAX_DEPTH: usize = 16;

/// A source tree.
pub struct SourceTree {
    /// Its root.
    pub root: PathBuf,
    /// Its C and C++ files.
    pub sources: Sources,
    /// Index of the file that was asked for.
    pub file: usize,
}

impl SourceTree {
    /// Reads the C and C++ files of a tree that holds `recorded`, the path of a file in debug
    /// information. A file whose path has changed is found by the end of its path, if only one fits.
    ///
    /// # Errors
    /// The file is not in the tree, or is not C or C++; the reason is a clause.
    pub fn read(root: &Path, recorded: &str) -> Result<Self, String> {
        let shown = root.display();
        let main = Dialect::of_name(recorded, Dialect::C)
            .ok_or_else(|| format!("{recorded} is not C or C++"))?;
        let root = root
            .canonicalize()
            .map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let mut names = Vec::new();
        collect(&root, Path::new(""), 0, &mut names);
        let wanted = locate(&root, recorded, &names).ok_or_else(|| {
            format!("{recorded} is not in the source tree {shown}; give --source")
        })?;
        // A header's language is that of the program.
        let any_cpp = names.iter().any(|name| {
            name.rsplit_once('.')
                .is_some_and(|(_, end)| end != "c" && end != "h")
        });
        let headers = match (main, recorded.ends_with(".h") && any_cpp) {
            (_, true) => Dialect::Cpp,
            (main, false) => main,
        };
        let mut files = Vec::new();
        let mut file = None;
        let mut bytes = 0;
        for name in names {
            let Some(dialect) = Dialect::of_name(&name, headers) else {
                continue;
            };
            let path = root.join(&name);
            bytes += fs::metadata(&path).map_or(0, |about| about.len());
            if bytes > MAX_BYTES && name != wanted {
                continue;
            }
            let text = fs::read(&path).map_err(|error| error.to_string());
            match text.and_then(|text| SourceFile::new(&name, text, dialect)) {
                Ok(one) => {
                    if name == wanted {
                        file = Some(files.len());
                    }
                    files.push(one);
                }
                Err(reason) if name == wanted => return Err(reason),
                Err(_) => {}
            }
        }
        let file = file.ok_or_else(|| format!("{wanted} cannot be read"))?;
        Ok(Self {
            root,
            sources: Sources { files },
            file,
        })
    }

    /// Index of the file that debug information names, if it is in the tree.
    #[must_use]
    pub fn find(&self, recorded: &str) -> Option<usize> {
        let names: Vec<String> = self
            .sources
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        let name = locate(&self.root, recorded, &names)?;
        names.iter().position(|one| *one == name)
    }
}

/// Relative paths of the C and C++ files below a directory, in order; hidden directories are skipped.
fn collect(root: &Path, below: &Path, depth: usize, names: &mut Vec<String>) {
    let Ok(list) = fs::read_dir(root.join(below)) else {
        return;
    };
    let mut entries: Vec<_> = list.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        if names.len() >= MAX_FILES || name.starts_with('.') {
            continue;
        }
        let path = below.join(&name);
        if kind.is_dir() && depth < MAX_DEPTH {
            collect(root, &path, depth + 1, names);
        } else if kind.is_file()
            && Dialect::of_name(&name, Dialect::C).is_some()
            && let Some(path) = path.to_str()
        {
            names.push(path.to_owned());
        }
    }
}

/// The name among `names` (relative to `root`) of a recorded path.
fn locate(root: &Path, recorded: &str, names: &[String]) -> Option<String> {
    let path = Path::new(recorded);
    let inside = path.canonicalize().ok();
    let inside = inside
        .as_deref()
        .and_then(|path| path.strip_prefix(root).ok());
    if let Some(name) = inside.and_then(Path::to_str)
        && names.iter().any(|one| one == name)
    {
        return Some(name.to_owned());
    }
    // The longest common end, if it is that of one file only.
    let common = |name: &str| {
        let ends = Path::new(name).components().rev();
        ends.zip(path.components().rev())
            .take_while(|(one, two)| one == two)
            .count()
    };
    let longest = names
        .iter()
        .map(|name| common(name))
        .max()
        .filter(|most| *most > 0)?;
    let best: Vec<&String> = (names.iter())
        .filter(|name| common(name) == longest)
        .collect();
    // Of several, the one whose whole path is the end of the recorded one.
    let whole = |name: &&&String| Path::new(name.as_str()).components().count() == longest;
    let mut wholes = best.iter().filter(whole);
    match (&best[..], wholes.next(), wholes.next()) {
        ([only], ..) => Some((*only).clone()),
        (_, Some(one), None) => Some((*one).clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_file_is_found_by_the_end_of_its_path_if_only_one_fits() {
        let names = ["src/a.c", "lib/a.c", "b.c"].map(str::to_owned);
        let find = |recorded: &str| locate(Path::new("/nowhere"), recorded, &names);
        assert_eq!(find("/build/x/src/a.c").as_deref(), Some("src/a.c"));
        assert_eq!(find("/build/x/b.c").as_deref(), Some("b.c"));
        assert_eq!(find("/build/x/a.c"), None);
        let names = ["a.c", "old/a.c"].map(str::to_owned);
        let found = locate(Path::new("/nowhere"), "/build/x/a.c", &names);
        assert_eq!(found.as_deref(), Some("a.c"), "its whole path is the end");
        assert_eq!(find("/build/x/c.c"), None);
    }
}
