//! Removal of a tree with write-protected directories.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a tree. Builds leave write-protected directories (module caches), which are made writable
/// first.
///
/// # Errors
/// Something in it cannot be removed.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn make_writable(path: &Path) {
    let mut pending = vec![path.to_owned()];
    while let Some(directory) = pending.pop() {
        let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        let below = entries.flatten().filter(|entry| {
            // Links are not followed.
            entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
        pending.extend(below.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_protected_trees_are_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let tree = parent.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).expect("made");
        fs::write(tree.join("a/b/c"), "").expect("written");
        fs::set_permissions(tree.join("a/b"), fs::Permissions::from_mode(0o500)).expect("set");
        remove_tree(&tree).expect("removed");
        assert!(!tree.exists());
        remove_tree(&tree).expect("nothing to do");
    }
}
