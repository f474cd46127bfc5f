//! Comparison of the programs of two builds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};

use object::elf::{ET_DYN, ET_EXEC};
use object::{Object, ObjectKind, ObjectSection, SectionFlags};

/// Size of a program that is compared at most, bytes.
const MAX_PROGRAM_BYTES: u64 = 1 << 30;
/// Number of files that are searched at most.
const MAX_FILES: usize = 200_000;

/// Whether two trees contain the same programs and shared libraries: everything that is loaded is
/// identical, so that no measurement can distinguish them. `false` if there are none, or if one
/// cannot be read.
#[must_use]
pub fn same_code(one: &Path, two: &Path) -> bool {
    match (programs(one), programs(two)) {
        (Some(one), Some(two)) => !one.is_empty() && one == two,
        _ => false,
    }
}

fn programs(tree: &Path) -> Option<BTreeMap<PathBuf, u64>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![tree.to_owned()];
    let mut seen = 0;
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).ok()?.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() {
                pending.push(path);
                continue;
            }
            seen += 1;
            if seen > MAX_FILES {
                return None;
            }
            if kind.is_file() && is_program(&path) {
                let hash = loaded(&path)?;
                found.insert(path.strip_prefix(tree).ok()?.to_owned(), hash);
            }
        }
    }
    Some(found)
}

/// Whether a file is an executable or a shared library; object files are not.
fn is_program(path: &Path) -> bool {
    let mut head = [0; 18];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let kind = u16::from_le_bytes([head[16], head[17]]);
    read.is_ok() && head.starts_with(b"\x7fELF") && (kind == ET_EXEC.0 || kind == ET_DYN.0)
}

/// Hash of the loaded sections; `None` if the file cannot be read.
fn loaded(path: &Path) -> Option<u64> {
    if fs::metadata(path).ok()?.len() > MAX_PROGRAM_BYTES {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        return None;
    }
    let mut hasher = twox_hash::XxHash3_64::with_seed(0);
    hasher.write_u64(file.entry());
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            return None;
        };
        let name = section.name_bytes().ok()?;
        // The build id does not change the program.
        if sh_flags.0 & object::elf::SHF_ALLOC.0 == 0 || name == b".note.gnu.build-id" {
            continue;
        }
        hasher.write(name);
        hasher.write_u64(section.address());
        hasher.write_u64(section.size());
        hasher.write(section.data().ok()?);
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn build(tree: &Path, source: &str, flags: &[&str]) -> bool {
        fs::create_dir_all(tree).expect("made");
        fs::write(tree.join("a.c"), source).expect("written");
        let mut gcc = Command::new("gcc");
        gcc.current_dir(tree).args(["a.c", "-o", "a"]).args(flags);
        gcc.status().is_ok_and(|status| status.success())
    }

    #[test]
    fn same_code_ignores_debug_information_and_build_id() {
        let place = tempfile::tempdir().expect("a directory");
        let tree = |name: &str| place.path().join(name);
        let source = "int main(int n, char **v) { return n * 3 / 7; }";
        if !build(&tree("one"), source, &["-O2"]) {
            genba_testing::skip(
                "same_code_ignores_debug_information_and_build_id",
                "gcc",
                "gcc cannot be run",
            );
            return;
        }
        // Debug information changes nothing that is loaded but the build id.
        assert!(build(&tree("two"), source, &["-O2", "-g"]));
        assert!(build(&tree("three"), source, &["-O0"]));
        assert!(same_code(&tree("one"), &tree("two")));
        assert!(!same_code(&tree("one"), &tree("three")));
        fs::create_dir(tree("none")).expect("made");
        assert!(!same_code(&tree("none"), &tree("none")));
    }
}
